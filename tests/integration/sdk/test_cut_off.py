"""Clients are moved while the new cluster dies, or a network is cut: nothing is lost, repeated, or out of its order.

The networks are proxies (`network`): between clients and the service, and between each client, known by its
``client.id``, and each cluster.  The service and the link are one client of that kind, ``anabranch``.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from anabranch.kafka.groups import describe
from anabranch.model.cluster import ClusterContext
from anabranch.model.groups import Group, GroupState
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.sandbox.ports import lease_ports
from qa.brokers import RESTARTED, await_coordinators
from qa.route_service import RouteProcess
from qa.service import until
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.kafka.security import ask
from tests.integration.links.topics import ends
from tests.integration.sdk.conftest import QUICK
from tests.integration.sdk.lab import Lab, count, read, values
from tests.integration.sdk.network import HERE, Network, route_client
from tests.integration.sdk.test_coordinated import KEYS, PARTITIONS, Application, Moving, linked, values_there

pytestmark = [pytest.mark.full, pytest.mark.real]

OURS = "anabranch"
"""The service and the link, as clients of a cluster."""
DELETED = 40
"""What the old cluster's topic had before."""
PATIENCE_S = round(LONG_TIMEOUT_S)
"""How long a switch has that waits for what a test does."""


@dataclass
class Patient(Lab):
    """Clients that nobody gives up while a network is down, each with a name of its own."""

    readers: Iterator[int] = field(default_factory=itertools.count)

    def configured(self, **more: Any) -> dict[str, Any]:
        """Writers try again without repeating a record, and readers stay members."""
        if "group_id" not in more:
            more |= {"enable_idempotence": True, "route_block_max_ms": 1000 * PATIENCE_S}
        else:
            more |= {"client_id": f"reader-{next(self.readers)}"}
            if "group_protocol" not in more:
                more |= {"session_timeout_ms": 120_000}
        return super().configured(**more)


@dataclass(frozen=True)
class Sides:
    """Both clusters, each behind a network."""

    old: SandboxCluster
    new: SandboxCluster
    to_old: Network
    to_new: Network


