"""Claims: who may write a lane, told by one compacted journal partition on the target.

A record of the journal has the key (lane, producer id) and a :class:`Claim` as its value.  The journal's
offset order is the only arbiter between owners: no clock, lease or coordinator is believed.  Appends must be
tried once each, by a client that never sends one again by itself: a repeated release that lands after a
reclaim of the same id would hide a live owner.

Invariants
    C1  every producer id that ever wrote the lane's data has a claim at a lower journal offset than the
        time it wrote; compaction keeps the last record of each.
    C2  ``start`` and ``floor`` of a lane are minima over its claims, and each claim carries the minima it knew:
        they do not depend on the order, which a reclaim changes.
    C3  an identity lane's id has exactly one record, never renewed: the first identity claim stays first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from anabranch.model.lane import LaneMode
from anabranch.protocol import age


class ClaimState(StrEnum):
    """Whether the claim's owner may still have requests under way."""

    CLAIMED = "claimed"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class ClaimKey:
    """The journal key of a claim."""

    lane: str
    producer_id: int


@dataclass(frozen=True, slots=True)
class FenceKey:
    """The journal key of a note where the marker that fenced a producer id lies; its value is the target offset."""

    lane: str
    producer_id: int


@dataclass(frozen=True, slots=True)
class Claim:
    """One owner's right to write a lane with one producer id.

    ``owner`` names one process for its life.  ``transactional_id`` is set where the id came from a coordinator
    and is fenced through it.  ``claimed_at_ms`` is wall-clock: how old a claim may grow is told by ``protocol.age``.
    ``start`` is the source offset that the lane starts at while the target holds none of its batches.  ``floor`` is a
    target offset below which the lane has never written: the log's end before the lane's first claim.  ``end`` is a
    target offset below which all lies that was written under the claim, known once it is released.
    """

    lane: str
    producer_id: int
    mode: LaneMode
    owner: str
    transactional_id: str | None
    claimed_at_ms: int
    state: ClaimState
    start: int
    floor: int
    end: int | None = None

    @property
    def key(self) -> ClaimKey:
        return ClaimKey(self.lane, self.producer_id)

    @property
    def pads(self) -> bool:
        """Whether the lane began with padding the target log, which was empty, up to its start."""
        return self.mode is LaneMode.IDENTITY and self.floor == 0 < self.start


@dataclass(frozen=True, slots=True)
class PlacedClaim:
    """A claim and the journal offset of its last record."""

    offset: int
    claim: Claim


