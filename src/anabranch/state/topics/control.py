"""The control topics on the target as a running link uses them: what is wanted, and what was persisted.

Everything that must outlive a worker, a driver or this machine is here; reading is incremental, so looking
once a second costs two requests a topic.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from anabranch.errors import ClusterError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.kafka.log import Headers, KeyedLog, LogEntry
from anabranch.kafka.settling import until_led
from anabranch.model.clock import now_ms
from anabranch.model.decisions import LaneDecision, SourcePartition
from anabranch.model.lane import LaneKey, LaneProgress
from anabranch.model.link import LinkRecord, MirroredTopic
from anabranch.model.reports import EVERY_RUN, LinkPlan, StopRequest
from anabranch.model.topics import TopicId
from anabranch.offsets.offset_map import MAX_OFFSET, MappedRange
from anabranch.state.codecs import links as link_codec
from anabranch.state.codecs import progress as progress_codec
from anabranch.state.codecs import ranges as range_codec
from anabranch.state.codecs import topics
from anabranch.state.segments.index import HELD, OffsetMapIndex, OlderRangesError, Segments
from anabranch.state.segments.retiring import SegmentStarts, Starts
from anabranch.state.topics.first_writer import FirstWriter, read_up_to
from anabranch.state.topics.materialized_topic import MaterializedTopic
from anabranch.state.topics.owner_liveness import OwnerLiveness
from anabranch.state.topics.storedlanes import StoredLanes

_CHUNK = 500
_CHUNK_BYTES = 512 << 10  # a batch of a control topic must stay below the default max.message.bytes
_READ_BACK_S = 0.05
_READ_BACK_TRIES = 200  # a new leader may not show yet what was acknowledged


class ControlLostError(ClusterError):
    """A control record could not be written, or it is not known whether it was."""

    retryable = True

    _message = "a record in a control topic was not acknowledged"


@dataclass(eq=False)
class OvertakenError(ClusterError):
    """A change of a link is void: somebody else has changed the link since it was read."""

    link: str

    retryable = True

    _message = "link {link!r} was changed by somebody else at the same time"
    _hint = "look again: `anabranch link show {link}`"


async def ensure_topics(cluster: Cluster, names: Sequence[str] = topics.ALL) -> None:
    """Create the control topics that are missing, each with its configuration; returns when they can be used."""
    answer = await cluster.metadata(list(names))
    missing = [name for name in names if answer.topics[name].error == UNKNOWN_TOPIC]
    replicas = topics.replication_factor(len(answer.brokers))
    for name in missing:
        await admin.create_topic(cluster, name, topics.PARTITIONS, replicas, topics.configs(replicas))
    await until_led(cluster, missing)


async def present(cluster: Cluster, names: Sequence[str] = topics.ALL) -> list[str]:
    """The control topics that are there: somebody may have deleted one."""
    answer = await cluster.metadata(list(names))
    return [name for name in names if answer.topics[name].error != UNKNOWN_TOPIC]


class Links:
    """``__anabranch_links``: links, the topics that they fill, and what was decided about their lanes.

    A change rests on what was read last: ``put``, ``decide`` and ``drop`` raise OvertakenError where the link was
    changed since, and then nothing of theirs counts, for any reader (:mod:`anabranch.state.topics.first_writer`).
    """

    def __init__(self, cluster: Cluster) -> None:
        self._log = KeyedLog(cluster, topics.LINKS)
        self.links: dict[str, LinkRecord] = {}
        self.mirrored: dict[tuple[str, TopicId], MirroredTopic] = {}
        self.stored_at: dict[tuple[str, TopicId], int] = {}
        """The offset at which each of ``mirrored`` was stored first, as far as the log still tells."""
        self.decisions: dict[str, dict[SourcePartition, LaneDecision]] = defaultdict(dict)
        self._first_writer = FirstWriter()
        self._values: dict[bytes, bytes | None] = {}
        self._read = -1

    async def sync(self) -> None:
        """Read what changed."""
        await self._log.fold(self._take)

    def _take(self, entry: LogEntry) -> None:
        if entry.offset <= self._read:  # given a second time, after a reading that broke off
            return
        link, about = link_codec.parse_key(entry.key)
        if self._first_writer.counts(link, entry, is_own=about is None):
            self._values[entry.key] = entry.value
            self._fold(link, about, entry)
        self._read = entry.offset

    def _fold(self, link: str, about: TopicId | SourcePartition | None, entry: LogEntry) -> None:
        """What a record that counts tells."""
        if about is None:
            if entry.value is None:
                self.links.pop(link, None)
            else:
                self.links[link] = link_codec.decode_link(entry.key, entry.value)
        elif isinstance(about, SourcePartition):
            if entry.value is None:
                self.decisions[link].pop(about, None)
            else:
                self.decisions[link][about] = link_codec.decode_decision(entry.key, entry.value)
        elif entry.value is None:
            self.mirrored.pop((link, about), None)
            self.stored_at.pop((link, about), None)
        else:
            self.mirrored[(link, about)] = link_codec.decode_topic(entry.key, entry.value)
            self.stored_at.setdefault((link, about), entry.offset)

    def topics_of(self, link: str) -> list[MirroredTopic]:
        """The topics that one link fills."""
        return [topic for (owner, _), topic in self.mirrored.items() if owner == link]

    def lane_of(self, link: str, source_id: TopicId, partition: int) -> LaneKey:
        """The lane of a source partition, in the generation that holds now."""
        decided = self.decisions[link].get(SourcePartition(source_id, partition))
        return LaneKey(link, source_id, partition) if decided is None else decided.lane

    def standing(self, link: str, lanes: Iterable[LaneProgress]) -> Iterator[LaneProgress]:
        """The lanes that are still a link's: neither an earlier generation nor one of a topic that was made again."""
        sources = {topic.target: topic.source_id for topic in self.topics_of(link)}
        for lane in lanes:
            key = lane.lane
            of_today = sources.get(lane.target.topic, key.topic_id) == key.topic_id
            if of_today and self.lane_of(link, key.topic_id, key.partition) == key:
                yield lane

    async def put(self, record: LinkRecord) -> None:
        """Store a link as it is wanted; raises OvertakenError, ControlLostError."""
        await self._change(record.wanted.spec.id, [], link_codec.encode_link(record))

    async def drop(self, link: str) -> None:
        """Delete a link, and leave its topics and decisions; raises OvertakenError, ControlLostError."""
        await self._change(link, [], None)

    async def settle(self, link: str) -> None:
        """Finish what a writer of the link has left that died before it had read back; raises ControlLostError."""
        await self._settle(link)

    async def _change(self, link: str, entries: list[tuple[bytes, bytes | None]], own: bytes | None) -> None:
        """Write records, last the link's own, if nobody has changed the link since it was read."""
        changed = {link_codec.link_key(link), *(key for key, _ in entries)}
        others = [key for key in self._first_writer.in_doubt(link) if key not in changed]
        entries = [(key, self._values.get(key)) for key in others] + entries
        offset = await self._append([*entries, (link_codec.link_key(link), own)])
        if not self._first_writer.is_certain(offset):
            await self._settle(link)
        if self._first_writer.is_void(offset):
            raise OvertakenError(link)

    async def _settle(self, link: str) -> None:
        """Write what stands once more until a certain record of each key that is in doubt follows.

        Of two who do so at once the first in the log is done, and the other one goes on.
        """
        own, is_certain = link_codec.link_key(link), False
        while not is_certain and (keys := self._first_writer.in_doubt(link)):
            keys = [*(key for key in keys if key != own), own]
            is_certain = self._first_writer.is_certain(
                await self._append([(key, self._values.get(key)) for key in keys])
            )

    async def _append(self, entries: list[tuple[bytes, bytes | None]]) -> int:
        """Append records that rest on what was read, and read up to the last one; its offset."""
        offset = await write(self._log, entries, read_up_to(max(self._log.position, 0)))
        for _ in range(_READ_BACK_TRIES):
            await self.sync()
            if self._log.position > offset:
                return offset
            await asyncio.sleep(_READ_BACK_S)
        raise ControlLostError

    async def put_topic(self, topic: MirroredTopic) -> None:
        """Store where a target topic's records come from; raises ControlLostError."""
        await write(self._log, [(link_codec.topic_key(topic.link, topic.target_id), link_codec.encode_topic(topic))])

    async def forget_topic(self, topic: MirroredTopic) -> None:
        """Forget that a link fills a topic; raises ControlLostError."""
        await write(self._log, [(link_codec.topic_key(topic.link, topic.target_id), None)])

    async def decide(
        self,
        record: LinkRecord,
        decisions: Iterable[LaneDecision],
        remember: Iterable[MirroredTopic],
        forget: Iterable[MirroredTopic],
    ) -> None:
        """Store decisions, the topics that they are about, and last the link, whose revision tells the workers.

        One batch unless there are hundreds.  A crash, or another change, between two leaves decisions that nobody was
        told of, and the same question open: deciding it again is right.  Raises OvertakenError, ControlLostError.
        """
        entries: list[tuple[bytes, bytes | None]] = [
            (link_codec.decision_key(one.link, one.place), link_codec.encode_decision(one)) for one in decisions
        ]
        entries += [(link_codec.topic_key(one.link, one.target_id), link_codec.encode_topic(one)) for one in remember]
        entries += [(link_codec.topic_key(one.link, one.target_id), None) for one in forget]
        await self._change(record.wanted.spec.id, entries, link_codec.encode_link(record))

    async def forget(self, link: str) -> None:
        """Forget the topics of a link that was dropped, and what was decided about it; raises ControlLostError."""
        keys = [link_codec.topic_key(link, topic.target_id) for topic in self.topics_of(link)]
        keys += [link_codec.decision_key(link, place) for place in self.decisions[link]]
        await write(self._log, [(key, None) for key in keys])


