import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { client, told, type Schemas } from "../../api/client";
import { problemFrom } from "../../api/problem";
import { accountsQuery } from "../../api/queries";
import { command } from "../../format/command";
import { Age } from "../../parts/Age";
import { Badge } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { Fetched } from "../../parts/Fetched";
import { ProblemNotice } from "../../parts/ProblemNotice";
import { Table } from "../../parts/Table";
import { FormFields, initialOf } from "../../plans/FormFields";
import type { FieldSpec, Values } from "../../plans/specs";
import { ROLES, type RoleWord } from "../../session/me";
import { OnMachine } from "./OnMachine";

type Account = Schemas["Account"];

const MEANING: Record<RoleWord, string> = {
  client: "an application: asks where its own clients are led",
  viewer: "looks",
  operator: "plans, and does what the same noun undoes",
  approver: "applies every plan",
  admin: "manages accounts and tokens, too",
};

const ROLE_FIELD: FieldSpec = {
  name: "role",
  label: "Role",
  kind: "choice",
  initial: "viewer",
  choices: ROLES.map((role) => [role, `${role}: ${MEANING[role]}`]),
};

type Opened = { kind: "new" } | { kind: "role" | "disable" | "enable"; account: Account };

export function AccountsPanel() {
  const query = useQuery(accountsQuery);
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  return (
    <section className="panel" aria-label="Accounts">
      <div className="row">
        <h2>Accounts</h2>
        <span className="end">
          <Button act={() => setOpened({ kind: "new" })}>Add an account</Button>
        </span>
      </div>
      <Fetched query={query} what="accounts">
        {(accounts) => (
          <div className="flush">
            <Table
              caption="Accounts"
              rows={accounts}
              rowKey={(account) => account.id}
              columns={[
                { key: "name", label: "account", head: "Account", cell: (account) => <strong>{account.name}</strong> },
                { key: "role", label: "role", head: "Role", cell: (account) => account.role },
                { key: "issuer", label: "vouched for by", head: "Vouched for by", cell: (account) => account.issuer || "its tokens" },
                { key: "created", label: "made", head: "Made", cell: (account) => <Age ms={account.created_at} /> },
                { key: "state", label: "state", head: "State", cell: (account) => <State account={account} /> },
                {
                  key: "change",
                  label: "change",
                  head: <span className="hidden">Actions</span>,
                  cell: (account) => (
                    <span className="row">
                      <Button little act={() => setOpened({ kind: "role", account })}>
                        Role <span className="hidden">of {account.name}</span>
                      </Button>
                      <Button
                        little
                        act={() => setOpened({ kind: account.disabled_at === null ? "disable" : "enable", account })}
                      >
                        {account.disabled_at === null ? "Disable" : "Enable"}{" "}
                        <span className="hidden">{account.name}</span>
                      </Button>
                    </span>
                  ),
                },
              ]}
            />
          </div>
        )}
      </Fetched>
      {opened === null ? null : opened.kind === "new" ? <NewAccount close={close} /> : <Change opened={opened} close={close} />}
    </section>
  );
}

const State = ({ account }: { account: Account }) =>
  account.disabled_at === null ? (
    <Badge tone="ok" shape="check">
      enabled
    </Badge>
  ) : (
    <Badge tone="warn" shape="pause">
      disabled
    </Badge>
  );

const NEW: FieldSpec[] = [
  { name: "name", label: "Name", kind: "text", required: true, hint: "Letters, digits and . _ @ + -" },
  ROLE_FIELD,
];

function NewAccount({ close }: { close: () => void }) {
  const queries = useQueryClient();
  const [values, setValues] = useState<Values>(() => initialOf(NEW));
  const add = useMutation({
    mutationFn: () =>
      told(
        client.POST("/api/v1/accounts", {
          body: { name: (values["name"] ?? "").trim(), role: values["role"] as RoleWord },
        }),
      ),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["accounts"] });
      close();
    },
  });
  const problem = add.isError ? problemFrom(add.error) : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <Dialog
      title="Add an account"
      close={close}
      foot={
        <>
          <Button act={close}>Cancel</Button>
          <button type="submit" form="add-account" className="button main">
            Add
          </button>
        </>
      }
    >
      {add.isError ? <ProblemNotice error={add.error} title="Not added" /> : null}
      <form id="add-account" onSubmit={submit}>
        <FormFields
          fields={NEW}
          values={values}
          wrong={problem?.field ? { field: problem.field, why: problem.detail } : null}
          change={(name, value) => setValues((before) => ({ ...before, [name]: value }))}
        />
      </form>
      <OnMachine text={command(["account", "add", (values["name"] ?? "").trim() || "NAME"], [["--role", values["role"]]])} />
    </Dialog>
  );
}

function Change({ opened, close }: { opened: Exclude<Opened, { kind: "new" }>; close: () => void }) {
  const { kind, account } = opened;
  const queries = useQueryClient();
  const fields = [{ ...ROLE_FIELD, initial: account.role }];
  const [values, setValues] = useState<Values>(() => initialOf(fields));
  const change = useMutation({
    mutationFn: () =>
      told(
        client.PATCH("/api/v1/accounts/{name}", {
          params: { path: { name: account.name } },
          body:
            kind === "role"
              ? { role: values["role"] as RoleWord, disabled: null }
              : { role: null, disabled: kind === "disable" },
        }),
      ),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["accounts"] });
      void queries.invalidateQueries({ queryKey: ["me"] });
      close();
    },
  });
  const title = kind === "role" ? `Role of ${account.name}` : `${kind === "disable" ? "Disable" : "Enable"} ${account.name}`;
  return (
    <Dialog
      title={title}
      close={close}
      foot={
        <>
          <Button act={close}>Cancel</Button>
          <Button kind={kind === "disable" ? "danger" : "main"} act={() => change.mutate()}>
            {kind === "role" ? "Change the role" : kind === "disable" ? "Disable" : "Enable"}
          </Button>
        </>
      }
    >
      {change.isError ? <ProblemNotice error={change.error} title="Not changed" /> : null}
      {kind === "role" ? (
        <FormFields
          fields={fields}
          values={values}
          change={(name, value) => setValues((before) => ({ ...before, [name]: value }))}
        />
      ) : (
        <p>
          {kind === "disable"
            ? "None of its tokens lets it in any more, from now on. Operations that it began go on."
            : "Its tokens that have not expired let it in again."}
        </p>
      )}
      <OnMachine
        text={command(
          ["account", "set", account.name],
          [
            ["--role", kind === "role" ? values["role"] : undefined],
            ["--disable", kind === "disable"],
            ["--enable", kind === "enable"],
          ],
        )}
      />
    </Dialog>
  );
}