@dataclass
class CutOff(Moving):
    """A topic with its link, and the networks that its clients use."""

    to_old: Network
    to_new: Network
    to_service: Network

    @contextmanager
    def application(self, protocol: str = "classic", consumers: int = 2, checked: bool = True) -> Iterator[Application]:
        """It has begun when each reader has its partitions, and ends with all networks healed."""
        with super().application(protocol, consumers, checked) as app:
            try:
                self.await_readers(consumers)
                self.await_going_on(app)
                yield app
            finally:
                for network in (self.to_old, self.to_new, self.to_service):
                    network.heal()
                self.lab.new.broker(1).start()

    def readers(self, there: ClusterContext) -> int:
        """How many members the group has there; 0 while it is not settled who reads what."""
        group = self.described(there)
        return len(group.members) if group.state is GroupState.STABLE else 0

    def described(self, there: ClusterContext) -> Group:
        """The group of the readers."""
        name = self.lab.group
        return ask(there, lambda client: describe(client, [name]))[name]

    def await_readers(self, number: int) -> None:
        """Wait until so many readers have their partitions on the old cluster; says how the group stands if never."""
        try:
            until(lambda: self.readers(self.link.source) == number)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.described(self.link.source)}") from error

    def named(self, name: str) -> str:
        """The id of the client of that name at the service."""
        return next(one["id"] for one in self.lab.service.clients() if one["query"]["client_id"] == name)

    def old_ends(self) -> list[int]:
        """Where the log of the old cluster ends."""
        return [ends(self.lab.old, self.topic, number)[1] for number in range(PARTITIONS)]

    def numbers_here(self, key: str) -> list[int]:
        """Of a key what is on the old cluster."""
        config = {"bootstrap.servers": self.lab.old.bootstrap, "group.id": "look", "auto.offset.reset": "earliest"}
        plain = confluent_kafka.Consumer({**config, "enable.auto.commit": False})
        try:
            plain.subscribe([self.topic])
            found = values(read(plain, count(sum(self.old_ends()) - DELETED)))
        finally:
            plain.close()
        return [int(value.partition(":")[2]) for value in found if value.startswith(f"{key}:")]

    def await_paused(self, number: int) -> None:
        """Wait until so many of the four clients have paused."""
        self.await_state("preparing")
        until(lambda: (self.switch()["clients"], self.switch()["paused"]) == (4, number))

    def drain(self, app: Application, fault: Callable[[], None], timeout_s: int = PATIENCE_S) -> Callable[[], Any]:
        """A switch for which all have paused, and whose link does not copy the rest since a fault keeps it from that.

        Returns what says how its operation stands.
        """
        app.pausing.set()
        operation = self.begin(timeout_s=timeout_s)
        self.await_paused(2)
        fault()
        app.pausing.clear()
        self.await_state("draining")
        return operation

    def give_up(self) -> None:
        """As a person does it."""
        asked = self.lab.service.give_up(self.switch()["id"], "no")
        assert asked.status == 202, asked.body

    def lose_new(self) -> None:
        """SIGKILL of the new cluster."""
        self.lab.new.broker(1).kill()

    def bring_back_new(self) -> None:
        """Start it again on what it had."""
        self.lab.new.broker(1).start()
        await_coordinators(self.lab.new)

    def await_given_up(self, operation: Callable[[], Any], why: str) -> None:
        """Wait until an operation's switch was given up for that reason."""
        until(lambda: operation()["state"] != "running")
        assert self.switch()["state"] == "cancelled", operation()
        assert why in operation()["problem"]["detail"], operation()

    def await_made(self, operation: Callable[[], Any]) -> None:
        """Wait until an operation's switch was made."""
        until(lambda: operation()["state"] != "running")
        assert operation()["state"] == "done", operation()

    def await_followed(self) -> None:
        """Wait until each client has said that it is where the table leads it."""
        until(lambda: {(one["cluster"], one["behind"]) for one in self.lab.service.clients()} == {("new", False)})

    def await_going_on(self, app: Application) -> None:
        """Wait until all write and read."""
        written, read = Counter(app.written), Counter(key for key, _ in app.read)
        until(lambda: all(app.written[key] > written[key] + 50 for key in KEYS))
        until(lambda: all(Counter(key for key, _ in app.read)[key] > read[key] + 50 for key in KEYS))


@pytest.fixture(scope="module")
def sides() -> Iterator[Sides]:
    """Clusters of these tests alone, of which the new one is killed and started again."""
    old, new = start_clusters(
        [
            ClusterSpec("old", proxied=True, overrides=QUICK),
            ClusterSpec("new", proxied=True, overrides=RESTARTED),
        ]
    )
    with old, new:
        for cluster in (old, new):
            await_coordinators(cluster)
        with Network.before(old) as to_old, Network.before(new) as to_new:
            yield Sides(old, new, to_old, to_new)


@pytest.fixture
def moving(sides: Sides, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CutOff]:
    """A link on these clusters, and a service behind a network."""
    (lease,) = lease_ports(1)
    contexts = {"old": sides.old.context(), "new": sides.new.context()}
    with lease, RouteProcess(tmp_path, contexts) as service:
        address = f"{HERE}:{lease.port}"
        with Network(lease.port, int(service.url.rpartition(":")[2]), route_client, address.encode()) as to_service:
            service.publish({"codes": {"orders": {"cluster": "old"}}})
            monkeypatch.setenv("ANABRANCH_SERVICE", f"http://{address}")
            monkeypatch.setenv("ANABRANCH_TOKEN", service.tokens["client"])
            with linked(Patient(sides.old, sides.new, tmp_path / "cache", service=service)) as made:
                yield CutOff(made.lab, made.link, made.topic, sides.to_old, sides.to_new, to_service)


