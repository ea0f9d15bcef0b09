"""The flights of 2013 reach a cluster whole."""

from __future__ import annotations

import time

import pytest

from anabranch.sandbox import ReplayPlan, SandboxCluster, start_replay
from anabranch.sandbox.flights import START_OF_2013_MS
from anabranch.sandbox.replay import replay
from qa.timeouts import LONG_TIMEOUT_S

from .clients import TIMEOUT_S, read, written

pytestmark = pytest.mark.test


@pytest.mark.full
def test_all_of_it_arrives_once(proxied: SandboxCluster) -> None:
    """336,776 flights and the rest, keyed, with headers in order and times of 2013."""
    report = replay(proxied.internal_bootstrap, ReplayPlan(partitions=3))
    assert report.records == {"flights": 336_776, "weather": 26_115, "planes": 3_322}
    config = proxied.client_config()
    assert written(config, "flights", partitions=3) == 336_776
    flights = read(config, "flights", 336_776, partitions=3, seconds=LONG_TIMEOUT_S)
    assert len(flights) == 336_776
    assert sum(message.value() is None for message in flights) > 0
    assert sum(message.key() is None for message in flights) > 0
    headers = next(message.headers() for message in flights)
    assert headers is not None
    assert [name for name, _ in headers] == ["carrier", "hop", "hop"]
    times = [message.timestamp()[1] for message in flights]
    assert min(times) >= START_OF_2013_MS
    assert max(times) < START_OF_2013_MS + 366 * 24 * 3_600_000
    by_key: dict[bytes, set[int]] = {}
    for message in flights:
        if message.key() is not None:
            by_key.setdefault(message.key(), set()).add(message.partition())
    assert all(len(partitions) == 1 for partitions in by_key.values())


def test_a_replay_beside_us_stops_with_its_true_count(proxied: SandboxCluster) -> None:
    """What it says that it has fed is in the log, after SIGTERM too; it may loop for ever."""
    replay(proxied.internal_bootstrap, ReplayPlan(topics=("planes",), partitions=3, limit=1))
    plan = ReplayPlan(topics=("planes",), rate=2000, loop=True)
    before = written(proxied.client_config(), "planes", partitions=3)
    process = start_replay(proxied, plan)
    deadline = time.monotonic() + 2 * TIMEOUT_S
    while process.records.get("planes", 0) < 2000 and process.alive:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    counts = process.stop(TIMEOUT_S)
    assert not process.alive
    assert counts["planes"] >= 2000
    after = written(proxied.client_config(), "planes", partitions=3)
    assert after - before == counts["planes"]
