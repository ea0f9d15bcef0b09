"""The lanes of topics: in which generation and from where on, as was decided, and how much each has to copy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from anabranch.copier.planning.pairs import TopicPair
from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster, ClusterMetadata
from anabranch.kafka.partitions import LATEST, list_offsets
from anabranch.model.decisions import LaneDecision, SourcePartition
from anabranch.model.filters import load as load_filter
from anabranch.model.filters import select
from anabranch.model.lane import LaneAssignment, LaneKey, LaneProgress
from anabranch.model.link import LinkSpec, MirroredTopic, ModePolicy
from anabranch.model.start import LaneStart, StartKind
from anabranch.model.topics import TopicId, TopicPartition

_DEFAULT_RECORD_BYTES = 500.0


def lanes_of(
    spec: LinkSpec,
    pair: TopicPair,
    target_id: TopicId,
    compacted: bool,
    decisions: Mapping[SourcePartition, LaneDecision],
) -> list[LaneAssignment]:
    """The lanes of one topic, each in the generation and with the start that a person decided, if one did."""
    mode = ModePolicy.MAPPED if compacted else spec.mode
    source_id = TopicId(pair.source.id)
    return [
        _lane(
            spec,
            source_id,
            TopicPartition(pair.source.name, partition),
            TopicPartition(pair.target, partition),
            target_id,
            mode,
            decisions,
        )
        for partition in sorted(pair.source.partitions)
    ]


def lanes_of_absent(
    spec: LinkSpec,
    absent: Sequence[MirroredTopic],
    begun: Iterable[LaneProgress],
    decisions: Mapping[SourcePartition, LaneDecision],
) -> list[LaneAssignment]:
    """The lanes that were begun of topics that the filter selects and the source has no more, or does not show.

    They stay with a worker, which tells why they do not go on, until a person leaves the topic out.
    """
    targets = {topic.source_id: topic.target_id for topic in absent}
    selected = select(load_filter(spec.filter), [topic.source for topic in absent])
    return [
        _lane(spec, lane.lane.topic_id, lane.source, lane.target, targets[lane.lane.topic_id], spec.mode, decisions)
        for lane in begun
        if lane.lane.topic_id in targets and lane.source.topic in selected
    ]


def _lane(
    spec: LinkSpec,
    source_id: TopicId,
    source: TopicPartition,
    target: TopicPartition,
    target_id: TopicId,
    mode: ModePolicy,
    decisions: Mapping[SourcePartition, LaneDecision],
) -> LaneAssignment:
    start = spec.start.for_lane(source)
    decided = decisions.get(SourcePartition(source_id, source.partition))
    return LaneAssignment(
        LaneKey(spec.id, source_id, source.partition) if decided is None else decided.lane,
        source,
        target,
        target_id,
        start if decided is None else decided.start_or(start),
        mode,
        None if decided is None else decided.skip,
    )


def late_from_the_start(link: str, lanes: list[LaneAssignment], persisted: Iterable[LaneKey]) -> list[LaneAssignment]:
    """A partition that appears while the link runs has no record from before it: none of it may be skipped."""
    begun = {lane for lane in persisted if lane.link == link}
    if not begun:
        return lanes
    return [
        lane if lane.lane in begun or lane.start.kind is not StartKind.LATEST else replace(lane, start=LaneStart())
        for lane in lanes
    ]


async def weigh(
    cluster: Cluster,
    lanes: Sequence[LaneAssignment],
    source: ClusterMetadata,
    persisted: Mapping[LaneKey, LaneProgress],
) -> dict[LaneAssignment, float]:
    """An estimate of the bytes that each lane has to copy, at least 1."""
    by_leader: dict[int, dict[tuple[str, int], tuple[int, int]]] = {}
    for lane in lanes:
        topic = source.topics.get(lane.source.topic)
        part = None if topic is None else topic.partitions.get(lane.source.partition)
        if part is not None and part.leader >= 0:
            by_leader.setdefault(part.leader, {})[(lane.source.topic, lane.source.partition)] = (LATEST, -1)
    ends: dict[tuple[str, int], int] = {}
    for leader, wanted in by_leader.items():
        try:
            answers = await list_offsets(await cluster.connection(leader), wanted)
        except AnabranchError:
            continue  # an unknown end makes a lane light, nothing else
        ends |= {key: answer.offset for key, answer in answers.items() if answer.code == 0}
    weights = {}
    for lane in lanes:
        progress = persisted.get(lane.lane)
        position, mean = 0, _DEFAULT_RECORD_BYTES
        if progress is not None:
            position = progress.position
            mean = progress.bytes / progress.records if progress.records else mean
        behind = max(0, ends.get((lane.source.topic, lane.source.partition), 0) - position)
        rate = progress.bytes_per_s * 60 if progress is not None else 0.0
        weights[lane] = 1.0 + behind * mean + rate
    return weights
