"""What is observed of two clusters, and rates that are changed for it; whatever fails is a factor or a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.kafka.simulated import cluster as simulated
from anabranch.migration import factors
from anabranch.migration.factors import Factor, FactorKind
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.throttle import CALM_MS, PAUSED_RATE, OperatorThrottle, ThrottleLimits
from anabranch.migration.throttle_state import ThrottleState
from anabranch.model.cluster import ClusterContext
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, UnknownLinkError, WantedState
from anabranch.model.reports import LinkStatus
from anabranch.operations.links import change
from anabranch.operations.links.status import LinkStatusReader, stored
from anabranch.operations.migrations import linking, throttling
from anabranch.operations.migrations.desk import MigrationDesk, Scene
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.migrations.throttling import MigrationThrottle, Throttled
from anabranch.sandbox import ClusterSpec
from anabranch.state.topics.control import ControlLostError, Links
from tests.simulated import Simulated
from tests.unit.link_lab import LINK, Lab, lab
from tests.unit.operations.test_link_races import PAUSE, before_the_write, changed

pytestmark = pytest.mark.unit

BUDGET = 80_000_000
LIMITS = ThrottleLimits(BUDGET)
OTHER_LINK = "old-other"


@pytest.fixture(autouse=True)
def _busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Round trips are real: that this machine is busy is no slow network."""
    monkeypatch.setattr(factors, "LATENCY_MORE_MS", 80.0)


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


class Rounds:
    """Rounds of one throttle, five seconds after each other by the clock that they are told."""

    def __init__(self, source: Cluster, target: Cluster, links: tuple[str, ...] = (LINK,)) -> None:
        self._throttle = MigrationThrottle(source, target)
        self.source, self.target = source, target
        self._links = links
        self.state = ThrottleState()
        self.now_ms = 1_700_000_000_000

    async def round(self, limits: ThrottleLimits = LIMITS, passed: int = 5_000) -> Throttled:
        """One of them."""
        self.now_ms += passed
        result = await self._throttle.adjust(self.state, limits, self._links, self.now_ms)
        self.state = result.state
        return result

    async def rate(self, link: str = LINK) -> int | None:
        """What the link's stored spec says."""
        _, record = await stored(self.target, link)
        return record.wanted.spec.rate_limit


def rounds(source: ClusterContext, target: ClusterContext, test: Callable[[Rounds], Awaitable[None]]) -> None:
    """Have a test go through rounds between two clusters."""

    async def go() -> None:
        async with open_cluster(source) as here, open_cluster(target) as there:
            await test(Rounds(here, there))

    asyncio.run(go())


def factor(result: Throttled, kind: FactorKind, where: str) -> Factor:
    """One of those that were observed."""
    (found,) = (one for one in result.decision.factors if (one.kind, one.where) == (kind, where))
    return found


class SlowMetadata:
    """Metadata that a broker answers later than it could."""

    def __init__(self, api: Any, seconds: float) -> None:
        self._api, self._seconds = api, seconds
        self.request = api.request

    def decode(self, body: bytes, version: int) -> Any:
        """As ever."""
        return self._api.decode(body, version)

    def handle(self, session: Any, *request: Any) -> None:
        """Later."""
        timers = session.broker.cluster.timers
        timers.call_later(self._seconds, lambda: self._api.handle(session, *request))


def slow(cluster: Simulated, seconds: float) -> None:
    """Have the network before a cluster delay what is asked."""
    metadata = 3

    def do(one: simulated.SimulatedCluster) -> None:
        handlers = dict(simulated.APIS)
        if seconds:
            handlers[metadata] = SlowMetadata(handlers[metadata], seconds)
        one.handlers = handlers

    cluster.served.do(do)


def test_all_is_good_and_the_spec_says_so(both: Lab) -> None:
    """Each factor is there with its figures; a link that does not run has its floor; twice changes nothing."""

    async def test(made: Rounds) -> None:
        result = await made.round()
        assert (result.decision.reasons, result.failures, result.changed) == ((), (), (LINK,))
        assert await made.rate() == result.decision.rates[LINK] == 100_000
        kinds = [(one.kind, one.where) for one in result.decision.factors]
        for where in ("source old", "target new"):
            assert (FactorKind.LATENCY, f"{where}, broker 1") in kinds
            for kind in (FactorKind.AWAY, FactorKind.UNDER_MIN_ISR, FactorKind.UNDER_REPLICATED, FactorKind.QUOTA):
                assert factor(result, kind, where).value == 0
        assert (FactorKind.LAG, LINK) in kinds
        assert (await made.round()).changed == ()
        assert (await made.round(ThrottleLimits())).changed == (LINK,)
        assert await made.rate() is None

    rounds(both.source, both.target, test)


