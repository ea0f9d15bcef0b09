"""New seeds of lives with several brokers, and thousands of brief ones: the other half of ``test_lives.py``."""

from __future__ import annotations

import pytest

from qa.simulation.plans import BRIEF, PLANS
from qa.simulation.seed import most_raced
from tests.chance import seed
from tests.simulation.test_lives import MANY, hold, hold_brief

pytestmark = pytest.mark.full


@pytest.mark.parametrize("plan", [name for name in sorted(PLANS) if PLANS[name].brokers > 1])
def test_new_seeds_of_several_brokers_hold(plan: str) -> None:
    """Other seeds each time."""
    first = seed(1_000)
    hold(plan, range(first, first + MANY), most=most_raced(plan, MANY))


@pytest.mark.parametrize("plan", sorted(BRIEF))
def test_new_brief_lives_hold(plan: str) -> None:
    """Thousands of them, others each time."""
    first = seed(1_000)
    struck = hold_brief(plan, range(first, first + MANY), most_raced(plan, MANY))
    assert struck >= MANY, f"plan {plan} had too few faults"
