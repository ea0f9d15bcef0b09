/** Thousands are separated by commas wherever the browser is, as in the command line. */
const separated = (digits: string): string => digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");

function fixed(value: number, decimals: number): string {
  const [before = "", after] = value.toFixed(decimals).split(".");
  return after === undefined ? separated(before) : `${separated(before)}.${after}`;
}

const SIZES = ["B", "kB", "MB", "GB", "TB", "PB"];
export const UNKNOWN = "?";

/** Above 2^53 a browser holds no number exactly, and says so. */
export const whole = (value: number | null | undefined): string =>
  value == null ? UNKNOWN : Math.abs(value) > Number.MAX_SAFE_INTEGER ? `about ${fixed(value, 0)}` : fixed(value, 0);

/** Bytes in powers of 1000, as the command line has them. */
export function bytes(value: number | null | undefined): string {
  if (value == null) return UNKNOWN;
  let at = 0;
  let size = value;
  while (size >= 999.95 && at < SIZES.length - 1) {
    size /= 1000;
    at += 1;
  }
  return `${at === 0 ? fixed(size, 0) : fixed(size, 1)} ${SIZES[at]}`;
}

export const rate = (value: number | null | undefined): string => (value == null ? UNKNOWN : `${bytes(value)}/s`);

export const perSecond = (value: number | null | undefined): string =>
  value == null ? UNKNOWN : `${value > 0 && value < 10 ? fixed(value, 1) : fixed(value, 0)}/s`;

/** A share from 0 to 1; 100 % only where nothing is left. */
export function share(value: number | null | undefined): string {
  if (value == null) return UNKNOWN;
  const percent = value >= 1 ? 100 : Math.min(99.9, value * 100);
  return `${fixed(percent, 1)} %`;
}

/** Seconds as people say them. */
export function seconds(value: number | null | undefined): string {
  if (value == null) return UNKNOWN;
  if (value < 60) return `${fixed(value, 1)} s`;
  const all = Math.round(value);
  if (all < 3600) return `${Math.floor(all / 60)} min ${String(all % 60).padStart(2, "0")} s`;
  if (all < 86_400) return `${Math.floor(all / 3600)} h ${String(Math.floor((all % 3600) / 60)).padStart(2, "0")} min`;
  return `${fixed(Math.floor(all / 86_400), 0)} d ${Math.floor((all % 86_400) / 3600)} h`;
}

/** Seconds, and less than one in milliseconds. */
export const brief = (value: number | null | undefined): string =>
  value == null || value >= 1 ? seconds(value) : `${whole(Math.round(value * 1000))} ms`;

/** The same for axes. */
export const compactBrief = (value: number | null): string =>
  value === null || value >= 1 || value === 0 ? compactSeconds(value) : `${decimal(Math.round(value * 1e4) / 10)} ms`;

export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${whole(value)} ${value === 1 ? one : many}`;

/** The present tense after a count: 1 lane runs, 2 lanes run. */
export const either = (value: number, one: string, many: string): string => (value === 1 ? one : many);

/** A number that may have decimals: three at most, and none that are zero. */
export const decimal = (value: number): string => fixed(value, 3).replace(/\.?0+$/, "");

/** For axes: `600k`, `1.2M`. */
export function compact(value: number | null): string {
  if (value === null) return "";
  let at = 0;
  let size = value;
  while (Math.abs(size) >= 1000 && at < 4) {
    size /= 1000;
    at += 1;
  }
  return `${decimal(Math.round(size * 10) / 10)}${["", "k", "M", "G", "T"][at]}`;
}

/** For axes: seconds in the one unit that suits. */
export function compactSeconds(value: number | null): string {
  if (value === null) return "";
  if (value < 120) return `${decimal(Math.round(value * 10) / 10)} s`;
  return value < 7_200 ? `${decimal(Math.round(value / 6) / 10)} min` : `${decimal(Math.round(value / 360) / 10)} h`;
}
