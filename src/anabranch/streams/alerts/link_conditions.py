"""What is seen of a link, by each of its rules: true, false, or not known.

Invariants
    A4  a link that is to run and whose cluster is not read is not alive: nobody can say that it copies.
    A5  a lag is at the most its limit only where the end of every lane is known; above it already where some are.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.streams.alerts.conditions import AlertCondition, restarts
from anabranch.streams.alerts.rules import AlertKind, AlertRules
from anabranch.streams.states import StreamState, StreamWanted


@dataclass(frozen=True, slots=True)
class WatchedLink:
    """A link as its alerts see it: ``failures`` are times (ms) of runs that the service has started.

    ``known_lag`` sums up the lanes whose source's end is known, ``is_whole`` says whether that is every lane.
    ``not_read`` is why nothing newer is known, empty where its cluster was just read.
    """

    wanted: StreamWanted
    state: StreamState
    why: str
    known_lag: int = 0
    is_whole: bool = True
    failures: tuple[int, ...] = ()
    not_read: str = ""

    def conditions(self, rules: AlertRules, now_ms: int) -> tuple[AlertCondition, ...]:
        """A condition for each rule that is on; all are of the link, none of a query."""
        on = {kind: rule for kind, rule in rules.rules.items() if rule.is_on}
        found: list[AlertCondition] = []
        if AlertKind.ALIVE in on:
            found.append(self._alive())
        if (rule := on.get(AlertKind.LAG)) is not None:
            words = f"it is {self.known_lag:,} records behind its source; the limit is {rule.limit:,.0f}"
            found.append(AlertCondition(AlertKind.LAG, "", self._lags(rule.limit), words))
        if (rule := on.get(AlertKind.RESTARTS)) is not None:
            found.append(restarts(self.failures, rule.limit, now_ms))
        return tuple(found)

    def has_lost(self, query: str) -> bool:
        """Whether there is no such query any more: a link has none."""
        return bool(query)

    def _alive(self) -> AlertCondition:
        if self.wanted is StreamWanted.STOPPED and self.state is not StreamState.FAILED:
            return AlertCondition(AlertKind.ALIVE, "", None if self.not_read else False)
        if self.not_read:
            return AlertCondition(
                AlertKind.ALIVE, "", True, f"it is to run, and whether it does cannot be determined: {self.not_read}"
            )
        if self.state is StreamState.RUNNING:
            return AlertCondition(AlertKind.ALIVE, "", False)
        words = f"it is to run, and is {self.state.value}" + (f": {self.why}" if self.why else "")
        return AlertCondition(AlertKind.ALIVE, "", True, words)

    def _lags(self, limit: float) -> bool | None:
        if self.not_read or self.state is StreamState.FAILED:
            return None
        if self.wanted is StreamWanted.STOPPED:
            return False  # a person stopped it: nobody waits for what it has not copied
        return True if self.known_lag > limit else False if self.is_whole else None
