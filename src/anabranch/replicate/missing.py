"""Lanes whose source topic is unknown to a broker, or known there under another id: every broker is asked.

A lane goes on by the word of any broker that knows its topic.  It stops where all say that the topic was made again, or
for ``GONE_S`` that there is none; until then it waits and tells what they say.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from anabranch.errors import ClusterError
from anabranch.kafka.cluster import Cluster, TopicMeta
from anabranch.kafka.presence import GONE_S, Presence, ask_all
from anabranch.lanes.endings import Stop, accepting
from anabranch.replicate.lane import Lane, Phase

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
            lane.source.gone_since = 0.0  # nobody was asked: what was said before is not said all the time
            continue
        if lane.source.leader >= 0 or lane.phase in {Phase.STOPPED, Phase.OVER}:
            continue
        if presence.there is not None:
            lane.source.gone_since, lane.source.doubt = 0.0, ""
            place_on(lane, presence.there)
        else:
            _wait_or_stop(lane, presence)
    await asyncio.sleep(PAUSE_S)


def _wait_or_stop(lane: Lane, presence: Presence) -> None:
    source = lane.source
    source.doubt = presence.told
    if presence.is_made_again:
        lane.stop_at(
            Stop.SOURCE_MADE_AGAIN,
            lane.position,
            presence.told,
            f"let the new one be copied behind the old one's records: {accepting(lane.key)}",
        )
    elif not presence.is_gone:
        source.gone_since = 0.0
    else:
        source.gone_since = source.gone_since or time.monotonic()
        if time.monotonic() - source.gone_since >= GONE_S:
            lane.stop_at(Stop.SOURCE_GONE, lane.position, presence.told, "exclude the topic from the link, or make it")
