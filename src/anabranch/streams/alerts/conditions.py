"""What is seen of a stream, by each of its rules: true, false, or not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anabranch.streams.alerts.rules import AlertKind, AlertRules
from anabranch.streams.restarting import WINDOW_MS
from anabranch.streams.states import StreamState, StreamWanted

_UNITS_MS = {"millisecond": 1, "second": 1_000, "minute": 60_000, "hour": 3_600_000}


@dataclass(frozen=True, slots=True)
class WatchedStream:
    """A stream as its alerts see it: ``failures`` are times (ms), ``queries`` the last progress of each by name.

    ``is_seen`` is whether its run is one of the machine that looks; else nothing is known of its queries.
    """

    wanted: StreamWanted
    state: StreamState
    why: str
    trigger: str
    failures: Sequence[int] = ()
    queries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    is_seen: bool = False

    def conditions(self, rules: AlertRules, now_ms: int) -> tuple[AlertCondition, ...]:
        """A condition for each rule that is on, of each query that is known."""
        return conditions(rules, self, now_ms)

    def has_lost(self, query: str) -> bool:
        """Whether its run has no such query any more."""
        return self.is_seen and bool(query) and query not in self.queries


@dataclass(frozen=True, slots=True)
class AlertCondition:
    """One rule as it stands for a query, or for the stream where ``query`` is empty; None is not known."""

    kind: AlertKind
    query: str
    is_true: bool | None
    words: str = ""


def conditions(rules: AlertRules, seen: WatchedStream, now_ms: int) -> tuple[AlertCondition, ...]:
    """A condition for each rule that is on, of each query that is known."""
    on = {kind: rule for kind, rule in rules.rules.items() if rule.is_on}
    found: list[AlertCondition] = []
    if AlertKind.ALIVE in on:
        found.append(_alive(seen))
    if (rule := on.get(AlertKind.RESTARTS)) is not None:
        found.append(restarts(seen.failures, rule.limit, now_ms))
    running = seen.state is StreamState.RUNNING
    for query, told in sorted(seen.queries.items()):
        if (rule := on.get(AlertKind.LAG)) is not None:
            lag = told.get("lag") if running and seen.is_seen else None
            words = "" if lag is None else f"query {query} is {lag:,} records behind; the limit is {rule.limit:,.0f}"
            found.append(AlertCondition(AlertKind.LAG, query, None if lag is None else lag > rule.limit, words))
        if (rule := on.get(AlertKind.SLOW)) is not None:
            took = told.get("batch_ms") if running and seen.is_seen else None
            found.append(_slow(query, took, rule.limit, trigger_ms(seen.trigger)))
    return tuple(found)


def restarts(failures: Sequence[int], limit: float, now_ms: int) -> AlertCondition:
    """Whether more runs have failed within an hour than may; ``failures`` are when (ms)."""
    count = sum(at > now_ms - WINDOW_MS for at in failures)
    words = f"its job has failed {count} times within an hour, and {limit:g} are allowed"
    return AlertCondition(AlertKind.RESTARTS, "", count > limit, words)


def trigger_ms(trigger: str) -> int | None:
    """How often a micro-batch begins; None for a trigger that says nothing of that."""
    number, _, unit = trigger.strip().partition(" ")
    size = _UNITS_MS.get(unit.strip().lower().removesuffix("s"))
    return int(number) * size if size is not None and number.isascii() and number.isdigit() else None


def _alive(seen: WatchedStream) -> AlertCondition:
    is_told = seen.state in (StreamState.FAILED, StreamState.LOST)
    if seen.wanted is StreamWanted.STOPPED and not is_told:
        return AlertCondition(AlertKind.ALIVE, "", False)
    is_away = seen.state is not StreamState.RUNNING
    ends = seen.wanted is StreamWanted.STOPPED and seen.state is StreamState.LOST
    begin = f"it is to {'end' if ends else 'run'}, and is {seen.state.value}"
    words = begin + (f": {seen.why}" if seen.why else "") if is_away else ""
    return AlertCondition(AlertKind.ALIVE, "", is_away, words)


def _slow(query: str, took_ms: int | None, limit: float, every_ms: int | None) -> AlertCondition:
    if took_ms is None or not every_ms:
        return AlertCondition(AlertKind.SLOW, query, None)
    times = took_ms / every_ms
    words = f"a micro-batch of query {query} takes {took_ms:,} ms, {times:.1f} times its trigger"
    return AlertCondition(AlertKind.SLOW, query, times > limit, f"{words}; the limit is {limit:g} times")
