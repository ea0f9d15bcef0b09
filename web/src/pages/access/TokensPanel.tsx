import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { client, told, type Schemas } from "../../api/client";
import { problemFrom } from "../../api/problem";
import { tokensQuery } from "../../api/queries";
import { command } from "../../format/command";
import { useNow } from "../../live/ticker";
import { Age } from "../../parts/Age";
import { Badge } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { CommandLine } from "../../parts/CopyButton";
import { Dialog } from "../../parts/Dialog";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { ProblemNotice } from "../../parts/ProblemNotice";
import { Table } from "../../parts/Table";
import { FormFields, initialOf } from "../../plans/FormFields";
import type { FieldSpec, Values } from "../../plans/specs";
import { useMe } from "../../session/me";
import { OnMachine } from "./OnMachine";

type Token = Schemas["Token"];

export function TokensPanel({ admin }: { admin: boolean }) {
  const query = useQuery(tokensQuery);
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Token | null>(null);
  return (
    <section className="panel" aria-label="Tokens">
      <div className="row">
        <h2>{admin ? "Tokens" : "Your tokens"}</h2>
        <span className="end">
          <Button act={() => setMaking(true)}>Make a token</Button>
        </span>
      </div>
      <Fetched query={query} what="tokens">
        {(tokens) =>
          tokens.length === 0 ? (
            <Empty title="There are no tokens">
              <p className="dim">Make one for a program, which sends it as <code>Authorization: Bearer TOKEN</code>.</p>
            </Empty>
          ) : (
            <div className="flush">
              <Rows tokens={tokens} revoke={setRevoking} />
            </div>
          )
        }
      </Fetched>
      {making ? <MakeToken admin={admin} close={() => setMaking(false)} /> : null}
      {revoking === null ? null : <Revoke token={revoking} close={() => setRevoking(null)} />}
    </section>
  );
}

const Rows = ({ tokens, revoke }: { tokens: readonly Token[]; revoke: (token: Token) => void }) => (
  <Table
    caption="Tokens"
    rows={tokens}
    rowKey={(token) => token.id}
    columns={[
      { key: "account", label: "account", head: "Account", cell: (token) => <strong>{token.account}</strong> },
      { key: "name", label: "name", head: "Name", cell: (token) => token.name },
      { key: "state", label: "state", head: "State", cell: (token) => <State token={token} /> },
      { key: "created", label: "made", head: "Made", cell: (token) => <Age ms={token.created_at} /> },
      { key: "used", label: "last used", head: "Last used", cell: (token) => <Age ms={token.used_at} /> },
      {
        key: "expires",
        label: "expires",
        head: "Expires",
        cell: (token) => (token.expires_at === null ? "never" : <Age ms={token.expires_at} />),
      },
      {
        key: "revoke",
        label: "revoke",
        head: <span className="hidden">Actions</span>,
        cell: (token) =>
          token.revoked_at === null ? (
            <Button little act={() => revoke(token)}>
              Revoke{" "}
              <span className="hidden">
                {token.name} of {token.account}
              </span>
            </Button>
          ) : null,
      },
    ]}
  />
);

function State({ token }: { token: Token }) {
  const now = useNow();
  if (token.revoked_at !== null) {
    return (
      <Badge tone="idle" shape="cross">
        revoked
      </Badge>
    );
  }
  return token.expires_at !== null && token.expires_at <= now ? (
    <Badge tone="idle" shape="ring">
      expired
    </Badge>
  ) : (
    <Badge tone="ok" shape="check">
      valid
    </Badge>
  );
}

function MakeToken({ admin, close }: { admin: boolean; close: () => void }) {
  const me = useMe();
  const queries = useQueryClient();
  const fields: FieldSpec[] = [
    ...(admin ? [{ name: "account", label: "Account", kind: "text" as const, required: true, initial: me.account }] : []),
    { name: "name", label: "Name", kind: "text", required: true, hint: "What it is for, so that it can be told apart." },
    { name: "days", label: "Days", kind: "number", initial: "90", hint: "1 to 366." },
  ];
  const [values, setValues] = useState<Values>(() => initialOf(fields));
  const make = useMutation({
    mutationFn: () =>
      told(
        client.POST("/api/v1/tokens", {
          body: {
            account: admin ? (values["account"] ?? "").trim() : me.account,
            name: (values["name"] ?? "").trim(),
            days: Number(values["days"]),
          },
        }),
      ),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["tokens"] }),
  });
  const problem = make.isError ? problemFrom(make.error) : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    make.mutate();
  };
  if (make.data) {
    return (
      <Dialog
        title={`Token ${make.data.name} of ${make.data.account}`}
        close={close}
        foot={
          <Button kind="main" act={close}>
            I have kept it
          </Button>
        }
      >
        <p>
          <strong>This text is shown once, here.</strong> The service keeps a digest of it, and cannot tell it again.
        </p>
        <CommandLine text={make.data.token} label="Copy" />
      </Dialog>
    );
  }
  return (
    <Dialog
      title="Make a token"
      close={close}
      foot={
        <>
          <Button act={close}>Cancel</Button>
          <button type="submit" form="make-token" className="button main">
            Make
          </button>
        </>
      }
    >
      {make.isError ? <ProblemNotice error={make.error} title="Not made" /> : null}
      <form id="make-token" onSubmit={submit}>
        <FormFields
          fields={fields}
          values={values}
          wrong={problem?.field ? { field: problem.field, why: problem.detail } : null}
          change={(name, value) => setValues((before) => ({ ...before, [name]: value }))}
        />
      </form>
      <OnMachine
        text={command(
          ["token", "create", (admin ? (values["account"] ?? "").trim() : me.account) || "ACCOUNT"],
          [
            ["--name", (values["name"] ?? "").trim()],
            ["--days", values["days"]],
          ],
        )}
      />
    </Dialog>
  );
}

function Revoke({ token, close }: { token: Token; close: () => void }) {
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => told(client.DELETE("/api/v1/tokens/{token_id}", { params: { path: { token_id: token.id } } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["tokens"] });
      close();
    },
  });
  return (
    <Dialog
      title={`Revoke ${token.name} of ${token.account}`}
      close={close}
      foot={
        <>
          <Button act={close}>Cancel</Button>
          <Button kind="danger" act={() => revoke.mutate()}>
            Revoke
          </Button>
        </>
      }
    >
      {revoke.isError ? <ProblemNotice error={revoke.error} title="Not revoked" /> : null}
      <p>It lets nobody in any more, at once. Whoever uses it needs another one.</p>
      <OnMachine text={command(["token", "revoke", token.id])} />
    </Dialog>
  );
}
