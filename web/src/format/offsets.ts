import type { Schemas } from "../api/client";
import { partitionOf } from "./partitions";

export type Question = Schemas["Question"];

/** `orders-3:120`, one a line; or which line is unclear. */
export function questionsOf(lines: readonly string[]): { questions: Question[]; wrong: string | null } {
  const questions: Question[] = [];
  for (const line of lines) {
    const [, where = "", text = ""] = /^(.*):(\d+)$/.exec(line) ?? [];
    const at = partitionOf(where);
    const offset = Number(text);
    if (at === null || !Number.isSafeInteger(offset)) {
      return { questions, wrong: `${line}: not TOPIC-PARTITION:OFFSET, such as orders-3:120` };
    }
    questions.push({ ...at, offset });
  }
  return { questions, wrong: null };
}

/** The exact answers as an offsets file, as `--out` of the command line writes it; null where one is not exact. */
export function offsetsFile({ cluster, answers }: Schemas["Translation"]): string | null {
  const offsets: Record<string, Record<string, number>> = {};
  for (const { kind, to, answer } of answers) {
    const at = to === null ? null : partitionOf(to);
    if (kind !== "exact" || at === null || answer === null) return null;
    (offsets[at.topic] ??= {})[String(at.partition)] = answer;
  }
  return `${JSON.stringify({ version: 1, cluster, offsets }, null, 2)}\n`;
}
