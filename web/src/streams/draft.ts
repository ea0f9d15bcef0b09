/** What somebody has written and not saved, in this browser, by account: it outlasts a page that is left or closed. */
export interface Draft {
  script: string;
  values: Readonly<Record<string, string>>;
  /** The script that it began with, and when it was written last. */
  base: string;
  at: number;
}

const MOST = 1_000_000;
const keyOf = (account: string, what: string): string => `anabranch.draft ${account} ${what}`;

/** None where there is none, or where the browser keeps nothing. */
export function draftOf(account: string, what: string): Draft | null {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(keyOf(account, what)) ?? "null");
    return isDraft(found) ? found : null;
  } catch {
    return null;
  }
}

/** Whether it is kept: a browser may refuse, or have no room. */
export function keepDraft(account: string, what: string, draft: Draft | null): boolean {
  try {
    if (draft === null) localStorage.removeItem(keyOf(account, what));
    else if (draft.script.length > MOST) return false;
    else localStorage.setItem(keyOf(account, what), JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

const isDraft = (found: unknown): found is Draft => {
  const { script, base, at, values } = (found ?? {}) as Partial<Record<keyof Draft, unknown>>;
  return typeof script === "string" && typeof base === "string" && typeof at === "number" && typeof values === "object" && values !== null;
};
