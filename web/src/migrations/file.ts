import { readYaml } from "../format/yaml/read";

/** The migration of a migration file's text; or why there is none in it. */
export function migrationOf(text: string): { migration: Readonly<Record<string, unknown>> | null; wrong: string | null } {
  try {
    const found = readYaml(text);
    if (typeof found === "object" && found !== null && !Array.isArray(found)) return { migration: found as Record<string, unknown>, wrong: null };
    return { migration: null, wrong: "a migration file has fields at its top, such as name, source, target and waves" };
  } catch (error) {
    return { migration: null, wrong: `not read: ${(error as Error).message}` };
  }
}
