"""How fast the links of a migration may read, from what was observed and what a person wants: a pure decision.

A factor that is raised halves what they read together, and halves it again as long as it stays raised; once all is
good for a while that rises evenly to the whole again.

Invariants
    T1  the rates together are never more than the budget, nor than what the operator allows, as long as these are a
        byte a second for each link.
    T2  each link has a rate, of at least its floor (``shares``) but for T5, or ``PAUSED_RATE`` while all stand still.
    T3  they stand still only where a person wants it, or where brokers are away or partitions under min ISR, now or a
        moment ago.
    T4  with no budget, no wish of the operator's and no factor raised now or of late, nothing is limited.
    T5  a link of which a person wants less than its rate has that; what it leaves is the others' where it stands still.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from anabranch.migration.estimate import USUAL_RATE
from anabranch.migration.factors import BrokerLatency, Factor, of_lag, of_latency
from anabranch.migration.shares import LinkLoad, least, settled, shared
from anabranch.migration.throttle_state import ThrottleState
from anabranch.migration.words import rate as rate_words
from anabranch.model.transactions import span

PAUSED_RATE = 1
"""Bytes a second: the least that a link can have; after a request of 100 kB a worker sends no other for a day.

A link's own pause is not used for this: people and switches set it and lift it, and nobody else may undo that."""
# Workers obey within two seconds, and two later it is seen what comes of it: before that nothing asks to halve again.
REACT_MS = 4_000
# Shorter than this after a factor was raised it may be the moment between two bursts.
CALM_MS = 15_000
# From nothing to the whole: slow enough that a factor is raised again before applications feel it.
RISE_MS = 60_000
# No more of the time between two decisions counts: where nobody looked for an hour, nothing is known of it.
_LONGEST_STEP_MS = 10_000
# What is usual is the lowest of an hour, in parts: that of its calmest moment.  A cluster that has become slower for
# good holds copying back for an hour, and then it is usual.
_PART_MS, _PARTS = 300_000, 12


@dataclass(frozen=True, slots=True)
class OperatorThrottle:
    """What a person wants: at most ``rate`` bytes a second together, None for no wish; or that all stand still.

    Since ``since_ms`` that is wanted, and for ``longest_ms`` at most, None for as long as it takes: copying goes on by
    itself before the source has no longer what was not copied.
    """

    rate: int | None = None
    is_paused: bool = False
    since_ms: int | None = None
    longest_ms: int | None = None

    def at(self, now_ms: int) -> OperatorThrottle:
        """What holds of it now; a pause that has lasted for too long holds no more."""
        ends = None if self.since_ms is None or self.longest_ms is None else self.since_ms + self.longest_ms
        return replace(self, is_paused=self.is_paused and (ends is None or now_ms < ends))


@dataclass(frozen=True, slots=True)
class ThrottleLimits:
    """The budget in bytes a second of all links together, None for none, and what the operator wants of all, or of one.

    ``links`` is what is wanted of some of them, by their names.
    """

    budget: int | None = None
    operator: OperatorThrottle = OperatorThrottle()
    links: Mapping[str, OperatorThrottle] = field(default_factory=dict, hash=False)

    @property
    def top(self) -> int | None:
        """What the links may read together where no factor is raised, at least 1; None for no limit."""
        return min((max(1, one) for one in (self.budget, self.operator.rate) if one is not None), default=None)


@dataclass(frozen=True, slots=True)
class ThrottleLook:
    """What was observed once: factors of the clusters, latencies of their brokers, what the links have to copy."""

    factors: tuple[Factor, ...] = ()
    latencies: tuple[BrokerLatency, ...] = ()
    loads: tuple[LinkLoad, ...] = ()


@dataclass(frozen=True, slots=True)
class ThrottleDecision:
    """The rate of each link, None for no limit; why it is not more, empty where nothing holds it back; all factors."""

    rates: Mapping[str, int | None]
    is_paused: bool
    reasons: tuple[str, ...]
    factors: tuple[Factor, ...]


