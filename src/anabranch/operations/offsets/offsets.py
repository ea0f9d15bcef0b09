"""Offsets of a link as people ask for them: translate some, a file's or a group's; show and export the maps."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from anabranch.errors import ConfigError, RefusedError
from anabranch.kafka.groups import committed
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneKey
from anabranch.model.positions import Answered, AnswerKind, LaneRuns, Pair, StoredRun, Translation
from anabranch.model.topics import TopicPartition
from anabranch.offsets import codec
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
from anabranch.state.maps.reading import LaneInDoubtError, LaneMap, LinkMaps, read_maps

Question = tuple[TopicPartition, int]


@dataclass(eq=False)
class TopicNotInLinkError(ConfigError):
    """A topic that was asked about and that the link does not copy, or has not begun to."""

    link: str
    topic: str
    side: str
    known: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"link {self.link!r} has no {self.side} topic {self.topic!r}"

    @property
    def hint(self) -> str:
        some = ", ".join(self.known[:5]) + (", ..." if len(self.known) > 5 else "")
        return f"it has {some}" if self.known else f"it has not begun: anabranch link run {self.link}"


@dataclass(eq=False)
class NotBegunError(RefusedError):
    """A link whose maps are asked for has copied nothing yet, so that it has none."""

    link: str

    @property
    def message(self) -> str:
        return f"link {self.link!r} has no maps: none of its lanes has begun"

    @property
    def hint(self) -> str:
        return f"it has some once it copies: anabranch link run {self.link}"


@dataclass(eq=False)
class NoLaneError(RefusedError):
    """A partition of one of the link's topics that no lane has begun to copy, or that is not there."""

    link: str
    partition: TopicPartition

    @property
    def message(self) -> str:
        return f"link {self.link!r} has no lane for {self.partition}"

    @property
    def hint(self) -> str:
        return f"`anabranch offsets runs {self.link} {self.partition.topic}` shows the lanes that have begun"


@dataclass(eq=False)
class GroupUnknownError(RefusedError):
    """A group whose commits are asked for has none."""

    group: str
    cluster: str

    @property
    def message(self) -> str:
        return f"group {self.group!r} of {self.cluster} has committed nothing"

    @property
    def hint(self) -> str:
        return "the group is looked for on the side that is translated from: see --reverse"


def translate(
    target: ClusterContext, link_id: str, questions: Sequence[Question], *, reverse: bool = False, records: bool = False
) -> Translation:
    """Translate offsets of source partitions, with ``reverse`` of target partitions.

    An offset is the next record to read; with ``records`` the very record there is meant.  Raises
    UnknownLinkError, TopicNotInLinkError, ClusterError; refusals of single offsets are among the answers.
    """
    maps = _read(target, link_id, None if reverse else {partition for partition, _ in questions})
    known = sorted(maps.topics.values() if reverse else maps.topics)
    for partition, _ in questions:
        if partition.topic not in known:
            raise TopicNotInLinkError(link_id, partition.topic, "target" if reverse else "source", tuple(known))
    return translated(maps, questions, reverse=reverse, records=records)


def translate_group(
    source: ClusterContext, target: ClusterContext, link_id: str, group: str, *, reverse: bool = False
) -> Translation:
    """Translate everything that a group has committed on the source, with ``reverse`` on the target.

    Commits are read before the maps, so that what was copied by then is known.  Topics that are not in the link are
    among the refusals.  Raises UnknownLinkError, GroupUnknownError, UnstableCommitsError, ClusterError.
    """

    async def commits(context: ClusterContext) -> list[Question]:
        async with open_cluster(context) as cluster:
            found = (await committed(cluster, [group])).get(group, {})
        return sorted((partition, commit.offset) for partition, commit in found.items())

    side = target if reverse else source
    questions = asyncio.run(commits(side))
    if not questions:
        raise GroupUnknownError(group, side.name)
    return translated(_read(target, link_id, None), questions, reverse=reverse)


