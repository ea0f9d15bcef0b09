"""Holes: source offsets that no record is copied from, and how a lane counts on past them.

A transaction marker, an aborted record, one that compaction removed and a range that was given up are all the
same to a lane: an offset without a record.  Sequences count copied records, so behind a hole a batch's sequence
no longer tells its source offset by itself.  A *jump* does: written ahead into a journal on the target, it says
which source offsets the records from one sequence on have.

Invariants
    H1  a jump is acknowledged before the first batch that it is needed for is sent; so every batch in the target
        log can be told.
    H2  a jump whose sequence is past the lane's last batch is void: what it was for was never appended, and can
        not be any more, because its producer id is shut out.
    H3  within one producer id a sequence has one meaning: a tenure that drops what it has jumped for is over, and
        its producer id is not claimed again.
    H4  of each producer id the newest jump is never forgotten, and ``ordinal`` counts them: where the oldest one
        that is left is not the first, batches before it can only be told by the filed runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from anabranch.records.sequence import advance, unwrap

_HALF = 1 << 30
_MASK = (1 << 31) - 1


class Stretch(NamedTuple):
    """``length`` records in a row, from source offset ``source`` on."""

    source: int
    length: int

    @property
    def end(self) -> int:
        """The source offset after the last record."""
        return self.source + self.length


@dataclass(frozen=True, slots=True)
class JumpKey:
    """The journal key of a jump."""

    lane: str
    producer_id: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Jump:
    """From ``sequence`` on, the records of a producer id are these stretches of the source, the last one without end.

    ``ordinal`` counts the jumps of the producer id from 0.  There is at least one stretch; they rise.
    """

    lane: str
    producer_id: int
    sequence: int
    ordinal: int
    stretches: tuple[Stretch, ...]

    @property
    def key(self) -> JumpKey:
        return JumpKey(self.lane, self.producer_id, self.sequence)


class JumpLog:
    """The journal of jumps folded by lane and producer id; ``apply`` takes its records in offset order."""

    __slots__ = ("_lanes", "end")

    def __init__(self, records: Iterable[tuple[int, JumpKey, Jump | None]] = ()) -> None:
        self._lanes: dict[str, dict[int, dict[int, Jump]]] = {}
        self.end = 0
        for offset, key, jump in records:
            self.apply(offset, key, jump)

    def apply(self, offset: int, key: JumpKey, jump: Jump | None) -> None:
        """Fold one record in; ``None`` forgets the jump.  Reading the same records again changes nothing."""
        if offset < self.end:
            return
        self.end = offset + 1
        jumps = self._lanes.setdefault(key.lane, {}).setdefault(key.producer_id, {})
        if jump is None:
            jumps.pop(key.sequence, None)
            if not jumps:
                del self._lanes[key.lane][key.producer_id]
        else:
            jumps[key.sequence] = jump

    def knows(self, lane: str) -> bool:
        """Whether the lane ever jumped, as far as is still told."""
        return bool(self._lanes.get(lane))

    def of(self, lane: str) -> tuple[Jump, ...]:
        """The lane's jumps, by producer id and ordinal."""
        known = self._lanes.get(lane, {})
        return tuple(
            jump for one in sorted(known) for jump in sorted(known[one].values(), key=lambda jump: jump.ordinal)
        )

    def count(self, lane: str, producer_id: int) -> int:
        """How many jumps a producer id has had: the ordinal of its next one."""
        jumps = self._lanes.get(lane, {}).get(producer_id)
        return 0 if not jumps else 1 + max(jump.ordinal for jump in jumps.values())

    def tell(self, lane: str, producer_id: int, sequence: int, count: int, near: int) -> tuple[Stretch, ...] | None:
        """The source offsets of ``count`` records that were sent from ``sequence`` on; None where that is forgotten.

        ``near`` is a source offset within 2^30 of the first, for a producer id that had not jumped by then.
        A batch never straddles a jump's sequence: jumps begin where a batch begins.
        """
        jumps = self._lanes.get(lane, {}).get(producer_id)
        if not jumps:
            return (Stretch(unwrap(sequence, near), count),)
        behind = [
            (distance, jump) for jump in jumps.values() if (distance := (sequence - jump.sequence) & _MASK) < _HALF
        ]
        if behind:
            distance, jump = min(behind, key=lambda one: (one[0], -one[1].ordinal))
            return cut(jump.stretches, distance, count)
        if min(jump.ordinal for jump in jumps.values()):
            return None
        return (Stretch(unwrap(sequence, near), count),)

    def passed(self, lane: str, producer_id: int, sequence: int) -> tuple[Jump, ...]:
        """The jumps of a producer id that a later one has made superfluous once all below ``sequence`` is filed."""
        jumps = sorted(self._lanes.get(lane, {}).get(producer_id, {}).values(), key=lambda jump: jump.ordinal)
        return tuple(
            jump
            for jump, following in zip(jumps, jumps[1:], strict=False)
            if (sequence - following.sequence) & _MASK < _HALF
        )


def cut(stretches: Sequence[Stretch], skip: int, count: int) -> tuple[Stretch, ...]:
    """The ``count`` records after the first ``skip`` of stretches whose last has no end."""
    found: list[Stretch] = []
    last = len(stretches) - 1
    for at, (source, length) in enumerate(stretches):
        if count <= 0:
            break
        if at < last and skip >= length:
            skip -= length
            continue
        taken = count if at == last else min(count, length - skip)
        found.append(Stretch(source + skip, taken))
        count -= taken
        skip = 0
    return tuple(found)


def breaks(sequence: int, stretches: Sequence[Stretch]) -> list[tuple[int, int]]:
    """Where stretches begin: (sequence, source offset) of the first record of each."""
    found = []
    for source, length in stretches:
        found.append((sequence, source))
        sequence = advance(sequence, length)
    return found