class Progress:
    """``__anabranch_progress``: where lanes stand, what was last planned, and which runs are to stop."""

    def __init__(self, cluster: Cluster) -> None:
        self._log = KeyedLog(cluster, topics.PROGRESS)
        self.lanes = StoredLanes()
        self.plans: dict[str, LinkPlan] = {}
        self.stops: dict[str, StopRequest] = {}
        self.liveness = OwnerLiveness()
        self._asked_before: dict[str, int] | None = None
        self._news: dict[LaneKey, str] = {}
        self._keys: dict[bytes, LaneKey | tuple[str, progress_codec.ProgressRecordKind]] = {}

    async def sync(self) -> None:
        """Read what changed; ``liveness`` notes who persisted it."""
        wall, clock = now_ms(), time.monotonic()
        await self._log.fold(lambda entry: self._take(entry, wall, clock))
        if self._asked_before is None:
            self._asked_before = {link: stop.asked_at_ms for link, stop in self.stops.items()}

    def _take(self, entry: LogEntry, wall: int, clock: float) -> None:
        key = self._keys.get(entry.key)
        if key is None:
            key = self._keys[entry.key] = progress_codec.parse_key(entry.key)
        if isinstance(key, tuple):
            self._take_of_link(*key, entry)
        elif entry.value is None:
            self.lanes.drop(key)
            self.liveness.forget(key)
            self._news.pop(key, None)
            del self._keys[entry.key]
        else:
            owner, at_ms = progress_codec.persisted_by(entry.key, entry.value)
            self.lanes.keep(key, entry.key, entry.value)
            self._news[key] = owner
            self.liveness.note(key, owner, clock - max(0, wall - at_ms) / 1000)

    def _take_of_link(self, link: str, about: progress_codec.ProgressRecordKind, entry: LogEntry) -> None:
        """What a record about a link tells."""
        if about is progress_codec.ProgressRecordKind.PLAN:
            self.plans.pop(link, None)
            if entry.value is not None:
                self.plans[link] = progress_codec.decode_plan(entry.key, entry.value)
        else:
            self.stops.pop(link, None)
            if entry.value is not None:
                self.stops[link] = progress_codec.decode_stop(entry.key, entry.value)

    def is_to_stop(self, link: str, run: str) -> bool:
        """Whether a person has asked a run to stop, by its name."""
        return link in self.stops and run in self.stops[link].runs

    def is_meant(self, link: str, run: str) -> bool:
        """Whether a person has asked a run to stop that began when this was first read, by its name or with all.

        A request that was there by then is none of it: no clock tells, since those of two machines differ.
        """
        stop = self.stops.get(link)
        if stop is None or run in stop.runs:
            return stop is not None
        return EVERY_RUN in stop.runs and stop.asked_at_ms != (self._asked_before or {}).get(link)

    async def persist(self, lanes: Iterable[LaneProgress]) -> None:
        """Store where lanes stand; raises ControlLostError."""
        await write(
            self._log, [(progress_codec.lane_key(lane.lane), progress_codec.encode_lane(lane)) for lane in lanes]
        )

    def overwritten(self, owner: str) -> set[LaneKey]:
        """Lanes of which something was read since the last call, and last what somebody else than ``owner``
        persisted.
        """
        news, self._news = self._news, {}
        return {key for key, filer in news.items() if filer != owner}

    async def plan(self, plan: LinkPlan) -> None:
        """Store a plan; raises ControlLostError."""
        await write(self._log, [(progress_codec.plan_key(plan.link), progress_codec.encode_plan(plan))])

    async def stop(self, request: StopRequest) -> None:
        """Ask runs to stop; raises ControlLostError."""
        await write(self._log, [(progress_codec.stop_key(request.link), progress_codec.encode_stop(request))])

    async def forget(self, link: str) -> None:
        """Forget a link's lanes, plan and stopped runs; raises ControlLostError."""
        keys = [progress_codec.lane_key(lane) for lane in self.lanes if lane.link == link]
        keys += [progress_codec.plan_key(link)]
        keys += [progress_codec.stop_key(link)] if link in self.stops else []
        await write(self._log, [(key, None) for key in keys])