def runs(target: ClusterContext, link_id: str, where: str | None = None) -> Sequence[LaneRuns]:
    """The maps of a link, of one source topic, or of one partition, ``TOPIC-PARTITION``.

    A topic's name comes first where both could be meant.  Raises UnknownLinkError, TopicNotInLinkError,
    NoLaneError, LaneInDoubtError, ClusterError.
    """
    maps = _read(target, link_id, None)
    chosen = [*maps, *maps.doubts.values()]
    if where is not None:
        topic, _, number = where.rpartition("-")
        if where in maps.topics:
            chosen = [one for one in chosen if one.source.topic == where]
        elif topic in maps.topics and number.isascii() and number.isdecimal():
            at = TopicPartition(topic, int(number))
            chosen = [one for one in chosen if one.source == at]
            if not chosen:
                raise NoLaneError(link_id, at)
        else:
            raise TopicNotInLinkError(link_id, where, "source", tuple(sorted(maps.topics)))
    return tuple(lane_runs(one) for one in _certain(chosen))


def export(target: ClusterContext, link_id: str) -> tuple[str, str, Mapping[LaneKey, bytes], Sequence[LaneRuns]]:
    """Everything that translates a link without its clusters: the contexts of source and target, each lane's stored
    runs, and the maps.  Raises UnknownLinkError, NotBegunError, LaneInDoubtError, ClusterError.
    """
    return exported(_read(target, link_id, None))


def exported(maps: LinkMaps) -> tuple[str, str, Mapping[LaneKey, bytes], Sequence[LaneRuns]]:
    """What ``export`` answers; raises NotBegunError, LaneInDoubtError."""
    certain = _certain([*maps, *maps.doubts.values()])
    if not certain:
        raise NotBegunError(maps.link)
    stored = {one.lane: codec.encode(one.runs) for one in certain}
    return maps.spec.source.context, maps.spec.target.context, stored, tuple(lane_runs(one) for one in certain)


def translated(
    maps: LinkMaps, questions: Iterable[Question], *, reverse: bool = False, records: bool = False
) -> Translation:
    """The answers of maps that were read."""
    answers = tuple(_answer(maps, partition, offset, reverse, records) for partition, offset in questions)
    return Translation(maps.link, (maps.spec.source if reverse else maps.spec.target).context, answers)


def lane_runs(lane: LaneMap) -> LaneRuns:
    """A map as a plain value."""
    runs = lane.runs
    return LaneRuns(
        lane.lane,
        lane.source,
        lane.target,
        lane.mode,
        lane.state,
        lane.updated_at_ms,
        runs.source_start,
        runs.target_start,
        runs.source_end,
        runs.target_end,
        runs.records,
        tuple(StoredRun(run.source, run.target, run.length) for run in runs),
    )


def _read(target: ClusterContext, link_id: str, partitions: Collection[TopicPartition] | None) -> LinkMaps:
    async def read() -> LinkMaps:
        async with open_cluster(target) as cluster:
            return await read_maps(cluster, link_id, partitions)

    return asyncio.run(read())


def _certain(chosen: Sequence[LaneMap | LaneInDoubtError]) -> list[LaneMap]:
    found: list[LaneMap] = []
    for one in chosen:
        if isinstance(one, LaneInDoubtError):
            raise one
        found.append(one)
    return found


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
        answer: Answer = (record_to_source if records else to_source)(lane.runs, offset)
    else:
        answer = (record_to_target if records else to_target)(lane.runs, offset)
    if isinstance(answer, Exact):
        why = answer.reason.value if answer.reason is not None else ""
        return Answered(partition, offset, AnswerKind.EXACT, to, answer.offset, why)
    if isinstance(answer, Before):
        why = f"the map begins at {answer.start:,}: older records were not copied, or are gone on both sides"
        return Answered(partition, offset, AnswerKind.BEFORE, to, why=why, above=Pair(answer.start, answer.translated))
    if isinstance(answer, After):
        why = f"all is accounted for up to {answer.end:,} only"
        return Answered(partition, offset, AnswerKind.AFTER, to, why=why, below=Pair(answer.end, answer.translated))
    below, above = (_pair(one, reverse) for one in (answer.below, answer.above))
    return Answered(partition, offset, AnswerKind.UNMAPPED, to, why=answer.reason.value, below=below, above=above)


def _pair(copied: Copied | None, reverse: bool) -> Pair | None:
    if copied is None:
        return None
    return Pair(copied.target, copied.source) if reverse else Pair(copied.source, copied.target)
