"""The offset maps of a link's lanes, exact or refused: what every position is translated by.

Persisted ranges are an index of the target's log that workers write about once a second, and the log is the truth.  A
map is read from the index and checked against the log just where the index may be wrong:

(a) Ranges lag behind the log.  The map ends where they end (or where (b) ends it); past it the answer is ``After``.
(b) Progress tells ``position``, below which every record was copied or is none to be copied, with ``target_end``, the
    target offset that belongs to it.  Behind the last range that is a gap, most often the marker of the last
    transaction.  The map is advanced to both, so that a group that has read everything is translated to the
    target's end, but only when the log holds no record of the lane between the last range and ``target_end``: a lane
    that lost its ownership persists progress before the next owner persists its ranges.  And only if the lane was not
    claimed since: the next owner may have found the log shorter, and have copied something else there.
(c) Segments of ranges may be overwritten by an older version, when a request of a worker that was stopped is carried
    out late: its owner epoch tells, and what was there before holds.  Where none tells (identity lanes, or compaction
    was between) the owner notices and persists them again, every ten seconds.  Inside one stored segment ranges follow
    each other as they were copied, so what is missing lies between two segments, before the first, or behind the
    last, and takes up target offsets there: where the target offsets of neighbours continue each other nothing is
    missing, and elsewhere the headers of the log between them are looked at.  Records of the lane that are found
    are told by its claims and gap records, as the lane's next owner would, and complete the map.  Where that cannot be
    done, or ranges contradict each other or the log, the lane is in doubt: asking for its map raises
    ``LaneInDoubtError``. Where segments are missing and the target's log begins behind them they were retired, as the
    source has deleted the same records (``state.segments.retiring``): the map begins behind them, and older positions
    are ``Before`` it.
(d) The map never ends past the high watermark of the target.  In an identity lane gaps before a record are filled
    by empty transactions; the source's last gap is not, until a record follows: the source's end is then higher
    than the target's, and its position is the target's end.
(e) A lane is told of about a second after it was claimed.  Of those that are not told of yet, or never will be since
    their worker has ended, claims tell, and the log (``state.maps.untold``); so do those that a way back has adopted.
(f) Lanes of an earlier generation, or of a topic that was made again, are left out (``Links.standing``).  Offsets that
    a person has accepted as lost were passed without a copy: they are a gap.  So are a source offset before a gap
    that another writer left in the target, and that gap is foreign.

A map begins at the lane's start, which its claims tell, and on the target at the log's end before its first claim;
where segments were retired it begins with the first range that is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar
from uuid import UUID

from anabranch.errors import AnabranchError, RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog, LogEntry
from anabranch.kafka.partitions import EARLIEST, LATEST, list_offsets
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import LinkSpec, UnknownLinkError
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import OffsetMap
from anabranch.state.codecs import ranges as range_codec
from anabranch.state.codecs import topics as control_topics
from anabranch.state.maps.recovery import PURPOSE, MapRecovery, TargetLog
from anabranch.state.maps.untold import untold_lanes
from anabranch.state.segments.index import Segments
from anabranch.state.topics.control import Links, Progress, present
from anabranch.state.topics.journal import GapRecords, Journal

_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class LaneMap:
    """One lane that has begun, with its map; ``updated_at_ms`` is when its owner last persisted where it stands."""

    lane: LaneKey
    source: TopicPartition
    target: TopicPartition
    mode: LaneMode
    ranges: OffsetMap
    state: LaneState
    updated_at_ms: int


@dataclass(eq=False)
class LaneInDoubtError(RefusedError):
    """What is persisted of a lane does not agree with the target's log, so that no answer from it would be exact."""

    link: str
    source: TopicPartition
    target: TopicPartition
    reason: str

    retryable: ClassVar[bool] = True

    _message = "link {link!r}: no exact map of {source} to {target}: {reason}"
    _hint = "a running link persists again within some seconds: ask again; `anabranch link show {link}`"


@dataclass(frozen=True, slots=True)
class LinkMaps:
    """The maps of one link, as they were read at one moment.

    ``topics`` maps each source topic that the link copies to its target's name, those too of which nothing was copied
    yet.  ``doubts`` holds the refusals by source partition.  Iteration yields the exact maps, by source partition.
    """

    spec: LinkSpec
    topics: Mapping[str, str]
    maps: Mapping[TopicPartition, LaneMap]
    doubts: Mapping[TopicPartition, LaneInDoubtError] = field(default_factory=dict)
    _back: dict[TopicPartition, TopicPartition] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        back = {one.target: one.source for one in self.maps.values()}
        back |= {one.target: one.source for one in self.doubts.values()}
        object.__setattr__(self, "_back", back)

    @property
    def link(self) -> str:
        """The link's id."""
        return self.spec.id

    def of_source(self, partition: TopicPartition) -> LaneMap | None:
        """The map of a source partition; None where the link does not copy it, or has not begun to.

        Raises LaneInDoubtError.
        """
        if partition in self.doubts:
            raise self.doubts[partition]
        return self.maps.get(partition)

    def of_target(self, partition: TopicPartition) -> LaneMap | None:
        """The map of the lane that fills a target partition, or None; raises LaneInDoubtError."""
        source = self._back.get(partition)
        return None if source is None else self.of_source(source)

    def source_of(self, target_topic: str) -> str | None:
        """The name of the topic that a target topic is copied from, or None."""
        return next((source for source, target in self.topics.items() if target == target_topic), None)

    def __iter__(self) -> Iterator[LaneMap]:
        return iter(sorted(self.maps.values(), key=lambda one: one.source))

    def __len__(self) -> int:
        return len(self.maps)


