"""How fast links may read: never above the budget, half of it where something is wrong, the whole once all is good."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.migration import factors
from anabranch.migration.estimate import USUAL_RATE
from anabranch.migration.factors import BrokerLatency, Factor, FactorKind
from anabranch.migration.legs import Leg
from anabranch.migration.shares import FLOOR_RATE, LinkLoad, least
from anabranch.migration.spec import Limits, Migration, Wave
from anabranch.migration.throttle import (
    CALM_MS,
    PAUSED_RATE,
    REACT_MS,
    RISE_MS,
    OperatorThrottle,
    ThrottleDecision,
    ThrottleLimits,
    ThrottleLook,
    decide,
    longest_pause,
)
from anabranch.migration.throttle_state import ThrottleState, state_fields, state_of

pytestmark = pytest.mark.unit

MB = 1_000_000
STEP_MS = 5_000
FRESH = ThrottleState()
OLD, NEW = "source old", "target new"

lags = st.one_of(st.none(), st.integers(0, 10**12))
loads = st.lists(
    st.builds(LinkLoad, st.sampled_from("abcdef"), lags, st.floats(0, 1e9), st.booleans()),
    min_size=1,
    max_size=6,
    unique_by=lambda load: load.link,
).map(tuple)
slowing = st.one_of(
    st.builds(factors.of_under_replicated, st.just(OLD), st.integers(0, 3), st.just(12)),
    st.builds(factors.of_quota, st.just(NEW), st.sampled_from([0.0, 200.0])),
)
pausing = st.one_of(
    st.builds(factors.of_away, st.just(OLD), st.sampled_from([(), (2,), (1, 3)]), st.just(3)),
    st.builds(factors.of_under_min_isr, st.just(NEW), st.sampled_from([(), ("orders-0",)])),
)
found = st.lists(st.one_of(slowing, pausing), max_size=4, unique_by=lambda one: one.key).map(tuple)
latencies = st.lists(
    st.builds(BrokerLatency, st.just(OLD), st.integers(1, 2), st.sampled_from([1.0, 15.0, 500.0]), st.just(9.0)),
    max_size=2,
    unique_by=lambda one: one.broker,
).map(tuple)
looks = st.builds(ThrottleLook, found, latencies, loads)
steps = st.lists(st.tuples(looks, st.integers(0, 60_000)), min_size=1, max_size=12)
rates = st.integers(6, 10**9)
operators = st.builds(OperatorThrottle, st.one_of(st.none(), rates), st.booleans())
limits = st.builds(ThrottleLimits, st.one_of(st.none(), rates), operators)

LINK = LinkLoad("move-orders", 10**9, 20e6)
GOOD = ThrottleLook((factors.of_under_replicated(OLD, 0, 12), factors.of_away(OLD, (), 3)), loads=(LINK,))
BAD = replace(GOOD, factors=(factors.of_under_replicated(OLD, 2, 12),))
GONE = replace(GOOD, factors=(factors.of_away(OLD, (2,), 3),))


def after(
    wanted: ThrottleLimits, seen: Iterable[tuple[ThrottleLook, int]], state: ThrottleState = FRESH
) -> tuple[ThrottleState, ThrottleDecision]:
    """What comes of one look after the other, each with the ms since the one before."""
    now_ms, decision = state.decided_ms or 1_700_000_000_000, None
    for look, passed in seen:
        now_ms += passed
        state, decision = decide(state, wanted, look, now_ms)
    assert decision is not None
    return state, decision


def together(decision: ThrottleDecision) -> int:
    """What all links may read."""
    return sum(rate or 0 for rate in decision.rates.values())


# -- whatever is observed ----------------------------------------------------------------------------------


@given(limits, steps)
def test_links_never_have_more_than_the_budget_and_never_less_than_their_floor(
    wanted: ThrottleLimits, seen: list[tuple[ThrottleLook, int]]
) -> None:
    """At each step, whatever came before; and each of them has a rate (T1, T2)."""
    state = ThrottleState()
    for at in range(len(seen)):
        state, decision = after(wanted, seen[at : at + 1], state)
        links = seen[at][0].loads
        assert set(decision.rates) == {load.link for load in links}
        top = wanted.top
        if decision.is_paused:
            assert set(decision.rates.values()) == {PAUSED_RATE}
        elif top is not None:
            assert together(decision) <= top
            assert all(rate is not None and rate >= least(top, len(links)) for rate in decision.rates.values())
        else:
            assert all(rate is None or rate >= 1 for rate in decision.rates.values())


@given(limits, steps)
def test_what_is_decided_rests_on_what_was_given_alone_also_through_a_store(
    wanted: ThrottleLimits, seen: list[tuple[ThrottleLook, int]]
) -> None:
    """Twice the same, with a state that went through JSON between each two."""
    state = stored = ThrottleState()
    for look, passed in seen:
        now_ms = (state.decided_ms or 1_700_000_000_000) + passed
        expected = decide(state, wanted, look, now_ms)
        found = decide(state_of(json.loads(json.dumps(state_fields(stored)))), wanted, look, now_ms)
        assert found == expected
        state, stored = expected[0], found[0]


@given(limits, steps)
def test_once_all_is_good_for_long_enough_the_whole_budget_is_there_again(
    wanted: ThrottleLimits, seen: list[tuple[ThrottleLook, int]]
) -> None:
    """Or no limit where there is none (T4); nothing is given as a reason but what the operator wants."""
    state, _ = after(wanted, seen)
    calm = [(GOOD, STEP_MS)] * ((CALM_MS + RISE_MS) // STEP_MS + 2)
    # A latency that was found too long is known to be good only once it was measured again.
    good = tuple(BrokerLatency(OLD, node, 1.0, 1.0) for node in (1, 2))
    _, decision = after(wanted, [(replace(look, latencies=good), passed) for look, passed in calm], state)
    assert decision.is_paused == wanted.operator.is_paused
    if wanted.operator.is_paused:
        assert decision.rates == {LINK.link: PAUSED_RATE}
    else:
        assert decision.rates == {LINK.link: wanted.top}
        assert all("operator" in reason for reason in decision.reasons)


@given(steps, rates)
def test_a_pause_that_the_operator_wants_wins(seen: list[tuple[ThrottleLook, int]], budget: int) -> None:
    """At once, whatever else holds, and it is said."""
    wanted = ThrottleLimits(budget, OperatorThrottle(budget // 2, is_paused=True))
    _, decision = after(wanted, seen)
    assert decision.is_paused
    assert "the operator wants that nothing is copied" in decision.reasons


@given(st.one_of(slowing, st.builds(BrokerLatency, st.just(OLD), st.just(1), st.just(500.0), st.just(900.0))), rates)
def test_each_factor_that_is_raised_halves_within_one_step(bad: Factor | BrokerLatency, budget: int) -> None:
    """And gives its reason, with the figures."""
    wanted = ThrottleLimits(budget)
    usual = replace(GOOD, latencies=(BrokerLatency(OLD, 1, 2.0, 3.0),))
    state, before = after(wanted, [(usual, 0)])
    look = replace(usual, latencies=(bad,)) if isinstance(bad, BrokerLatency) else replace(usual, factors=(bad,))
    _, decision = after(wanted, [(look, STEP_MS)], state)
    assert together(before) == budget
    is_raised = isinstance(bad, BrokerLatency) or bad.value > 0
    assert together(decision) == (max(budget // 2, min(FLOOR_RATE, budget)) if is_raised else budget)
    assert bool(decision.reasons) == is_raised


# -- in words and figures ----------------------------------------------------------------------------------


def test_it_is_halved_again_only_once_the_last_time_can_have_helped_and_rises_evenly() -> None:
    """Down to the floor of the link, and back within a minute of calm and rising."""
    wanted = ThrottleLimits(80 * MB)
    state, decision = after(wanted, [(BAD, 0)])
    assert decision.rates == {LINK.link: 40 * MB}
    assert decision.reasons == (
        "source old: 2 of 12 partitions lack a replica in sync",
        "slowed down to 40.0 MB/s of 80.0 MB/s",
    )
    state, decision = after(wanted, [(BAD, REACT_MS - 1)], state)
    assert decision.rates == {LINK.link: 40 * MB}
    state, decision = after(wanted, [(BAD, 1)], state)
    assert decision.rates == {LINK.link: 20 * MB}
    state, decision = after(wanted, [(BAD, REACT_MS)] * 20, state)
    assert decision.rates == {LINK.link: FLOOR_RATE}
    state, decision = after(wanted, [(GOOD, CALM_MS - 1)], state)
    assert decision.rates == {LINK.link: FLOOR_RATE}
    slow = "slowed down to 0.1 MB/s of 80.0 MB/s: nothing holds it back any more"
    assert decision.reasons == (f"{slow}, it rises after 15 s of that",)
    state, decision = after(wanted, [(GOOD, 1), (GOOD, RISE_MS // 8 - 1)], state)
    assert decision.rates == {LINK.link: FLOOR_RATE + 10 * MB}
    assert decision.reasons == ("slowed down to 10.1 MB/s of 80.0 MB/s: nothing holds it back any more, and it rises",)
    _, decision = after(wanted, [(GOOD, 10_000)] * 6, state)
    assert (decision.rates, decision.reasons) == ({LINK.link: 80 * MB}, ())


def test_an_hour_without_a_look_tells_nothing_of_the_hour() -> None:
    """It rises by what a step may count for, as if the looks had gone on."""
    wanted = ThrottleLimits(60 * MB)
    state, _ = after(wanted, [(BAD, 0)])
    _, decision = after(wanted, [(GOOD, 3_600_000)], state)
    assert decision.rates == {LINK.link: 40 * MB}


def test_a_latency_near_its_threshold_moves_nothing_to_and_fro() -> None:
    """Above it halves, a little below it holds, and well below it rises."""
    wanted = ThrottleLimits(80 * MB)

    def look(median: float) -> ThrottleLook:
        return replace(GOOD, latencies=(BrokerLatency(OLD, 1, median, median + 1),))

    state, decision = after(wanted, [(look(10.0), 0), (look(40.0), STEP_MS)])
    assert (decision.rates, decision.reasons) == ({LINK.link: 80 * MB}, ())
    state, decision = after(wanted, [(look(40.1), STEP_MS)], state)
    assert decision.rates == {LINK.link: 40 * MB}
    assert decision.reasons[0] == (
        "source old, broker 1: requests take 40.1 ms in the median (41.1 at p95); 10.0 is usual, 40.0 the most"
    )
    state, decision = after(wanted, [(look(25.1), STEP_MS)] * 20, state)
    assert decision.rates == {LINK.link: 40 * MB}
    assert "requests take 25.1 ms" in decision.reasons[0]
    _, decision = after(wanted, [(look(25.0), STEP_MS)] * 20, state)
    assert (decision.rates, decision.reasons) == ({LINK.link: 80 * MB}, ())


def test_what_is_usual_is_the_lowest_of_an_hour() -> None:
    """A cluster that is slower for good is slow for an hour, and then that is usual; each broker has its own."""
    wanted = ThrottleLimits(80 * MB)

    def look(median: float) -> ThrottleLook:
        return replace(GOOD, latencies=(BrokerLatency(OLD, 1, median, median), BrokerLatency(OLD, 2, 300.0, 300.0)))

    state, _ = after(wanted, [(look(2.0), 0)])
    state, decision = after(wanted, [(look(90.0), 60_000)] * 50, state)
    assert decision.rates == {LINK.link: FLOOR_RATE}
    state, decision = after(wanted, [(look(90.0), 60_000)] * 40, state)
    assert (decision.rates, decision.reasons) == ({LINK.link: 80 * MB}, ())
    assert all(len(lows) <= 12 for lows in state.lows.values())


def test_links_stand_still_while_a_broker_is_away_and_a_moment_longer() -> None:
    """So that one that comes and goes does not have them start and stop; they begin again at half of what they had."""
    wanted = ThrottleLimits(80 * MB)
    state, decision = after(wanted, [(GONE, 0), (GONE, STEP_MS), (GONE, STEP_MS)])
    assert (decision.is_paused, decision.rates) == (True, {LINK.link: PAUSED_RATE})
    assert decision.reasons == ("source old: broker 2 of 3 is away",)
    state, decision = after(wanted, [(GOOD, CALM_MS - 1)], state)
    assert (decision.is_paused, decision.rates) == (True, {LINK.link: PAUSED_RATE})
    assert decision.reasons == ("copying goes on once all brokers have been there for 15 s",)
    _, decision = after(wanted, [(BAD, 1)], state)
    assert (decision.is_paused, decision.rates) == (False, {LINK.link: 20 * MB})
    _, decision = after(wanted, [(GOOD, 1)], state)
    assert not decision.is_paused
    assert 40 * MB <= together(decision) <= 60 * MB


def test_without_a_budget_the_half_is_that_of_what_was_copied() -> None:
    """And of a careful guess where nothing was; up from there to what it was, and then nothing limits it (T4)."""
    wanted = ThrottleLimits()
    state, decision = after(wanted, [(GOOD, 0)])
    assert (decision.rates, decision.reasons) == ({LINK.link: None}, ())
    state, decision = after(wanted, [(BAD, STEP_MS)], state)
    assert decision.rates == {LINK.link: 10 * MB}
    state, decision = after(wanted, [(replace(BAD, loads=(replace(LINK, bytes_a_second=0.0),)), STEP_MS)], state)
    assert decision.rates == {LINK.link: 5 * MB}
    _, decision = after(wanted, [(GOOD, STEP_MS)] * 16, state)
    assert (decision.rates, decision.reasons) == ({LINK.link: None}, ())
    _, decision = after(wanted, [(replace(BAD, loads=(replace(LINK, bytes_a_second=0.0),)), 0)])
    assert decision.rates == {LINK.link: USUAL_RATE // 2}


def test_the_operator_s_rate_holds_at_once_and_is_the_whole_meanwhile() -> None:
    """One above the budget changes nothing and is not told."""
    wanted = ThrottleLimits(80 * MB, OperatorThrottle(10 * MB))
    state, decision = after(ThrottleLimits(80 * MB), [(GOOD, 0)])
    state, decision = after(wanted, [(GOOD, 1)], state)
    assert (decision.rates, decision.reasons) == ({LINK.link: 10 * MB}, ("the operator allows 10.0 MB/s",))
    state, decision = after(wanted, [(BAD, STEP_MS)], state)
    assert decision.rates == {LINK.link: 5 * MB}
    _, decision = after(ThrottleLimits(80 * MB, OperatorThrottle(100 * MB)), [(GOOD, STEP_MS)] * 20, state)
    assert (decision.rates, decision.reasons) == ({LINK.link: 80 * MB}, ())


def test_a_budget_is_shared_by_what_is_left_and_who_has_caught_up_stays_so() -> None:
    """One that does not run keeps its floor; one of which nothing is known counts like the one with the most."""
    seen = (
        LinkLoad("follows", 0, 4e6),
        LinkLoad("behind", 3 * 10**11, 10e6),
        LinkLoad("further", 6 * 10**11, 10e6),
        LinkLoad("ended", 10**12, 0.0, is_copying=False),
    )
    _, decision = after(ThrottleLimits(80 * MB), [(ThrottleLook(loads=seen), 0)])
    assert decision.rates["follows"] == 5 * MB
    assert decision.rates["ended"] == FLOOR_RATE
    behind, further = (decision.rates[link] or 0 for link in ("behind", "further"))
    assert further - FLOOR_RATE == pytest.approx(2 * (behind - FLOOR_RATE), rel=1e-6)
    assert 80 * MB - 4 <= together(decision) <= 80 * MB
    new = (LinkLoad("new", None, 0.0), seen[1])
    _, decision = after(ThrottleLimits(80 * MB), [(ThrottleLook(loads=new), 0)])
    assert decision.rates == {"new": 40 * MB, "behind": 40 * MB}


def test_lags_that_change_a_little_change_no_rate() -> None:
    """Each change of a link is a revision that all its workers read."""
    both = (LinkLoad("a", 10**11, 1e6), LinkLoad("b", 10**11, 1e6))
    state, before = after(ThrottleLimits(80 * MB), [(ThrottleLook(loads=both), 0)])
    near = (LinkLoad("a", 10**11, 1e6), LinkLoad("b", 95 * 10**9, 1e6))
    state, decision = after(ThrottleLimits(80 * MB), [(ThrottleLook(loads=near), STEP_MS)], state)
    assert decision.rates == before.rates == {"a": 40 * MB, "b": 40 * MB}
    less = (LinkLoad("a", 10**11, 1e6), LinkLoad("b", 5 * 10**10, 1e6))
    _, decision = after(ThrottleLimits(80 * MB), [(ThrottleLook(loads=less), STEP_MS)], state)
    assert decision.rates != before.rates


def test_lag_is_shown_and_holds_nothing_back() -> None:
    """Whatever it is."""
    _, decision = after(ThrottleLimits(80 * MB), [(replace(GOOD, loads=(replace(LINK, lag_bytes=10**15),)), 0)])
    (shown,) = (one for one in decision.factors if one.kind is FactorKind.LAG)
    assert (shown.reason, shown.is_raised) == ("link move-orders: 1,000,000,000.0 MB left to copy", False)
    assert decision.reasons == ()


@pytest.mark.parametrize(("budget", "waves", "rate"), [(90, 3, 30), (100, 3, 33), (2, 3, 1), (None, 3, None)])
def test_a_link_begins_with_an_equal_part_of_the_budget(budget: int | None, waves: int, rate: int | None) -> None:
    """However many of them begin before the first decision, they have no more of it together; the way back has none."""
    made = tuple(Wave(f"wave{number}", (f"topic{number}",)) for number in range(waves))
    migration = Migration("move", "old", "new", made, limits=Limits(source_rate=budget))
    assert [Leg(migration, wave).spec().rate_limit for wave in made] == [rate] * waves
    assert Leg(migration, made[0], 1).spec().rate_limit is None


def test_a_pause_ends_before_the_source_deletes_what_is_not_copied() -> None:
    """By half of the shortest retention, for as long as no person resumes it; then it is said why copying goes on."""
    assert longest_pause([None, 7_200_000, 3_600_000]) == 1_800_000
    assert longest_pause([None]) is None and longest_pause([]) is None
    began = 1_700_000_000_000
    wish = OperatorThrottle(is_paused=True, since_ms=began, longest_ms=1_800_000)
    for passed, is_paused in ((0, True), (1_799_999, True), (1_800_000, False)):
        _, decision = decide(ThrottleState(), ThrottleLimits(None, wish), GOOD, began + passed)
        assert decision.is_paused is is_paused
        told = "for 30 min at most" if is_paused else "copying goes on, though the operator wants none"
        assert told in decision.reasons[0]
    _, endless = decide(ThrottleState(), ThrottleLimits(None, OperatorThrottle(is_paused=True)), GOOD, began)
    assert endless.is_paused and endless.reasons == ("the operator wants that nothing is copied",)


def test_a_wave_that_is_paused_or_slowed_leaves_its_part_to_the_others() -> None:
    """Its link stands still, or has no more than was allowed; what was wanted of all still holds (T1, T5)."""
    other = LinkLoad("move-clicks", 10**9, 20e6)
    both = replace(GOOD, loads=(LINK, other))
    began = 1_700_000_000_000

    def rates(**wishes: OperatorThrottle) -> tuple[dict[str, int | None], tuple[str, ...]]:
        named = {f"move-{wave}": wish for wave, wish in wishes.items()}
        state, decision = decide(ThrottleState(), ThrottleLimits(40_000_000, links=named), both, began)
        again = decide(state, ThrottleLimits(40_000_000, links=named), both, began + 5_000)[1]
        assert again.rates == decision.rates
        return dict(decision.rates), decision.reasons

    even, _ = rates()
    assert even == {LINK.link: 20_000_000, other.link: 20_000_000}
    paused, reasons = rates(orders=OperatorThrottle(is_paused=True))
    assert paused[LINK.link] == PAUSED_RATE and 39_000_000 < (paused[other.link] or 0) < 40_000_000
    assert reasons == ("link move-orders: the operator wants that nothing is copied",)
    slow, reasons = rates(orders=OperatorThrottle(5_000_000))
    assert slow == {LINK.link: 5_000_000, other.link: 20_000_000}
    assert reasons == ("link move-orders: the operator allows 5.0 MB/s",)
    over = rates(orders=OperatorThrottle(is_paused=True, since_ms=began - 10, longest_ms=5))[0]
    assert over == even
    unlimited = ThrottleLimits(links={LINK.link: OperatorThrottle(5_000_000)})
    assert decide(ThrottleState(), unlimited, both, began)[1].rates == {LINK.link: 5_000_000, other.link: None}