class ClaimLog:
    """The journal folded into each lane's claims.

    ``apply`` takes the journal's records in offset order; ``end`` is the offset after the last one applied.
    Reading the same records again changes nothing.
    """

    __slots__ = ("_fences", "_known", "_lanes", "_noted", "end")

    def __init__(self, records: Iterable[tuple[int, ClaimKey, Claim | None]] = ()) -> None:
        self._lanes: dict[str, dict[int, PlacedClaim]] = {}
        self._known: dict[str, set[int]] = {}
        self._fences: dict[FenceKey, int] = {}
        self._noted: dict[str, set[int]] = {}
        self.end = 0
        for offset, key, claim in records:
            self.apply(offset, key, claim)

    def apply(self, offset: int, key: ClaimKey, claim: Claim | None) -> None:
        """Fold one record in; ``None`` is a tombstone, which forgets the claim but not the producer id."""
        if offset < self.end:
            return
        self.end = offset + 1
        self._known.setdefault(key.lane, set()).add(key.producer_id)
        lane = self._lanes.setdefault(key.lane, {})
        if claim is None:
            lane.pop(key.producer_id, None)
        else:
            lane[key.producer_id] = PlacedClaim(offset, claim)

    def apply_fence(self, offset: int, key: FenceKey, marker: int | None) -> None:
        """Fold in where a fence's marker lies in the target log; ``None`` forgets it."""
        if offset < self.end:
            return
        self.end = offset + 1
        if marker is None:
            self._fences.pop(key, None)
            self._noted.get(key.lane, set()).discard(key.producer_id)
        else:
            self._fences[key] = marker
            self._noted.setdefault(key.lane, set()).add(key.producer_id)

    def held(self, link: str, run: str) -> int:
        """How many lanes of a link are claimed by a worker of a run that has not given them back.

        Identity claims do not count: all owners share one producer id, which is never released.
        """
        newest = (
            max(claims.values(), key=lambda one: one.offset).claim
            for lane, claims in self._lanes.items()
            if claims and lane.startswith(f"{link}/")
        )
        return sum(
            one.mode is not LaneMode.IDENTITY and one.state is ClaimState.CLAIMED and one.owner.startswith(f"{run}/")
            for one in newest
        )

    def marker(self, lane: str, producer_id: int) -> int | None:
        """The target offset at which a marker of this producer id was seen once, or None.

        Nothing follows from it but where to look: the log may have been truncated since.
        """
        return self._fences.get(FenceKey(lane, producer_id))

    def lanes_of(self, link: str) -> tuple[str, ...]:
        """The lanes of a link that have a claim."""
        return tuple(sorted(lane for lane, found in self._lanes.items() if found and lane.startswith(f"{link}/")))

    def claims(self, lane: str) -> tuple[PlacedClaim, ...]:
        """The lane's claims in the order of their last record."""
        return tuple(sorted(self._lanes.get(lane, {}).values(), key=lambda placed: placed.offset))

    def get(self, lane: str, producer_id: int) -> PlacedClaim | None:
        """The claim of one producer id, or None."""
        return self._lanes.get(lane, {}).get(producer_id)

    def producer_ids(self, lane: str) -> frozenset[int]:
        """Every producer id this fold has ever seen for the lane, released, fenced and forgotten ones too."""
        return frozenset(self._known.get(lane, ()))

    def predecessors(self, lane: str, mine: int, expiration_ms: int, now_ms: int) -> tuple[Claim, ...]:
        """The claims that must be fenced before the owner of producer id ``mine`` reads the tail.

        All before mine that were not released, but for mapped ones that nobody writes under any more (A2).
        """
        return tuple(
            claim
            for claim in self._before(lane, mine)
            if claim.state is ClaimState.CLAIMED
            and not (claim.mode is LaneMode.MAPPED and age.is_over(claim.claimed_at_ms, expiration_ms, now_ms))
        )

    def useless(self, lane: str, mine: int, expiration_ms: int, now_ms: int, log_start: int) -> tuple[int, ...]:
        """The producer ids of mapped claims before mine that nobody writes under any more, nor has a batch in the log.

        A claim's batches lie below where it ended, or below the marker that fenced it.  The first claims are
        forgotten without loss: each later one carries the lane's start and floor (C2).  With them go notes of markers
        whose claim is forgotten already.
        """
        found = []
        for claim in self._before(lane, mine):
            end = self._end(claim)
            is_over = claim.mode is LaneMode.MAPPED and age.is_over(claim.claimed_at_ms, expiration_ms, now_ms)
            if is_over and end is not None and end <= log_start:
                found.append(claim.producer_id)
        for one in sorted(self._noted.get(lane, set()) - self._lanes.get(lane, {}).keys()):
            if self._fences[FenceKey(lane, one)] <= log_start:
                found.append(one)
        return tuple(found)

    def endless(self, lane: str, mine: int, expiration_ms: int, now_ms: int) -> tuple[int, ...]:
        """The producer ids of mapped claims before mine that nobody writes under any more, and whose end nothing tells.

        A note was lost, the coordinator had forgotten the id, or an older version released it.  Where the log ends now
        is behind all their batches.
        """
        return tuple(
            claim.producer_id
            for claim in self._before(lane, mine)
            if claim.mode is LaneMode.MAPPED
            and self._end(claim) is None
            and age.is_over(claim.claimed_at_ms, expiration_ms, now_ms)
        )

    def _end(self, claim: Claim) -> int | None:
        """The target offset below which all lies that was written under a claim, None where it is not known."""
        end = claim.end if claim.state is ClaimState.RELEASED else None
        return self.marker(claim.lane, claim.producer_id) if end is None else end

    def _before(self, lane: str, mine: int) -> Iterator[Claim]:
        """The claims before that of producer id ``mine``; all where there is none of it."""
        own = self._lanes.get(lane, {}).get(mine)
        limit = own.offset if own is not None else self.end
        return (one.claim for one in self.claims(lane) if one.offset < limit and one.claim.producer_id != mine)

    def successor(self, lane: str, mine: int) -> Claim | None:
        """The first standing claim of another owner after that of producer id ``mine``, or None.

        A released one does not count: its record may be the late release of a predecessor.  Where it was a
        real successor, it has fenced ``mine``, and the broker says so.
        """
        own = self._lanes.get(lane, {}).get(mine)
        if own is None:
            return None
        for placed in self.claims(lane):
            claim = placed.claim
            if placed.offset > own.offset and claim.state is ClaimState.CLAIMED and claim.owner != own.claim.owner:
                return claim
        return None

    def untouched_since(self, lane: str, offset: int, mine: int) -> bool:
        """Whether no producer id but ``mine`` has a record of this lane after journal offset ``offset``."""
        return all(
            placed.offset <= offset or placed.claim.producer_id == mine for placed in self._lanes.get(lane, {}).values()
        )

    def mode(self, lane: str) -> LaneMode | None:
        """MAPPED as soon as one mapped claim was ever made: there is no way back; None without any claim."""
        modes = {placed.claim.mode for placed in self._lanes.get(lane, {}).values()}
        if LaneMode.MAPPED in modes:
            return LaneMode.MAPPED
        return LaneMode.IDENTITY if modes else None

    def fixed(self, lane: str) -> Claim | None:
        """The first identity claim, whose producer id all owners of an identity lane share, or None."""
        return next((p.claim for p in self.claims(lane) if p.claim.mode is LaneMode.IDENTITY), None)

    def start(self, lane: str, mine: int) -> int:
        """The source offset at which the lane starts: the lowest ever claimed, ``mine`` included."""
        return min([mine, *(p.claim.start for p in self._lanes.get(lane, {}).values())])

    def floor(self, lane: str, end: int) -> int:
        """The target offset below which the lane never wrote: the lowest ever claimed, the log's ``end`` included.

        A truncation may leave the log shorter than it was at the first claim; what is written then lies lower.
        """
        return min([end, *(p.claim.floor for p in self._lanes.get(lane, {}).values())])