# -- the new cluster -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("fault", "by"), [("killed", "deadline"), ("killed", "person"), ("frozen", "deadline")])
def test_a_switch_whose_new_cluster_is_gone_is_given_up_and_all_go_on(moving: CutOff, fault: str, by: str) -> None:
    """Before the table is published: everybody goes on at the old one meanwhile, and later the same switch is made."""
    lose = moving.lose_new if fault == "killed" else moving.to_new.freeze
    with moving.application() as app:
        operation = moving.drain(app, lose, timeout_s=20 if by == "deadline" else PATIENCE_S)
        if by == "person":
            moving.give_up()
        moving.await_given_up(operation, "it was not done in time" if by == "deadline" else "approver: no")
        moving.await_going_on(app)
        if fault == "killed":
            moving.bring_back_new()
        moving.to_new.heal()
        moving.await_made(moving.begin(timeout_s=PATIENCE_S))


def test_a_switch_goes_on_when_its_new_cluster_is_back(moving: CutOff) -> None:
    """Clients stay paused meanwhile, and nobody writes on the old cluster any more."""
    with moving.application() as app:
        operation = moving.drain(app, moving.lose_new)
        at_switch = moving.old_ends()
        moving.bring_back_new()
        moving.await_made(operation)
        moving.await_going_on(app)
        assert moving.old_ends() == at_switch


@pytest.mark.parametrize("state", ["moving", "published"])
def test_a_new_cluster_that_dies_as_clients_go_there_is_waited_for(moving: CutOff, state: str) -> None:
    """While groups are moved, and once the table is published: then nobody goes back."""
    reached = {"moving": ["moving"]}.get(state, [])
    with moving.application() as app:
        operation = moving.begin(timeout_s=PATIENCE_S)
        moving.await_state(*reached, "published", "done")
        moving.lose_new()
        at_switch = moving.old_ends()
        moving.bring_back_new()
        moving.await_made(operation)
        moving.await_going_on(app)
        assert moving.old_ends() == at_switch


# -- the service ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("then", ["healed", "cut"])
def test_clients_that_the_service_does_not_reach_go_on_where_they_are(moving: CutOff, then: str) -> None:
    """A switch of which they hear nothing in time is given up, and they hear of the next one."""
    with moving.application() as app:
        moving.to_service.freeze()
        operation = moving.begin(timeout_s=5)
        moving.await_given_up(operation, "not paused in time")
        moving.await_going_on(app)
        if then == "cut":
            moving.to_service.cut()
            moving.await_going_on(app)
        moving.to_service.heal()
        moving.await_made(moving.begin(timeout_s=PATIENCE_S))
        moving.await_followed()


@pytest.mark.parametrize("end", ["done", "cancelled"])
def test_clients_that_are_cut_off_while_they_are_held_stay_so(moving: CutOff, end: str) -> None:
    """Until they hear how the switch has ended: they write nowhere before, and on the old cluster never after it."""
    with moving.application() as app:
        operation = moving.drain(app, lambda: moving.to_new.freeze(OURS))
        at_switch = moving.old_ends()
        moving.to_service.freeze()
        if end == "cancelled":
            moving.give_up()
        moving.to_new.heal()
        until(lambda: operation()["state"] != "running")
        assert moving.switch()["state"] == end
        moving.to_service.cut()
        assert moving.old_ends() == at_switch and app.total == sum(at_switch) - DELETED
        assert end == "cancelled" or all(one["behind"] for one in moving.lab.service.clients())
        moving.to_service.heal()
        moving.await_going_on(app)
        if end == "cancelled":
            moving.await_made(moving.begin(timeout_s=PATIENCE_S))
        else:
            moving.await_followed()
            assert moving.old_ends() == at_switch


