"""Translate positions by a snapshot of the clusters: pure, so that the same snapshot gives the same plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.groups.snapshot import PartitionMapping as LaneRoute
from anabranch.groups.translation import translate_commit
from anabranch.model.groups import Commit
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.offsets.align.gaps import Unclear
from anabranch.offsets.offset_map import MAX_OFFSET, OffsetMap
from anabranch.offsets.translate import After, Before, Exact, to_target
from anabranch.operations.checkpoints.unmodified_restart import ReadableRange, unmodified_restart

Range = tuple[TopicPartition, int, int]


@dataclass(frozen=True, slots=True)
class MappedLane:
    """One lane with its map; ``source_start`` is 0 if the start of the source's log is not known.

    ``name`` says whose map it is, ``wait`` what to do until it reaches further.
    """

    name: str
    source: TopicPartition
    target: TopicPartition
    ranges: OffsetMap
    unclear: tuple[Unclear, ...] = ()
    source_start: int = 0
    wait: str = ""


@dataclass(frozen=True, slots=True)
class TargetSnapshot:
    """The clusters that positions lead to, as they were looked at.

    ``logs`` are the ends by partition, ``topics`` the partitions of each topic or why they cannot be determined, ``on``
    the cluster that each topic is on, where they are on several.
    """

    logs: Mapping[TopicPartition, ReadableRange] = field(default_factory=dict)
    topics: Mapping[str, frozenset[int] | Reason] = field(default_factory=dict)
    ids: Mapping[str, UUID] = field(default_factory=dict)
    on: Mapping[str, str] = field(default_factory=dict)

    def partitions(self, topic: str) -> frozenset[int] | Reason:
        """Every partition that a topic has now."""
        return self.topics.get(topic, Reason(ReasonKind.UNKNOWN, f"topic {topic} was not looked at"))

    def log(self, partition: TopicPartition) -> ReadableRange | Reason:
        """A partition's ends."""
        found = self.logs.get(partition)
        if found is not None:
            return found
        topic = self.topics.get(partition.topic)
        if isinstance(topic, Reason):
            return topic
        return Reason(
            ReasonKind.OUTSIDE_LOG,
            f"the target has no partition {partition} that can be read now",
            "look at its leader",
        )


@dataclass(frozen=True, slots=True)
class MapRoute:
    """By maps.  ``topics`` are the target names of all topics that the maps are of, a refusal where several say so.

    ``proofs`` are the ranges whose logs were looked at, because their maps alone do not prove them equal.  ``is_cut``
    says that the source is gone: what its maps do not reach never comes, and a position behind one is at its end.
    """

    what: str
    topics: Mapping[str, str | Reason]
    lanes: Mapping[TopicPartition, MappedLane | Reason]
    target: TargetSnapshot
    stay: frozenset[str] = frozenset()
    proofs: Mapping[Range, Reason | None] = field(default_factory=dict)
    is_cut: bool = False

    def move(self, position: Position) -> TranslatedPosition | Reason | None:
        """See ``route.Route``."""
        at = position.partition
        if at.topic in self.stay:
            return None
        lane = self._lane(at)
        if isinstance(lane, Reason):
            return lane
        log = self.target.log(lane.target)
        if isinstance(log, Reason):
            return log
        if position.offset is None:
            return TranslatedPosition(lane.target, None, cluster=self._on(lane))
        if position.offset is SymbolicOffset.EARLIEST:
            return self._first(lane, log)
        if isinstance(position.offset, SymbolicOffset):
            return Reason(
                ReasonKind.MARKER,
                f"{at} is stored as {position.offset.value}: it was not looked up yet, so that nothing was read",
                "let the job read it once on the old cluster; or give a start position: --start",
            )
        offset = self._cut(lane, position.offset)
        found = target_offset(lane, offset, log)
        if isinstance(found, Reason):
            return found
        effect = unmodified_restart(position.offset, found, log, lane.ranges)
        return TranslatedPosition(
            lane.target,
            found,
            effect.repeated,
            effect.skipped,
            effect.text,
            _note(lane, offset, found) if offset == position.offset else _cut_note(lane, position.offset),
            self._on(lane),
        )

    def _first(self, lane: MappedLane, log: ReadableRange) -> TranslatedPosition | Reason:
        """Where a partition of which nothing was read begins: a job that stays would read the source's log whole.

        An unmodified restart begins at the target's first record, whoever wrote it.
        """
        found = target_offset(lane, lane.source_start, log)
        if isinstance(found, Reason):
            return found
        effect = unmodified_restart(log.start, found, log, lane.ranges)
        note = f"nothing was read of {lane.source}: the first record that the source has is meant"
        return TranslatedPosition(
            lane.target, found, effect.repeated, effect.skipped, effect.text, note, self._on(lane)
        )

    def equal(self, partition: TopicPartition, start: int, end: int) -> Reason | None:
        """See ``route.Route``; proven by the map alone, or by a look into both logs where it has gaps there."""
        if start == end:
            return None
        lane = self._lane(partition)
        if isinstance(lane, Reason):
            return lane
        log = self.target.log(lane.target)
        if isinstance(log, Reason):
            return log
        if (partition, start, end) in self.proofs:
            return self.proofs[(partition, start, end)]
        start, end = self._cut(lane, start), self._cut(lane, end)
        return None if start == end else unequal(lane, start, end, log)

    def partitions(self, topic: str) -> frozenset[int] | Reason:
        """See ``route.Route``."""
        return self.target.partitions(topic)

    def cut_at(self, partition: TopicPartition) -> int | None:
        """The source offset behind which positions of a partition are cut; None where none is."""
        lane = self.lanes.get(partition)
        return lane.ranges.source_end if self.is_cut and isinstance(lane, MappedLane) else None

    def _cut(self, lane: MappedLane, offset: int) -> int:
        return min(offset, lane.ranges.source_end) if self.is_cut else offset

    def _on(self, lane: MappedLane) -> str:
        return self.target.on.get(lane.target.topic, "")

    def _lane(self, at: TopicPartition) -> MappedLane | Reason:
        lane = self.lanes.get(at)
        if lane is not None:
            return lane
        topic = self.topics.get(at.topic)
        if isinstance(topic, Reason):
            return topic
        if topic is None:
            return Reason(
                ReasonKind.NOT_IN_LINK,
                f"topic {at.topic} is not among those of {self.what}",
                f"copy it too; or --stay {at.topic}, if the job goes on reading it from the old cluster",
            )
        return Reason(
            ReasonKind.NOT_COPIED, f"nothing of {at} was copied yet by {self.what}", "wait until its lane begins"
        )