@pytest.mark.test
@pytest.mark.parametrize("is_source", [True, False])
def test_a_network_that_became_slow_halves_and_gives_back(both: Lab, is_source: bool) -> None:
    """Of either cluster, and of no link in particular."""
    cluster, where = (both.here, "source old") if is_source else (both.there, "target new")

    async def test(made: Rounds) -> None:
        await made.round()
        slow(cluster, 0.3)
        result = await made.round()
        assert factor(result, FactorKind.LATENCY, f"{where}, broker 1").value >= 300
        assert result.state.rate == BUDGET // 2
        assert result.decision.reasons[0].startswith(f"{where}, broker 1: requests take 3")
        slow(cluster, 0.0)
        while result.state.rate is not None:
            result = await made.round()
        assert result.decision.reasons == ()

    rounds(both.source, both.target, test)


def test_a_quota_that_brokers_tell_of_halves(both: Lab) -> None:
    """What was measured then is no latency; the next look is over another connection, from which the broker reads."""

    async def test(made: Rounds) -> None:
        await made.round()
        asked = await made.target.connection(1, "round trips")
        both.there.served.do(lambda one: setattr(one, "produce_throttle_ms", 250))
        result = await made.round()
        assert factor(result, FactorKind.QUOTA, "target new").value == 250
        assert "target new: a quota is exceeded: brokers hold us up for 250 ms" in result.decision.reasons
        assert not any(one.where == "target new, broker 1" for one in result.decision.factors)
        assert result.state.rate == BUDGET // 2
        assert asked.closed is not None
        both.there.served.do(lambda one: setattr(one, "produce_throttle_ms", 0))
        result = await made.round()
        assert factor(result, FactorKind.QUOTA, "target new").value == 0
        assert factor(result, FactorKind.LATENCY, "target new, broker 1").value > 0

    rounds(both.source, both.target, test)


