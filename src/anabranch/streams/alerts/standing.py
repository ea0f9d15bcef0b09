"""How an alert stands, and what is to be told of it.

Invariants
    A1  an alert fires once its condition was true for as long as its rule says, without a look at which it was false.
    A2  what is not known changes nothing: neither does an alert end by it, nor does one begin.
    A3  each change is told once to each receiver that takes it, however often it is tried: firing, then over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from anabranch.streams.alerts.conditions import AlertCondition
from anabranch.streams.alerts.rules import AlertKind, AlertRule


class AlertState(StrEnum):
    """Where an alert stands; ``waiting`` is true, and not for long enough."""

    OVER = "over"
    WAITING = "waiting"
    FIRING = "firing"


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert of a stream, of one query where it names one; ``since`` is when it came into its state (ms).

    ``told`` is what each receiver has been told last, by its name; who has been told nothing is not in it.
    """

    kind: AlertKind
    query: str
    state: AlertState = AlertState.OVER
    since: int = 0
    words: str = ""
    told: Mapping[str, AlertState] = field(default_factory=dict, hash=False)

    def seen(self, condition: AlertCondition, rule: AlertRule, now_ms: int) -> Alert:
        """How it stands after a look (A1, A2)."""
        if condition.is_true is None:
            return self
        if not condition.is_true:
            return self.over(now_ms)
        if self.state is AlertState.FIRING:
            return replace(self, words=condition.words)
        since = self.since if self.state is AlertState.WAITING else now_ms
        if now_ms - since >= rule.for_s * 1000:
            return replace(self, state=AlertState.FIRING, since=now_ms, words=condition.words)
        return replace(self, state=AlertState.WAITING, since=since, words=condition.words)

    def over(self, now_ms: int) -> Alert:
        """How it stands once its condition is false, or its rule or its query is gone."""
        return self if self.state is AlertState.OVER else replace(self, state=AlertState.OVER, since=now_ms)

    def due(self, receivers: Iterable[str]) -> tuple[tuple[str, AlertState], ...]:
        """Who is still to be told of what (A3)."""
        found: list[tuple[str, AlertState]] = []
        for name in receivers:
            before = self.told.get(name, AlertState.OVER)
            if self.state is not AlertState.WAITING and self.state is not before:
                found.append((name, self.state))
        return tuple(found)

    def was_told(self, receiver: str, state: AlertState) -> Alert:
        """That a receiver has taken it."""
        return replace(self, told={**self.told, receiver: state})
