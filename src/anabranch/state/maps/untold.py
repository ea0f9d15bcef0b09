"""Lanes that have a claim, and of which no worker has told yet: as the claims journal has them.

A lane is told of about a second after it was claimed.  One whose worker has ended before, or that was stored with a way
back that never ran, has claims alone: they say where it begins, and the target's log what was written since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from anabranch.model import naming
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import LinkSpec, MirroredTopic
from anabranch.model.topics import TopicPartition
from anabranch.protocol.claims import Claim, ClaimLog
from anabranch.state.topics.control import Links

ADOPTED = "adopted-"
"""What the owner of an adopted lane's first claim begins with."""
_LOG_END = (1 << 63) - 1
"""Past every offset: what was written is looked for up to where the log ends."""


def untold_lanes(links: Links, spec: LinkSpec, claims: ClaimLog, told: Collection[LaneKey]) -> Iterator[LaneProgress]:
    """The lanes of ``spec`` that were claimed, without those that are ``told`` of.

    None where nothing knows their topics' names: neither the link nor, of a way back, one that led the same way.
    """
    names = {topic.source_id: topic for topic in led_alike(links, spec)} if spec.back_of is not None else {}
    names |= {topic.source_id: topic for topic in links.topics_of(spec.id)}
    for text in claims.lanes_of(spec.id):
        lane = LaneKey.parse(text)
        topic = names.get(lane.topic_id)
        if topic is None or lane in told:
            continue
        ends = TopicPartition(topic.source, lane.partition), TopicPartition(topic.target, lane.partition)
        mode = claims.mode(text) or LaneMode.MAPPED
        yield _progress(lane, *ends, mode, claims.claims(text)[-1].claim)


def led_alike(links: Links, spec: LinkSpec) -> list[MirroredTopic]:
    """The topics that any link has led to where ``spec`` leads them."""
    policy = naming.load(spec.naming, spec.source.context)
    return [topic for topic in links.mirrored.values() if policy.renamed(topic.source) == topic.target]


def _progress(
    lane: LaneKey, source: TopicPartition, target: TopicPartition, mode: LaneMode, newest: Claim
) -> LaneProgress:
    """Where it stands: at its claim, and the source has told nothing yet.

    What was adopted ends at its claim on the target, too; what a worker has copied since ends with the log.
    """
    is_adopted = newest.owner.startswith(ADOPTED)
    at, there = newest.start, newest.floor if is_adopted else _LOG_END
    state = LaneState.PAUSED if is_adopted else LaneState.WAITING
    told = (0, 0, 0.0, 0.0, None, None, newest.owner, newest.claimed_at_ms)
    return LaneProgress(lane, source, target, state, mode, "", at, at, at, at, there, *told)