@dataclass(frozen=True, slots=True)
class ExplicitRoute:
    """By offsets of the target: those of a file, or a start position's.  What was read before has no say in it."""

    what: str
    offsets: Mapping[TopicPartition, int]
    rename: Mapping[str, str]
    target: TargetSnapshot
    stay: frozenset[str] = frozenset()

    def move(self, position: Position) -> TranslatedPosition | Reason | None:
        """See ``route.Route``."""
        at = position.partition
        if at.topic in self.stay:
            return None
        to = TopicPartition(self.rename.get(at.topic, at.topic), at.partition)
        log = self.target.log(to)
        if isinstance(log, Reason):
            return log
        if position.offset is None and (position.role is not OffsetRole.UNASSIGNED or to not in self.offsets):
            return TranslatedPosition(to, None)
        if position.role in (OffsetRole.STOP, OffsetRole.BATCH_START, OffsetRole.BATCH_END):
            return Reason(
                ReasonKind.UNSUPPORTED,
                f"the {position.role.value} of {at} is an offset of the old cluster, and {self.what} has none for it",
                "only a map translates it: --link or --maps",
            )
        found = self.offsets.get(to)
        if found is None:
            return Reason(
                ReasonKind.NOT_IN_LINK,
                f"{self.what}: no offset is given for {to}",
                f"give one; or --stay {at.topic}, if the job goes on reading it from the old cluster",
            )
        if not log.start <= found <= log.end:
            return Reason(
                ReasonKind.OUTSIDE_LOG,
                f"{self.what}: offset {found:,} of {to} is outside of the target's log, {log.start:,} to {log.end:,}",
                "give an offset inside of it",
            )
        if position.offset is None:
            return TranslatedPosition(to, found, None, None, "the program would choose where it begins")
        if not isinstance(position.offset, int):
            return TranslatedPosition(
                to, found, None, None, f"{position.offset.value} would be looked up on the target"
            )
        effect = unmodified_restart(position.offset, found, log)
        return TranslatedPosition(to, found, effect.repeated, effect.skipped, effect.text)

    def equal(self, partition: TopicPartition, start: int, end: int) -> Reason | None:
        """See ``route.Route``: given offsets prove nothing."""
        if start == end:
            return None
        what = f"{self.what} cannot tell whether {partition} holds the same records there as {start:,} to {end:,} here"
        return Reason(
            ReasonKind.NOT_EQUAL, what, "let the batch finish on the old cluster: --finish-command; or use --link"
        )

    def partitions(self, topic: str) -> frozenset[int] | Reason:
        """See ``route.Route``."""
        return self.target.partitions(topic)


LiveRoute = MapRoute | ExplicitRoute


def target_offset(lane: MappedLane, offset: int, log: ReadableRange) -> int | Reason:
    """The target offset from which a reader sees exactly what it has not read, or why that cannot be said."""
    doubt = _unclear(lane, offset)
    if doubt is not None:
        return doubt
    if lane.ranges.target_end > log.high:
        return Reason(
            ReasonKind.IN_DOUBT,
            f"{lane.name}: the map of {lane.source} goes up to {lane.ranges.target_end:,} of {lane.target}, whose log "
            f"ends at {log.high:,}: it was cut, or made again",
            "make the map again: `anabranch offsets export`, or `offsets rebuild`",
        )
    route = LaneRoute(lane.target, lane.ranges, lane.source_start, log.start, log.end)
    found = translate_commit(route, Commit(offset), lane.name)
    if isinstance(found, int):
        return found
    return _reason(lane, offset, log, found)


