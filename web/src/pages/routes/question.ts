import type { RouteQuestion } from "../../api/queries";

/** The question that a page's address has; without a code there is none. */
export function questionOf(search: URLSearchParams): RouteQuestion {
  return {
    code: search.get("code") ?? "",
    role: search.get("role") === "producer" ? "producer" : "consumer",
    topics: search.getAll("topic"),
    group: search.get("group") ?? "",
    client_id: search.get("client_id") ?? "",
    parameters: parametersOf(search.getAll("param")).parameters,
  };
}

export function explainSearch({ code, role, topics, group, client_id: id, parameters }: RouteQuestion): URLSearchParams {
  const found = new URLSearchParams({ code, role });
  for (const topic of topics) found.append("topic", topic);
  if (group) found.set("group", group);
  if (id) found.set("client_id", id);
  for (const [name, value] of Object.entries(parameters)) found.append("param", `${name}=${value}`);
  return found;
}

/** `job_id=1234`, one a line; or which line is unclear. */
export function parametersOf(lines: readonly string[]): { parameters: Record<string, string>; wrong: string | null } {
  const found = new Map<string, string>();
  for (const line of lines) {
    const at = line.indexOf("=");
    if (at < 1) return { parameters: Object.fromEntries(found), wrong: `${line}: not NAME=VALUE, such as job_id=1234` };
    found.set(line.slice(0, at).trim(), line.slice(at + 1).trim());
  }
  return { parameters: Object.fromEntries(found), wrong: null };
}
