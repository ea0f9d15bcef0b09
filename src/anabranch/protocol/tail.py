"""The lane's position, read from the target log after the fences."""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.offsets.offset_map import OffsetMap
from anabranch.protocol.claims import ClaimLog
from anabranch.protocol.effects import EndOfEpoch, LogEnd, ReadEnd, ReadMappedRanges, ReadTail, Steps, TailBatch
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop, copied
from anabranch.protocol.gap_records import GapRecordLog, OffsetSpan
from anabranch.protocol.ownership import Persisted, TakeoverRequest
from anabranch.records.sequence import MODULUS, advance, sequence_of, unwrap

SEAM_REACH = 64
REPLACED_REACH = 1_000
"""Batches that are looked at to learn whether a persisted range is of another log: what an unclean election takes is
what its followers lacked."""
GRANT = MODULUS // 4
"""How far a place that was persisted may be off, in offsets, when it is told which lap of the sequences a lane is in.
"""


@dataclass(frozen=True, slots=True)
class Tail:
    """Where the lane stands: next source offset, and the target offset after its last batch.

    ``producer_id`` and ``sequence`` (the one after its last record) are those of the last batch, -1 where there is
    none.  ``markers`` are the target offsets of the fences that were met on the way.  ``is_replaced`` says that the
    lane's last persisted range tells of a log that is no more.
    """

    position: int
    target_end: int
    last_timestamp: int | None
    producer_id: int = -1
    sequence: int = -1
    markers: tuple[tuple[int, int], ...] = ()
    is_replaced: bool = False


@dataclass(frozen=True, slots=True)
class JournalView:
    """What tells a batch of the lane: its claims, and its gap records as read after the fences."""

    claims: ClaimLog
    gap_records: GapRecordLog


def read_tail(request: TakeoverRequest, journal: JournalView, below: int, fenced: frozenset[int]) -> Steps[Tail]:
    """Walk back from ``below`` to the lane's last batch; ``fenced`` are the ids whose markers must lie on the way.

    The first batch of data whose producer id is one of the lane's claims gives the position.  Control batches
    and other writers' batches are passed over.  ``below`` must not exceed the high watermark, and must not lie
    under the log end as it was after the last fence.

    Nothing of the lane lies under its floor, so the walk ends there.

    Raises OwnershipEnded where a marker of a fence is missing (the log was truncated since), LaneStopped where the
    last two batches of the lane do not follow each other, or where the position cannot be determined.
    """
    mine = journal.claims.producer_ids(request.lane)
    near = begins_near(request, journal)
    missing = set(fenced)
    markers: list[tuple[int, int]] = []
    upto, others = below, False
    # What was there before the lane may be long (another tool's copy, adopted): it is not walked through.
    floor = journal.claims.floor(request.lane, below)
    while below > floor and (batch := (yield ReadTail(below))) is not None:
        if batch.is_control:
            if batch.producer_id in missing:
                missing.discard(batch.producer_id)
                markers.append((batch.producer_id, batch.base_offset))
        elif batch.producer_id in mine:
            if missing:
                break
            if journal.gap_records.is_plain(request.lane, batch.producer_id, batch.base_sequence):
                near = in_lap(request, journal, batch)
            spans = yield from _told(request, journal, batch, near)
            if spans is None:
                at = f"{batch.base_offset:,}"
                forgotten = (
                    f"the gap record that told target offset {at} is forgotten, and no mapped range is persisted"
                )
                raise _lost(request, near, forgotten)
            if spans[0].source < 0:
                raise _lost(request, near, f"sequence {batch.base_sequence:,} is near no offset of the source")
            is_replaced = yield from _check_persisted(request, journal, mine, batch, spans)
            yield from _check_reported(request, journal, mine, upto, batch)
            yield from _check_seam(request, journal, mine, batch, spans[0].source)
            return Tail(
                spans[-1].end,
                batch.last_offset + 1,
                batch.max_timestamp,
                batch.producer_id,
                advance(batch.base_sequence, batch.length),
                tuple(markers),
                is_replaced,
            )
        else:
            others = True
        below = batch.base_offset
    if missing:
        raise OwnershipEnded(request.lane, Ending.FENCE_MISSING, detail=f"producer ids {sorted(missing)}")
    yield from _check_writer(request, mine, floor, upto)
    if others and request.claims_deleted and request.begun_at < 0:
        raise _forgotten(
            request, near, "the first records of the claims' topic were deleted, and others' batches are there"
        )
    tail = yield from _without_batches(request, journal.claims, near)
    return replace(tail, markers=tuple(markers))


