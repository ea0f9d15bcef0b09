// What the test files of one process share: a browser, and a stand of each kind.  They end after the last test, and what
// a test has opened in the browser is closed with the test.
import { after, afterEach } from "node:test";
import { closePeople, startBrowser } from "./browser.mjs";
import { startAccess, startMigrations, startPositions, startSandbox, startStand, startStreams } from "./stand.mjs";

const started = new Map();

function once(start, ...options) {
  const name = [start.name, ...options].join(" ");
  if (!started.has(name)) started.set(name, start(...options));
  return started.get(name);
}

export const theBrowser = () => once(startBrowser);
export const theStand = (...options) => once(startStand, ...options);
export const theAccess = (...options) => once(startAccess, ...options);
export const theMigrations = (...options) => once(startMigrations, ...options);
export const thePositions = (...options) => once(startPositions, ...options);
export const theSandbox = () => once(startSandbox);
export const theStreams = (...options) => once(startStreams, ...options);

afterEach(closePeople);

after(async () => {
  const all = await Promise.allSettled(started.values());
  const here = all.filter((one) => one.status === "fulfilled").map(({ value }) => value);
  const ended = await Promise.allSettled(here.map((one) => (one.end ?? one.close).call(one)));
  const failed = ended.find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
});
