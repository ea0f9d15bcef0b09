"""What happens to a run of a link, as its owner is told of it: one event, one line.

``next_snapshot`` compares the lanes with the snapshot before, by nothing but what is stored on the target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from anabranch.model.lane import LaneKey, LaneProgress, LaneState, run_of
from anabranch.model.reports import LinkStatus

MOST_LANES = 20
"""Lanes that stop at one time are named one by one up to here."""
WAIT_TOLD_MS = 10_000
"""A lane that waits is told of after so long: a takeover that is tried again once or twice is no event."""


class LogFormat(StrEnum):
    """How events are written: ``text`` is a line for people, ``json`` an object a line."""

    TEXT = "text"
    JSON = "json"


class RunEventKind(StrEnum):
    """What happened; the values are those of the field ``event`` in JSON."""

    STARTING = "starting"
    STARTED = "started"
    WAITING = "waiting"
    RESTARTED = "restarted"
    TAKEN_OVER = "taken_over"
    LOST = "lost"
    CAUGHT_UP = "caught_up"
    PAUSED = "paused"
    RESUMED = "resumed"
    SOURCE_AWAY = "source_away"
    SOURCE_BACK = "source_back"
    LANE_STOPPED = "lane_stopped"
    LANE_WAITS = "lane_waits"
    LANE_RESUMED = "lane_resumed"
    GROUPS = "groups"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event: a sentence for people, and what a program wants of it."""

    kind: RunEventKind
    message: str
    fields: Mapping[str, object] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class LaneSnapshot:
    """The lanes of a run at one time.

    ``owners`` are the lanes that workers of the run hold, ``stopped`` those of them that stopped, with offset and
    reason. ``waits`` are those that wait for something, with what and since when (ms); ``stuck`` those of them that
    were told. ``lost`` are lanes that other runs have taken. ``is_caught_up`` stays until lanes are taken over, the
    source is away or the link is paused: a lane that lags for a moment is no event.
    """

    owners: Mapping[LaneKey, str] = field(default_factory=dict, hash=False)
    stopped: Mapping[LaneKey, tuple[str, int | None, str]] = field(default_factory=dict, hash=False)
    waits: Mapping[LaneKey, tuple[str, int]] = field(default_factory=dict, hash=False)
    stuck: frozenset[LaneKey] = frozenset()
    lost: frozenset[LaneKey] = frozenset()
    is_away: bool = False
    is_paused: bool = False
    is_caught_up: bool = False


@dataclass(frozen=True, slots=True)
class CopiedByRun:
    """What the workers of a run have copied, by what is persisted of each lane: what a killed one copied, the next
    owner counts.

    ``seen`` are records and bytes of each lane as it was persisted last, by whomever.
    """

    records: int = 0
    bytes: int = 0
    seen: Mapping[LaneKey, tuple[int, int]] = field(default_factory=dict, hash=False)

    def after(self, lanes: Iterable[LaneProgress], run: str) -> CopiedByRun:
        """The same once this is persisted: what lanes of the run have more than before counts."""
        records, size, seen = self.records, self.bytes, dict(self.seen)
        for lane in lanes:
            before = seen.get(lane.lane, (0, 0))
            seen[lane.lane] = (lane.records, lane.bytes)
            if run_of(lane.owner) == run:
                records += max(0, lane.records - before[0])
                size += max(0, lane.bytes - before[1])
        return CopiedByRun(records, size, seen)

    @classmethod
    def begun(cls, lanes: Iterable[LaneProgress]) -> CopiedByRun:
        """As a run begins: what others have copied before it does not count."""
        return cls(seen={lane.lane: (lane.records, lane.bytes) for lane in lanes})


def next_snapshot(before: LaneSnapshot, status: LinkStatus, run: str) -> tuple[LaneSnapshot, list[RunEvent]]:
    """The snapshot of now, and the events since ``before``; ``status`` is as read (``LinkStatus.as_read``)."""
    mine = {lane.lane: lane for lane in status.lanes if run_of(lane.owner) == run and _is_held(before, lane)}
    planned = status.plan.lanes if status.plan is not None and status.plan.owner == run else len(mine)
    away = [lane for lane in mine.values() if lane.state is LaneState.UNREACHABLE]
    waits = _waits(before, status, run)
    others = {lane.lane: run_of(lane.owner) for lane in status.lanes if run_of(lane.owner) != run and not lane.is_old}
    now = LaneSnapshot(
        owners={key: lane.owner for key, lane in mine.items()},
        stopped={
            key: (str(lane.source), lane.stop_offset, lane.stop_reason or "for an unknown reason")
            for key, lane in mine.items()
            if lane.state is LaneState.STOPPED
        },
        waits=waits,
        stuck=frozenset(key for key, (_, since) in waits.items() if status.read_at_ms - since >= WAIT_TOLD_MS),
        lost=frozenset(others) & (before.lost | frozenset(before.owners)),
        is_away=bool(away) or (before.is_away and not any(lane.knows_source for lane in mine.values())),
        is_paused=status.wanted.paused,
    )
    events = [
        *_owners(before, now, planned, others),
        *_paused(before, now),
        *_source(before, now, len(away), status.source_seen_ms),
        *_stopped(before, now, status.spec.id),
        *_waiting(before, now),
    ]
    goes_on = before.is_caught_up and not any(event.kind in _NOT_CAUGHT_UP for event in events)
    follow = sum(_has_caught_up(lane) for lane in mine.values())
    if not goes_on and not now.is_paused and 0 < planned <= follow + len(now.stopped) and follow:
        goes_on = True
        stand = f", {len(now.stopped):,} stopped" if now.stopped else ""
        message = f"caught up: {_lanes(follow, 'follows', 'follow')} the source's end{stand}"
        events.append(RunEvent(RunEventKind.CAUGHT_UP, message, {"lanes": follow, "stopped": len(now.stopped)}))
    return replace(now, is_caught_up=goes_on), events


