import { useEffect, type ReactNode } from "react";
import { Link } from "wouter";

interface Props {
  title: string;
  crumbs?: readonly (readonly [string, string])[];
  beside?: ReactNode;
  actions?: ReactNode;
  under?: ReactNode;
  children: ReactNode;
}

/** A page's frame: where it is, its title, what can be done, its content. */
export function Page({ title, crumbs = [], beside, actions, under, children }: Props) {
  useEffect(() => {
    document.title = `${title} – Anabranch`;
  }, [title]);
  return (
    <main className="page" id="main" tabIndex={-1}>
      <header className="head">
        {crumbs.length ? (
          <nav className="crumbs" aria-label="Where this is">
            {crumbs.map(([label, href], at) => (
              <span key={href}>
                {at ? "/ " : ""}
                <Link href={href}>{label}</Link>
              </span>
            ))}
          </nav>
        ) : null}
        <div className="head-row">
          <h1>{title}</h1>
          {beside}
          {actions ? <div className="row end">{actions}</div> : null}
        </div>
        {under}
      </header>
      {children}
    </main>
  );
}
