"""Sums over a link's lanes: progress, rates, and the time until it has caught up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from anabranch.model.lane import LaneState
from anabranch.model.reports import LinkStatus


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a link's lanes; rates are 0 while the link does not run.

    ``missing`` counts planned lanes of which nothing was persisted yet, ``unknown`` those whose source's end, and so
    whose lag, is not known.  ``done`` is the share that is copied, from 0 to 1,
    where a missing lane counts as one of the mean size that has copied nothing; with an unknown lane it, the lag in
    records and that in bytes are None.  ``complete`` says that no lane lags, is missing, unknown or stopped.
    ``eta_seconds`` is the time to catch up at the present rate: 0 where it is complete, None where nothing is copied,
    the link is paused, or a lane is missing, unknown or stopped.  ``lag_seconds`` is the worst lane's, None if that of
    a lane with lag is unknown, or a lane is missing.  ``latency_ms`` is the longest of all lanes that copy, None where
    none does.
    """

    lanes: int
    missing: int
    unknown: int
    states: tuple[tuple[LaneState, int], ...]
    records: int
    bytes: int
    records_per_s: float
    bytes_per_s: float
    lag_records: int | None
    lag_bytes: int | None
    lag_seconds: float | None
    latency_ms: int | None
    done: float | None
    complete: bool
    eta_seconds: float | None

    def of(self, state: LaneState) -> int:
        """How many lanes are in a state."""
        return dict(self.states).get(state, 0)


def totals(status: LinkStatus) -> Totals:
    """The sums of a link's status."""
    lanes = status.lanes
    found = Counter(lane.state for lane in lanes)
    records = sum(lane.records for lane in lanes)
    known = [lane for lane in lanes if lane.lag_records is not None]
    unknown = len(lanes) - len(known)
    behind = sum(lane.lag_records or 0 for lane in known)
    missing = status.missing
    seconds = [lane.lag_seconds for lane in known if lane.lag_records]
    sizes = [lane.lag_bytes for lane in known]
    rate = sum(lane.records_per_s for lane in lanes) if status.running else 0.0
    goes_on = not status.wanted.paused  # what is still on its way then is no rate to go by
    # What was known of a stopped lane's log is old: also without lag it is not at its end.
    stuck = missing > 0 or unknown > 0 or found[LaneState.STOPPED] > 0
    complete = bool(lanes) and behind == 0 and not stuck
    copied = records / (records + behind) if records + behind else 0.0
    done = copied * len(lanes) / (len(lanes) + missing) if lanes else 0.0
    return Totals(
        lanes=len(lanes),
        missing=missing,
        unknown=unknown,
        states=tuple((state, found[state]) for state in LaneState if found[state]),
        records=records,
        bytes=sum(lane.bytes for lane in lanes),
        records_per_s=rate,
        bytes_per_s=sum(lane.bytes_per_s for lane in lanes) if status.running else 0.0,
        lag_records=None if unknown else behind,
        lag_bytes=None if unknown or None in sizes else sum(size or 0 for size in sizes),
        lag_seconds=None
        if missing or unknown or None in seconds
        else max((s for s in seconds if s is not None), default=0.0),
        latency_ms=max((one.latency_ms for one in lanes if one.latency_ms is not None), default=None),
        done=None if unknown else done,
        complete=complete,
        eta_seconds=0.0 if complete else behind / rate if goes_on and rate > 0 and behind and not stuck else None,
    )


def state_word(status: LinkStatus, sums: Totals) -> str:
    """One word for the whole link: its most urgent state."""
    if status.wanted.paused:
        return LaneState.PAUSED.value
    if not status.running:
        return "not running"
    if status.ending:
        return "ending"
    for state in (LaneState.STOPPED, LaneState.UNREACHABLE, LaneState.COPYING, LaneState.FOLLOWING):
        if sums.of(state) and not (state is LaneState.FOLLOWING and (sums.missing or sums.unknown)):
            return state.value
    return LaneState.WAITING.value


def lanes_of(number: int) -> str:
    """So many lanes."""
    return "1 lane" if number == 1 else f"{number:,} lanes"
