"""How MirrorMaker 2 translates a group's position: its offset syncs and its 64-slot store, as pure functions.

MirrorMaker 2 does not keep where each record went.  Its source task writes an *offset sync*, a pair (source offset,
target offset), for some records; its checkpoint task keeps at most 64 of those pairs for a partition, dense near the
end and exponentially sparse before it, and answers with the newest pair that is not past the position asked for.
The answer is safe (it never skips a record) and old: a group with a large lag reads again about half of its lag.

Restated from the rules of Kafka 4.x (``OffsetSyncWriter``, ``OffsetSyncStore``; KAFKA-12468, KAFKA-14666,
KAFKA-15906).  This is MirrorMaker 2 at its best: no sync is lost to its limit of ten writes in flight, every parked
sync has been flushed, and the checkpoint task read all of them in order without a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

SLOTS = 64
DEFAULT_OFFSET_LAG_MAX = 100
_LONG_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class OffsetSync:
    """One pair that MirrorMaker 2 wrote: the record at ``source`` was appended at ``target``."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class CopiedRange:
    """``length`` records in a row, copied from ``source`` on to ``target`` on."""

    source: int
    target: int
    length: int


def offset_syncs(ranges: Iterable[CopiedRange], offset_lag_max: int = DEFAULT_OFFSET_LAG_MAX) -> Iterator[OffsetSync]:
    """The syncs that one source task writes while it copies ``ranges``, and the parked one that its last flush adds.

    A sync is written for the first record, after any gap in the source, after a step back in the target, and once
    the position that the last sync can answer (one past it) is ``offset_lag_max`` records old.
    """
    written: OffsetSync | None = None
    newest: OffsetSync | None = None
    for run in ranges:
        if run.length <= 0:
            continue
        first = OffsetSync(run.source, run.target)
        broken = newest is None or first.source != newest.source + 1 or first.target < newest.target
        step = 0
        if not broken and written is not None:
            step = max(0, written.target + 1 + offset_lag_max - first.target)
        while step < run.length:
            written = OffsetSync(run.source + step, run.target + step)
            yield written
            step += max(1, offset_lag_max + 1)
        newest = OffsetSync(run.source + run.length - 1, run.target + run.length - 1)
    if newest is not None and newest != written:
        yield newest


class OffsetSyncStore:
    """The syncs of one partition that MirrorMaker 2 remembers, newest in slot 0.

    Invariants for slots i < j: slot 0 is the newest sync; slot j is at most ``2^j - 2^i`` source offsets older than
    slot i; two different syncs are at least ``2^max(i-2, 0)`` source offsets apart.
    """

    def __init__(self) -> None:
        self._slots: list[OffsetSync] = []

    @property
    def slots(self) -> tuple[OffsetSync, ...]:
        """All 64 slots, most of them repeating one sync; empty before the first sync."""
        return tuple(self._slots)

    def add(self, sync: OffsetSync) -> None:
        """Add the next sync; one with an older source offset than the newest forgets all the others."""
        before = self._slots
        if not before or sync.source < before[0].source:
            self._slots = [sync] * SLOTS
            return
        slots = [sync, *before[1:]]
        padder, candidate = sync, 0
        for index in range(1, SLOTS):
            above = slots[index - 1]
            # The syncs of before move down to where they are neither too old nor too close to others.  One that is too
            # close to the slot above is so for every later slot too, and one that repeats says nothing new.
            while True:
                old = before[candidate]
                apart = _apart(above, old, index - 1)
                fits = (
                    apart
                    and _recent(above, old, index - 1, index)
                    and (index == SLOTS - 1 or _apart(old, slots[index + 1], index))
                )
                skipped = not apart or (candidate + 1 < SLOTS and old is before[candidate + 1])
                padder = old if fits else padder
                candidate += fits or skipped
                if candidate >= index or not skipped:
                    break
            if _recent(above, slots[index], index - 1, index):
                break
            slots[index] = padder
        self._slots = slots

    def translate(self, position: int) -> int | None:
        """The target position for a source position; None where MirrorMaker 2 writes no checkpoint."""
        for sync in self._slots:
            if sync.source <= position:
                return sync.target + (sync.source != position)
        return None


def translate(syncs: Iterable[OffsetSync], position: int) -> int | None:
    """What MirrorMaker 2 answers for a source position after it has read ``syncs`` in the order of the topic."""
    store = OffsetSyncStore()
    for sync in syncs:
        store.add(sync)
    return store.translate(position)


def most_between(syncs: Sequence[OffsetSync], downstream: int, position: int) -> int | None:
    """At most how many offsets of the copy lie from an answer up to where ``position`` is, or will be, in the copy.

    Counted to the position, and not to the copy's end: the copy may lag behind it. None where no sync tells. By the
    syncs since MirrorMaker last went back; records that it wrote twice since, and its own markers, come on top.
    """
    last = len(syncs) - 1
    while last > 0 and syncs[last - 1].source <= syncs[last].source:
        last -= 1
    ends = []
    for sync in syncs[max(0, last) :]:
        if sync.source >= position:  # the copy is known to have come so far
            ends.append(sync.target)
            break
        ends.append(sync.target + position - sync.source)
    return max(0, min(ends) - downstream) if ends else None


def _recent(newer: OffsetSync, older: OffsetSync, i: int, j: int) -> bool:
    return newer.source <= min(older.source + (1 << j) - (1 << i), _LONG_MAX)


def _apart(newer: OffsetSync, older: OffsetSync, i: int) -> bool:
    return newer is older or newer.source >= min(older.source + (1 << max(i - 2, 0)), _LONG_MAX)
