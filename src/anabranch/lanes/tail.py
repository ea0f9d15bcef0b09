"""The lane's position, read from the target log after the kills."""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.lanes.claims import ClaimLog
from anabranch.lanes.effects import EndOfEpoch, LogEnd, ReadEnd, ReadRuns, ReadTail, Steps, TailBatch
from anabranch.lanes.endings import Ending, LaneStopped, Stop, TenureEnded
from anabranch.lanes.holes import JumpLog, Stretch
from anabranch.lanes.tenure import Bid
from anabranch.offsets.runs import RunMap
from anabranch.records.sequence import advance, sequence_of

SEAM_REACH = 64


@dataclass(frozen=True, slots=True)
class Tail:
    """Where the lane stands: next source offset, and the target offset after its last batch.

    ``producer_id`` and ``sequence`` (the one after its last record) are those of the last batch, -1 where there is
    none.  ``markers`` are the target offsets of the kills that were met on the way.
    """

    position: int
    target_end: int
    last_timestamp: int | None
    producer_id: int = -1
    sequence: int = -1
    markers: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Journal:
    """What tells a batch of the lane: its claims, and its jumps as read after the kills."""

    claims: ClaimLog
    jumps: JumpLog


def read_tail(bid: Bid, journal: Journal, below: int, killed: frozenset[int]) -> Steps[Tail]:
    """Walk back from ``below`` to the lane's last batch; ``killed`` are the ids whose markers must lie on the way.

    The first batch of data whose producer id is one of the lane's claims gives the position.  Control batches
    and other writers' batches are passed over.  ``below`` must not exceed the high watermark, and must not lie
    under the log end as it was after the last kill.

    Nothing of the lane lies under its floor, so the walk ends there.

    Raises TenureEnded where a marker of a kill is missing (the log was truncated since), LaneStopped where the
    last two batches of the lane do not follow each other, or where the position cannot be told.
    """
    mine = journal.claims.producer_ids(bid.lane)
    near = bid.filed.source_end if bid.filed is not None else journal.claims.start(bid.lane, bid.start)
    missing = set(killed)
    markers: list[tuple[int, int]] = []
    # What was there before the lane may be long (another tool's copy, adopted): it is not walked through.
    floor = journal.claims.floor(bid.lane, below)
    while below > floor and (batch := (yield ReadTail(below))) is not None:
        if batch.is_control:
            if batch.producer_id in missing:
                missing.discard(batch.producer_id)
                markers.append((batch.producer_id, batch.base_offset))
        elif batch.producer_id in mine:
            if missing:
                break
            stretches = yield from _told(bid, journal, batch, near)
            if stretches is None:
                forgotten = f"the jump that told target offset {batch.base_offset} is forgotten, and no run is filed"
                raise _lost(bid, near, forgotten)
            if stretches[0].source < 0:
                raise _lost(bid, near, f"sequence {batch.base_sequence} is near no offset of the source")
            yield from _check_seam(bid, journal, mine, batch, stretches[0].source)
            return Tail(
                stretches[-1].end,
                batch.last_offset + 1,
                batch.max_timestamp,
                batch.producer_id,
                advance(batch.base_sequence, batch.length),
                tuple(markers),
            )
        below = batch.base_offset
    if missing:
        raise TenureEnded(bid.lane, Ending.KILL_MISSING, detail=f"producer ids {sorted(missing)}")
    tail = yield from _without_batches(bid, journal.claims, near)
    return replace(tail, markers=tuple(markers))


def tell(lane: str, jumps: JumpLog, runs: RunMap | None, batch: TailBatch, near: int) -> tuple[Stretch, ...] | None:
    """The source offsets of a batch's records: by its sequence and the jumps, else by the filed runs, else None."""
    told = jumps.tell(lane, batch.producer_id, batch.base_sequence, batch.length, near)
    if told is not None or runs is None:
        return told
    found: list[Stretch] = []
    at = batch.base_offset
    while at <= batch.last_offset:
        index = runs.find_target(at)
        run = runs[index] if index >= 0 else None
        if run is None or run.target_end <= at:
            return None
        taken = min(run.target_end, batch.last_offset + 1) - at
        found.append(Stretch(run.source + at - run.target, taken))
        at += taken
    return tuple(found)


