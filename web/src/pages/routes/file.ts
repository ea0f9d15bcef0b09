import { readYaml } from "../../format/yaml/read";

/** The table of a routes file's text; or why there is none in it. */
export function routesOf(text: string): { table: Readonly<Record<string, unknown>> | null; wrong: string | null } {
  try {
    const found = readYaml(text);
    if (typeof found === "object" && found !== null && !Array.isArray(found)) return { table: found as Record<string, unknown>, wrong: null };
    return { table: null, wrong: "a routes file has fields at its top, such as codes and rules" };
  } catch (error) {
    return { table: null, wrong: `not read: ${(error as Error).message}` };
  }
}