def decide(
    state: ThrottleState, limits: ThrottleLimits, look: ThrottleLook, now_ms: int
) -> tuple[ThrottleState, ThrottleDecision]:
    """What holds from now on, and what the next decision needs to know (T1 to T4)."""
    lows = _lows(state.lows, look.latencies, now_ms)
    factors = _factors(look, lows)
    raised = [one for one in factors if one.is_raised or (one.key in state.raised and not one.is_clear)]
    raised_ms = now_ms if raised else state.raised_ms
    stopped_ms = now_ms if any(one.kind.pauses for one in raised) else state.stopped_ms
    is_stopped = _since(stopped_ms, now_ms) < CALM_MS

    copied = int(sum(load.bytes_a_second for load in look.loads))
    top = limits.top or state.free_rate or copied or USUAL_RATE
    lowest = min(top, max(1, len(look.loads)) * least(top, len(look.loads)))
    rate, halved_ms = state.rate, state.halved_ms
    if _halves(state, raised, now_ms):
        rate, halved_ms = max(lowest, min(top, rate or top) // 2), now_ms
    elif rate is not None and not is_stopped and _since(raised_ms, now_ms) >= CALM_MS:
        rate += max(1, round(top * min(_LONGEST_STEP_MS, _since(state.decided_ms, now_ms)) / RISE_MS))
        rate = rate if rate < top else None

    together = limits.top if rate is None else max(lowest, min(top, rate))
    is_paused = is_stopped or limits.operator.at(now_ms).is_paused
    still = {link for link, wish in limits.links.items() if wish.at(now_ms).is_paused}
    loads = [replace(load, is_copying=load.is_copying and load.link not in still) for load in look.loads]
    rates = _rates(state, limits, loads, together, is_paused=is_paused)
    free_rate = top if rate is not None and limits.top is None else None
    keys = tuple(sorted(one.key for one in raised))
    moments = (now_ms, halved_ms, raised_ms, stopped_ms)
    after = ThrottleState(rate, free_rate, rates, None if is_paused else together, keys, *moments, lows)
    reasons = [*_wishes(limits, now_ms), *(one.reason for one in raised)]
    if is_stopped and not any(one.kind.pauses for one in raised):
        reasons.append(f"copying goes on once all brokers have been there for {CALM_MS // 1000} s")
    if rate is not None and not is_paused:
        reasons.append(
            f"slowed down to {rate_words(together or 0)} of {rate_words(top)}{_rising(raised, raised_ms, now_ms)}"
        )
    own = {link: PAUSED_RATE if link in still else _least(rate, limits.links.get(link)) for link, rate in rates.items()}
    return after, ThrottleDecision(own, is_paused, tuple(reasons), factors)


def _rising(raised: Sequence[Factor], raised_ms: int | None, now_ms: int) -> str:
    """Why it is slow though no factor is raised; empty where one is, for that tells its reason itself."""
    if raised:
        return ""
    is_calm = _since(raised_ms, now_ms) >= CALM_MS
    return ": nothing holds it back any more, " + (
        "and it rises" if is_calm else f"it rises after {CALM_MS // 1000} s of that"
    )


def _least(rate: int | None, wish: OperatorThrottle | None) -> int | None:
    """The rate of a link of which somebody wants less (T5)."""
    known = [one for one in (rate, None if wish is None else wish.rate) if one is not None]
    return max(1, min(known)) if known else None


def _since(then: int | None, now_ms: int) -> float:
    """Milliseconds since then; endless where that never was, or the clock has been set back."""
    return math.inf if then is None or then > now_ms else now_ms - then


def _lows(
    before: Mapping[str, tuple[tuple[int, float], ...]], latencies: Sequence[BrokerLatency], now_ms: int
) -> dict[str, tuple[tuple[int, float], ...]]:
    """The lowest latencies of the last hour, with those that were measured now."""
    part = now_ms // _PART_MS
    lows = {place: {at: low for at, low in known if part - _PARTS < at <= part} for place, known in before.items()}
    for one in latencies:
        mine = lows.setdefault(one.place, {})
        mine[part] = min(mine.get(part, math.inf), one.median_ms)
    return {place: tuple(sorted(known.items())) for place, known in lows.items() if known}


def _factors(look: ThrottleLook, lows: Mapping[str, tuple[tuple[int, float], ...]]) -> tuple[Factor, ...]:
    latencies = (of_latency(one, min(low for _, low in lows[one.place])) for one in look.latencies)
    return (*look.factors, *latencies, *(of_lag(load.link, load.lag_bytes) for load in look.loads))


def _halves(state: ThrottleState, raised: Sequence[Factor], now_ms: int) -> bool:
    """Whether a factor is raised, and what was done of late cannot have helped yet; nothing is copied while stopped."""
    is_late = _since(state.halved_ms, now_ms) >= REACT_MS and _since(state.stopped_ms, now_ms) >= CALM_MS
    return is_late and any(one.is_raised for one in raised)


def _rates(
    state: ThrottleState,
    limits: ThrottleLimits,
    loads: Sequence[LinkLoad],
    together: int | None,
    *,
    is_paused: bool,
) -> dict[str, int | None]:
    if is_paused:
        return {load.link: PAUSED_RATE for load in loads}
    if together is None:
        return {load.link: None for load in loads}
    shares = shared(together, loads)
    # Back at the whole it is the whole that holds, and not nearly as much.
    is_back = together == limits.top and state.together != together
    return dict(shares) if is_back else dict(settled(state.rates, shares, together))


def longest_pause(retentions_ms: Iterable[int | None]) -> int | None:
    """For how long copying may stand still, None for as long as it takes, by for how long topics keep records.

    Half of the shortest: the other half is for what is then to be copied.
    """
    kept = [one for one in retentions_ms if one is not None]
    return min(kept) // 2 if kept else None


def _wishes(limits: ThrottleLimits, now_ms: int) -> Iterator[str]:
    yield from _wish(limits.operator, "", limits.budget, now_ms)
    for link, wish in sorted(limits.links.items()):
        yield from _wish(wish, f"link {link}: ", None, now_ms)


def _wish(operator: OperatorThrottle, whose: str, budget: int | None, now_ms: int) -> Iterator[str]:
    if operator.at(now_ms).is_paused:
        most = "" if operator.longest_ms is None else f", for {span(operator.longest_ms)} at most"
        yield f"{whose}the operator wants that nothing is copied{most}"
    elif operator.is_paused:
        yield (
            f"{whose}copying goes on, though the operator wants none: the source would delete what is not copied, and "
            f"{span(operator.longest_ms or 0)} were the longest pause"
        )
    rate = operator.rate
    if rate is not None and (budget is None or rate < budget):
        yield f"{whose}the operator allows {rate_words(rate)}"
