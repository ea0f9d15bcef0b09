"""The lane's position, read from the target log after the kills."""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.offsets.runs import RunMap
from anabranch.protocol.claims import ClaimLog
from anabranch.protocol.effects import EndOfEpoch, LogEnd, ReadEnd, ReadRuns, ReadTail, Steps, TailBatch
from anabranch.protocol.endings import Ending, LaneStopped, Stop, TenureEnded, copied
from anabranch.protocol.holes import JumpLog, Stretch
from anabranch.protocol.tenure import Bid
from anabranch.records.sequence import MODULUS, advance, sequence_of, unwrap

SEAM_REACH = 64
GRANT = MODULUS // 4
"""How far a place that was filed may be off, in offsets, when it is told which lap of the sequences a lane is in."""


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
    near = begins_near(bid, journal)
    missing = set(killed)
    markers: list[tuple[int, int]] = []
    upto, others = below, False
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
            if journal.jumps.is_plain(bid.lane, batch.producer_id, batch.base_sequence):
                near = in_lap(bid, journal, batch)
            stretches = yield from _told(bid, journal, batch, near)
            if stretches is None:
                forgotten = f"the jump that told target offset {batch.base_offset:,} is forgotten, and no run is filed"
                raise _lost(bid, near, forgotten)
            if stretches[0].source < 0:
                raise _lost(bid, near, f"sequence {batch.base_sequence} is near no offset of the source")
            yield from _check_filed(bid, journal, mine, batch, stretches)
            yield from _check_seam(bid, journal, mine, batch, stretches[0].source)
            return Tail(
                stretches[-1].end,
                batch.last_offset + 1,
                batch.max_timestamp,
                batch.producer_id,
                advance(batch.base_sequence, batch.length),
                tuple(markers),
            )
        else:
            others = True
        below = batch.base_offset
    if missing:
        raise TenureEnded(bid.lane, Ending.KILL_MISSING, detail=f"producer ids {sorted(missing)}")
    yield from _check_writer(bid, mine, floor, upto)
    if others and bid.claims_deleted and bid.begun_at < 0:
        raise _forgotten(
            bid, near, "the first records of the claims' topic were deleted, and others' batches are there"
        )
    tail = yield from _without_batches(bid, journal.claims, near)
    return replace(tail, markers=tuple(markers))


def begins_near(bid: Bid, journal: Journal) -> int:
    """A source offset that the lane has reached, as far as is filed."""
    return bid.filed.source_end if bid.filed is not None else journal.claims.start(bid.lane, bid.start)


def in_lap(bid: Bid, journal: Journal, batch: TailBatch) -> int:
    """The source offset of the lane's last batch, whose producer id has not jumped: its sequence tells it but for a
    multiple of 2^31.

    The lane stands at or past each place that was filed of it, and no further behind it than the target's log has
    grown since, where no jump was ever written; nor behind the source's end.  What a truncation takes, and what was
    filed before one, is far less than the half lap that is granted.  Raises LaneStopped where that leaves
    no offset, or more than one.
    """
    claims, end = journal.claims, batch.last_offset + 1
    start = claims.start(bid.lane, bid.start)
    places = [(start, claims.floor(bid.lane, batch.base_offset))]
    if bid.filed is not None:
        places.append((bid.filed.source_end, bid.filed.target_end))
    if bid.reported is not None:
        places.append((bid.reported.position, bid.reported.target_end))
    low = max(source for source, _ in places)
    tops = [] if bid.source_end is None else [bid.source_end]
    if not journal.jumps.knows(bid.lane):
        tops.append(min(source + max(0, end - target) for source, target in places))
    high = max(low, min(tops, default=low))
    first = unwrap(batch.base_sequence, low - GRANT)
    if first < low - GRANT:
        first += MODULUS
    found = [at for at in range(first, high + GRANT, MODULUS) if at >= 0]
    if len(found) == 1:
        return found[0]
    told = f"sequence {batch.base_sequence} at target offset {batch.base_offset:,}"
    if not found:
        raise _lost(bid, low, f"{told} is no source offset between {low:,} and {high:,}, where the lane must stand")
    raise _lost(bid, low, f"{told} may be any of the source offsets {', '.join(map(str, found))}")


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
        runs: RunMap = yield ReadRuns(bid.lane, batch.base_offset, batch.last_offset + 1)
        stretches = tell(bid.lane, journal.jumps, runs, batch, near)
    return stretches


