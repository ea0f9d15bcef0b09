// The browser, unpacked once a machine.
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import packed from "@sparticuz/chromium";

export const ARGUMENTS = packed.args;

/** Where the browser is.
 *
 *  Several processes may want it first at once, and one of them may be killed: each unpacks into a directory of its own,
 *  and the first whole one becomes the one of all. */
export const chromiumPath = () => (path ??= unpacked());

let path;

async function unpacked() {
  const { devDependencies } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf-8"));
  const version = devDependencies["@sparticuz/chromium"];
  const shared = join(tmpdir(), `anabranch-chromium-${version}`);
  if (!existsSync(shared)) {
    const own = await mkdtemp(`${shared}-`);
    await unpackInto(own);
    try {
      await rename(own, shared);
    } catch (error) {
      if (!existsSync(shared)) throw error;
      await rm(own, { recursive: true });
    }
  }
  return join(shared, "chromium");
}

/** The package unpacks into the directory for temporary files, whichever that is. */
async function unpackInto(directory) {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = directory;
  try {
    await packed.executablePath();
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}
