import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { switchesQuery } from "../api/queries";
import { counted, whole } from "../format/numbers";
import { Shape } from "../parts/Shape";
import { isOpen, stateOf, switchPath } from "./switches";

/** Says that clients are just being moved; there is one switch at a time, the newest. */
export function SwitchHint() {
  const newest = useQuery(switchesQuery(1)).data?.[0];
  if (newest === undefined || !isOpen(newest)) return null;
  return (
    <div className="notice" role="status">
      <div className="notice-title">
        <Shape name="play" size={12} />
        <span>A switch is under way: {stateOf(newest).words}</span>
      </div>
      <p>
        {whole(newest.paused)} of {counted(newest.clients, "client")} that it moves have paused. Whoever would be moved by it and comes now waits
        for its end. <Link href={switchPath(newest.id)}>Look at the switch</Link>
      </p>
    </div>
  );
}