def _reason(lane: MappedLane, offset: int, log: ReadableRange, told: Reason) -> Reason:
    """The same reason, in words about a checkpoint."""
    position = to_target(lane.ranges, offset)
    at = lane.source
    if told.why is ReasonKind.BEFORE_START:
        assert isinstance(position, Before)
        unread = position.start - max(offset, lane.source_start)
        return Reason(
            ReasonKind.BEFORE_START,
            f"{at} is at {offset:,}, and {lane.name} has copied from {position.start:,} on: the old cluster may still "
            f"have up to {unread:,} records that were not read",
            f"let the job read {at} up to {position.start:,} on the old cluster; or make a link that starts earlier",
        )
    if told.why is ReasonKind.EXPIRED:
        return Reason(
            ReasonKind.EXPIRED,
            f"{at} is at {offset:,}; the records that follow were copied to {lane.target}, whose log begins at "
            f"{log.start:,} by now: it lost some that were not read",
            "copy the topic again with a longer retention, or read up to there on the old cluster first",
        )
    if isinstance(position, After):
        what = (
            f"{at} is at {offset:,}, and {lane.name} has copied up to {position.end:,}: {offset - position.end:,} to go"
        )
        return Reason(ReasonKind.NOT_COPIED, what, lane.wait)
    what = f"{at} is at {offset:,}, which lies past {log.end:,}, up to where {lane.target} can be read now"
    return Reason(ReasonKind.NOT_COPIED, what, lane.wait)


def unequal(lane: MappedLane, start: int, end: int, log: ReadableRange) -> Reason | None:
    """Why a map alone does not prove a source range equal to its translation; None where it does.

    It does where every offset of the range has its copy, and every offset of the translation is one.
    """
    ends = [target_offset(lane, offset, log) for offset in (start, end)]
    for one in ends:
        if isinstance(one, Reason):
            return one
    first, last = (one for one in ends if isinstance(one, int))
    here = records_of(lane.ranges, start, end)
    if here == end - start == last - first:
        return None
    gaps, strangers = end - start - here, last - first - here
    return Reason(
        ReasonKind.NOT_EQUAL,
        f"{lane.source} {start:,} to {end:,} is {lane.target} {first:,} to {last:,}: {gaps:,} offsets have no copy, "
        f"and {strangers:,} there are no copies, so that the map alone does not prove that both hold the same records",
        "let the batch finish on the old cluster: --finish-command",
    )


def records_of(ranges: OffsetMap, start: int, end: int) -> int:
    """How many records a map has in source offsets ``[start, end)``."""
    found = 0
    for at in range(max(0, ranges.find_source(start)), len(ranges)):
        run = ranges[at]
        if run.source >= end:
            break
        found += max(0, min(run.source_end, end) - max(run.source, start))
    return found


def same_place(lane: MappedLane, one: int, other: int) -> bool:
    """Whether readers at two target offsets see the same copied records from there on."""
    first, last = min(one, other), max(one, other)
    return first == last or (last <= lane.ranges.target_end and not _copies(lane.ranges, first, last))


def _copies(ranges: OffsetMap, start: int, end: int) -> bool:
    """Whether a map has a record in target offsets ``[start, end)``."""
    at = ranges.find_target(end - 1)
    return at >= 0 and ranges[at].target_end > start


def _unclear(lane: MappedLane, offset: int) -> Reason | None:
    """A span that could not be aligned, between a reader at ``offset`` and the record that it reads next."""
    if not lane.unclear:
        return None
    index = lane.ranges.find_source(offset)
    if index >= 0 and offset < lane.ranges[index].source_end:
        return None
    following = lane.ranges[index + 1].source if index + 1 < len(lane.ranges) else MAX_OFFSET
    for stretch in lane.unclear:
        if stretch.source_to > offset and stretch.source_from < following:
            return Reason(
                ReasonKind.IN_DOUBT,
                f"{lane.source} is at {offset:,}, and {lane.name} does not know which of {stretch.source_from:,} to "
                f"{stretch.source_to:,} were copied to {stretch.target_from:,} to {stretch.target_to:,} "
                f"({stretch.why.value})",
                f"let the job read {lane.source} up to {stretch.source_to:,} on the old cluster first",
            )
    return None


def _cut_note(lane: MappedLane, offset: int) -> str:
    end = lane.ranges.source_end
    return f"{offset:,} was read, and all was copied up to {end:,} only: it goes on where the copies end"


def _note(lane: MappedLane, offset: int, found: int) -> str:
    """What is worth knowing of an exact answer."""
    position = to_target(lane.ranges, offset)
    if isinstance(position, Before):
        return f"{offset:,} expired on both clusters: the target's first record is taken"
    if isinstance(position, Exact) and position.offset != found:
        return f"what followed {offset:,} expired on both clusters: the target's first record is taken"
    if isinstance(position, Exact) and position.reason is not None:
        return position.reason.value
    return ""
