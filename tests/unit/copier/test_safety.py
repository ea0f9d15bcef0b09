"""A running link's planner asks the target's brokers again, and says when an expiration got shorter."""

from __future__ import annotations

import asyncio

import pytest

from anabranch.kafka import safety
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.safety import Safety, broker_settings
from anabranch.model.cluster import ClusterContext
from anabranch.model.preconditions import PRODUCER_IDS
from anabranch.model.reasons import Reason
from anabranch.sandbox import ClusterSpec
from tests.simulated import Simulated
from tests.unit.asking import on

pytestmark = pytest.mark.unit


def test_a_change_of_the_expiration_is_noticed_within_five_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said before; what was told is kept until it is asked again; and it is said that lanes rely on more."""
    time = [10_000_000]
    monkeypatch.setattr(safety, "now_ms", lambda: time[0])
    with Simulated(ClusterSpec(name="new"), 2) as running:

        async def looked(cluster: Cluster) -> list[list[Reason]]:
            watched = Safety(cluster)
            found = [await watched.findings(60)]
            running.served.do(lambda one: one.settings.update({PRODUCER_IDS: "600000"}))
            found.append(await watched.findings(60))
            time[0] += safety.AGAIN_MS
            return [*found, await watched.findings(60)]

        first, kept, again = on(ClusterContext("new", tuple(running.bootstrap.split(","))), looked)
    assert (first, kept) == ([], [])
    short, shorter = (one.what for one in again)
    assert f"the target has {PRODUCER_IDS}=600,000" in short
    assert f"the target's {PRODUCER_IDS} was 86,400,000 when the run began and is 600,000 now" in shorter


def test_brokers_that_hang_hold_a_plan_up_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are asked at one time, and those that do not answer soon are left out: workers wait for their leases."""
    monkeypatch.setattr(safety, "ASK_S", 0.05)
    with Simulated(ClusterSpec(name="new", brokers=3), 2) as running:

        async def asked(cluster: Cluster) -> int:
            await cluster.metadata([])
            for node in (2, 3):
                running.broker(node).pause()
            async with asyncio.timeout(20.0):
                return len(await broker_settings(cluster))

        assert on(ClusterContext("new", tuple(running.bootstrap.split(","))[:1]), asked) == 1
        for node in (2, 3):
            running.broker(node).resume()
