import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { Link } from "wouter";
import type { Schemas } from "../../api/client";
import { switchQuery } from "../../api/queries";
import { command } from "../../format/command";
import { whole } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { Badge } from "../../parts/Badge";
import { CommandLine } from "../../parts/CopyButton";
import { Facts } from "../../parts/Facts";
import { Fetched } from "../../parts/Fetched";
import { Figures } from "../../parts/Figures";
import { Page } from "../../parts/Page";
import { Shape } from "../../parts/Shape";
import { SwitchBadge } from "../../routes/SwitchBadge";
import { isOpen, STEPS, type SwitchSummary } from "../../routes/switches";
import { linkPath } from "../link/path";
import { NotThere } from "../NotThere";
import { GiveUp } from "./GiveUp";
import { SwitchClients } from "./SwitchClients";
import { VersionOf } from "./Switches";

/** One switch: how far it has come, and each client that it moves. */
export function SwitchPage({ id }: { id: string }) {
  if (!/^[0-9a-f]{32}$/.test(id)) return <NotThere />;
  return <Shown id={id} />;
}

function Shown({ id }: { id: string }) {
  const query = useQuery(switchQuery(id));
  const one = query.data?.switch;
  return (
    <Page
      title={`Switch ${id.slice(0, 8)}`}
      crumbs={[
        ["Routes", "/routes"],
        ["Switches", "/routes/switches"],
      ]}
      beside={one ? <SwitchBadge one={one} /> : null}
      actions={one ? <GiveUp one={one} /> : null}
    >
      <Fetched query={query} what="the switch">
        {(found) => (
          <>
            <Steps one={found.switch} />
            <Counts answer={found} />
            <About answer={found} />
            <SwitchClients clients={found.clients} isOpen={isOpen(found.switch)} />
            <CommandLine text={command(["route", "switches", id])} />
          </>
        )}
      </Fetched>
    </Page>
  );
}

function Steps({ one }: { one: SwitchSummary }) {
  if (one.state === "cancelled") {
    return (
      <div className="notice bad" role="status">
        <div className="notice-title">
          <Shape name="cross" size={12} />
          <span>It was given up, and nothing was published</span>
        </div>
        <p>{one.why}</p>
        <p className="dim">Every client went on where it was, at the record where it was. Plan the change again once that is settled.</p>
      </div>
    );
  }
  const now = STEPS.findIndex(([state]) => state === one.state);
  return (
    <section className="panel" aria-label="How far it has come">
      <h2>How far it has come</h2>
      {one.why === "" ? null : <p className="old">It is being given up: {one.why}</p>}
      <ol className="stack steps">
        {STEPS.map(([state, words], at) => (
          <li key={state} {...(at === now && isOpen(one) ? { "aria-current": "step" as const } : {})}>
            <div className="row">
              <strong>{state}</strong>
              {at < now || one.state === "done" ? (
                <Badge tone="ok" shape="check">
                  reached
                </Badge>
              ) : at === now ? (
                <Badge tone="busy" shape="play">
                  now
                </Badge>
              ) : (
                <Badge tone="idle" shape="ring">
                  to come
                </Badge>
              )}
            </div>
            <div className="dim">{words}</div>
          </li>
        ))}
      </ol>
    </section>
  );
}

const Counts = ({ answer: { switch: one, clients } }: { answer: Schemas["SwitchAnswer"] }) => (
  <Figures
    figures={[
      { label: "Clients", value: whole(one.clients), note: "that it moves" },
      { label: "Paused", value: whole(one.paused), note: `of ${whole(one.clients)}` },
      { label: "Left behind", value: whole(one.left), note: "producers that did not pause in time" },
      {
        label: "Positions",
        value: whole(clients.reduce((sum, client) => sum + Object.keys(client.positions).length, 0)),
        note: "handed over, one a partition",
      },
      { label: "In doubt", value: whole(one.uncertain), note: "messages that may not have been appended" },
    ]}
  />
);

function About({ answer: { switch: one, links } }: { answer: Schemas["SwitchAnswer"] }) {
  return (
    <section className="panel" aria-label="About this switch">
      <h2>What it is for</h2>
      <Facts
        facts={[
          ["reason", one.reason],
          ["by", one.author],
          ["version", <VersionOf key="version" one={one} />],
          ["began", <Age key="began" ms={one.began_ms} absolute />],
          ...(isOpen(one) ? ([["must be done by", <Age key="deadline" ms={one.deadline_ms} absolute />]] as const) : []),
          ["positions by the maps of", <Links key="links" links={links} />],
          ...(one.lost.length ? ([["goes on without", `${one.lost.join(", ")}, which did not answer`]] as const) : []),
          ["id", <code key="id" className="anywhere">{one.id}</code>],
        ]}
      />
      {one.doubts.length ? (
        <div className="notice warn">
          <p className="strong">What is in doubt</p>
          <ul>
            {one.doubts.map((doubt) => (
              <li key={doubt}>{doubt}</li>
            ))}
          </ul>
        </div>
      ) : null}
    </section>
  );
}

const Links = ({ links }: { links: Schemas["SwitchAnswer"]["links"] }) =>
  links.length === 0 ? (
    <>no link yet</>
  ) : (
    <>
      {links.map(([before, after, link], index) => (
        <Fragment key={`${before} ${after}`}>
          {index ? "; " : ""}
          link <Link href={linkPath(after, link)}>{link}</Link>, {before} to {after}
        </Fragment>
      ))}
    </>
  );
