import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { client } from "./api/client";
import { useEvents, type Hearing } from "./live/events";
import { useCurrentInSight } from "./parts/useCurrentInSight";
import { Shape } from "./parts/Shape";
import { useMe } from "./session/me";
import { setSignedOut } from "./session/signed";
import { setTheme, useTheme, type Theme } from "./session/theme";

const PAGES = [
  ["/", "Links"],
  ["/clusters", "Clusters"],
  ["/migrations", "Migrations"],
  ["/streams", "Streams"],
  ["/catalog", "Catalog"],
  ["/artifacts", "Artifacts"],
  ["/routes", "Routes"],
  ["/applications", "Applications"],
  ["/checkpoints", "Checkpoints"],
  ["/mirrormaker", "MirrorMaker 2"],
  ["/operations", "Operations"],
  ["/audit", "Audit"],
  ["/accounts", "Accounts"],
] as const;

export function Shell({ children }: { children: ReactNode }) {
  const [path] = useLocation();
  const hearing = useEvents();
  const me = useMe();
  const inside = (href: string) =>
    href === "/" ? path === "/" || path.startsWith("/links") : path === href || path.startsWith(`${href}/`);
  const row = useCurrentInSight(PAGES.find(([href]) => inside(href))?.[0] ?? "");
  useFocusOnNewPage(path);
  return (
    <>
      <a className="skip" href="#main">
        To the content
      </a>
      <header className="top">
        <div className="top-row">
          <Link href="/" className="brand" aria-label="Anabranch, all links">
            <Mark />
            Anabranch
          </Link>
          <nav className="nav" aria-label="Pages" ref={row}>
            {PAGES.map(([href, label]) => (
              <Link key={href} href={href} aria-current={inside(href) ? "page" : undefined}>
                {label}
              </Link>
            ))}
          </nav>
          <div className="aside">
            <Hears hearing={hearing} />
            <Menu />
          </div>
        </div>
      </header>
      {me.acts ? null : (
        <div className="banner" role="status">
          <div>
            <strong>This instance only shows.</strong>{" "}
            {me.holder ? (
              <>
                Plans are applied on <strong>{me.holder}</strong>, which acts.
              </>
            ) : (
              "No instance acts just now; one will within 20 seconds."
            )}
          </div>
        </div>
      )}
      {children}
    </>
  );
}

/** Where somebody goes by keyboard, the new page's content has the focus, as after a load. */
function useFocusOnNewPage(path: string): void {
  const first = useRef(true);
  const page = path.split("/").slice(0, 4).join("/");
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    window.scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [page]);
}

const Hears = ({ hearing }: { hearing: Hearing }) => (
  <span
    className="hearing"
    title={
      hearing === "live"
        ? "What is shown changes as the service reads it"
        : "The service's event stream is not open; this page asks every few seconds"
    }
  >
    <Shape name={hearing === "live" ? "dot" : "ring"} size={8} />
    {hearing}
  </span>
);

function Menu() {
  const me = useMe();
  const queries = useQueryClient();
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const away = (event: Event) => {
      const found = box.current;
      if (found === null || !found.open) return;
      if (event instanceof KeyboardEvent) {
        if (event.key !== "Escape") return;
        found.querySelector("summary")?.focus();
      } else if (found.contains(event.target as Node)) return;
      found.open = false;
    };
    document.addEventListener("pointerdown", away);
    document.addEventListener("keydown", away);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("keydown", away);
    };
  }, []);
  const signOut = async () => {
    await client.DELETE("/api/v1/session").catch(() => undefined);
    setSignedOut("");
    queries.clear();
  };
  return (
    <details className="menu" ref={box}>
      <summary>
        {me.account}
        <span className="dim small wide-only">{me.role}</span>
        <span aria-hidden="true">▾</span>
      </summary>
      <div>
        <p>
          <strong>{me.account}</strong>
          <br />
          <span className="dim">role {me.role}</span>
        </p>
        <ThemeChoice />
        <p className="dim small">
          Anabranch {me.version} at {me.instance}
        </p>
        <button type="button" className="button" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
    </details>
  );
}

function ThemeChoice() {
  const theme = useTheme();
  return (
    <div role="radiogroup" aria-label="Colours" className="segments">
      {(["system", "light", "dark"] as const satisfies readonly Theme[]).map((one) => (
        <label key={one}>
          <input
            type="radio"
            name="theme"
            className="hidden"
            checked={theme === one}
            onChange={() => setTheme(one)}
          />
          {one}
        </label>
      ))}
    </div>
  );
}

export const Mark = () => (
  <svg width="20" height="20" viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="2" aria-hidden="true">
    <path d="M1 10h4c4 0 3-6 7-6h7M5 10c4 0 3 6 7 6h7" strokeLinecap="round" />
  </svg>
);
