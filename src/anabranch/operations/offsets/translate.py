"""Translate offsets by a link's maps: single ones, a file's, or what a group has committed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    target: Cluster, link_id: str, questions: Sequence[Question], *, reverse: bool = False, records: bool = False
) -> Translation:
    """Translate offsets of source partitions, with ``reverse`` of target partitions.

    An offset is the next record to read; with ``records`` the very record there is meant.  Raises
    UnknownLinkError, TopicNotInLinkError, ClusterError; refusals of single offsets are among the answers.
    """
    maps = await read_maps(target, link_id, None if reverse else {partition for partition, _ in questions})
    known = sorted(maps.topics.values() if reverse else maps.topics)
    for partition, _ in questions:
        if partition.topic not in known:
            raise TopicNotInLinkError(link_id, partition.topic, "target" if reverse else "source", tuple(known))
    return translated(maps, questions, reverse=reverse, records=records)


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
    maps: LinkMaps, questions: Iterable[Question], *, reverse: bool = False, records: bool = False
) -> Translation:
    """The answers of maps that were read."""
    answers = tuple(_answer(maps, partition, offset, reverse, records) for partition, offset in questions)
    return Translation(maps.link, (maps.spec.source if reverse else maps.spec.target).context, answers)


def _answer(maps: LinkMaps, partition: TopicPartition, offset: int, reverse: bool, records: bool) -> Answered:
    try:
        lane = maps.of_target(partition) if reverse else maps.of_source(partition)
    except LaneInDoubtError as error:
        return Answered(partition, offset, AnswerKind.UNKNOWN, why=error.reason)
    if lane is None:
        known = maps.topics.values() if reverse else maps.topics
        why = "no lane has begun to copy it" if partition.topic in known else "the link does not copy this topic"
        return Answered(partition, offset, AnswerKind.UNKNOWN, why=why)
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


def _pair(copied: Copied | None, reverse: bool) -> OffsetPair | None:
    if copied is None:
        return None
    return OffsetPair(copied.target, copied.source) if reverse else OffsetPair(copied.source, copied.target)
