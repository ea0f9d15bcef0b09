"""What a cluster was seen to hold: facts from scanning, not from asking.

What could not be found out is None, with a reason in ``unavailable``: an empty list means that there is nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from anabranch.model.groups import GroupKind, GroupState, Member
from anabranch.model.reasons import Reason
from anabranch.model.skew import ClockSkew
from anabranch.model.topics import TopicPartition

_EARLIEST_MS = 946_684_800_000
"""2000: what is older is an odd timestamp."""
_AHEAD_MS = 3_600_000
COMPACT = "compact"
RETENTION = ("cleanup.policy", "retention.ms", "retention.bytes")


def limit_of(name: str, *told: Mapping[str, str]) -> int | None:
    """A limit of retention, by the first settings that have it; None where that is not known, or there is none."""

    def setting(key: str, otherwise: str) -> str:
        return next((value for one in told if (value := one.get(key))), otherwise)

    text = setting(name, "-1")
    return int(text) if int(text) >= 0 and "delete" in setting("cleanup.policy", "delete") else None


"""The settings that say for how long a topic keeps records."""


@dataclass(frozen=True, slots=True)
class BatchSample:
    """What batches at the beginnings and ends of a topic's logs say; counts are of batches, times ms since 1970.

    ``idempotent`` are those with a producer id that are not transactional, ``plain`` those without one.  ``gaps`` are
    offsets between two of them that no batch holds, ``thinned`` batches that lack some of their records: compaction or
    aborted transactions.  ``records`` and ``size`` (bytes, as they are stored) are of all of them.
    """

    batches: int = 0
    transactional: int = 0
    idempotent: int = 0
    plain: int = 0
    append_time: int = 0
    gaps: int = 0
    thinned: int = 0
    records: int = 0
    size: int = 0
    largest: int = 0
    oldest_ms: int | None = None
    newest_ms: int | None = None

    @property
    def bytes_per_record(self) -> float | None:
        """None where no record was seen."""
        return self.size / self.records if self.records else None

    @property
    def is_early(self) -> bool:
        """Whether records have times before 2000."""
        return self.oldest_ms is not None and 0 <= self.oldest_ms < _EARLIEST_MS

    def is_ahead(self, now_ms: int) -> bool:
        """Whether records have times of more than an hour from now."""
        return self.newest_ms is not None and self.newest_ms > now_ms + _AHEAD_MS

    def __add__(self, other: BatchSample) -> BatchSample:
        """Both together."""
        oldest = [time for time in (self.oldest_ms, other.oldest_ms) if time is not None]
        newest = [time for time in (self.newest_ms, other.newest_ms) if time is not None]
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMMED}
        largest = max(self.largest, other.largest)
        return BatchSample(
            **sums, largest=largest, oldest_ms=min(oldest, default=None), newest_ms=max(newest, default=None)
        )


_SUMMED = (
    *("batches", "transactional", "idempotent", "plain", "append_time"),
    *("gaps", "thinned", "records", "size"),
)


@dataclass(frozen=True, slots=True)
class TopicInventory:
    """A topic: ``records`` are offsets between the ends of its logs, ``size`` bytes of its leaders' logs on disk.

    ``per_second`` is by how many offsets its logs grew a second while they were watched, None where they were not.
    ``configs`` are those that were set on it, ``in_force`` those of its retention, whoever has set them.
    """

    name: str
    partitions: int
    replication_factor: int
    records: int
    size: int | None
    per_second: float | None
    configs: Mapping[str, str] = field(hash=False)
    sample: BatchSample = BatchSample()
    in_force: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def is_compacted(self) -> bool:
        """Whether its cleanup policy says so."""
        return COMPACT in self.configs.get("cleanup.policy", "")

    @property
    def retention_ms(self) -> int | None:
        """For how long it keeps records; None where that is not known, or for ever."""
        return limit_of("retention.ms", self.in_force, self.configs)

    @property
    def retention_bytes(self) -> int | None:
        """How many bytes each of its partitions keeps; None where that is not known, or all."""
        return limit_of("retention.bytes", self.in_force, self.configs)

    @property
    def bytes_a_second(self) -> float | None:
        """About how many bytes are written a second; None where that is not known."""
        each = self.sample.bytes_per_record
        return None if each is None or self.per_second is None else each * self.per_second


@dataclass(frozen=True, slots=True)
class GroupInventory:
    """A consumer group; ``topics`` are those that it has committed offsets of, ``lag`` the records behind them."""

    name: str
    kind: GroupKind
    state: GroupState
    members: tuple[Member, ...]
    topics: tuple[str, ...]
    lag: int | None


@dataclass(frozen=True, slots=True)
class WriterInventory:
    """A producer id that partitions' leaders remember; ``transactional_id`` is empty where none is known.

    ``last_ms`` is the time of its newest batch, ``open`` where it has an open transaction.
    """

    producer_id: int
    transactional_id: str
    topics: tuple[str, ...]
    last_ms: int
    open: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class Inventory:
    """One cluster, as it was seen at ``seen_ms``; ``version`` is read from the APIs that it offers.

    ``clock`` is how far the clock of who looked is ahead of its controller's, None where that is not told, and ``free``
    are the bytes that each broker may still write, None where nobody asked or one does not tell.
    """

    context: str
    cluster_id: str
    version: str
    brokers: int
    seen_ms: int
    topics: Mapping[str, TopicInventory] = field(hash=False)
    groups: Mapping[str, GroupInventory] = field(hash=False)
    writers: tuple[WriterInventory, ...] | None
    unavailable: tuple[Reason, ...] = ()
    clock: ClockSkew | None = None
    free: Mapping[int, int] | None = field(default=None, hash=False)

    def readers(self, topics: Iterable[str]) -> list[GroupInventory]:
        """The groups that have committed offsets of one of some topics, by name."""
        wanted = frozenset(topics)
        return [group for _, group in sorted(self.groups.items()) if wanted & frozenset(group.topics)]

    def writing(self, topics: Iterable[str]) -> list[WriterInventory]:
        """The producer ids that have written to one of some topics."""
        wanted = frozenset(topics)
        return [writer for writer in self.writers or () if wanted & frozenset(writer.topics)]
