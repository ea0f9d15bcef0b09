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

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
        self._lanes: dict[str, dict[int, list[Jump]]] = {}
        self.end = 0
        for offset, key, jump in records:
            self.apply(offset, key, jump)

    def apply(self, offset: int, key: JumpKey, jump: Jump | None) -> None:
        """Fold one record in; ``None`` forgets the jump.  Reading the same records again changes nothing."""
        if offset < self.end:
            return
        self.end = offset + 1
        lane = self._lanes.setdefault(key.lane, {})
        jumps = lane.setdefault(key.producer_id, [])
        if jump is None:
            at = next((at for at, known in enumerate(jumps) if known.sequence == key.sequence), None)
            if at is not None:
                del jumps[at]
        elif not jumps or jump.ordinal > jumps[-1].ordinal:
            jumps.append(jump)
        elif all(known.ordinal != jump.ordinal for known in jumps):
            jumps.append(jump)
            jumps.sort(key=lambda known: known.ordinal)
        if not jumps:
            del lane[key.producer_id]
        if not lane:
            del self._lanes[key.lane]

    def knows(self, lane: str) -> bool:
        """Whether the lane ever jumped, as far as is still told."""
        return lane in self._lanes

    def producer_ids(self, lane: str) -> tuple[int, ...]:
        """The producer ids under which the lane has jumped."""
        return tuple(self._lanes.get(lane, {}))

    def of(self, lane: str, producer_id: int) -> tuple[Jump, ...]:
        """The jumps of a producer id, as far as they are still told, in their order."""
        return tuple(self._lanes.get(lane, {}).get(producer_id, ()))

    def keys(self, lane: str) -> tuple[JumpKey, ...]:
        """The keys of all of the lane's jumps."""
        return tuple(jump.key for jumps in self._lanes.get(lane, {}).values() for jump in jumps)

    def count(self, lane: str, producer_id: int) -> int:
        """How many jumps a producer id has had: the ordinal of its next one."""
        jumps = self._lanes.get(lane, {}).get(producer_id)
        return jumps[-1].ordinal + 1 if jumps else 0

    def tell(self, lane: str, producer_id: int, sequence: int, count: int, near: int) -> tuple[Stretch, ...] | None:
        """The source offsets of ``count`` records that were sent from ``sequence`` on; None where that is forgotten.

        ``near`` is a source offset within 2^30 of the first, for a producer id that had not jumped by then.  A
        batch never straddles a jump's sequence: jumps begin where a batch begins.  A producer id that has jumped
        does so again before it has sent 2^30 records more, so the newest jump behind a batch is always near.
        """
        jump = self._behind(lane, producer_id, sequence)
        if jump is not None:
            return cut(jump.stretches, (sequence - jump.sequence) & _MASK, count)
        if self.is_forgotten(lane, producer_id):
            return None
        return (Stretch(unwrap(sequence, near), count),)

    def is_plain(self, lane: str, producer_id: int, sequence: int) -> bool:
        """Whether a producer id had not jumped when it sent a sequence, which then is a source offset's."""
        return self._behind(lane, producer_id, sequence) is None and not self.is_forgotten(lane, producer_id)

    def is_forgotten(self, lane: str, producer_id: int) -> bool:
        """Whether the first jump of a producer id is told no more."""
        jumps = self._lanes.get(lane, {}).get(producer_id)
        return jumps is not None and jumps[0].ordinal > 0

    def _behind(self, lane: str, producer_id: int, sequence: int) -> Jump | None:
        """The newest jump at or below a sequence."""
        jumps = self._lanes.get(lane, {}).get(producer_id, ())
        at = bisect_right(jumps, 0, key=lambda jump: 0 if (sequence - jump.sequence) & _MASK < _HALF else 1)
        return jumps[at - 1] if at else None

    def passed(self, lane: str, producer_id: int, sequence: int | None = None) -> tuple[Jump, ...]:
        """The jumps of a producer id that are superfluous once all it sent below ``sequence`` is filed as runs.

        Those that are followed by one below ``sequence``: a jump at ``sequence`` may be void, and then the one before
        it tells the lane's last batch (H4).  Without a sequence all but the newest, which may be void as well: only
        for a producer id behind whose batches the lane has others.
        """
        jumps = self._lanes.get(lane, {}).get(producer_id, ())
        return tuple(
            jump
            for jump, following in pairwise(jumps)
            if sequence is None or (sequence - following.sequence - 1) & _MASK < _HALF
        )


def merged(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """The same offsets in as few stretches as they make."""
    found: list[Stretch] = []
    for stretch in stretches:
        if found and found[-1].end == stretch.source:
            found[-1] = Stretch(found[-1].source, found[-1].length + stretch.length)
        else:
            found.append(stretch)
    return tuple(found)


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
