/** A state's shape beside its word, so that no state is told by colour alone. */
export type ShapeName = "dot" | "ring" | "play" | "pause" | "square" | "triangle" | "cross" | "check" | "half";

const PATHS: Record<ShapeName, string> = {
  dot: "M5 1a4 4 0 1 0 0 8a4 4 0 1 0 0-8z",
  ring: "M5 1a4 4 0 1 0 0 8a4 4 0 1 0 0-8zM5 2.6a2.4 2.4 0 1 1 0 4.8a2.4 2.4 0 1 1 0-4.8z",
  half: "M5 1a4 4 0 1 0 0 8zM5 1v1.2a2.8 2.8 0 0 1 0 5.6V9a4 4 0 0 0 0-8z",
  play: "M2 1l7 4l-7 4z",
  pause: "M2 1h2.2v8H2zM5.8 1H8v8H5.8z",
  square: "M1.5 1.5h7v7h-7z",
  triangle: "M5 .8l4.6 8.4H.4zM4.4 3.6v2.9h1.2V3.6zM4.4 7.2v1.2h1.2V7.2z",
  cross: "M1 2.2L2.2 1L5 3.8L7.8 1L9 2.2L6.2 5L9 7.8L7.8 9L5 6.2L2.2 9L1 7.8L3.8 5z",
  check: "M.8 5.3L2 4.1l2 2L8.1 1.9L9.3 3.1L4 8.5z",
};

export function Shape({ name, size = 10 }: { name: ShapeName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 10 10" aria-hidden="true">
      <path d={PATHS[name]} fill="currentColor" fillRule="evenodd" />
    </svg>
  );
}
