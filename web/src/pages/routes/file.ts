import { readYaml } from "../../format/yaml/read";

const MOST = 1 << 20;

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

/** The text of a file that somebody chose. */
export async function fileText(file: File): Promise<{ text: string | null; wrong: string | null }> {
  if (file.size > MOST) return { text: null, wrong: `${file.name}: larger than 1 MiB, which the service does not take` };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()), wrong: null };
  } catch {
    return { text: null, wrong: `${file.name}: not UTF-8 text` };
  }
}
