"""Lanes that a way back has adopted, and not begun to copy: as the making of the link wrote them down.

A link tells of its lanes once it runs.  One that was only stored has claims, with the offsets at which its map ends on
both sides, and the map itself; what its topics are called stands in a link that led the same way before.
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


def adopted_lanes(links: Links, spec: LinkSpec, claims: ClaimLog, begun: Collection[LaneKey]) -> Iterator[LaneProgress]:
    """The lanes that ``spec`` has adopted, without those that are ``begun``; none where no link knows their names."""
    if spec.back_of is None:
        return
    names = {topic.source_id: topic for topic in led_alike(links, spec)}
    for text in claims.lanes_of(spec.id):
        lane, placed = LaneKey.parse(text), claims.claims(text)
        topic = names.get(lane.topic_id)
        if topic is None or lane in begun or not placed or not placed[-1].claim.owner.startswith(ADOPTED):
            continue
        ends = TopicPartition(topic.source, lane.partition), TopicPartition(topic.target, lane.partition)
        yield _progress(lane, *ends, placed[-1].claim)


def led_alike(links: Links, spec: LinkSpec) -> list[MirroredTopic]:
    """The topics that any link has led to where ``spec`` leads them."""
    policy = naming.load(spec.naming, spec.source.context)
    return [topic for topic in links.mirrored.values() if policy.renamed(topic.source) == topic.target]


def _progress(lane: LaneKey, source: TopicPartition, target: TopicPartition, claim: Claim) -> LaneProgress:
    """Where it stands: at the ends of what it adopted, and the source has told nothing yet."""
    at, there = claim.start, claim.floor
    told = (0, 0, 0.0, 0.0, None, None, claim.owner, claim.claimed_at_ms)
    return LaneProgress(lane, source, target, LaneState.PAUSED, LaneMode.MAPPED, "", at, at, at, at, there, *told)
