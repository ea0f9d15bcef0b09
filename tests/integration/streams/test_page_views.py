"""The stream of page views, run by the service, while everything around it is killed again and again.

What it has counted in the end is held against a batch over the same clicks: plain Python over what librdkafka reads.
"""

from __future__ import annotations

import pytest

from qa.page_views.clicks import OUT_OF_ORDER_S
from qa.page_views.episode import EXECUTORS, LOCAL, EpisodePlan, run_episode
from qa.page_views.kills import Victim
from qa.page_views.script import LATE_MINUTES
from tests import chance

pytestmark = [pytest.mark.full, pytest.mark.real, pytest.mark.timeout(3600)]

SECONDS = 150.0


@pytest.mark.parametrize(("master", "fixed"), [(LOCAL, 19), (EXECUTORS, 20)])
def test_page_views_are_those_of_a_batch_whatever_is_killed(
    tmp_path_factory: pytest.TempPathFactory, master: str, fixed: int
) -> None:
    """Driver, its JVM, workers or executors, broker, database and service, each at least once, at any moment."""
    victims = tuple(one for one in Victim if one is not Victim.EXECUTOR or master == EXECUTORS)
    seed = chance.seed(fixed)

    def attempt(number: int) -> None:
        plan = EpisodePlan(seed + number, SECONDS, victims, master)
        found = run_episode(tmp_path_factory.mktemp("page-views"), plan)
        print("\n".join(found.lines()))
        assert not found.wrong
        assert found.kills.keys() == set(victims)
        assert found.starts > found.kills[Victim.DRIVER]
        assert found.final > 0

    chance.conclusive(attempt)


def test_clicks_are_never_late() -> None:
    """Else a batch would count what a stream may leave out."""
    assert OUT_OF_ORDER_S < LATE_MINUTES * 60 / 2