def begins_near(request: TakeoverRequest, journal: JournalView) -> int:
    """A source offset that the lane has reached, as far as is persisted."""
    return (
        request.persisted.source_end
        if request.persisted is not None
        else journal.claims.start(request.lane, request.start)
    )


def in_lap(request: TakeoverRequest, journal: JournalView, batch: TailBatch) -> int:
    """The source offset of the lane's last batch, whose producer id has not jumped: its sequence tells it but for a
    multiple of 2^31.

    The lane stands at or past each place that was persisted of it, and no further behind it than the target's log has
    grown since, where no gap record was ever written; nor behind the source's end.  What a truncation takes, and what
    was persisted before one, is far less than the half lap that is granted.  Raises LaneStopped where that leaves no
    offset, or more than one.
    """
    claims, end = journal.claims, batch.last_offset + 1
    start = claims.start(request.lane, request.start)
    places = [(start, claims.floor(request.lane, batch.base_offset))]
    if request.persisted is not None:
        places.append((request.persisted.source_end, request.persisted.target_end))
    if request.reported is not None:
        places.append((request.reported.position, request.reported.target_end))
    low = max(source for source, _ in places)
    tops = [] if request.source_end is None else [request.source_end]
    if not journal.gap_records.knows(request.lane):
        tops.append(min(source + max(0, end - target) for source, target in places))
    high = max(low, min(tops, default=low))
    first = unwrap(batch.base_sequence, low - GRANT)
    if first < low - GRANT:
        first += MODULUS
    found = [at for at in range(first, high + GRANT, MODULUS) if at >= 0]
    if len(found) == 1:
        return found[0]
    told = f"sequence {batch.base_sequence:,} at target offset {batch.base_offset:,}"
    if not found:
        raise _lost(request, low, f"{told} is no source offset between {low:,} and {high:,}, where the lane must stand")
    raise _lost(request, low, f"{told} may be any of the source offsets {', '.join(f'{at:,}' for at in found)}")


def tell(
    lane: str, gap_records: GapRecordLog, ranges: OffsetMap | None, batch: TailBatch, near: int
) -> tuple[OffsetSpan, ...] | None:
    """The source offsets of a batch's records: by its sequence and the gap records, else by the persisted runs, else
    None.
    """
    told = gap_records.tell(lane, batch.producer_id, batch.base_sequence, batch.length, near)
    if told is not None or ranges is None:
        return told
    found: list[OffsetSpan] = []
    at = batch.base_offset
    while at <= batch.last_offset:
        index = ranges.find_target(at)
        run = ranges[index] if index >= 0 else None
        if run is None or run.target_end <= at:
            return None
        taken = min(run.target_end, batch.last_offset + 1) - at
        found.append(OffsetSpan(run.source + at - run.target, taken))
        at += taken
    return tuple(found)


def _told(
    request: TakeoverRequest, journal: JournalView, batch: TailBatch, near: int
) -> Steps[tuple[OffsetSpan, ...] | None]:
    """``tell``, with the persisted runs read after the gap records where those no longer do: an owner that does not
    know yet
    that it is over may persist and forget until then."""
    spans = tell(request.lane, journal.gap_records, None, batch, near)
    if spans is None:
        ranges: OffsetMap = yield ReadMappedRanges(request.lane, batch.base_offset, batch.last_offset + 1)
        spans = tell(request.lane, journal.gap_records, ranges, batch, near)
    return spans


