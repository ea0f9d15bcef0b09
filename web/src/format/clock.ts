/** The service's clock as this browser knows it: ages are told by that one, whose times the answers hold. */
let ahead = 0;

/** What an answer's header tells, of some moment since `askedMs`: a slow answer tells nothing about the clocks. */
export function noteServerTime(date: string | null, askedMs: number): void {
  const at = date === null ? NaN : Date.parse(date);
  if (Number.isNaN(at)) return;
  // The header tells whole seconds.
  const [least, most] = [at - Date.now(), at + 1_000 - askedMs];
  // What is less than two seconds is no difference.
  ahead = least < 2_000 && most > -2_000 ? 0 : (least + most) / 2;
}

export const nowMs = (): number => Date.now() + ahead;