class MappedRanges(MaterializedTopic):
    """``__anabranch_runs``: the persisted mapped ranges of lanes, in numbered segments.

    ``held`` is how many of a lane's newest segments are held, None for all: a worker reads those of every lane of a
    target, and needs the end of its own.
    """

    def __init__(self, cluster: Cluster, held: int | None = None) -> None:
        super().__init__(cluster, topics.RUNS)
        self._cluster = cluster
        self.segments: dict[LaneKey, Segments] = defaultdict(lambda: Segments(held))
        self._news: dict[LaneKey, dict[int, bytes]] = {}
        self._changed: set[LaneKey] = set()
        self._epochs: dict[LaneKey, int] = {}
        self._keys: dict[bytes, LaneKey] = {}
        self._begins: dict[LaneKey, SegmentStarts] = defaultdict(SegmentStarts)

    async def sync(self) -> None:
        """Read what changed; takeovers do so at any time, so ``news`` keeps it for whoever asks for it."""
        await self._sync()

    def _take(self, entry: LogEntry) -> None:
        text, _, digits = entry.key.rpartition(b"/")
        lane = self._keys.get(text)
        if lane is None or not digits.isdigit():
            lane, number = range_codec.parse_key(entry.key)
            self._keys[text] = lane
        else:
            number = int(digits)
        if entry.value is None:
            self.segments[lane].discard(number)
            self._begins[lane].drop(number)
        else:
            range_codec.check(entry.key, entry.value)
            self.segments[lane].keep(number, entry.value)
            if number not in self.segments[lane].overwritten:  # what came late may begin elsewhere
                self._begins[lane].keep(number, range_codec.owned(entry.value)[1])
        if lane in self._news:
            self._news[lane][number] = range_codec.owned(entry.value or b"")[1]
        else:
            self._changed.add(lane)

    def book(self, lane: LaneKey) -> OffsetMapIndex:
        """The book of a lane as it is persisted; what was read of it until now is no news.  Raises RangeOrderError."""
        segments = self.segments.get(lane, Segments())
        book = OffsetMapIndex.of_segments(segments)
        book.persisted()
        if segments.overwritten:
            book.persist_again(min(segments.overwritten))  # compaction would leave what came late
        self._changed.discard(lane)
        self._news[lane] = {}
        return book

    async def whole_book(self, lane: LaneKey) -> OffsetMapIndex:
        """``book``; where a cut has left none of the segments that are held, read from the topic.

        Raises ClusterError, RangeOrderError.
        """
        if not self.lacks(lane):
            return self.book(lane)
        book = await self.book_below(lane, MAX_OFFSET)
        book.persisted()
        self._changed.discard(lane)
        self._news[lane] = {}
        return book

    def lacks(self, lane: LaneKey) -> bool:
        """Whether none of a lane's segments are held though some may be stored: a cut went below those held."""
        found = self.segments.get(lane)
        return found is not None and found.is_short and not found

    async def book_below(self, lane: LaneKey, target_end: int) -> OffsetMapIndex:
        """The book of what a lane persisted below a target offset, read from the topic; what lies above is to be
        forgotten.

        Where all below was retired it is empty and goes on at the first number that is stored, so that nobody takes
        what is persisted from then on for the lane's whole map.  Raises ClusterError, RangeOrderError.
        """
        found, prefix = Segments(), f"{lane}/".encode()

        def take(entry: LogEntry) -> None:
            if entry.key.startswith(prefix):
                _, number = range_codec.parse_key(entry.key)
                if entry.value is None:
                    found.discard(number)
                else:
                    range_codec.check(entry.key, entry.value)
                    found.keep(number, entry.value)

        await KeyedLog(self._cluster, topics.RUNS).fold(take)
        top, lowest = max(found, default=0), min(found, default=0)
        for number in sorted(found, reverse=True):
            if found.begins(number)[1] < target_end:
                break
            del found[number]
        for number in sorted(found)[:-HELD]:
            del found[number]
        book = OffsetMapIndex.of_segments(found) if found else OffsetMapIndex(first=lowest)
        book.cut(target_end)
        book.forget_above(top)
        return book

    async def cut(self, lane: LaneKey, book: OffsetMapIndex, target_end: int) -> OffsetMapIndex:
        """A lane's book without what lies at or above a target offset; another, read from the topic, where it holds
        nothing below.  Raises ClusterError, RangeOrderError."""
        try:
            book.cut(target_end)
        except OlderRangesError:
            return await self.book_below(lane, target_end)
        return book

    def retirable(self, lane: LaneKey, starts: Starts, book: OffsetMapIndex) -> range:
        """The numbers of a lane's stored segments that tell only of what both of its logs have deleted."""
        return self._begins[lane].retirable(starts, book.first)

    def retired(self, lane: LaneKey, until: int) -> None:
        """A lane's segments below a number were persisted as empty."""
        self._begins[lane].retired(until)

    def keep_news(self, lane: LaneKey) -> None:
        """A lane whose book was kept is copied again: what is held of it is to be looked at."""
        if lane not in self._news:
            self._news[lane] = {number: self.segments[lane].stored(number) for number in self.segments[lane]}

    def claimed(self, lane: LaneKey, claim_offset: int) -> None:
        """The lane was taken over under a claim, and what others persisted before is read: what this process persists
        of it from now on is later.

        Invariant: of two claims the later one has the later epoch, whatever either of them has read.  Claims that were
        made again begin at offset 0, and what was persisted before that stays older.
        """
        read = max(self.epoch(lane), self._epochs.get(lane, 0))
        self._epochs[lane] = (0 if read <= claim_offset else read) + claim_offset + 1

    def epoch(self, lane: LaneKey) -> int:
        """The latest owner epoch of what was read of a lane; above a claim's offset it is a later owner's, or that of
        claims that were lost since."""
        return self.segments[lane].epoch if lane in self.segments else 0

    def is_later_owners(self, lane: LaneKey) -> bool:
        """Whether an owner that claimed a mapped lane after this process has persisted of it, as far as was read."""
        mine = self._epochs.get(lane)
        return mine is not None and self.epoch(lane) > mine

    def leave(self, lane: LaneKey) -> None:
        """A lane is copied here no more: its news are another worker's."""
        if self._news.pop(lane, None) is not None:
            self._changed.add(lane)

    def has_news(self, lane: LaneKey) -> bool:
        """Whether a segment of a lane was read since ``news`` told of them, or since its book was made."""
        return lane in self._changed or bool(self._news.get(lane))

    def news(self, lane: LaneKey) -> dict[int, bytes]:
        """The segments of a lane, as stored, that were read since the last call, or since its book was made."""
        news = self._news.get(lane)
        if not news:
            return {}
        self._news[lane] = {}
        return news

    async def persist(self, segments: Mapping[tuple[LaneKey, int], tuple[MappedRange, ...] | bytes]) -> None:
        """Store changed segments, some of them encoded already; an empty one is forgotten.  Raises ControlLostError."""
        await write(
            self._log,
            [
                (
                    range_codec.range_key(lane, number),
                    self._value(lane, ranges) if ranges else None,
                )
                for (lane, number), ranges in segments.items()
            ],
        )

    def _value(self, lane: LaneKey, ranges: tuple[MappedRange, ...] | bytes) -> bytes:
        epoch = self._epochs.get(lane, 0)
        return range_codec.of_owner(epoch, ranges) if isinstance(ranges, bytes) else range_codec.encode(ranges, epoch)

    async def forget(self, link: str) -> None:
        """Forget a link's ranges; raises ControlLostError."""
        await write(
            self._log,
            [
                (range_codec.range_key(lane, number), None)
                for lane, numbers in self.segments.items()
                if lane.link == link
                for number in numbers
            ],
        )


async def write(log: KeyedLog, entries: Sequence[tuple[bytes, bytes | None]], headers: Headers = ()) -> int:
    """Append records whose order does not matter, in batches; raises ControlLostError where one is in doubt.

    Returns the last one's offset, -1 without any.
    """
    chunk: list[tuple[bytes, bytes | None]] = []
    size, last = 0, -1

    async def append() -> int:
        base = await log.append(chunk, now_ms(), headers)
        if base is None:
            raise ControlLostError
        return base + len(chunk) - 1

    for key, value in entries:
        more = len(key) + len(value or b"")
        if chunk and (len(chunk) == _CHUNK or size + more > _CHUNK_BYTES):
            last = await append()
            chunk, size = [], 0
        chunk.append((key, value))
        size += more
    return await append() if chunk else last
