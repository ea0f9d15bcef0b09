import { Link } from "wouter";
import { useCurrentInSight } from "./useCurrentInSight";

export interface Tab {
  href: string;
  label: string;
  current: boolean;
}

/** Each tab is a page of its own, with an address. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const row = useCurrentInSight(tabs.find((tab) => tab.current)?.href ?? "");
  return (
    <nav className="tabs" aria-label={label} ref={row}>
      {tabs.map((tab) => (
        <Link key={tab.href} href={tab.href} aria-current={tab.current ? "page" : undefined}>
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}
