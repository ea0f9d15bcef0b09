import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type FormEvent } from "react";
import { client, told } from "../api/client";
import { waysQuery } from "../api/queries";
import { Field } from "../parts/Field";
import { ProblemNotice, sentence } from "../parts/ProblemNotice";
import { Shape } from "../parts/Shape";
import { remember } from "../session/back";
import { setSignedOut } from "../session/signed";
import { Mark } from "../Shell";

/** What the service says to a browser that brings no token. */
const NO_TOKEN = /the request has no token$/;

interface Props {
  /** Why nobody is signed in; empty where somebody signed out here. */
  why: string;
  /** Whether somebody was signed in here before. */
  wasIn: boolean;
}

/** What is to be said of it: nothing to whoever comes for the first time. */
const said = ({ why, wasIn }: Props): string => {
  if (!NO_TOKEN.test(why)) return why;
  return wasIn ? "the browser has forgotten the token, as it does after twelve hours" : "";
};

/** Signing in, at whatever address: the page that it names comes next. */
export function SignIn(props: Props) {
  const why = said(props);
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
      setSignedOut(null);
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
        {why ? (
          <div className="notice warn" role="alert">
            <div className="notice-title">
              <Shape name="triangle" size={12} />
              <span>You are signed out</span>
            </div>
            <p>{sentence(why)}. Sign in again: this page comes next, and nothing was changed meanwhile.</p>
          </div>
        ) : null}
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
