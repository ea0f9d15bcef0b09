"""What persisted progress still says when it is read: a worker that is gone files nothing, so its last word stays.

A living worker files at least one of its lanes each second, and each lane at once whose state or knowledge of the
source changes (:mod:`anabranch.copier.reporting.schedule`).  So an owner's newest report confirms all of its lanes:

    a lane is old where its owner has persisted no lane at all for ``KNOWN_S`` seconds, or the link does not run.

Times are those of two machines, whose clocks should agree within some seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from anabranch.model.lane import KNOWN_S, LaneProgress, LaneState

NOT_RUNNING = "the link does not run"


def as_read(lanes: Iterable[LaneProgress], running: bool, now_ms: int) -> tuple[LaneProgress, ...]:
    """The lanes as they stand at ``now_ms``: an old one waits for an owner, unless it is stopped, and has no lag."""
    lanes = tuple(lanes)
    last_update: dict[str, int] = {}
    for lane in lanes:
        last_update[lane.owner] = max(last_update.get(lane.owner, 0), lane.updated_at_ms)
    return tuple(_as_read(lane, running, now_ms - last_update[lane.owner]) for lane in lanes)


def _as_read(lane: LaneProgress, running: bool, silence_ms: int) -> LaneProgress:
    if running and silence_ms <= KNOWN_S * 1000:
        return lane
    old = replace(
        lane,
        is_old=True,
        lag_bytes=None,
        lag_seconds=None,
        latency_ms=None,
        records_per_s=0.0,
        bytes_per_s=0.0,
    )
    if lane.state is LaneState.STOPPED:
        return old
    why = f"no worker has reported on it for {silence_ms // 1000:,} s" if running else NOT_RUNNING
    return replace(old, state=LaneState.WAITING, stop_reason=why)