def test_a_producer_that_the_service_does_not_reach_is_left_behind_where_that_is_the_policy(moving: CutOff) -> None:
    """It writes on to the old cluster until it hears of the table; nothing of it is lost, and the rest is exact."""
    with moving.application(checked=False) as app:
        moving.to_service.freeze(moving.named("writer-d"))
        operation = moving.begin(stragglers="leave", timeout_s=8)
        until(lambda: operation()["state"] != "running")
        assert operation()["state"] == "done", operation()
        assert (moving.switch()["paused"], moving.switch()["left"]) == (3, 1)
        moving.to_service.cut(moving.named("writer-d"))
        moving.await_going_on(app)
        moving.to_service.heal()
        moving.await_followed()
        left = sum(moving.old_ends())
        moving.await_going_on(app)
        assert sum(moving.old_ends()) == left
    assert not app.refused
    there = values_there(moving)
    here = moving.numbers_here("d")
    assert [number for name, number in there if name == "a"] == list(range(app.written["a"]))
    first = [number for name, number in app.read if name == "a"]
    assert first == list(range(len(first)))
    assert here == list(range(len(here))), "of what it wrote on the old cluster"
    after = [number for name, number in there if name == "d" and number >= len(here)]
    assert after == list(range(len(here), app.written["d"])), "and on the new one"
    assert max(Counter(there).values()) == max(Counter(app.read).values()) == 1


def test_a_group_is_not_moved_without_a_consumer_that_the_service_does_not_hear_of(moving: CutOff) -> None:
    """After its lease it is no live client any more, and still a member: the switch waits, and is given up."""
    with moving.application() as app:
        moving.to_service.freeze(moving.named("reader-1"))
        operation = moving.begin(timeout_s=45)
        moving.await_given_up(operation, "member")
        moving.await_going_on(app)
        moving.to_service.cut(moving.named("reader-1"))
        moving.to_service.heal()
        moving.await_made(moving.begin(timeout_s=PATIENCE_S))


# -- the clusters --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "protocol"),
    [("writer-d", "classic"), ("reader-0", "classic"), ("reader-0", "consumer")],
)
def test_a_client_has_paused_once_its_cluster_has_what_it_handed_over(moving: CutOff, who: str, protocol: str) -> None:
    """A producer's messages, a consumer's commit: cut off from there it is waited for, while the others have paused."""
    with moving.application(protocol) as app:
        moving.to_old.freeze(who)
        operation = moving.begin(timeout_s=PATIENCE_S)
        moving.await_paused(3)
        moving.to_old.cut(who)
        moving.to_old.heal()
        moving.await_made(operation)
        moving.await_going_on(app)


@pytest.mark.parametrize("who", ["writer-d", "reader-0"])
def test_a_client_whose_cluster_does_not_answer_in_time_gives_the_switch_up(moving: CutOff, who: str) -> None:
    """It goes on there when it answers, and writers at once; a group whose member is silent waits for it."""
    with moving.application() as app:
        moving.to_old.freeze(who)
        operation = moving.begin(timeout_s=8)
        moving.await_given_up(operation, "not paused in time")
        written = app.written["a"]
        until(lambda: app.written["a"] > written + 50)
        moving.to_old.cut(who)
        moving.to_old.heal()
        moving.await_going_on(app)
        moving.await_made(moving.begin(timeout_s=PATIENCE_S))


@pytest.mark.parametrize("who", ["writer-d", "reader-0"])
def test_a_client_that_does_not_reach_the_new_cluster_goes_on_when_it_does(moving: CutOff, who: str) -> None:
    """The others go on there meanwhile."""
    with moving.application() as app:
        moving.to_new.freeze(who)
        operation = moving.begin(timeout_s=PATIENCE_S)
        until(lambda: operation()["state"] != "running")
        assert operation()["state"] == "done", operation()
        at_switch, written, taken = moving.old_ends(), Counter(app.written), len(app.read)
        moving.to_new.cut(who)
        until(lambda: app.written["a"] > written["a"] + 50 and len(app.read) > taken + 50)
        until(lambda: moving.readers(moving.link.target) == (1 if who == "reader-0" else 2))
        assert who == "reader-0" or app.written["d"] == written["d"]
        moving.to_new.heal()
        moving.await_going_on(app)
        assert moving.old_ends() == at_switch
