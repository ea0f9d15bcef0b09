import { Link } from "wouter";

export interface Tab {
  href: string;
  label: string;
  current: boolean;
}

/** Each tab is a page of its own, with an address. */
export const Tabs = ({ label, tabs }: { label: string; tabs: readonly Tab[] }) => (
  <nav className="tabs" aria-label={label}>
    {tabs.map((tab) => (
      <Link key={tab.href} href={tab.href} aria-current={tab.current ? "page" : undefined}>
        {tab.label}
      </Link>
    ))}
  </nav>
);
