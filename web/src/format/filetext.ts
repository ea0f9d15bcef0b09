const MOST = 1 << 20;

/** The text of a file that somebody chose. */
export async function fileText(file: File): Promise<{ text: string | null; wrong: string | null }> {
  if (file.size > MOST) return { text: null, wrong: `${file.name}: larger than 1 MiB, which the service does not take` };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()), wrong: null };
  } catch {
    return { text: null, wrong: `${file.name}: not UTF-8 text` };
  }
}
