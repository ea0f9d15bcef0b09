"""An engine that is killed at every point of every itinerary, one after the other."""

from __future__ import annotations

import pytest

from tests.integration.kills.points import KillPlan
from tests.integration.kills.scene import Pair, scene
from tests.integration.kills.test_killed_engine import ITINERARIES, gone

pytestmark = [pytest.mark.full, pytest.mark.real]


@pytest.mark.parametrize("name", ITINERARIES)
def test_an_engine_dies_at_every_point(pair: Pair, store: str, name: str) -> None:
    """One after the other in one migration, requests that are not answered included."""
    order, trips = ITINERARIES[name]
    with scene(pair, store, order) as made:
        gone(made, trips, KillPlan(sent="://" not in store))  # which has nothing to do with the store