def test_a_target_whose_links_cannot_be_read_is_told_of(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """While its brokers answer: nothing is changed, and that is not passed over."""

    async def test(made: Rounds) -> None:
        async def refused(_: LinkStatusReader) -> list[LinkStatus]:
            raise ControlLostError

        with monkeypatch.context() as patched:
            patched.setattr(LinkStatusReader, "read", refused)
            result = await made.round()
        assert (result.changed, result.decision.rates) == ((), {})
        assert [one.partition(":")[0] for one in result.failures] == ["what links of new have to copy is not known"]
        assert (await made.round()).changed == (LINK,)

    rounds(both.source, both.target, test)


def test_a_source_that_is_gone_has_its_links_stand_still_and_no_error(both: Lab) -> None:
    """Killed or only silent; what the target stores shows it, and that it is over."""

    async def test(made: Rounds) -> None:
        both.here.broker(1).kill()
        result = await made.round()
        assert (result.decision.is_paused, result.changed, await made.rate()) == (True, (LINK,), PAUSED_RATE)
        assert result.decision.reasons[0].startswith("source old: no broker tells how it is: ")
        both.here.broker(1).start()
        assert (await made.round()).decision.is_paused
        result = await made.round(passed=CALM_MS)
        assert not result.decision.is_paused
        assert await made.rate() == 100_000

    rounds(both.source, both.target, test)


@pytest.mark.test
def test_a_cluster_that_swallows_what_it_is_asked_is_away(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not waited for any longer than a look may take."""
    monkeypatch.setattr(throttling, "LOOK_S", 0.5)

    async def test(made: Rounds) -> None:
        await made.round()
        both.here.broker(1).pause()
        result = await made.round()
        both.here.broker(1).resume()
        assert result.decision.is_paused
        assert result.decision.reasons[0] == "source old: no broker tells how it is: nothing within 0.5 s"
        assert await made.rate() == PAUSED_RATE

    rounds(both.source, both.target, test)


def test_a_target_that_is_gone_cannot_be_told_and_is_tried_again(both: Lab) -> None:
    """Its links are not known meanwhile, and later have what they should have had."""

    async def test(made: Rounds) -> None:
        both.there.broker(1).kill()
        result = await made.round()
        assert (result.decision.is_paused, result.changed) == (True, ())
        assert result.decision.reasons[0].startswith("target new: no broker tells how it is: ")
        both.there.broker(1).start()
        result = await made.round()
        assert (result.changed, await made.rate()) == ((LINK,), PAUSED_RATE)

    rounds(both.source, both.target, test)


def test_what_the_operator_wants_is_stored_at_once(both: Lab) -> None:
    """A rate, a pause, and neither of them again; the link's own pause is not touched."""

    async def test(made: Rounds) -> None:
        await made.round(ThrottleLimits())
        assert await made.rate() is None
        result = await made.round(ThrottleLimits(None, OperatorThrottle(50_000)))
        assert (await made.rate(), result.decision.reasons[0]) == (50_000, "the operator allows 0.1 MB/s")
        result = await made.round(ThrottleLimits(None, OperatorThrottle(is_paused=True)))
        assert (result.decision.is_paused, await made.rate()) == (True, PAUSED_RATE)
        _, record = await stored(made.target, LINK)
        assert not record.wanted.paused
        await made.round(ThrottleLimits())
        assert await made.rate() is None

    rounds(both.source, both.target, test)


def test_a_link_that_is_changed_at_the_same_time_is_left_until_the_next_round(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other's change stands, and so does ours afterwards."""

    async def test(made: Rounds) -> None:
        before_the_write(monkeypatch, lambda: changed(made.target, PAUSE))
        result = await made.round()
        assert result.changed == ()
        assert result.failures[0].startswith(f"link {LINK}: link '{LINK}' changed since plan ")
        result = await made.round()
        assert (result.changed, result.failures) == ((LINK,), ())
        _, record = await stored(made.target, LINK)
        assert (record.wanted.paused, record.wanted.spec.rate_limit) == (True, 100_000)

    rounds(both.source, both.target, test)


def test_a_pause_of_a_switch_that_meets_a_change_of_the_rate_is_asked_for_again(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no reason to turn the switch back."""

    async def test(made: Rounds) -> None:
        wave = Wave("orders", ("orders",))
        leg = Leg(Migration("move", "old", "new", (wave,)), wave)
        run = WaveRun("run", "move", "orders", "switch", (), 0)
        scene = Scene(leg, made.source, made.target, cast(MigrationDesk, None), run, LINK)
        before_the_write(monkeypatch, lambda: throttling.apply(made.target, LINK, 5))
        with pytest.raises(NotYetError, match="changed since plan"):
            await linking.pause_link(scene)
        await linking.pause_link(scene)
        _, record = await stored(made.target, LINK)
        assert (record.wanted.paused, record.wanted.spec.rate_limit) == (True, 5)

    rounds(both.source, both.target, test)


def test_a_link_gains_only_once_all_that_lose_have_lost(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else they would have too much together; links that are not there are passed over."""

    async def test(made: Rounds) -> None:
        target = made.target
        links = Links(target)
        await links.sync()
        record = links.links[LINK]
        spec = LinkSpec(OTHER_LINK, ClusterRef("old", ""), ClusterRef("new", ""), rate_limit=1)
        await links.put(LinkRecord(WantedState(spec), record.origins, 1))
        two = Rounds(made.source, target, (OTHER_LINK, LINK, "old-never"))
        change_apply, order = change.apply, []

        async def told(cluster: Cluster, planned: change.ChangeLinkPlan) -> change.ChangeLinkReport:
            order.append(planned.link)
            if len(order) == 1:
                raise TimeoutError
            return await change_apply(cluster, planned)

        monkeypatch.setattr(change, "apply", told)
        result = await two.round(ThrottleLimits(150_000))
        assert order == [LINK]
        assert result.failures == (f"link {LINK}: new did not answer within 15 s",)
        assert (await two.rate(OTHER_LINK), await two.rate(LINK)) == (1, None)
        result = await two.round(ThrottleLimits(150_000))
        assert order == [LINK, LINK, OTHER_LINK]
        assert (await two.rate(OTHER_LINK), await two.rate(LINK)) == (75_000, 75_000)

    rounds(both.source, both.target, test)


def test_a_rate_is_asked_for_of_a_link_that_is_not_there(both: Lab) -> None:
    """Who applies one rate hears of it."""

    async def test(made: Rounds) -> None:
        with pytest.raises(UnknownLinkError):
            await throttling.apply(made.target, "old-never", 5)
        assert await throttling.apply(made.target, LINK, 5)
        assert not await throttling.apply(made.target, LINK, 5)

    rounds(both.source, both.target, test)


def test_a_broker_that_is_killed_is_named_and_what_it_held_is_counted() -> None:
    """Of three brokers; with one of two replicas left a partition may not be written to where two are asked for."""
    spec = ClusterSpec(name="three", brokers=3)
    with Simulated(spec) as three, lab() as made:

        def fill(one: simulated.SimulatedCluster) -> None:
            one.create("safe", [[1, 2]], 2, {"min.insync.replicas": "1"})
            one.create("strict", [[2, 3], [1, 3]], 2, {"min.insync.replicas": "2"})

        three.served.do(fill)
        source = ClusterContext("three", tuple(three.bootstrap.split(",")))

        async def test(found: Rounds) -> None:
            result = await found.round()
            assert result.decision.reasons == ()
            three.served.do(lambda one: one.brokers[2].kill())
            three.served.do(lambda one: one.fence(2))
            result = await found.round()
            assert factor(result, FactorKind.UNDER_REPLICATED, "source three").value == 2
            assert result.decision.is_paused
            assert set(result.decision.reasons[:3]) == {
                "source three: broker 2 of 3 is away",
                "source three: partition strict-0 has no leader or too few replicas in sync",
                "source three: 2 of 3 partitions lack a replica in sync",
            }

        rounds(source, made.target, test)
