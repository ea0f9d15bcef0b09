"""Quotas on the brokers: fetches that are throttled for a while hold a link up, and harm nothing else."""

from __future__ import annotations

import pytest

from tests.chance import seed
from tests.simulation.watched import watched

pytestmark = pytest.mark.test

THROTTLES_MS = [200] * 12


@pytest.mark.parametrize("cluster", ["source", "target"])
def test_a_link_goes_on_after_throttled_fetches(cluster: str) -> None:
    """In the middle of a takeover too, which reads the target's log and the control topics."""
    with watched(seed(5)) as link:
        run = link.run()
        link.until(lambda: link.end_of("target") > 50)
        run.kill()
        link.until(lambda: not run.is_alive)
        throttles = link.world.clusters[cluster].throttles
        throttles[:] = THROTTLES_MS
        run, at = link.run(), link.end_of("target")
        link.until(lambda: not throttles and link.end_of("target") > at + 20)
        assert link.judge() == []
        link.end(run)
