"""Lanes whose source topic is unknown to a broker, or known there under another id: every broker is asked.

A lane goes on by the word of any broker that knows its topic.  It stops where all say that the topic was recreated, or
for ``GONE_S`` that there is none; until then it waits and tells what they say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.errors import ClusterError
from anabranch.kafka.cluster import Cluster, TopicMeta
from anabranch.kafka.presence import Presence, ask_all
from anabranch.protocol.endings import Stop, accepting

PAUSE_S = 1.0


async def look_for(cluster: Cluster, lanes: Sequence[Lane], place_on: Callable[[Lane, TopicMeta], None]) -> None:
    """Ask once, and tell each lane what came of it; comes back some time after, so that brokers are not asked often."""
    wanted = {lane.assignment.source.topic: lane.assignment.source_id.uuid for lane in lanes}
    try:
        found = await ask_all(cluster, wanted)
    except ClusterError:
        found = {}  # whoever asks for the leaders meets the same
    for lane in lanes:
        presence = found.get(lane.assignment.source.topic)
        if presence is None:
            lane.source.absence.end()
            continue
        if lane.source.leader >= 0 or lane.phase in {LanePhase.STOPPED, LanePhase.OVER}:
            continue
        if presence.there is not None:
            place_on(lane, presence.there)
        else:
            _wait_or_stop(lane, presence)
    await asyncio.sleep(PAUSE_S)


def _wait_or_stop(lane: Lane, presence: Presence) -> None:
    lane.source.doubt = presence.told
    if presence.is_made_again:
        lane.stop_at(
            Stop.SOURCE_MADE_AGAIN,
            lane.copied.position,
            presence.told,
            f"let the new one be copied after the old one's records: {accepting(lane.key)}",
        )
    elif lane.source.absence.lasts(presence.is_gone):
        lane.stop_at(
            Stop.SOURCE_GONE, lane.copied.position, presence.told, "exclude the topic from the link, or make it"
        )