def _check_seam(bid: Bid, journal: Journal, mine: frozenset[int], last: TailBatch, first: int) -> Steps[None]:
    """Check that the lane's last batch follows the one before it, or begins at a start that was claimed.

    Within a producer id the sequences must follow each other; another one begins at the sequence of the position
    that its owner read, which is where the batch before it ends.  A request that reached a
    leader which was lost by an unclean election and led again may have been appended past a hole.  Only what touches is
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


def _check_filed(
    bid: Bid, journal: Journal, mine: frozenset[int], last: TailBatch, stretches: tuple[Stretch, ...]
) -> Steps[None]:
    """Check that the lane's batch at the end of its filed runs is told as they say.

    Where the journal of jumps lost some, sequences tell offsets that are too low, and nothing else shows it.
    """
    filed = bid.filed
    if filed is None or last.last_offset + 1 < filed.target_end:
        return  # the log was truncated below
    batch: TailBatch | None = last
    if last.last_offset + 1 > filed.target_end:
        batch = yield from _check_writer(bid, mine, journal.claims.floor(bid.lane, filed.target_end), last.last_offset)
        if batch is None:
            return
        told = journal.jumps.tell(bid.lane, batch.producer_id, batch.base_sequence, batch.length, filed.source_end)
        if told is None:
            return
        stretches = told
    if stretches[-1].end != filed.source_end:
        raise _lost(
            bid,
            min(filed.source_end, stretches[-1].end),
            f"target offset {filed.target_end - 1:,} was filed as source offset {filed.source_end - 1:,}, and its "
            f"sequence and the jumps tell {stretches[-1].end - 1:,}: jumps are lost, or what is filed is wrong",
        )


def _check_writer(bid: Bid, mine: frozenset[int], floor: int, upto: int) -> Steps[TailBatch | None]:
    """The lane's batch with the last record of its filed runs, None where the log has it no more.

    Raises LaneStopped where it is there, and no claim names who wrote it: then what is found behind it is not all, and
    where nothing is found the lane would start over.
    """
    filed = bid.filed
    if filed is None or not floor < filed.target_end <= upto:
        return None  # the runs of another tool, or of the generation before; or the log was truncated
    batch: TailBatch | None = yield ReadTail(filed.target_end)
    if batch is None or batch.is_control or batch.last_offset + 1 != filed.target_end:
        return None  # it was deleted or cut, or its runs are filed in part
    if batch.producer_id < 0:
        return None  # no owner of a lane writes without a producer id: the lane's was cut, and another writer came
    if batch.producer_id not in mine:
        told = f"target offset {filed.target_end - 1:,} is filed as the lane's, and no claim names producer id"
        raise _forgotten(bid, filed.source_end, f"{told} {batch.producer_id}")
    return batch


def _forgotten(bid: Bid, offset: int, detail: str) -> LaneStopped:
    return LaneStopped(bid.lane, Stop.CLAIMS_LOST, offset, detail=detail, fix=copied(bid.lane))


def _diverged(bid: Bid, last: TailBatch, first: int, expected: int) -> LaneStopped:
    return LaneStopped(
        bid.lane,
        Stop.DIVERGED,
        min(expected, first),
        detail=f"target offset {last.base_offset:,} holds source offset {first:,}, not {expected:,}",
        fix=f"compare both sides with `anabranch verify`; then {copied(bid.lane)}",
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
        raise _lost(bid, near, f"between {near:,} and {near + end.start - floor:,}: the target deleted what was copied")
    gone = end.start - filed.through
    if gone > 0:
        raise _lost(
            bid,
            filed.source_end,
            f"between {filed.source_end:,} and {filed.source_end + gone:,}: the target deleted what was copied",
        )
    if filed.leader_epoch < 0:
        raise _lost(
            bid,
            filed.source_end,
            f"at or before {filed.source_end:,}: the target log holds none of the lane's batches, and it is not known "
            "under which leader epoch they were acknowledged",
        )
    kept = yield EndOfEpoch(filed.leader_epoch)
    if kept < filed.through:
        raise _lost(
            bid,
            filed.source_end - max(0, filed.target_end - kept),
            f"the target was truncated to {kept:,} and then deleted what was copied below",
        )
    position = filed.source_end
    if filed.known_to >= 0 and bid.reported is not None:
        position = max(position, bid.reported.position)  # behind the last record there may be offsets without any
    return Tail(position, filed.target_end, None)


def _lost(bid: Bid, offset: int, detail: str) -> LaneStopped:
    return LaneStopped(
        bid.lane,
        Stop.POSITION_LOST,
        offset,
        detail=detail,
        fix=copied(bid.lane),
    )
