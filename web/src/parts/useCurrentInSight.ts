import { useEffect, useRef, type RefObject } from "react";

/** Scrolls a row of links sideways, so that the one of the present page is in sight. */
export function useCurrentInSight(current: string): RefObject<HTMLElement | null> {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    const row = box.current;
    const found = row?.querySelector<HTMLElement>('[aria-current="page"]');
    if (!row || !found) return;
    row.scrollLeft = found.offsetLeft - row.offsetLeft - (row.clientWidth - found.offsetWidth) / 2;
  }, [current]);
  return box;
}