def _check_seam(
    request: TakeoverRequest, journal: JournalView, mine: frozenset[int], last: TailBatch, first: int
) -> Steps[None]:
    """Check that the lane's last batch follows the one before it, or begins at a start that was claimed.

    Within a producer id the sequences must follow each other; another one begins at the sequence of the position
    that its owner read, which is where the batch before it ends.  A request that reached a
    leader which was lost by an unclean election and led again may have been appended past a gap.  Only what touches is
    compared: a target that compacts or retains may have dropped what was between.
    """
    below = last.base_offset
    for _ in range(SEAM_REACH):
        batch: TailBatch | None = yield ReadTail(below)
        if batch is None:
            starts = {placed.claim.start for placed in journal.claims.claims(request.lane)}
            begun = {sequence_of(start) for start in starts}
            if any(placed.claim.pads for placed in journal.claims.claims(request.lane)):
                begun.add(0)  # padding does
            if below <= journal.claims.floor(request.lane, below) and last.base_sequence not in begun:
                raise _diverged(request, last, first, min(starts, default=request.start))
            return
        if batch.last_offset + 1 != below:
            return
        if not batch.is_control and batch.producer_id in mine:
            told = yield from _told(request, journal, batch, first)
            if told is None:
                return
            end = told[-1].end
            same = batch.producer_id == last.producer_id
            if last.base_sequence != (advance(batch.base_sequence, batch.length) if same else sequence_of(end)):
                raise _diverged(request, last, first, end)
            return
        below = batch.base_offset


def _check_persisted(
    request: TakeoverRequest, journal: JournalView, mine: frozenset[int], last: TailBatch, spans: tuple[OffsetSpan, ...]
) -> Steps[bool]:
    """Check that the lane's batch at the end of its persisted runs is told as they say; whether they tell of another
    log.

    Where the journal of gap records lost some, sequences tell offsets that are too low, and nothing else shows it.  An
    owner that does not know yet that it is over may persist, after an unclean election, what that took: then the log is
    right, and what lies in it shows that it is another one.
    """
    persisted = request.persisted
    if persisted is None or last.last_offset + 1 < persisted.target_end:
        return False  # the log was truncated below
    batch: TailBatch | None = last
    if last.last_offset + 1 > persisted.target_end:
        batch = yield from _check_writer(
            request, mine, journal.claims.floor(request.lane, persisted.target_end), last.last_offset
        )
        if batch is None:
            return False
        told = journal.gap_records.tell(
            request.lane, batch.producer_id, batch.base_sequence, batch.length, persisted.source_end
        )
        if told is None:
            return False
        spans = told
    if spans[-1].end != persisted.source_end:
        if (yield from _is_of_another_log(mine, persisted)):
            return True
        raise _lost(
            request,
            min(persisted.source_end, spans[-1].end),
            f"target offset {persisted.target_end - 1:,} was persisted as source offset {persisted.source_end - 1:,}, "
            "and its "
            f"sequence and the gap records tell {spans[-1].end - 1:,}: gap records are lost, or what is persisted is "
            "wrong",
        )
    return False


def _is_of_another_log(mine: frozenset[int], persisted: Persisted) -> Steps[bool]:
    """Whether something else than the lane's records lies within its last persisted range.

    A range tells of records that lay one behind the other.  Where the log has a marker or another writer's batch among
    them, it is not the log that the range was persisted of: a new owner fenced the earlier one there.
    """
    below = persisted.target_end
    for _ in range(REPLACED_REACH):
        if persisted.target_start < 0 or below <= persisted.target_start:
            return False
        batch: TailBatch | None = yield ReadTail(below)
        if batch is None or batch.last_offset < persisted.target_start:
            return False
        if batch.is_control or batch.producer_id not in mine:
            return True
        below = batch.base_offset
    return False


def _check_reported(
    request: TakeoverRequest, journal: JournalView, mine: frozenset[int], upto: int, last: TailBatch
) -> Steps[None]:
    """Check that the lane's last batch below the target end that was reported ends at the position reported with it.

    Invariant: runs are persisted before the progress that tells of their records.  So a lane with progress, and with
    neither a run nor a gap record, never had a gap, and its sequences tell what was reported; or both were lost.
    """
    reported = request.reported
    if reported is None or request.persisted is not None or journal.gap_records.knows(request.lane):
        return
    if reported.position <= request.begun_at or upto < reported.target_end:
        return  # nothing of this generation was reported; or the log was truncated below
    batch: TailBatch | None = last
    if last.last_offset >= reported.target_end:
        batch = yield from _last_below(mine, reported.target_end)
    if batch is None or batch.last_offset >= reported.target_end:
        return
    end = unwrap(batch.base_sequence, reported.position) + batch.length
    if end != reported.position:
        raise _lost(
            request,
            max(0, min(end, reported.position)),
            f"source offset {reported.position:,} was reported as reached at target offset {reported.target_end:,}, "
            f"and the sequences there tell {end:,}: mapped ranges and gap records are lost",
        )


