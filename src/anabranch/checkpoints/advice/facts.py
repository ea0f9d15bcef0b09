"""What advice rests on: a checkpoint, where its positions lead, and both clusters as they were looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from anabranch.checkpoints.job import CheckpointFormat, OperatorPage, Page
from anabranch.checkpoints.plan import Rewrite
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.model.lane import LaneMode
from anabranch.model.reasons import Reason
from anabranch.model.topics import TopicPartition

#: Where a position leads; None for a partition that stays on the old cluster.
Answer = TranslatedPosition | Reason | None


#: The roles of positions that a restart reads from, and of those that no restart depends on.
READ_FROM = frozenset({OffsetRole.NEXT, OffsetRole.BATCH_START})
_ROUTES = frozenset({"--link", "--maps", "--offsets", "--start"})
_PAST = frozenset({OffsetRole.INITIAL, OffsetRole.PREVIOUS})


@dataclass(frozen=True, slots=True)
class LogFacts:
    """A log's first offset and its end; ``per_s`` is its growth between two snapshots, None without a second one."""

    start: int
    end: int
    per_s: float | None = None


@dataclass(frozen=True, slots=True)
class LaneFacts:
    """How a link copies one source partition: ``why`` of its mode, source offsets not copied yet, records a second.

    ``lag`` is None where the source's end is not known now.
    """

    link: str
    target: TopicPartition
    mode: LaneMode
    why: str
    lag: int | None
    per_s: float


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """The job's consumer group: its commits on the old cluster, where they lead, what it has on the target.

    ``per_s`` is how fast its commits rose between two snapshots, in offsets of all partitions; None without a second
    snapshot, or if nothing was committed meanwhile.
    """

    name: str
    commits: Mapping[TopicPartition, int] = field(hash=False)
    answers: Mapping[TopicPartition, Answer] = field(hash=False)
    target_commits: Mapping[TopicPartition, int] = field(hash=False)
    per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One rewrite that was planned, and the flags that it takes beside the route's."""

    flags: tuple[str, ...]
    rewrite: Rewrite


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """One of several target clusters; ``links`` as they were typed, ``topics`` by their old names and by their new."""

    name: str
    bootstrap: tuple[str, ...]
    links: tuple[str, ...]
    sources: tuple[str, ...]
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is known; nothing here is a guess, and what is not known is None or absent.

    ``positions`` are those of the sources to be moved, ``answers`` where each leads (empty without a route).
    ``flags`` is the route as it was typed, with the sources. ``attempts`` are rewrites in the order of preference,
    ``drop`` one that takes the sources' entries out. ``uids``: every operator has one of its own; ``uids_why`` what
    says so. ``sql`` and ``downtime_s`` are the user's words. ``clusters`` are the targets where links lead to several;
    ``target`` and ``bootstrap`` are the first one's. ``unread`` are reasons why positions of sources are not known.
    """

    path: str
    page: Page
    positions: tuple[Position, ...]
    flags: tuple[str, ...] = ()
    source: str = ""
    target: str = ""
    bootstrap: tuple[str, ...] = ()
    answers: Mapping[Position, Answer] = field(default_factory=dict, hash=False)
    attempts: tuple[Attempt, ...] = ()
    drop: Attempt | None = None
    lanes: Mapping[TopicPartition, LaneFacts] = field(default_factory=dict, hash=False)
    old: Mapping[TopicPartition, LogFacts] = field(default_factory=dict, hash=False)
    new: Mapping[TopicPartition, LogFacts] = field(default_factory=dict, hash=False)
    group: GroupFacts | None = None
    uids: bool | None = None
    uids_why: str = ""
    sql: bool | None = None
    downtime_s: float | None = None
    clusters: tuple[TargetFacts, ...] = ()
    unread: tuple[Reason, ...] = ()

    @property
    def routed(self) -> bool:
        """Whether it was said where positions lead."""
        return not _ROUTES.isdisjoint(self.flags)

    @property
    def started(self) -> bool:
        """Whether the route is a start position, which does not follow from the job's positions."""
        return "--start" in self.flags

    def reading(self) -> tuple[Position, ...]:
        """Where the job goes on: the positions that are read from next, of partitions that move."""
        return tuple(one for one in self.positions if one.role in READ_FROM and not self.stays(one))

    def moving(self) -> tuple[Position, ...]:
        """Every position that moves and that a restart may depend on."""
        return tuple(one for one in self.positions if one.role not in _PAST and not self.stays(one))

    def stays(self, position: Position) -> bool:
        """Whether the route leaves a position on the old cluster."""
        return position in self.answers and self.answers[position] is None

    def exact(self) -> Mapping[Position, int] | None:
        """The target offset of every position that is read from next; None where one has no exact answer."""
        found: dict[Position, int] = {}
        for one in self.reading():
            answer = self.answers.get(one)
            if not isinstance(answer, TranslatedPosition) or answer.offset is None:
                return None
            found[one] = answer.offset
        return found or None

    def topics(self) -> tuple[str, ...]:
        """The topics that move, by their old names."""
        return tuple(sorted({one.partition.topic for one in self.moving()}))

    def targets(self) -> tuple[str, ...]:
        """Their names on the target; the old ones where nothing else is known."""
        names = {
            answer.partition.topic
            if isinstance(answer := self.answers.get(one), TranslatedPosition)
            else one.partition.topic
            for one in self.moving()
        }
        return tuple(sorted(names))

    def stateful(self) -> tuple[OperatorPage, ...]:
        """The operators that keep state beside the positions of sources."""
        sources = {one.source for one in self.page.sources} if self.page.format is CheckpointFormat.FLINK else set()
        return tuple(one for one in self.page.operators if one.operator not in sources and one.state_bytes != 0)

    def lag(self) -> int | None:
        """Offsets of the old cluster that the job has not read; None where its logs or positions are not known."""
        if self.unread:
            return None
        total = 0
        for one in self.reading():
            log = self.old.get(one.partition)
            offset = 0 if one.offset is SymbolicOffset.EARLIEST else one.offset
            if log is None or not isinstance(offset, int):
                return None
            total += max(0, log.end - max(offset, log.start))
        return total

    def written_per_s(self) -> float | None:
        """How fast the moved topics grow on the old cluster, None without a second snapshot."""
        rates = [log.per_s for one in self.reading() if (log := self.old.get(one.partition)) is not None]
        known = [rate for rate in rates if rate is not None]
        return sum(known) if known and len(known) == len(rates) else None

    def drain_s(self) -> float | None:
        """How long the job needs for what it has not read, once nothing is added; None where a number is missing."""
        lag = self.lag()
        if lag == 0:
            return 0.0
        rate = self.group.per_s if self.group is not None else None
        return None if lag is None or not rate else lag / rate

    def copying_s(self) -> float | None:
        """How long the links need until they have copied all that there is; None if one is behind and does not copy,
        or its lag is not known.
        """
        moving = [self.lanes[at] for at in {one.partition for one in self.reading()} if at in self.lanes]
        if not moving or any(lane.lag is None or (lane.lag and lane.per_s <= 0) for lane in moving):
            return None
        return max(lane.lag / lane.per_s if lane.lag else 0.0 for lane in moving)


def refusals(answers: Iterable[Answer]) -> Iterator[Reason]:
    """The answers that are none."""
    return (one for one in answers if isinstance(one, Reason))
