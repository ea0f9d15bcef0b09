/** The service's clock as this browser knows it: ages are told by that one, whose times the answers hold. */
let ahead = 0;

export function noteServerTime(date: string | null): void {
  const at = date === null ? NaN : Date.parse(date);
  if (Number.isNaN(at)) return;
  const found = at + 500 - Date.now();
  // The header tells whole seconds: what is less than two is no difference.
  ahead = Math.abs(found) < 2_000 ? 0 : found;
}

export const nowMs = (): number => Date.now() + ahead;
