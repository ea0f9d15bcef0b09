/** A row of two texts beside each other; a line that is on one side alone has null on the other.  Numbers from 1. */
export interface DiffRow {
  before: { number: number; text: string } | null;
  after: { number: number; text: string } | null;
  same: boolean;
}

/** Above so many pairs of lines what differs between the first and the last difference is shown as all of it. */
const MOST = 4_000_000;

/** Lines that both have stand beside each other; in between what was taken away beside what came. */
export function lineDiff(before: string, after: string): DiffRow[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const kept = [
    ...Array.from({ length: head }, (_, at) => [at, at] as const),
    ...common(a.slice(head, a.length - tail), b.slice(head, b.length - tail)).map(([x, y]) => [x + head, y + head] as const),
    ...Array.from({ length: tail }, (_, at) => [a.length - tail + at, b.length - tail + at] as const),
  ];
  const rows: DiffRow[] = [];
  let [x, y] = [0, 0];
  for (const [nextX, nextY] of [...kept, [a.length, b.length] as const]) {
    for (let at = 0; at < Math.max(nextX - x, nextY - y); at += 1) {
      rows.push({ before: x + at < nextX ? line(a, x + at) : null, after: y + at < nextY ? line(b, y + at) : null, same: false });
    }
    if (nextX < a.length) rows.push({ before: line(a, nextX), after: line(b, nextY), same: true });
    [x, y] = [nextX + 1, nextY + 1];
  }
  return rows;
}

const line = (lines: readonly string[], at: number) => ({ number: at + 1, text: lines[at] ?? "" });

function linesOf(text: string): string[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** Pairs of a longest common subsequence, by dynamic programming over what is left of both. */
function common(a: readonly string[], b: readonly string[]): (readonly [number, number])[] {
  if (a.length * b.length > MOST || a.length === 0 || b.length === 0) return [];
  const wide = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * wide);
  for (let x = a.length - 1; x >= 0; x -= 1) {
    for (let y = b.length - 1; y >= 0; y -= 1) {
      longest[x * wide + y] =
        a[x] === b[y] ? longest[(x + 1) * wide + y + 1]! + 1 : Math.max(longest[(x + 1) * wide + y]!, longest[x * wide + y + 1]!);
    }
  }
  const pairs: (readonly [number, number])[] = [];
  for (let x = 0, y = 0; x < a.length && y < b.length; ) {
    if (a[x] === b[y]) pairs.push([x++, y++]);
    else if (longest[(x + 1) * wide + y]! >= longest[x * wide + y + 1]!) x += 1;
    else y += 1;
  }
  return pairs;
}

/** Runs of rows that differ with so many alike around them; the number of rows left out stands between. */
export function folded(rows: readonly DiffRow[], around = 3): (DiffRow | number)[] {
  const shown = rows.map(() => false);
  rows.forEach((row, at) => {
    if (row.same) return;
    for (let near = Math.max(0, at - around); near <= Math.min(rows.length - 1, at + around); near += 1) shown[near] = true;
  });
  const found: (DiffRow | number)[] = [];
  rows.forEach((row, at) => {
    const last = found.at(-1);
    if (shown[at]) found.push(row);
    else if (typeof last === "number") found[found.length - 1] = last + 1;
    else found.push(1);
  });
  return found;
}
