"""Everything around the owners: partition, journal, connections, persisted runs, and the faults that strike them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from anabranch.model.lane import LaneMode
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol import Allocated, Claim, ClaimKey, ClaimLog, FenceKey, Persisted
from anabranch.protocol.effects import FORGOTTEN

from .partition import Partition, Violation

HOUR_MS = 3_600_000
EXPIRATION_MS = 24 * HOUR_MS
NOW_MS = 1_700_000_000_000
LANE = "flights-0"


@dataclass(slots=True)
class Request:
    """Something sent to the leader; ``apply`` carries it out and returns its answer."""

    apply: Callable[[], Any]
    refusable: bool = False
    posted_ms: int = 0


class Connection:
    """One connection: requests are carried out one after the other, answers come back in order."""

    __slots__ = ("answers", "broken", "leader_epoch", "requests")

    def __init__(self, leader_epoch: int) -> None:
        self.leader_epoch = leader_epoch
        self.requests: deque[Request] = deque()
        self.answers: deque[tuple[Any, int]] = deque()
        self.broken = False


@dataclass(slots=True)
class Generation:
    """What one ownership persisted: its place in the order of claims, where the lane ended at its start, its runs."""

    claim_offset: int
    tail_end: int
    leader_epoch: int
    ranges: list[MappedRange] = field(default_factory=list)


class World:
    """The simulated target cluster and its network; the source is ``batches``: (first offset, count, timestamp)."""

    def __init__(self, batches: list[tuple[int, int, int]], log_start: int, *, identity: bool, sole: bool) -> None:
        self.batches = {first: (count, timestamp) for first, count, timestamp in batches}
        self.source_start = batches[0][0]
        self.source_end = batches[-1][0] + batches[-1][1]
        self.partition = Partition(self.source_start, log_start, EXPIRATION_MS, NOW_MS, identity)
        self.lease_ms: int | None = None
        self.forgets_ms: int | None = None
        self.named: dict[int, int] = {}
        self.identity = identity
        self.sole = sole
        self.journal: dict[ClaimKey, tuple[int, Claim]] = {}
        self.journal_end = 0
        self.kills: dict[FenceKey, tuple[int, int]] = {}
        self.late_appends: list[Any] = []
        self.connections: list[Connection] = []
        self.generations: list[Generation] = []
        self.next_producer_id = 1000
        self.requests_survive = False
        self.seen: Counter[str] = Counter()

    # --- the journal
    def append_claim(self, claim: Claim) -> int:
        """Append to the compacted journal."""
        offset = self.journal_end
        self.journal_end += 1
        self.journal[claim.key] = (offset, claim)
        if claim.mode is LaneMode.IDENTITY and self.partition.fixed_id is None:
            self.partition.fixed_id = claim.producer_id
        return offset

    def append_late(self, late: Any) -> None:
        """Something that its sender no longer waits for reaches the journal."""
        self.append_claim(late)

    def append_kills(self, markers: tuple[tuple[int, int], ...]) -> None:
        """Note where kills lie."""
        for producer_id, offset in markers:
            self.kills[FenceKey(LANE, producer_id)] = (self.journal_end, offset)
            self.journal_end += 1

    def forget_claims(self, producer_ids: tuple[int, ...]) -> None:
        """Tombstones, which compaction takes away in turn."""
        self.journal_end += 1
        self.seen["forgotten"] += len(producer_ids)
        for one in producer_ids:
            self.journal.pop(ClaimKey(LANE, one), None)
            self.kills.pop(FenceKey(LANE, one), None)

    def claim_records(self) -> list[tuple[int, ClaimKey, Claim]]:
        """The journal as compaction leaves it: each key's last record."""
        return sorted(((o, k, c) for k, (o, c) in self.journal.items()), key=lambda record: record[0])

    def claim_log(self, kind: type[ClaimLog] = ClaimLog) -> ClaimLog:
        """The journal folded, with the notes of kills."""
        records: list[tuple[int, Any, Any]] = [*self.claim_records(), *((o, k, m) for k, (o, m) in self.kills.items())]
        log = kind()
        for offset, key, value in sorted(records, key=lambda record: record[0]):
            if isinstance(key, FenceKey):
                log.apply_fence(offset, key, value)
            else:
                log.apply(offset, key, value)
        return log

    # --- the coordinator
    def allocate(self) -> Allocated:
        """A producer id: a coordinator's, with the time at which it was last asked about it, where there is one."""
        self.next_producer_id += 1
        if self.forgets_ms is None:
            return Allocated(self.next_producer_id)
        self.named[self.next_producer_id] = self.partition.now_ms
        return Allocated(self.next_producer_id, str(self.next_producer_id))

    def kill_by_coordinator(self, producer_id: int, epoch: int) -> int:
        """Have the coordinator fence an id, unless it has forgotten it: error code."""
        assert self.forgets_ms is not None
        if self.partition.now_ms - self.named[producer_id] > self.forgets_ms:
            self.seen["id forgotten"] += 1
            return FORGOTTEN
        self.named[producer_id] = self.partition.now_ms
        return self.partition.mark(producer_id, epoch)

    # --- the network
    def connect(self) -> Connection:
        connection = Connection(self.partition.leader_epoch)
        self.connections.append(connection)
        return connection

    def execute(self, connection: Connection, refuse: int = 0) -> None:
        """The leader carries out the oldest request of a connection, or refuses it."""
        request = connection.requests.popleft()
        if refuse and request.refusable:
            connection.answers.append(((refuse, -1), -1))
            return
        answer = request.apply()
        connection.answers.append((answer, self.partition.end))

    def cut(self, connection: Connection, keep: int) -> None:
        """Break a connection: its first ``keep`` requests were received and may still be carried out."""
        connection.broken = True
        connection.answers.clear()
        while len(connection.requests) > keep:
            connection.requests.pop()

    def sweep(self) -> None:
        """Forget broken connections on which nothing is left to happen."""
        self.connections = [c for c in self.connections if c.requests or not c.broken]

    def change_leader(self, lose: int, *, and_back: bool) -> None:
        """A leader change, in an instant or by way of another broker and back, which takes seconds.

        Every request under way is lost.  Going back leaves idle connections whole.
        """
        self.partition.change_leader(lose, 2 if and_back else 1)
        if and_back:
            self.partition.now_ms += 2000
            if self.requests_survive:
                return
        for connection in self.connections:
            if connection.requests or connection.answers or not and_back:
                self.cut(connection, 0)
        self.sweep()

    def restart(self) -> None:
        """The broker restarts: all connections break."""
        self.partition.restart()
        for connection in self.connections:
            self.cut(connection, 0)
        self.sweep()

    def age(self) -> None:
        """Days pass: every socket dies, every lease ends, every entry and every kill expires."""
        self.partition.now_ms += EXPIRATION_MS + 30 * HOUR_MS
        for connection in self.connections:
            self.cut(connection, 0)
        self.sweep()
        self.partition.expire()

    def pass_hours(self, hours: int) -> None:
        """Hours pass; connections may live, but no request stays on its way for more than 40, or for a day (A4)."""
        longest = 40 if self.forgets_ms is None else 24
        now = self.partition.now_ms = self.partition.now_ms + hours * HOUR_MS
        for connection in self.connections:
            if any(now - request.posted_ms > longest * HOUR_MS for request in connection.requests):
                self.cut(connection, 0)
        self.sweep()

    # --- runs
    def persisted(self) -> Persisted | None:
        """The end of the last persisted run that stands."""
        last = None
        for generation, ranges in self.standing():
            for run in ranges:
                if last is None or run.source + run.length > last.source_end:
                    last = Persisted(run.source + run.length, run.target + run.length, generation.leader_epoch)
        return last

    def standing(self) -> list[tuple[Generation, list[MappedRange]]]:
        """Persisted runs without what later ownerships found truncated."""
        result = []
        for generation in self.generations:
            limit = min(
                (g.tail_end for g in self.generations if g.claim_offset > generation.claim_offset), default=None
            )
            ranges = []
            for run in generation.ranges:
                length = run.length if limit is None else min(run.length, limit - run.target)
                if length > 0:
                    ranges.append(MappedRange(run.source, run.target, length))
            result.append((generation, ranges))
        return result

    def check_ranges(self) -> None:
        """Every standing run is true, as far as its records are still in the log."""
        for _, ranges in self.standing():
            for run in ranges:
                for i in range(run.length):
                    if run.target + i < self.partition.start:
                        continue
                    found = self.partition.at(run.target + i)
                    if found != run.source + i:
                        raise Violation("FALSE RUN", f"{run.source + i} persisted at {run.target + i}, found {found}")

    def check_complete(self) -> None:
        """The whole source was copied."""
        if self.partition.next_source != self.source_end:
            raise Violation("LOST", f"{self.partition.describe()} of {self.source_end - self.source_start}")
