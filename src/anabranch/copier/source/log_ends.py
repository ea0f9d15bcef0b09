"""The ends of source logs that were not fetched lately (paused, slowed, stopped lanes): their lag grows too."""

from __future__ import annotations

import time
from collections.abc import Mapping

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.errors import ClusterError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.partitions import LATEST, list_offsets

PURPOSE = "look"
LOOK_S = 1.0
READ_COMMITTED = 1


async def look_at_ends(cluster: Cluster, lanes: Mapping[tuple[str, int], Lane]) -> None:
    """Ask for the ends of the lanes that were told none for ``LOOK_S``."""
    stale = time.monotonic() - LOOK_S
    by_leader: dict[int, dict[tuple[str, int], Lane]] = {}
    for key, lane in lanes.items():
        if lane.source.leader >= 0 and lane.source.answered_at < stale and lane.phase is not LanePhase.OVER:
            by_leader.setdefault(lane.source.leader, {})[key] = lane
    for leader, led in by_leader.items():
        wanted = {key: (LATEST, lane.source.epoch) for key, lane in led.items()}
        try:
            connection = await cluster.connection(leader, PURPOSE)
            answers = await list_offsets(connection, wanted, isolation=READ_COMMITTED)
        except ClusterError:
            continue  # whoever fetches from this broker meets the same and says so
        for key, answer in answers.items():
            if answer.code == 0:
                source = led[key].source
                source.seen_at = time.monotonic()
                source.stable = max(source.stable, answer.offset)
                source.high_watermark = max(source.high_watermark, answer.offset)