_NOT_CAUGHT_UP = {RunEventKind.TAKEN_OVER, RunEventKind.LOST, RunEventKind.SOURCE_AWAY, RunEventKind.PAUSED}


def _is_held(before: LaneSnapshot, lane: LaneProgress) -> bool:
    """Whether its owner has a lane; one that waits may wait for an owner, or, once it has one, for a transaction."""
    return not lane.is_old and (lane.state is not LaneState.WAITING or before.owners.get(lane.lane) == lane.owner)


def _waits(before: LaneSnapshot, status: LinkStatus, run: str) -> dict[LaneKey, tuple[str, int]]:
    """What lanes of the run wait for, and since when."""
    found: dict[LaneKey, tuple[str, int]] = {}
    for lane in status.lanes:
        if lane.state is LaneState.WAITING and lane.stop_reason and run_of(lane.owner) == run and not lane.is_old:
            _, since = before.waits.get(lane.lane, ("", status.read_at_ms))
            found[lane.lane] = (lane.stop_reason, since)
    return found


def _has_caught_up(lane: LaneProgress) -> bool:
    """Whether a lane follows with no more behind it than it copies in a second: that is on its way."""
    lag = lane.lag_records
    return lane.state is LaneState.FOLLOWING and lag is not None and lag <= lane.records_per_s


def _owners(before: LaneSnapshot, now: LaneSnapshot, planned: int, others: Mapping[LaneKey, str]) -> Iterator[RunEvent]:
    taken = sum(before.owners.get(key) != owner for key, owner in now.owners.items())
    if taken:
        planned = max(planned, len(now.owners))  # a plan may be older than the lanes, or newer
        message = f"{_lanes(taken, 'was', 'were')} taken over; {len(now.owners):,} of {planned:,} run here"
        fields = {"lanes": taken, "held": len(now.owners), "planned": planned}
        yield RunEvent(RunEventKind.TAKEN_OVER, message, fields)
    lost = now.lost - before.lost
    if lost:
        runs = sorted({others[key] for key in lost})
        message = f"{_lanes(len(lost), 'was', 'were')} taken by another run of this link: {', '.join(runs)}"
        yield RunEvent(RunEventKind.LOST, message, {"lanes": len(lost), "runs": runs})


def _paused(before: LaneSnapshot, now: LaneSnapshot) -> Iterator[RunEvent]:
    if now.is_paused and not before.is_paused:
        yield RunEvent(RunEventKind.PAUSED, "the link is paused: nothing is read")
    elif before.is_paused and not now.is_paused:
        yield RunEvent(RunEventKind.RESUMED, "the link is resumed")


def _source(before: LaneSnapshot, now: LaneSnapshot, lanes: int, seen_ms: int | None) -> Iterator[RunEvent]:
    if now.is_away and not before.is_away:
        message = f"the source is away: {_lanes(lanes, 'does', 'do')} not reach it"
        yield RunEvent(RunEventKind.SOURCE_AWAY, message, {"lanes": lanes, "source_seen_ms": seen_ms})
    elif before.is_away and not now.is_away:
        yield RunEvent(RunEventKind.SOURCE_BACK, "the source is back")


def _stopped(before: LaneSnapshot, now: LaneSnapshot, link: str) -> Iterator[RunEvent]:
    news = [lane for key, lane in now.stopped.items() if before.stopped.get(key) != lane]
    for partition, offset, reason in sorted(news, key=lambda lane: lane[0])[:MOST_LANES]:
        where = "" if offset is None else f" at offset {offset:,}"
        fields = {"partition": partition, "offset": offset, "reason": reason}
        yield RunEvent(RunEventKind.LANE_STOPPED, f"{partition} stopped{where}: {reason}", fields)
    more = len(news) - MOST_LANES
    if more > 0:
        message = f"{_lanes(more, 'has', 'have')} stopped too: anabranch link show {link}"
        yield RunEvent(RunEventKind.LANE_STOPPED, message, {"lanes": more})
    gone_on = sorted(lane[0] for key, lane in before.stopped.items() if key in now.owners and key not in now.stopped)
    for partition in gone_on[:MOST_LANES]:
        yield RunEvent(RunEventKind.LANE_RESUMED, f"{partition} goes on", {"partition": partition})
    if len(gone_on) > MOST_LANES:
        more = len(gone_on) - MOST_LANES
        yield RunEvent(RunEventKind.LANE_RESUMED, f"{_lanes(more, 'goes', 'go')} on too", {"lanes": more})


def _waiting(before: LaneSnapshot, now: LaneSnapshot) -> Iterator[RunEvent]:
    by_reason = Counter(now.waits[key][0] for key in now.stuck - before.stuck)
    for reason, lanes in sorted(by_reason.items())[:MOST_LANES]:
        fields = {"lanes": lanes, "reason": reason}
        yield RunEvent(RunEventKind.LANE_WAITS, f"{_lanes(lanes, 'waits', 'wait')}: {reason}", fields)
    gone_on = len((before.stuck & frozenset(now.owners)) - frozenset(now.waits) - frozenset(now.stopped))
    if gone_on:
        message = f"{_lanes(gone_on, 'that waited goes', 'that waited go')} on"
        yield RunEvent(RunEventKind.LANE_RESUMED, message, {"lanes": gone_on})


def _lanes(number: int, one: str, many: str) -> str:
    return f"1 lane {one}" if number == 1 else f"{number:,} lanes {many}"
