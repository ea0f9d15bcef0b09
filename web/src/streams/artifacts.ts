import type { Schemas } from "../api/client";

type Function = Schemas["ArtifactFunction"];

export const artifactPath = (name: string): string => `/artifacts/${encodeURIComponent(name)}`;

/** Name, arguments and what it returns, as SQL would have them; what nothing says is left out. */
export const signature = ({ name, arguments: given, returns }: Function): string =>
  `${name}(${given.map((one) => [one.name, one.type, one.optional ? "DEFAULT" : ""].filter(Boolean).join(" ")).join(", ")})${returns ? ` RETURNS ${returns}` : ""}`;