def _last_below(mine: frozenset[int], below: int) -> Steps[TailBatch | None]:
    """The lane's last batch below a target offset, None where the batches next to it are none of the lane's."""
    for _ in range(SEAM_REACH):
        batch: TailBatch | None = yield ReadTail(below)
        if batch is None or (not batch.is_control and batch.producer_id in mine):
            return batch
        below = batch.base_offset
    return None


def _check_writer(request: TakeoverRequest, mine: frozenset[int], floor: int, upto: int) -> Steps[TailBatch | None]:
    """The lane's batch with the last record of its persisted runs, None where the log has it no more.

    Raises LaneStopped where it is there, and no claim names who wrote it: then what is found behind it is not all, and
    where nothing is found the lane would start over.
    """
    persisted = request.persisted
    if persisted is None or not floor < persisted.target_end <= upto:
        return None  # the runs of another tool, or of the generation before; or the log was truncated
    batch: TailBatch | None = yield ReadTail(persisted.target_end)
    if batch is None or batch.is_control or batch.last_offset + 1 != persisted.target_end:
        return None  # it was deleted or cut, or its runs are persisted in part
    if batch.producer_id < 0:
        return None  # no owner of a lane writes without a producer id: the lane's was cut, and another writer came
    if batch.producer_id not in mine:
        told = f"target offset {persisted.target_end - 1:,} is persisted as the lane's, and no claim names producer id"
        raise _forgotten(request, persisted.source_end, f"{told} {batch.producer_id}")
    return batch


def _forgotten(request: TakeoverRequest, offset: int, detail: str) -> LaneStopped:
    return LaneStopped(request.lane, Stop.CLAIMS_LOST, offset, detail=detail, fix=copied(request.lane))


def _diverged(request: TakeoverRequest, last: TailBatch, first: int, expected: int) -> LaneStopped:
    return LaneStopped(
        request.lane,
        Stop.DIVERGED,
        min(expected, first),
        detail=f"target offset {last.base_offset:,} holds source offset {first:,}, not {expected:,}",
        fix=f"compare both sides with `anabranch verify`; then {copied(request.lane)}",
    )


def _without_batches(request: TakeoverRequest, log: ClaimLog, near: int) -> Steps[Tail]:
    """The position where the target log holds no batch of the lane.

    Exact where nothing of the lane can have been deleted: the log still begins at or below the lane's floor, so
    that it never had a batch or lost all of them to a truncation.  Exact too where the log still begins at or
    below the end of the last persisted run, which no truncation cut.  Where the log begins is read again here, after
    the walk: retention may have run during it.
    """
    persisted = request.persisted
    end: LogEnd = yield ReadEnd()
    floor = log.floor(request.lane, end.end)
    fixed = log.fixed(request.lane)
    if fixed is not None and fixed.pads:
        floor = fixed.start  # what lay below was padding
    if end.start <= floor:
        return Tail(log.start(request.lane, request.start), floor, None)
    if persisted is None:
        raise _lost(
            request, near, f"between {near:,} and {near + end.start - floor:,}: the target deleted what was copied"
        )
    gone = end.start - persisted.through
    if gone > 0:
        raise _lost(
            request,
            persisted.source_end,
            f"between {persisted.source_end:,} and {persisted.source_end + gone:,}: the target deleted what was copied",
        )
    if persisted.leader_epoch < 0:
        raise _lost(
            request,
            persisted.source_end,
            f"at or before {persisted.source_end:,}: the target log holds none of the lane's batches, and it is not "
            "known "
            "under which leader epoch they were acknowledged",
        )
    kept = yield EndOfEpoch(persisted.leader_epoch)
    if kept < persisted.through:
        raise _lost(
            request,
            persisted.source_end - max(0, persisted.target_end - kept),
            f"the target was truncated to {kept:,} and then deleted what was copied below",
        )
    position = persisted.source_end
    if persisted.known_to >= 0 and request.reported is not None:
        position = max(position, request.reported.position)  # behind the last record there may be offsets without any
    return Tail(position, persisted.target_end, None)


def _lost(request: TakeoverRequest, offset: int, detail: str) -> LaneStopped:
    return LaneStopped(
        request.lane,
        Stop.POSITION_LOST,
        offset,
        detail=detail,
        fix=copied(request.lane),
    )
