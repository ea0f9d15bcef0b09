import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type FormEvent } from "react";
import { client, told } from "../api/client";
import { waysQuery } from "../api/queries";
import { Field } from "../parts/Field";
import { ProblemNotice } from "../parts/ProblemNotice";
import { remember } from "../session/back";
import { setSignedOut } from "../session/signed";
import { Mark } from "../Shell";

/** Signing in, at whatever address: the page that it names comes next. */
export function SignIn() {
  const queries = useQueryClient();
  const ways = useQuery(waysQuery);
  const [token, setToken] = useState("");
  useEffect(() => {
    document.title = "Sign in – Anabranch";
  }, []);
  const sign = useMutation({
    mutationFn: () => told(client.POST("/api/v1/session", { body: { token } })),
    onSuccess: async () => {
      await queries.cancelQueries();
      queries.clear();
      setSignedOut(false);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    sign.mutate();
  };
  const provider = ways.data?.provider ?? null;
  return (
    <main className="sign-in" id="main">
      <div className="stack">
        <h1 className="row">
          <Mark /> Sign in to Anabranch
        </h1>
        <div className="panel">
          {provider === null ? null : (
            <>
              <a className="button main" href="/api/v1/login" onClick={remember}>
                Sign in with {provider}
              </a>
              <p className="dim small">or with a token:</p>
            </>
          )}
          <form className="stack" onSubmit={submit}>
            <Field
              label="Token"
              hint={
                <>
                  An admin makes one: <code>anabranch token create ACCOUNT</code>
                </>
              }
            >
              {(attributes) => (
                <input
                  {...attributes}
                  className="input"
                  type="password"
                  autoComplete="current-password"
                  required
                  autoFocus
                  value={token}
                  onChange={(event) => setToken(event.target.value)}
                />
              )}
            </Field>
            {sign.isError ? <ProblemNotice error={sign.error} /> : null}
            {ways.isError ? <ProblemNotice error={ways.error} again={() => void ways.refetch()} /> : null}
            <button type="submit" className={provider === null ? "button main" : "button"}>
              Sign in
            </button>
          </form>
        </div>
        <p className="dim small">The browser keeps it for twelve hours, where no script can read it.</p>
      </div>
    </main>
  );
}
