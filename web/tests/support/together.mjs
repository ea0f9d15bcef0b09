/**
 * What was started; where one of it does not start, the others are ended: a test whose browser still runs would never
 * end, nor say why it failed.
 */
export async function together(...starting) {
  const started = await Promise.allSettled(starting);
  const failed = started.find((one) => one.status === "rejected");
  if (failed === undefined) return started.map((one) => one.value);
  const others = started.filter((one) => one.status === "fulfilled");
  await Promise.allSettled(others.map(({ value }) => (value.end ?? value.close).call(value)));
  throw failed.reason;
}
