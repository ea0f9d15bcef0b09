"""Lives that are long: a month of the wall clock, and a million transactions."""

from __future__ import annotations

import pytest

from qa.simulation.faults import Fault
from qa.simulation.seed import simulate
from tests.chance import seed

pytestmark = pytest.mark.full

TRANSACTIONS, LONG_S = 1_000_000, 115.0
"""As many as one partition gets in so many virtual seconds; some 15 minutes of this machine's time, and 3 GB."""
DAY_S = 86_400.0
MONTH_S, CLAIM_S = 30 * DAY_S, 60 * 3_600.0
"""What the wall clock goes on by, and how long one claim at least is held by it."""


@pytest.mark.timeout(3600)
def test_a_million_transactions_hold() -> None:
    """Each of one record, with kills, in one lane."""
    came = simulate("transactions", seed(1), LONG_S)
    assert not came.wrong, came.wrong[0]
    assert came.records >= TRANSACTIONS, came.records


@pytest.mark.parametrize("number", range(5))
def test_a_month_in_which_little_happens_holds(number: int) -> None:
    """Claims of days, producer ids and transactional ids that brokers forget."""
    first = seed(300)
    came = simulate("month", first + number)
    assert not came.wrong, f"plan month seed {first + number}: {came.wrong[0]}"
    assert came.records
    struck = dict(came.struck)
    assert struck.keys() - {Fault.HOURS}, f"plan month seed {first + number}: {struck}"
    assert came.leapt_s >= MONTH_S, f"plan month seed {first + number}: {came.leapt_s / DAY_S:.1f} days in {struck}"
    assert came.longest_claim_s >= CLAIM_S, f"plan month seed {first + number}: {came.longest_claim_s / 3600:.1f} hours"