def _told(bid: Bid, journal: Journal, batch: TailBatch, near: int) -> Steps[tuple[Stretch, ...] | None]:
    """``tell``, with the filed runs read after the jumps where those no longer do: an owner that does not know yet
    that it is over may file and forget until then."""
    stretches = tell(bid.lane, journal.jumps, None, batch, near)
    if stretches is None:
        runs: RunMap = yield ReadRuns(bid.lane)
        stretches = tell(bid.lane, journal.jumps, runs, batch, near)
    return stretches


def _check_seam(bid: Bid, journal: Journal, mine: frozenset[int], last: TailBatch, first: int) -> Steps[None]:
    """Check that the lane's last batch follows the one before it, or begins at a start that was claimed.

    Within a producer id the sequences must follow each other; another one begins at the sequence of the position
    that its owner read, which is where the batch before it ends.  A request that outlived its tenure and two
    unclean elections may have been appended past a hole before it could be killed again.  Only what touches is
    compared: a target that compacts or retains may have dropped what was between.
    """
    below = last.base_offset
    for _ in range(SEAM_REACH):
        batch: TailBatch | None = yield ReadTail(below)
        if batch is None:
            starts = {placed.claim.start for placed in journal.claims.claims(bid.lane)}
            begun = {sequence_of(start) for start in starts}
            if any(placed.claim.pads for placed in journal.claims.claims(bid.lane)):
                begun.add(0)  # padding does
            if below <= journal.claims.floor(bid.lane, below) and last.base_sequence not in begun:
                raise _diverged(bid, last, first, min(starts, default=bid.start))
            return
        if batch.last_offset + 1 != below:
            return
        if not batch.is_control and batch.producer_id in mine:
            told = yield from _told(bid, journal, batch, first)
            if told is None:
                return
            end = told[-1].end
            same = batch.producer_id == last.producer_id
            if last.base_sequence != (advance(batch.base_sequence, batch.length) if same else sequence_of(end)):
                raise _diverged(bid, last, first, end)
            return
        below = batch.base_offset


def _diverged(bid: Bid, last: TailBatch, first: int, expected: int) -> LaneStopped:
    return LaneStopped(
        bid.lane,
        Stop.DIVERGED,
        min(expected, first),
        detail=f"target offset {last.base_offset} holds source offset {first}, not {expected}",
        fix="compare both sides with `anabranch verify`, then copy into a new target topic",
    )


def _without_batches(bid: Bid, log: ClaimLog, near: int) -> Steps[Tail]:
    """The position where the target log holds no batch of the lane.

    Exact where nothing of the lane can have been deleted: the log still begins at or below the lane's floor, so
    that it never had a batch or lost all of them to a truncation.  Exact too where the log still begins at or
    below the end of the last filed run, which no truncation cut.  Where the log begins is read again here, after
    the walk: retention may have run during it.
    """
    filed = bid.filed
    end: LogEnd = yield ReadEnd()
    floor = log.floor(bid.lane, end.end)
    fixed = log.fixed(bid.lane)
    if fixed is not None and fixed.pads:
        floor = fixed.start  # what lay below was padding
    if end.start <= floor:
        return Tail(log.start(bid.lane, bid.start), floor, None)
    if filed is None:
        raise _lost(bid, near, f"between {near} and {near + end.start - floor}: the target deleted what was copied")
    gone = end.start - filed.target_end
    if gone > 0:
        raise _lost(
            bid,
            filed.source_end,
            f"between {filed.source_end} and {filed.source_end + gone}: the target deleted what was copied",
        )
    if filed.leader_epoch < 0:
        raise _lost(
            bid,
            filed.source_end,
            f"at or before {filed.source_end}: the target log holds none of the lane's batches, and it is not known "
            "under which leader epoch they were acknowledged",
        )
    kept = yield EndOfEpoch(filed.leader_epoch)
    if kept < filed.target_end:
        raise _lost(
            bid,
            filed.source_end - (filed.target_end - kept),
            f"the target was truncated to {kept} and then deleted what was copied below",
        )
    return Tail(filed.source_end, filed.target_end, None)


def _lost(bid: Bid, offset: int, detail: str) -> LaneStopped:
    return LaneStopped(
        bid.lane,
        Stop.POSITION_LOST,
        offset,
        detail=detail,
        fix="compare both sides with `anabranch verify`, then set the lane's start by hand",
    )
