"""Transactions that are open on a source partition, and when one of them may be ended by hand.

A partition's leader knows which producer ids hold a transaction open there, and where it begins; it knows no
transactional id.  A coordinator knows transactional ids with their state and timeout, if we may ask.  A
transaction that is open on a partition and that no coordinator has under way is *hanging*: no timeout ends it
(KIP-664).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from anabranch.model.plans import REQUEST
from anabranch.model.topics import TopicPartition

LONGEST_TIMEOUT_MS = 900_000
"""``transaction.max.timeout.ms`` where the source does not tell it: Kafka's default."""
_UNDER_WAY = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that is open on one partition, as its leader tells.

    ``start_offset`` is that of its first record; ``last_timestamp`` (ms) that of its last batch.
    ``coordinator_epoch`` is -1 where no coordinator has written a marker for this producer id here.
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_timestamp: int


@dataclass(frozen=True, slots=True)
class CoordinatedTransaction:
    """What the coordinator of a transactional id knows: its state, since when (ms), and its timeout (ms)."""

    transactional_id: str
    state: str
    timeout_ms: int
    started_at_ms: int
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]

    def holds(self, producer_id: int, partition: TopicPartition) -> bool:
        """Whether it is under way for that producer on that partition: then its coordinator will end it.

        One that is passing on to its end lists only partitions that still lack their marker.  The epoch may have
        been raised since the partition saw it, so it is not compared.
        """
        return self.producer_id == producer_id and self.state in _UNDER_WAY and partition in self.partitions

    def ends_itself_in_ms(self, now_ms: int) -> int:
        """How long until the coordinator aborts it for its age; 0 where that time has come."""
        return max(0, self.started_at_ms + self.timeout_ms - now_ms)


@dataclass(frozen=True, slots=True)
class SourceTransaction:
    """An open transaction with all that could be learned about it.

    ``since_ms`` is the time of its first batch, of its last one where that could not be read.  ``known`` is what
    a coordinator tells; None with ``unavailable`` empty: none tells of it; ``unavailable`` says why none could be
    asked.
    """

    open: OpenTransaction
    since_ms: int
    known: CoordinatedTransaction | None = None
    unavailable: str = ""

    def sentence(self, now_ms: int) -> str:
        """Who holds the partition, since when, and where."""
        since = datetime.fromtimestamp(self.since_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        name = f" ({self.known.transactional_id})" if self.known is not None else ""
        return (
            f"open transaction of producer id {self.open.producer_id}{name} since {since} UTC "
            f"(age {span(now_ms - self.since_ms)}) begins at offset {self.open.start_offset:,}"
        )

    def keeps(self, partition: TopicPartition, now_ms: int, longest_ms: int) -> str:
        """Why it must not be ended by hand without being named; empty where it hangs.

        ``longest_ms`` is the longest timeout that the source grants: a transaction that no coordinator tells of
        may be one whose transactional id we may not DESCRIBE, until that much time has passed.
        """
        age = now_ms - self.open.last_timestamp
        if self.known is not None and self.known.holds(self.open.producer_id, partition):
            left = self.known.ends_itself_in_ms(now_ms)
            if left:
                return (
                    f"its coordinator has it as {self.known.state} of transactional id {self.known.transactional_id} "
                    f"and aborts it by itself in {span(left)}"
                )
        elif self.known is None and age < longest_ms:
            why = self.unavailable or "no coordinator tells of it"
            return f"{why}, and it was written to {span(age)} ago, less than the longest timeout of {span(longest_ms)}"
        return ""


@dataclass(frozen=True, slots=True)
class AbortPlan:
    """The transactions that are open on a source partition, and which of them is ended.

    ``abort`` is the producer id whose transaction is ended, None where none may be; ``kept`` says so for each that may
    not.  ``stable`` and ``high_watermark`` are the partition's: what lies between them waits.  ``producer_id`` is the
    one that was asked for.  ``hash`` covers the transaction that is ended, and no other.
    """

    link: str
    source: TopicPartition
    stable: int
    high_watermark: int
    transactions: tuple[SourceTransaction, ...]
    abort: int | None
    kept: tuple[str, ...]
    read_at_ms: int
    hash: str
    producer_id: int | None = field(default=None, metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class AbortReport:
    """A transaction that was ended by a marker; ``stable`` and ``high_watermark`` are as they were read afterwards."""

    plan: AbortPlan
    stable: int
    high_watermark: int


def choose(
    found: Sequence[SourceTransaction],
    partition: TopicPartition,
    named: int | None,
    now_ms: int,
    longest_ms: int = LONGEST_TIMEOUT_MS,
) -> tuple[int | None, tuple[str, ...]]:
    """(the producer id whose transaction may be ended, why each of the others may not).

    Without a name the first one that hangs: it alone holds the stable offset.  With a name that one, whatever its
    coordinator says.
    """
    kept: list[str] = []
    chosen: int | None = None
    for one in found:
        producer_id = one.open.producer_id
        if named is not None:
            chosen = producer_id if producer_id == named else chosen
            continue
        reason = one.keeps(partition, now_ms, longest_ms)
        if reason:
            kept.append(f"producer id {producer_id} is left alone: {reason}")
        elif chosen is None:
            chosen = producer_id
    return chosen, tuple(kept)


def span(milliseconds: int) -> str:
    """A length of time in one unit: ``42 s``, ``3 min``, ``26 h``, ``4 d``."""
    seconds = max(milliseconds, 0) // 1000
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size:,} {unit}"
    return f"{seconds} s"
