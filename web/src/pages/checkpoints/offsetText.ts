import { whole } from "../../format/numbers";

/** A stored offset, or the word that stands for one. */
export const offsetText = (offset: unknown): string =>
  offset === null ? "none" : typeof offset === "number" ? whole(offset) : String(offset);
