import { useSearchParams } from "wouter";
import type { ClientsAsked } from "../../api/queries";

export const NAMES = ["code", "group", "cluster", "application"] as const;

/** Which clients are asked for: the page's address has it, so that it can be sent to somebody. */
export function useClientsAsked(): [ClientsAsked, (change: Partial<ClientsAsked>) => void] {
  const [search, setSearch] = useSearchParams();
  const role = search.get("role");
  const offset = Number(search.get("offset") ?? 0);
  const asked: ClientsAsked = {
    code: search.get("code") ?? "",
    group: search.get("group") ?? "",
    cluster: search.get("cluster") ?? "",
    application: search.get("application") ?? "",
    role: role === "producer" || role === "consumer" ? role : "",
    behind: search.get("behind") === "true",
    offset: Number.isSafeInteger(offset) && offset > 0 ? Math.min(offset, 2 ** 31 - 1) : 0,
  };
  const change = (wanted: Partial<ClientsAsked>) => {
    // Another filter begins at its first page.
    const next = { ...asked, offset: 0, ...wanted };
    const found = new URLSearchParams();
    for (const name of [...NAMES, "role"] as const) if (next[name]) found.set(name, next[name]);
    if (next.behind) found.set("behind", "true");
    if (next.offset) found.set("offset", String(next.offset));
    setSearch(found, { replace: true });
  };
  return [asked, change];
}

export const isFiltered = (asked: ClientsAsked): boolean => NAMES.some((name) => asked[name] !== "") || asked.role !== "" || asked.behind;
