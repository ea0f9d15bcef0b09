/** A command line of `anabranch`, quoted for a shell: what a button copies is what runs. */
export type Option = readonly [name: string, value: string | number | boolean | null | undefined | readonly string[]];

export function command(words: readonly string[], options: readonly Option[] = []): string {
  const found = ["anabranch", ...words];
  for (const [name, value] of options) {
    if (value === null || value === undefined || value === false || value === "") continue;
    if (value === true) found.push(name);
    else if (Array.isArray(value)) for (const one of value as readonly string[]) found.push(name, one);
    else found.push(name, String(value));
  }
  return found.map(quoted).join(" ");
}

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
