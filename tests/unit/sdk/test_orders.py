"""What a client is to do next, by whatever it is told in whatever order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from anabranch.model.cluster import Security
from anabranch.model.routing import Route
from anabranch.sdk.orders import Orders, Phase, goes_on_as
from tests.chance import examples

pytestmark = pytest.mark.unit


def route(cluster: str = "old", version: int = 1, **topics: str) -> Route:
    """A route that leads there."""
    return Route("orders", cluster, (f"{cluster}:9092",), Security(), topics, True, True, "", version, version)


def opened(made: Route | None = None) -> Orders:
    """A client that works."""
    orders = Orders()
    orders.on_route(made or route(), "")
    assert orders.target is not None
    orders.connected(orders.target)
    assert orders.phase is Phase.OPEN
    return orders


def test_a_newer_version_that_changes_nothing_pauses_nobody() -> None:
    """O3: nor do more topics."""
    orders = opened(route(a="a"))
    orders.on_route(route(version=2, a="a", b="b"), "")
    assert (orders.phase, orders.route) == (Phase.OPEN, route(version=2, a="a", b="b"))


@pytest.mark.parametrize("changed", [route("new"), replace(route(), bootstrap=("x:1",)), route(a="old.a")])
def test_a_route_that_leads_elsewhere_pauses_and_goes_on_there(changed: Route) -> None:
    """Another cluster, other servers, another name of a topic: each is gone to anew."""
    orders = opened(route(a="a") if changed.topics else route())
    orders.on_route(changed, "")
    assert orders.phase is Phase.PAUSING
    assert orders.paused() == ""
    assert (orders.phase, orders.target) == (Phase.GOING, changed)
    orders.connected(changed)
    assert (orders.phase, orders.route) == (Phase.OPEN, changed)


def test_a_switch_goes_on_with_its_starts() -> None:
    """From prepare to go; what is told between changes nothing."""
    orders = opened()
    orders.on_prepare("s")
    assert orders.paused() == "s"
    orders.on_route(route("new", 2), "s")
    assert orders.phase is Phase.PAUSED
    orders.on_go("s", route("new", 2), {"t-0": 7})
    assert (orders.phase, dict(orders.starts)) == (Phase.GOING, {"t-0": 7})


def test_a_switch_that_is_given_up_leaves_all_as_it_was() -> None:
    """Before it has paused it goes on at once, after it has it connects where it was."""
    orders = opened()
    orders.on_prepare("s")
    orders.on_cancel("other")
    assert orders.phase is Phase.PAUSING
    orders.on_cancel("s")
    assert orders.phase is Phase.OPEN
    orders.on_prepare("t")
    orders.paused()
    orders.on_cancel("t")
    assert (orders.phase, orders.target) == (Phase.GOING, route())


def test_who_begins_during_a_switch_connects_nowhere_before_it_ends() -> None:
    """O1 at its strictest: there is no client yet, and no old place to go to."""
    orders = Orders()
    orders.on_route(route(), "s")
    assert (orders.phase, orders.switch) == (Phase.HELD, "s")
    orders.on_route(route("new", 2), "s")
    assert orders.phase is Phase.HELD
    orders.on_go("s", route("new", 2), {})
    assert (orders.phase, orders.target) == (Phase.GOING, route("new", 2))


def test_who_begins_during_a_switch_that_is_given_up_goes_where_the_code_leads() -> None:
    """It has no old place, so the route that it was told with the hold is where it goes."""
    orders = Orders()
    orders.on_route(route(), "s")
    orders.on_cancel("s")
    assert (orders.phase, orders.target) == (Phase.GOING, route())


def test_an_end_that_was_not_heard_is_read_off_the_next_registration() -> None:
    """O5."""
    orders = opened()
    orders.on_prepare("s")
    orders.paused()
    orders.on_route(route("new", 2), "")
    assert (orders.phase, orders.target) == (Phase.GOING, route("new", 2))


def test_who_was_about_to_go_somewhere_goes_there_if_the_next_switch_is_given_up() -> None:
    """Not back where it was: the switch before has ended there, and the group has gone on; it begins as it was told."""
    orders = opened()
    orders.on_prepare("s")
    orders.paused()
    orders.on_go("s", route("new", 2), {"t-0": 7})
    orders.on_prepare("t")
    assert orders.phase is Phase.HELD
    orders.on_cancel("t")
    assert (orders.phase, orders.target, dict(orders.starts)) == (Phase.GOING, route("new", 2), {"t-0": 7})


def test_who_is_led_elsewhere_as_a_switch_begins_goes_there_if_it_is_given_up() -> None:
    """Whether it had heard of it before the switch, or with it."""
    heard = opened()
    heard.on_route(route("new", 2), "")
    heard.on_prepare("s")
    together = opened()
    together.on_route(route("new", 2), "s")
    for orders in (heard, together):
        assert (orders.phase, orders.paused()) == (Phase.PAUSING, "s")
        orders.on_cancel("s")
        assert (orders.phase, orders.target) == (Phase.GOING, route("new", 2))


def test_who_is_led_on_while_it_connects_pauses_there_and_goes_on() -> None:
    """O4: a consumer connects without the lock, so that it may be told meanwhile."""
    orders = opened()
    orders.on_route(route("new", 2), "")
    orders.paused()
    orders.on_route(route("newest", 3), "")
    orders.connected(route("new", 2))
    assert (orders.phase, orders.route) == (Phase.PAUSING, route("new", 2))
    assert orders.paused() == ""
    assert (orders.phase, orders.target) == (Phase.GOING, route("newest", 3))


def test_where_partitions_begin_is_known_until_it_has_connected_there() -> None:
    """O6: also where a newer version, or the next registration, leads it alike meanwhile; elsewhere it is nothing."""
    for told, starts in ((route("new", 3), {"t-0": 7}), (route("newer", 3), {})):
        orders = opened()
        orders.on_prepare("s")
        orders.paused()
        orders.on_go("s", route("new", 2), {"t-0": 7})
        assert not orders.follows(route("new", 2))
        orders.on_route(told, "")
        assert (orders.target, orders.starts) == (told, starts)
        orders.connected(told)
        assert orders.follows(told) and orders.starts == {}


def test_who_was_nowhere_yet_follows_what_leads_it_unless_it_is_to_begin_somewhere() -> None:
    """The service tells the end of a switch again to who does not follow it."""
    orders = Orders()
    assert not orders.follows(route())
    orders.on_route(route(), "")
    assert orders.follows(route())
    orders.on_prepare("s")
    assert not orders.follows(route())
    orders.on_go("s", route("new", 2), {"t-0": 7})
    assert not orders.follows(route("new", 2))


def test_a_cluster_is_lost_until_the_switch_ends_and_the_one_where_it_is_led_is_not() -> None:
    """Whether it has still to pause as that is given up, or is led on while it connects elsewhere."""
    orders = opened()
    orders.on_prepare("s", lost=True)
    assert orders.lost
    orders.on_cancel("s")
    assert (orders.phase, orders.lost) == (Phase.OPEN, False)
    orders.on_prepare("t", lost=True)
    orders.paused()
    orders.on_go("t", route("new", 2), {})
    orders.on_route(route("newer", 3), "")
    orders.connected(route("new", 2))
    assert (orders.phase, orders.lost) == (Phase.PAUSING, False)


def test_topics_that_it_asks_for_while_it_has_still_to_pause_are_those_of_where_it_is() -> None:
    """A transaction that a switch waits for writes to them; elsewhere nothing is known of them."""
    orders = opened(route(a="a"))
    orders.on_prepare("s")
    orders.on_route(route("new", 2, a="a", b="b"), "s")
    assert orders.route == route(a="a")
    orders.on_route(route(version=1, a="a", b="b"), "s")
    assert (orders.phase, orders.route) == (Phase.PAUSING, route(a="a", b="b"))


class OrdersMachine(RuleBasedStateMachine):
    """Events of the service and steps of the client, in any order; the client does only what it is ordered."""

    clusters = st.sampled_from(["old", "new"])
    switches = st.sampled_from(["s", "t"])

    def __init__(self) -> None:
        super().__init__()
        self.orders = Orders()
        self.version = 0
        self.at: str | None = None
        self.holds = ""

    def _next(self, cluster: str) -> Route:
        self.version += 1
        return route(cluster, self.version)

    @rule(cluster=clusters)
    def route_is_told(self, cluster: str) -> None:
        """A registration, or an event, without a hold: no switch is under way for it."""
        self.holds = ""
        self.orders.on_route(self._next(cluster), "")
        if self.orders.phase is Phase.OPEN:
            assert self.at == cluster

    @rule(cluster=clusters, switch=switches)
    def route_is_told_with_a_hold(self, cluster: str, switch: str) -> None:
        """A registration during a switch."""
        self.holds = switch
        self.orders.on_route(self._next(cluster), switch)
        assert self.orders.phase is not Phase.OPEN

    @rule(switch=switches)
    def prepare(self, switch: str) -> None:
        """A switch begins."""
        self.holds = switch
        self.orders.on_prepare(switch)
        assert self.orders.phase is not Phase.OPEN

    @rule(switch=switches, cluster=clusters)
    def go(self, switch: str, cluster: str) -> None:
        """A switch ends; one that is not this client's ends nothing for it."""
        before, held = self.orders.phase, self.holds
        self.orders.on_go(switch, self._next(cluster), {})
        if held not in ("", switch):
            assert self.orders.phase is before
        else:
            self.holds = ""

    @rule(switch=switches)
    def cancel(self, switch: str) -> None:
        """A switch is given up."""
        self.orders.on_cancel(switch)
        if switch == self.holds and (self.orders.route or self.orders.told) is not None:
            self.holds = ""

    @precondition(lambda self: self.orders.phase is Phase.PAUSING)
    @rule()
    def pauses(self) -> None:
        """The client does what it is told."""
        switch = self.orders.paused()
        assert switch == self.holds
        assert (self.orders.phase is Phase.PAUSED) == bool(switch)
        self.at = None

    @precondition(lambda self: self.orders.phase is Phase.GOING)
    @rule()
    def connects(self) -> None:
        """And goes where it is told."""
        target = self.orders.target
        assert target is not None
        self.orders.connected(target)
        self.at = target.cluster
        assert self.orders.phase is Phase.OPEN

    @precondition(lambda self: self.orders.phase is Phase.GOING)
    @rule(told=clusters)
    def connects_while_another_target_is_told(self, told: str) -> None:
        """O4: it began to connect before it heard."""
        target = self.orders.target
        assert target is not None
        later = self._next(told)
        self.orders.on_route(later, "")
        self.orders.connected(target)
        self.at = target.cluster
        assert (self.orders.phase is Phase.OPEN) == goes_on_as(target, later)

    @invariant()
    def nothing_lets_a_held_client_go_on_but_the_end_of_its_switch(self) -> None:
        """O1 and O2."""
        if self.holds:
            assert self.orders.phase in (Phase.HELD, Phase.PAUSED, Phase.PAUSING)
            assert self.orders.switch == self.holds
        if self.orders.phase is Phase.OPEN:
            assert self.orders.route is not None and self.at == self.orders.route.cluster
        if self.orders.phase is Phase.GOING:
            assert self.orders.target is not None


OrdersMachine.TestCase.settings = examples(400, stateful_step_count=30)
TestOrders = OrdersMachine.TestCase