async def read_maps(
    target: Cluster,
    link_id: str,
    partitions: Collection[TopicPartition] | None = None,
    *,
    of_topics: Collection[str] | None = None,
) -> LinkMaps:
    """The maps of a link, or of some of its source partitions or topics, read from the target alone.

    Of no partition nothing but the link is read.  The target's principal needs READ on its topics.  Raises
    UnknownLinkError, ClusterError.
    """
    links, progress = Links(target), Progress(target)
    if await present(target, [control_topics.LINKS]):
        await links.sync()
    record = links.links.get(link_id)
    if record is None:
        raise UnknownLinkError(link_id, target.name)
    topics = {topic.source: topic.target for topic in links.topics_of(link_id)}
    if partitions is not None and not partitions:
        return LinkMaps(record.wanted.spec, topics, {})
    # Progress before ranges: what it tells of has been persisted by then.  Claims and the log after both: who has
    # written what is found is known.
    await progress.sync()
    wanted = None if partitions is None else set(partitions)
    told = list(progress.lanes.of(link_id))
    journal, known = Journal(target), {lane.lane for lane in told}
    told += untold_lanes(links, record.wanted.spec, await journal.read(), known)
    lanes = [
        lane
        for lane in links.standing(link_id, told)
        if (wanted is None or lane.source in wanted) and (of_topics is None or lane.source.topic in of_topics)
    ]
    segments = await _segments(target, {lane.lane for lane in lanes})
    claims, gap_records = await journal.read(), await GapRecords(target).read()
    ids = {topic.target: topic.target_id.uuid for topic in links.topics_of(link_id)}
    logs = await _logs(target, [lane.target for lane in lanes], ids)
    mender = MapRecovery(target, claims, gap_records)
    maps: dict[TopicPartition, LaneMap] = {}
    doubts: dict[TopicPartition, LaneInDoubtError] = {}
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def one(lane: LaneProgress) -> None:
        log = logs[lane.target]
        if isinstance(log, str):
            doubts[lane.source] = LaneInDoubtError(link_id, lane.source, lane.target, log)
            return
        try:
            async with at_once:
                ranges = await mender.build(lane, segments[lane.lane], log)
        except AnabranchError as error:
            doubts[lane.source] = LaneInDoubtError(link_id, lane.source, lane.target, error.message)
            return
        if ranges is not None:
            maps[lane.source] = LaneMap(
                lane.lane, lane.source, lane.target, lane.mode, ranges, lane.state, lane.updated_at_ms
            )

    await asyncio.gather(*(one(lane) for lane in lanes))
    return LinkMaps(record.wanted.spec, topics, maps, doubts)


async def _segments(target: Cluster, lanes: Collection[LaneKey]) -> dict[LaneKey, dict[int, bytes]]:
    """The persisted segments of some lanes as they are stored; those of others, which may be gigabytes, are not
    held.
    """
    found = {lane: Segments() for lane in lanes}
    prefixes = {str(lane).encode() for lane in lanes}

    def take(entry: LogEntry) -> None:
        if entry.key.rpartition(b"/")[0] not in prefixes:
            return
        lane, number = range_codec.parse_key(entry.key)
        if entry.value is None:
            found[lane].discard(number)
        else:
            found[lane].keep(number, entry.value)

    if lanes:
        await KeyedLog(target, control_topics.RUNS).fold(take)
    return {lane: {number: segments.stored(number) for number in segments} for lane, segments in found.items()}


async def _logs(
    target: Cluster, partitions: Collection[TopicPartition], ids: Mapping[str, UUID]
) -> dict[TopicPartition, TargetLog | str]:
    """The target partitions as they are now, or why one cannot be looked at."""
    if not partitions:
        return {}
    answer = await target.metadata(sorted({partition.topic for partition in partitions}))
    logs: dict[TopicPartition, TargetLog | str] = {}
    by_leader: dict[int, dict[tuple[str, int], int]] = {}
    for partition in partitions:
        topic = answer.topics[partition.topic]
        part = topic.partitions.get(partition.partition)
        if topic.error or part is None:
            logs[partition] = f"target topic {topic.name} is not there"
        elif topic.id != ids.get(topic.name, topic.id):
            logs[partition] = f"target topic {topic.name} was deleted and made again"
        elif part.leader < 0:
            logs[partition] = f"target partition {partition} has no leader"
        else:
            by_leader.setdefault(part.leader, {})[(partition.topic, partition.partition)] = part.leader_epoch
    for leader, asked in by_leader.items():
        connection = await target.connection(leader, PURPOSE)
        ends = [
            await list_offsets(connection, {key: (at, epoch) for key, epoch in asked.items()})
            for at in (EARLIEST, LATEST)
        ]
        for key, epoch in asked.items():
            partition = TopicPartition(*key)
            first, last = (found[key] for found in ends)
            if first.code or last.code:
                logs[partition] = f"the broker answers {first.code or last.code} for target partition {partition}"
            else:
                logs[partition] = TargetLog(answer.topics[key[0]].id, leader, epoch, first.offset, last.offset)
    return logs
