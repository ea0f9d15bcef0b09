"""What is told of a lane as its progress: from the lane's parts to one frozen value."""

from __future__ import annotations

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.target.foreign_writers import with_foreign_writer
from anabranch.model.lane import KNOWN_S, LaneProgress, LaneState

UNANSWERED = "the source does not answer"


def state_of(lane: Lane, paused: bool) -> LaneState:
    """What to call where a lane stands."""
    is_left = lane.phase is LanePhase.OVER and lane.stopped is not None and not lane.is_doubted
    if lane.phase is LanePhase.STOPPED or is_left:
        return LaneState.STOPPED  # who leaves it changes nothing of why it stands
    if paused:
        return LaneState.PAUSED
    if lane.phase is not LanePhase.RUNNING:
        return LaneState.WAITING
    source = lane.source
    if source.silence() > KNOWN_S:
        return LaneState.UNREACHABLE
    if lane.status.held_by:
        return LaneState.WAITING
    if not source.seen_at:
        return LaneState.COPYING  # where the end is has not been told yet
    # An empty queue alone says little: who waits for memory or a quota, or was just resumed, has not read all.
    is_read = not lane.fetched.batches and lane.has_fetched_stable
    return LaneState.FOLLOWING if is_read or lane.reached >= source.stable else LaneState.COPYING


def report(lane: Lane, owner: str, paused: bool, at_ms: int) -> LaneProgress:
    """Where a lane stands now; what is an estimate has few digits, for it is persisted again and again."""
    source, copied, status = lane.source, lane.copied, lane.status
    tally, waiting_batches = copied.tally, lane.fetched.batches
    silence = source.silence()
    seen_ms = at_ms - round(silence * 1000) if source.seen_at else None
    is_known = seen_ms is not None and silence <= KNOWN_S
    behind = max(0, source.stable - lane.reached)
    mean = tally.bytes / tally.records if tally.records else 0.0
    lag_bytes = None
    if is_known and (mean or not behind):  # before anything was copied nobody knows how large records are
        lag_bytes = round(_rough(behind * mean))
    lag_seconds: float | None = 0.0 if is_known else None
    if behind:
        lag_seconds = None
        if waiting_batches:
            lag_seconds = max(0.0, at_ms / 1000 - waiting_batches[0].header.max_timestamp / 1000)
    state = state_of(lane, paused)
    reason = lane.stopped.why if state is LaneState.STOPPED and lane.stopped else None
    if state is LaneState.WAITING:
        reason = status.held_by or status.waiting or None
    if silence > KNOWN_S and state in {LaneState.WAITING, LaneState.UNREACHABLE}:
        silent = source.doubt or UNANSWERED
        reason = f"{reason}; {silent}" if reason else silent
    return LaneProgress(
        lane=lane.assignment.lane,
        source=lane.assignment.source,
        target=lane.assignment.target,
        state=state,
        mode=status.mode,
        mode_reason=with_foreign_writer(status.mode_reason, status.foreign_writer),
        position=lane.reached,
        log_start=source.log_start,
        stable=source.stable,
        high_watermark=source.high_watermark,
        target_end=copied.target_end,
        records=tally.records,
        bytes=tally.bytes,
        records_per_s=_rough(tally.records_per_s),
        bytes_per_s=_rough(tally.bytes_per_s),
        lag_bytes=lag_bytes,
        lag_seconds=None if lag_seconds is None else round(lag_seconds, 2),
        owner=owner,
        updated_at_ms=at_ms,
        stop_reason=reason,
        stop_offset=lane.stopped.offset if state is LaneState.STOPPED and lane.stopped else None,
        source_epoch=lane.note_epoch(),
        source_seen_ms=seen_ms,
        target_epoch=lane.known_to(),
        latency_ms=tally.latency_ms,
    )


def _rough(number: float) -> float:
    """A number to three digits; one place behind the point at most."""
    return round(float(f"{number:.3g}"), 1)
