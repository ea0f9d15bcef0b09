"""A link's lanes summed up: how far it is, how fast, and when it will have caught up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from anabranch.model.lane import LaneState
from anabranch.model.reports import LinkStatus


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a link's lanes; rates are 0 while the link does not run.

    ``missing`` are planned lanes of which nothing was filed yet: nobody knows what they have before them.  ``done`` is
    the copied share of what is copied or behind, from 0 to 1, where a missing lane counts as one of the mean size that
    has copied nothing; ``complete`` says that nothing is behind, missing or stopped.  ``eta_seconds`` is the time to
    catch up at the rate of now: 0 where it is complete, None where nothing moves or a lane is missing or stopped.
    ``lag_seconds`` is the worst lane's, None if that of a lane with lag is unknown, or a lane is missing.
    """

    lanes: int
    missing: int
    states: tuple[tuple[LaneState, int], ...]
    records: int
    bytes: int
    records_per_s: float
    bytes_per_s: float
    lag_records: int
    lag_bytes: int
    lag_seconds: float | None
    done: float
    complete: bool
    eta_seconds: float | None


def totals(status: LinkStatus) -> Totals:
    """The sums of a link as it stands."""
    lanes = status.lanes
    found = Counter(lane.state for lane in lanes)
    records = sum(lane.records for lane in lanes)
    behind = sum(lane.lag_records for lane in lanes)
    missing = max(0, status.plan.lanes - len(lanes)) if status.plan is not None else 0
    seconds = [lane.lag_seconds for lane in lanes if lane.lag_records]
    rate = sum(lane.records_per_s for lane in lanes) if status.running else 0.0
    # What was known of a stopped lane's log is old: also without lag it is not at its end.
    stuck = missing > 0 or found[LaneState.STOPPED] > 0
    complete = bool(lanes) and behind == 0 and not stuck
    copied = records / (records + behind) if records + behind else 0.0
    return Totals(
        lanes=len(lanes),
        missing=missing,
        states=tuple((state, found[state]) for state in LaneState if found[state]),
        records=records,
        bytes=sum(lane.bytes for lane in lanes),
        records_per_s=rate,
        bytes_per_s=sum(lane.bytes_per_s for lane in lanes) if status.running else 0.0,
        lag_records=behind,
        lag_bytes=sum(lane.lag_bytes for lane in lanes),
        lag_seconds=None if missing or None in seconds else max((s for s in seconds if s is not None), default=0.0),
        done=copied * len(lanes) / (len(lanes) + missing) if lanes else 0.0,
        complete=complete,
        eta_seconds=0.0 if complete else behind / rate if rate > 0 and behind and not stuck else None,
    )
