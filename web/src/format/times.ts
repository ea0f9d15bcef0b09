import { whole } from "./numbers";

/** `2026-11-23 01:22:41Z`, as the logs have it. */
export const moment = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")}Z`;

/** How long ago: the largest unit alone, whole. */
export function ago(ms: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - ms) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${whole(Math.floor(seconds / 86_400))} d ago`;
}

export function until(ms: number, now: number): string {
  return ms <= now ? "has passed" : `in ${ago(now - (ms - now), now).replace(" ago", "")}`;
}
