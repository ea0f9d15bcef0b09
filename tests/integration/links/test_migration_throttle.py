"""Links that copy are throttled while a network is slow or a person wants it, and their stored specs show it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from anabranch.kafka.connection import CLIENT_ID
from anabranch.kafka.security import open_cluster
from anabranch.migration.factors import Factor, FactorKind
from anabranch.migration.throttle import PAUSED_RATE, OperatorThrottle, ThrottleLimits
from anabranch.migration.throttle_state import ThrottleState
from anabranch.operations.migrations.throttling import MigrationThrottle, Throttled
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa import links as engine
from qa.brokers import STEADY
from qa.timeouts import TIMEOUT_S
from tests.integration.links.lab import Link, link
from tests.integration.links.test_quotas import quota
from tests.integration.links.topics import create, fresh, numbered, produce

pytestmark = pytest.mark.test

BUDGET = 8_000_000
LIMITS = ThrottleLimits(BUDGET)


class Rounds:
    """Rounds of one throttle; by the clock that they are told each comes five seconds after the one before."""

    def __init__(self, *links: Link) -> None:
        self._links = links
        self._runner = asyncio.Runner()
        self._source, self._target = open_cluster(links[0].source), open_cluster(links[0].target)
        self._throttle = MigrationThrottle(self._source, self._target)
        self._state, self._now_ms = ThrottleState(), 1_700_000_000_000

    def close(self) -> None:
        """End its connections."""
        self._source.close()
        self._target.close()
        self._runner.close()

    def round(self, limits: ThrottleLimits = LIMITS) -> Throttled:
        """One of them."""
        self._now_ms += 5_000
        names = [one.id for one in self._links]
        result = self._runner.run(self._throttle.adjust(self._state, limits, names, self._now_ms))
        assert result.failures == ()
        self._state = result.state
        return result

    def until(self, condition: Callable[[Throttled], bool], limits: ThrottleLimits = LIMITS) -> Throttled:
        """Go on with them until it is so."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            result = self.round(limits)
            if condition(result):
                return result
            assert time.monotonic() < deadline, result.decision

    def rates(self) -> list[int | None]:
        """What the stored specs of the links say."""
        return [engine.show(one.target, one.id).spec.rate_limit for one in self._links]


@contextmanager
def rounds(*links: Link) -> Iterator[Rounds]:
    """Rounds about these links, which run."""
    made = Rounds(*links)
    try:
        yield made
    finally:
        made.close()


def assert_the_operator_is_obeyed(made: Link, throttle: Rounds, topic: str) -> None:
    """A rate is stored; in a pause a worker sends one request at most, and then all that waited is copied."""
    throttle.round(ThrottleLimits(BUDGET, OperatorThrottle(1_000_000)))
    assert throttle.rates() == [1_000_000]
    result = throttle.round(ThrottleLimits(BUDGET, OperatorThrottle(is_paused=True)))
    assert (result.decision.is_paused, throttle.rates()) == (True, [PAUSED_RATE])
    assert "the operator wants that nothing is copied" in result.decision.reasons
    before = made.await_rounds(topic).position
    produce(made.old, topic, numbered(100, first=before), batch=10)
    made.await_(lambda status: status.lanes[0].high_watermark == before + 100)
    assert made.await_rounds(topic).position <= before + 10
    throttle.until(lambda found: found.decision.rates == {made.id: BUDGET})
    made.await_position(topic, before + 100)
    made.assert_copied(topic)


@pytest.fixture(scope="module")
def slow_pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """A source behind a network that can be made slow, and a target."""
    old, new = start_clusters(
        [ClusterSpec("slow", overrides=STEADY, proxied=True), ClusterSpec("near", overrides=STEADY)]
    )
    with old, new:
        yield old, new


@pytest.mark.real
def test_a_link_between_brokers_halves_in_a_slow_network_and_recovers(
    slow_pair: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """Brokers answer what is asked for nothing, and the link copies on at each rate."""
    old, new = slow_pair
    topic = create(old, fresh("throttled"))
    produce(old, topic, numbered(100), batch=10)
    with link(old, new, topic) as made, made.running(lease_seconds=600):
        made.await_position(topic, 100)
        with rounds(made) as throttle:
            throttle.until(lambda found: not found.decision.reasons)
            assert throttle.rates() == [BUDGET]
            old.proxy(1).delay(60)
            result = throttle.round()
            assert throttle.rates() == [BUDGET // 2]
            assert result.decision.reasons[0].startswith(f"source {old.spec.name}, broker 1: requests take 1")
            produce(old, topic, numbered(100, first=100), batch=10)
            made.await_position(topic, 200)
            old.proxy(1).clear()
            throttle.until(lambda found: not found.decision.reasons)
            assert throttle.rates() == [BUDGET]
            assert_the_operator_is_obeyed(made, throttle, topic)


@pytest.mark.real
def test_a_broker_tells_of_a_quota_to_who_writes_nothing(
    slow_pair: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """The link exceeds it, and the rounds hear of it beside the link."""
    old, new = slow_pair
    topic = create(old, fresh("limited"))
    produce(old, topic, [{"value": b"x" * 1000} for _ in range(500)], batch=100)
    with link(old, new, topic) as made, made.running(lease_seconds=600), rounds(made) as throttle:
        with quota(new, "producer_byte_rate", 40_000.0, CLIENT_ID):
            result = throttle.until(lambda found: any(map(is_quota, found.decision.factors)))
            (told,) = filter(is_quota, result.decision.factors)
            assert (told.where, told.reason in result.decision.reasons) == ("target near", True)
            for _ in range(3):
                assert not throttle.round().decision.is_paused
        made.await_position(topic, 500)


def is_quota(factor: Factor) -> bool:
    """Whether it is a quota that is exceeded."""
    return factor.kind is FactorKind.QUOTA and factor.is_raised


def test_links_that_run_at_once_share_the_budget(old: SandboxCluster, new: SandboxCluster) -> None:
    """What their specs allow is never more than it together, before the first round, and in each; both catch up."""
    topics = [create(old, fresh("shared")) for _ in range(2)]
    for topic in topics:
        produce(old, topic, numbered(50), batch=10)
    with ExitStack() as stack:
        links = [stack.enter_context(link(old, new, topic, rate_limit=BUDGET // 2)) for topic in topics]
        for one, topic in zip(links, topics, strict=True):
            stack.enter_context(one.running(lease_seconds=600))
            one.await_position(topic, 50)
        throttle = stack.enter_context(rounds(*links))
        result = throttle.until(lambda found: not found.decision.reasons)
        assert sum(rate or BUDGET for rate in throttle.rates()) <= BUDGET
        assert throttle.rates() == list(result.decision.rates.values())
        produce(old, topics[0], numbered(2_000, first=50), batch=10)
        throttle.round()
        assert sum(rate or BUDGET for rate in throttle.rates()) <= BUDGET
        assert all((rate or 0) >= 100_000 for rate in throttle.rates())
        links[0].await_position(topics[0], 2_050)
        throttle.round(ThrottleLimits())
        assert throttle.rates() == [None, None]


def test_a_link_obeys_what_the_operator_wants(old: SandboxCluster, new: SandboxCluster) -> None:
    """A rate and a pause, and once they are lifted all that was left is copied."""
    topic = create(old, fresh("held"))
    produce(old, topic, numbered(100), batch=10)
    with link(old, new, topic) as made, made.running(lease_seconds=600):
        made.await_position(topic, 100)
        with rounds(made) as throttle:
            throttle.until(lambda found: found.decision.rates == {made.id: BUDGET})
            assert_the_operator_is_obeyed(made, throttle, topic)
