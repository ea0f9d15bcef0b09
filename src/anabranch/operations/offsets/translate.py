"""Translate offsets by a link's maps: single ones, a file's, or what a group has committed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from anabranch.errors import ConfigError, RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups import committed
from anabranch.model.positions import Answered, AnswerKind, OffsetPair, Translation
from anabranch.model.topics import TopicPartition
from anabranch.offsets.translate import (
    After,
    Answer,
    Before,
    Copied,
    Exact,
    record_to_source,
    record_to_target,
    to_source,
    to_target,
)
from anabranch.state.maps.reading import LaneInDoubtError, LinkMaps, read_maps

Question = tuple[TopicPartition, int]


@dataclass(eq=False)
class TopicNotInLinkError(ConfigError):
    """A topic that was asked about and that the link does not copy, or has not begun to."""

    link: str
    topic: str
    side: str
    known: tuple[str, ...]

    _message = "link {link!r} has no {side} topic {topic!r}"

    @property
    def hint(self) -> str:
        some = ", ".join(self.known[:5]) + (", ..." if len(self.known) > 5 else "")
        return f"it has {some}" if self.known else f"it has not begun: anabranch link run {self.link}"


@dataclass(eq=False)
class GroupUnknownError(RefusedError):
    """A group whose commits are asked for has none."""

    group: str
    cluster: str

    _message = "group {group!r} of {cluster} has committed nothing"
    _hint = "the group is looked for on the side that is translated from: see --reverse"


async def translate(
    target: Cluster,
    link_id: str,
    questions: Sequence[Question],
    *,
    reverse: bool = False,
    records: bool = False,
    read: Callable[[Cluster, str, Collection[TopicPartition] | None], Awaitable[LinkMaps]] = read_maps,
) -> Translation:
    """Translate offsets of source partitions, with ``reverse`` of target partitions.

    An offset is the next record to read; with ``records`` the very record there is meant.  ``read`` reads the link's
    maps.  Raises
    UnknownLinkError, TopicNotInLinkError, ClusterError; refusals of single offsets are among the answers.
    """
    maps = await read(target, link_id, None if reverse else {partition for partition, _ in questions})
    known = sorted(maps.topics.values() if reverse else maps.topics)
    for partition, _ in questions:
        if partition.topic not in known:
            raise TopicNotInLinkError(link_id, partition.topic, "target" if reverse else "source", tuple(known))
    partitions = await _partitions(target, maps, [partition for partition, _ in questions], reverse)
    return translated(maps, questions, reverse=reverse, records=records, partitions=partitions)


async def _partitions(
    target: Cluster, maps: LinkMaps, asked: Iterable[TopicPartition], reverse: bool
) -> dict[str, int]:
    """How many partitions target topics have of which a partition was asked about that has no lane."""
    known = {*maps.maps, *maps.doubts}
    begun = {(one.target if reverse else one.source) for one in maps} | (set() if reverse else known)
    topics = {one.topic if reverse else maps.topics[one.topic] for one in asked if one not in begun}
    if not topics:
        return {}
    answer = await target.metadata(sorted(topics))
    return {name: len(topic.partitions) for name, topic in answer.topics.items() if not topic.error}


async def translate_group(
    source: Cluster, target: Cluster, link_id: str, group: str, *, reverse: bool = False
) -> Translation:
    """Translate everything that a group has committed on the source, with ``reverse`` on the target.

    Commits are read before the maps, so that what was copied by then is known.  Topics that are not in the link are
    among the refusals.  Raises UnknownLinkError, GroupUnknownError, UnstableCommitsError, ClusterError.
    """
    side = target if reverse else source
    commits = (await committed(side, [group])).get(group, {})
    if not commits:
        raise GroupUnknownError(group, side.name)
    questions = sorted((partition, commit.offset) for partition, commit in commits.items())
    return translated(await read_maps(target, link_id, None), questions, reverse=reverse)


def translated(
    maps: LinkMaps,
    questions: Iterable[Question],
    *,
    reverse: bool = False,
    records: bool = False,
    partitions: Mapping[str, int] = MappingProxyType({}),
) -> Translation:
    """The answers of maps that were read; ``partitions`` are how many target topics have, as far as that is known."""
    answers = tuple(_answer(maps, partition, offset, reverse, records, partitions) for partition, offset in questions)
    return Translation(maps.link, (maps.spec.source if reverse else maps.spec.target).context, answers)


def _answer(
    maps: LinkMaps,
    partition: TopicPartition,
    offset: int,
    reverse: bool,
    records: bool,
    partitions: Mapping[str, int],
) -> Answered:
    try:
        lane = maps.of_target(partition) if reverse else maps.of_source(partition)
    except LaneInDoubtError as error:
        return Answered(partition, offset, AnswerKind.UNKNOWN, why=error.reason)
    if lane is None:
        return Answered(partition, offset, AnswerKind.UNKNOWN, why=_why_no_lane(maps, partition, reverse, partitions))
    to = lane.source if reverse else lane.target
    if reverse:
        answer: Answer = (record_to_source if records else to_source)(lane.ranges, offset)
    else:
        answer = (record_to_target if records else to_target)(lane.ranges, offset)
    if isinstance(answer, Exact):
        why = answer.reason.value if answer.reason is not None else ""
        return Answered(partition, offset, AnswerKind.EXACT, to, answer.offset, why)
    if isinstance(answer, Before):
        why = f"the map begins at {answer.start:,}: older records were not copied, or are gone on both sides"
        return Answered(
            partition, offset, AnswerKind.BEFORE, to, why=why, above=OffsetPair(answer.start, answer.translated)
        )
    if isinstance(answer, After):
        why = f"all is accounted for up to {answer.end:,} only"
        return Answered(
            partition, offset, AnswerKind.AFTER, to, why=why, below=OffsetPair(answer.end, answer.translated)
        )
    below, above = (_pair(one, reverse) for one in (answer.below, answer.above))
    return Answered(partition, offset, AnswerKind.UNMAPPED, to, why=answer.reason.value, below=below, above=above)


def _why_no_lane(maps: LinkMaps, partition: TopicPartition, reverse: bool, partitions: Mapping[str, int]) -> str:
    """The link makes a target partition before a lane of that number begins: where it is missing no lane is near."""
    if partition.topic not in (maps.topics.values() if reverse else maps.topics):
        return "the link does not copy this topic"
    target = partition.topic if reverse else maps.topics[partition.topic]
    number = partitions.get(target)
    if number is None or partition.partition < number:
        return "no lane has begun to copy it"
    has = "1 partition" if number == 1 else f"{number:,} partitions"
    what = f"there is no partition {partition.partition:,}" if reverse else "no lane has begun to copy it"
    return f"{what}: target topic {target} has {has}"


def _pair(copied: Copied | None, reverse: bool) -> OffsetPair | None:
    if copied is None:
        return None
    return OffsetPair(copied.target, copied.source) if reverse else OffsetPair(copied.source, copied.target)
