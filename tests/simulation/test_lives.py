"""The real worker and the real planner of leases on simulated clusters, under faults: copies and maps are exact.

A failure prints its plan and seed; ``python -m qa.simulation --plan PLAN --seed SEED --trace`` shows
it again.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from anabranch.kafka.log import KeyedLog
from qa.simulation.plans import BRIEF, PLANS
from qa.simulation.seed import Came, most_raced, simulate
from tests.chance import ARE_NEW, seed

MORE, MANY, FEW = 3, 150, 2
"""Seeds of each plan in the tiers above ``unit``."""
SHORT_S, FEWEST = 3.0, 5
"""Seconds of a short life, and how many are tried until a fault falls in one."""
SHORT = sorted(set(PLANS) - {"guarded-leaders"})
"""Without the plan whose parts others show as well."""


def lived(plan: str, number: int, seconds: float | None = None) -> Came:
    """A life that holds."""
    came = simulate(plan, number, seconds)
    assert not came.wrong, f"plan {plan} seed {number}: {came.wrong[0]}"
    assert came.records, f"plan {plan} seed {number} copied nothing"
    return came


def hold(plan: str, numbers: range, most: int = 0) -> None:
    """Every one of these lives holds; ``most`` of their lanes may stop by the one race that remains."""
    raced = 0
    for number in numbers:
        came = lived(plan, number)
        assert came.struck, f"plan {plan} seed {number} had no fault"
        raced += came.raced
        assert raced <= most, f"plan {plan} seed {number}: {raced} lanes have raced, which were not judged"


def only(number: int) -> range:
    """The life in which something was found, whatever is new."""
    return range(seed(number, is_chosen=True), number + 1)


def may_race(plan: str, lives: int) -> int:
    """How many lanes of so few lives may stop by the one race that remains: none of those that CI has."""
    return most_raced(plan, lives) if ARE_NEW else 0


@pytest.mark.test
@pytest.mark.parametrize("plan", SHORT)
def test_a_short_life_holds(plan: str) -> None:
    """What is known of the wiring within seconds; a life that is over before a fault falls is followed by another."""
    first = seed(3)
    came = next((one for number in range(first, first + FEWEST) if (one := lived(plan, number, SHORT_S)).struck), None)
    assert came is not None, f"plan {plan} from seed {first}: no fault in {FEWEST} lives"
    assert came.raced <= may_race(plan, 1), f"plan {plan} from seed {first}: {came.raced} lanes have raced"


@pytest.mark.test
@pytest.mark.parametrize("plan", sorted(PLANS))
def test_more_seeds_hold(plan: str) -> None:
    """Some lives of each plan."""
    first = seed(100)
    hold(plan, range(first, first + MORE), most=may_race(plan, MORE))


@pytest.mark.full
@pytest.mark.parametrize("plan", [name for name in sorted(PLANS) if PLANS[name].brokers == 1])
def test_new_seeds_hold(plan: str) -> None:
    """Other seeds each time; those of several brokers are in ``test_more_lives.py``."""
    first = seed(1_000)
    hold(plan, range(first, first + MANY), most=most_raced(plan, MANY))


@pytest.mark.test
def test_brief_lives_hold() -> None:
    """A few of each."""
    first = seed(1)
    struck = sum(hold_brief(plan, range(first, first + FEW), may_race(plan, FEW)) for plan in BRIEF)
    assert struck >= len(BRIEF), "too few faults"


def hold_brief(plan: str, numbers: range, most: int = 0) -> int:
    """Every one of these lives holds; returns how many faults fell: one alone may be over before one does."""
    struck = raced = 0
    for number in numbers:
        came = simulate(plan, number)
        assert not came.wrong, f"plan {plan} seed {number}: {came.wrong[0]}"
        struck += len(came.struck)
        raced += came.raced
        assert raced <= most, f"plan {plan} seed {number}: {raced} lanes have raced, which were not judged"
    return struck


@pytest.mark.unit
def test_lanes_may_race_where_an_election_is_unclean_and_only_few() -> None:
    """What has raced is judged by nobody, so that it must be rare."""
    assert most_raced("history", 1_000) == most_raced("month", 1_000) == 0
    assert [most_raced("unclean", lives) for lives in (1, 50, 150)] == [1, 2, 6]
    assert most_raced("unclean:history", 150) == 3


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was when a seed was found: a request more makes another life of it."""

    async def check(_: KeyedLog) -> None:
        """Nothing is asked."""

    monkeypatch.setattr(KeyedLog, "check", check)


@pytest.mark.unit
@pytest.mark.usefixtures("unchecked")
def test_what_an_earlier_owner_persists_late_over_the_maps_of_an_identity_lane_does_not_stay() -> None:
    """Its request waits for the target's broker, and arrives when all is copied and nothing more comes."""
    hold("equal", only(151_737_091))


@pytest.mark.unit
@pytest.mark.usefixtures("unchecked")
def test_a_map_that_another_owner_has_cut_meanwhile_stops_no_lane() -> None:
    """Two owners take a lane after an unclean election: the later one had read the map before the earlier cut it."""
    hold("unclean", only(8_831_269))


@pytest.mark.test
def test_what_an_unclean_election_took_and_a_late_owner_persists_stops_no_lane() -> None:
    """The owner knows neither of the election nor of its successor, whose fence lies where its records were."""
    hold("unclean", only(276_251_433))


@pytest.mark.test
def test_what_stops_an_owner_whose_lane_is_anothers_by_then_is_not_told() -> None:
    """It was stopped, and the source has deleted meanwhile what its successor had copied."""
    hold("deleted", only(1_716_799_363))


@pytest.mark.test
@pytest.mark.parametrize("plan", ["history", pytest.param("leaders", marks=pytest.mark.full)])
def test_a_seed_replays_itself(plan: str) -> None:
    """V3: in other processes, whose sets are ordered otherwise, the same happens in the same order."""
    script = f"from qa.simulation.seed import simulate; print(simulate({plan!r}, 7))"
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": hashing},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hashing in ("1", "2")
    }
    assert len(told) == 1 and "steps=" in next(iter(told)), told
