"""Switches on instances of one store, with clusters that answer what a test says: who is held, asked, and told."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from anabranch.config.routes_file import table_fields, table_of
from anabranch.kafka.errors import UnreachableError
from anabranch.model.accounts import Account, Role
from anabranch.model.clock import now_ms
from anabranch.model.plans import PlanChangedError
from anabranch.model.routing import ClientFacts, ClientReport, ClientRole, RouteQuery, Stragglers, WhenLost
from anabranch.operations.routes import cancel as cancelling
from anabranch.operations.routes import lost, moving
from anabranch.operations.routes.desk import SwitchCancelledError, SwitchOrder
from anabranch.operations.routes.lost import MovedWithout
from anabranch.operations.routes.moving import CopyingLink, Moved
from anabranch.routes.journal import switch_of
from anabranch.routes.switch import Ready, Switch, SwitchPolicy, SwitchState
from anabranch.service import switch_steps, switching
from anabranch.service.clusters import ClusterPool
from anabranch.service.errors import NoSwitchError, SwitchOverError, SwitchPublishedError
from anabranch.service.registry import Registry
from anabranch.service.route_desk import ServiceDesk
from anabranch.service.routing import Routing
from anabranch.service.stored import Stored
from anabranch.service.switch_steps import SwitchSteps
from anabranch.service.switching import Switching, Taken
from anabranch.service.watching import Watching
from anabranch.store.database import open_database
from anabranch.store.errors import StoreError
from anabranch.store.leases import of_instance
from anabranch.store.routes import SwitchUnderWayError
from anabranch.store.switches import KEPT_MS, NoSuchSwitchError, SwitchTakenError
from qa.timeouts import TIMEOUT_S
from tests.unit.service.test_watching import taken as waiting

pytestmark = pytest.mark.test

ACCOUNT = Account("1", "shop", Role.CLIENT)
FACTS = ClientFacts("shop", "host-1", "127.0.0.1", 42, "0.1")
BEFORE = {"version": 1, "codes": {"orders": {"cluster": "old"}, "other": {"cluster": "old"}}}
AFTER = {**BEFORE, "codes": {"orders": {"cluster": "new"}, "other": {"cluster": "old"}}}
READER = RouteQuery("orders", ClientRole.CONSUMER, ("sales",), "billing")
WRITER = RouteQuery("orders", ClientRole.PRODUCER, ("sales",), client_id="till")
APART = RouteQuery("other", ClientRole.PRODUCER, ("sales",))
R, W, A = "1" * 32, "2" * 32, "3" * 32


@dataclass
class World:
    """What clusters answer: ends, what is not copied, what is in the way of groups, positions there, what is undone."""

    ends: Mapping[str, int] = field(default_factory=lambda: {"sales-0": 7})
    uncopied: tuple[str, ...] = ()
    moved: Moved = field(default_factory=lambda: Moved(True))
    positions: Mapping[str, int] = field(default_factory=lambda: {"sales-0": 70})
    undone: str = ""
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def put_in(self, patch: pytest.MonkeyPatch) -> None:
        """Answer in place of clusters."""

        async def link_between(target: Any, source: str, topics: Mapping[str, str]) -> CopyingLink:
            self.asked.append(("link", source, target.name, dict(topics)))
            return CopyingLink(f"{source}-{target.name}")

        async def pin(source: Any, topics: Iterable[str]) -> dict[str, int]:
            self.asked.append(("pin", source.name, sorted(topics)))
            return dict(self.ends)

        async def uncopied(target: Any, link: str, pinned: Mapping[str, int]) -> tuple[str, ...]:
            self.asked.append(("uncopied", target.name, link, dict(pinned)))
            return self.uncopied

        async def starts(source: Any, target: Any, link: str, positions: Mapping[str, Mapping[str, int]]) -> Any:
            self.asked.append(("starts", target.name, link, dict(positions)))
            return {
                client: {name: self.positions[name] for name in each if name in self.positions}
                for client, each in positions.items()
            }

        async def move_groups(
            source: Any, target: Any, link: str, groups: Iterable[str], topics: Iterable[str], static: Any
        ) -> Moved:
            self.asked.append(("groups", source.name, target.name, link, list(groups), sorted(topics)))
            self.asked.append(("static", source.name, {group: sorted(each) for group, each in static.items()}))
            return self.moved

        async def take_back(target: Any, link: str, groups: Iterable[str], since_ms: int) -> str:
            self.asked.append(("take back", target.name, link, list(groups), since_ms))
            return self.undone

        for one in (link_between, pin, uncopied, starts, move_groups, take_back):
            patch.setattr(moving, one.__name__, one)

    def of(self, kind: str) -> list[tuple[Any, ...]]:
        """What was asked of one kind."""
        return [one[1:] for one in self.asked if one[0] == kind]


@dataclass(frozen=True)
class Node:
    """One instance; it acts where a test has it do a step."""

    name: str
    stored: Stored
    routing: Routing
    registry: Registry
    watching: Watching
    switching: Switching
    steps: SwitchSteps
    clusters: ClusterPool
    said: list[Switch]

    async def register(self, client: str, query: RouteQuery) -> str | None:
        """A client registers, as over HTTP; the switch that holds it."""
        await self.switching.look()
        await self.registry.register(ACCOUNT, client, query, FACTS)
        return self.switching.hold(client, query)

    async def begin(self, **policy: Any) -> str:
        """A switch of the code orders to the cluster new."""
        begun = SwitchOrder(table_of(AFTER, "a test"), self.routing.number, "a test", SwitchPolicy(**policy), {})
        return await self.switching.begin(begun, "mei")

    @property
    def taken(self) -> Taken:
        """The switch as it is known here."""
        assert self.switching.taken is not None
        return self.switching.taken

    @property
    def journal(self) -> Switch:
        """Its journal."""
        return self.taken.journal

    async def step(self) -> bool:
        """One step; whether there may be more to do at once."""
        return await self.steps._step(self.taken)

    async def go_on(self, most: int = 20) -> Switch:
        """Steps until one has to wait, or all is done."""
        for _ in range(most):
            if not self.journal.state.is_open or not await self.step():
                break
        return self.journal

    async def hand_over(self, *clients: str, positions: Mapping[str, int] | None = None) -> None:
        """Clients answer that they have paused."""
        for client in clients:
            await self.switching.ready(client, self.journal.id, Ready(positions or {}))

    def events(self, client: str) -> list[tuple[str, Any]]:
        """What waits for a client on its stream."""
        return [told(one) for one in waiting(self.watching._watchers[client])]


def told(event: bytes) -> tuple[str, Any]:
    """Kind and data of an event."""
    kind, data = event.decode().removesuffix("\n\n").split("\n")
    return kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))


@dataclass
class Store:
    """A store with version 1 of a table, and the instances that a test makes."""

    stored: Stored
    contexts: Path
    nodes: list[Node] = field(default_factory=list)

    async def node(self, name: str = "here") -> Node:
        """An instance; its name is held, as the service does it."""
        pool, watching, said = ClusterPool(self.contexts), Watching(), list[Switch]()

        async def changed() -> None:
            await registry.lead_again()

        routing = Routing(self.stored, pool, changed)
        registry = Registry(self.stored, routing, watching, name)
        switching = Switching(self.stored, routing, registry, watching, name, said.append)
        steps = SwitchSteps(switching, self.stored, routing, registry, pool, lambda: True)
        await routing.refresh()
        self.stored.leases.take(of_instance(name), name, now_ms(), 60_000)
        made = Node(name, self.stored, routing, registry, watching, switching, steps, pool, said)
        self.nodes.append(made)
        await switching.look()
        return made

    def signed(self, switch: str) -> set[str]:
        """Who has handed something over, clients and instances."""
        return set(self.stored.switches.handed_over(switch))


@pytest.fixture
def store(empty_store: str, tmp_path: Path) -> Iterator[Store]:
    """A store whose table leads to the cluster old."""
    contexts = tmp_path / "contexts.yaml"
    contexts.write_text(
        json.dumps({"version": 1, "contexts": {name: {"bootstrap": ["127.0.0.1:1"]} for name in ("old", "new")}})
    )
    database = open_database(empty_store)
    made = Store(Stored(database), contexts)
    made.stored.versions.publish(table_fields(table_of(BEFORE, "a test")), 0, "mei", "r", now_ms())
    try:
        yield made
    finally:
        for node in made.nodes:
            node.clusters.close()
        database.close()


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Clusters on which all goes well."""
    made = World()
    made.put_in(monkeypatch)
    return made


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine."""
    asyncio.run(test)


def fails(*_: object, **__: object) -> None:
    """A store that does not answer."""
    raise StoreError("store", "away")


# -- H1: who is held -----------------------------------------------------------------------------------


def test_whom_a_switch_would_move_is_held_until_it_has_ended(store: Store, world: World) -> None:
    """From the moment at which it is taken, before anybody is named; nobody else is."""

    async def test() -> None:
        here = await store.node()
        assert await here.register(R, READER) is None
        switch = await here.begin()
        assert not here.journal.named
        assert await here.register(W, WRITER) == switch
        assert await here.register(R, READER) == switch
        assert await here.register(A, APART) is None
        assert here.switching.hold(A, RouteQuery("gone", ClientRole.PRODUCER)) is None, "it is refused anyway"
        await here.step()
        assert set(here.journal.named) == {R, W}
        assert here.switching.hold(R, APART) == switch, "who is named is held, whatever it asks for"
        assert here.switching.hold(A, APART) is None
        await here.hand_over(R, W)
        assert (await here.go_on()).state is SwitchState.DONE
        assert here.switching.hold(W, WRITER) is None and here.switching.hold(R, READER) is None

    run(test())


def test_nobody_is_held_once_the_table_is_published(store: Store, world: World) -> None:
    """Also where the end of the switch is not written yet."""

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        await here.begin()
        await here.step()
        await here.hand_over(W)
        while here.journal.state is not SwitchState.PUBLISHED:
            await here.step()
        assert here.routing.number == 2
        assert here.switching.open is not None
        assert await here.register(R, READER) is None
        assert await here.register(W, WRITER) is None
        assert here.routing.route(READER).cluster == "new"

    run(test())


def test_what_was_handed_over_is_taken_again_after_a_journal_that_was_not_written(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts as read only once the journal has it."""

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        await here.begin()
        await here.step()
        await here.hand_over(W)
        with monkeypatch.context() as patch:
            patch.setattr(store.stored.switches, "keep", fails)
            with pytest.raises(StoreError):
                await here.step()
        assert (await here.go_on()).state is SwitchState.DONE

    run(test())


@pytest.mark.parametrize(
    ("stragglers", "state"), [(Stragglers.CANCEL, SwitchState.CANCELLED), (Stragglers.LEAVE, SwitchState.DONE)]
)
def test_a_producer_that_is_not_heard_of_any_more_may_still_write(
    store: Store, world: World, stragglers: Stragglers, state: SwitchState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a straggler, unless it has said that it ends; a consumer would be a member of its group."""
    clock = [now_ms()]
    for module in (switching, switch_steps):
        monkeypatch.setattr(module, "now_ms", lambda: clock[0])

    async def test() -> None:
        here = await store.node()
        for client, query in ((W, WRITER), (R, READER), (A, replace(WRITER, client_id="another"))):
            await here.register(client, query)
        await here.begin(stragglers=stragglers, timeout_ms=60_000)
        await here.step()
        for client in (W, R):
            known = here.registry._known[client]
            known.client = replace(known.client, until_ms=0)
        await here.registry.remove(ACCOUNT, A)
        while here.journal.state.is_open:
            if not await here.step():
                clock[0] += 20_000
        assert here.journal.state is state
        assert here.journal.left == ((W,) if stragglers is Stragglers.LEAVE else ())
        assert ("till" in here.journal.why) is (stragglers is Stragglers.CANCEL), here.journal.why

    run(test())


def test_of_two_switches_each_is_handed_over_for_itself(store: Store, world: World) -> None:
    """What was counted for one, and who was live then, says nothing of the next."""

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        first = await here.begin()
        await here.step()
        await here.step()
        await here.switching.cancel(first, "a test")
        await here.go_on()
        await here.register(R, READER)
        await here.begin()
        await here.step()
        assert set(here.journal.named) == {R, W}
        await here.hand_over(W)
        assert (await here.go_on()).state is SwitchState.PREPARING, "the reader has not paused"
        await here.hand_over(R)
        assert (await here.go_on()).state is SwitchState.DONE

    run(test())


# -- H2: what an instance vouches for ------------------------------------------------------------------


def test_an_instance_vouches_once_who_registered_before_is_written(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it takes the switch, also one that another instance began."""

    async def test() -> None:
        here, there = await store.node(), await store.node("there")
        admitting = there.registry._admitting

        class Later:
            """Others are written just now."""

            others_are_written = asyncio.Event()

            async def of(self, client_id: str) -> None:
                """Once they are."""
                await self.others_are_written.wait()
                await admitting.of(client_id)

        monkeypatch.setattr(there.registry, "_admitting", Later())
        coming = asyncio.create_task(there.register(W, WRITER))
        while not len(there.registry):
            await asyncio.sleep(0)
        switch = await here.begin()
        assert store.signed(switch) == {here.switching.sign}
        assert store.stored.clients.get(W) is None
        await there.switching.look()
        assert store.signed(switch) == {here.switching.sign, there.switching.sign}
        assert store.stored.clients.get(W) is not None
        Later.others_are_written.set()
        assert await coming == switch

    run(test())


def test_an_instance_does_not_vouch_while_a_write_is_under_way(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another write has taken and not brought to the store yet is not written."""
    begun, goes_on = threading.Event(), threading.Event()
    keep = store.stored.clients.keep

    def slow(rows: Sequence[Any]) -> None:
        if rows:
            begun.set()
            assert goes_on.wait(TIMEOUT_S)
        keep(rows)

    async def test() -> None:
        here, there = await store.node(), await store.node("there")
        await there.register(W, WRITER)
        there.registry._changed.add(W)
        monkeypatch.setattr(store.stored.clients, "keep", slow)
        writing = asyncio.create_task(there.registry.write())
        await asyncio.to_thread(begun.wait, TIMEOUT_S)
        switch = await here.begin()
        looking = asyncio.create_task(there.switching.look())
        async with asyncio.timeout(TIMEOUT_S):
            while not there.registry._writing._waiters:  # it waits for the write
                assert not looking.done()
                await asyncio.sleep(0.001)
        assert there.switching.sign not in store.signed(switch), "what W has told is not in the store"
        goes_on.set()
        await asyncio.gather(writing, looking)
        assert there.switching.sign in store.signed(switch)
        assert store.stored.clients.get(W) is not None

    try:
        run(test())
    finally:
        goes_on.set()


@pytest.mark.parametrize("what", ["clients", "sign"])
def test_an_instance_that_could_not_vouch_does_at_its_next_look(
    store: Store, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Else the switch would wait for it until it is given up."""

    async def test() -> None:
        here, there = await store.node(), await store.node("there")
        await there.register(W, WRITER)
        there.registry._changed.add(W)
        switch = await here.begin()
        with monkeypatch.context() as patch:
            patch.setattr(
                *{"clients": (store.stored.clients, "keep"), "sign": (store.stored.switches, "hand_over")}[what], fails
            )
            with pytest.raises(StoreError):
                await there.switching.look()
            assert there.switching.hold(R, READER) == switch, "it is taken all the same"
        await there.switching.look()
        assert there.switching.sign in store.signed(switch)

    run(test())


def test_clients_are_gathered_once_every_instance_has_vouched(store: Store, world: World) -> None:
    """One that has not keeps it waiting; one that is there no more does not."""

    async def test() -> None:
        here, there = await store.node(), await store.node("there")
        store.stored.leases.take(of_instance("gone"), "gone", now_ms() - 90_000, 60_000)
        await here.register(R, READER)
        await there.register(W, WRITER)
        await there.register(A, APART)
        await here.begin()
        assert not await here.step()
        assert (here.journal.gathered, here.journal.named) == (False, {})
        await there.switching.look()
        assert await here.step()
        assert here.journal.gathered and set(here.journal.named) == {R, W}
        assert here.journal.groups == {"billing": ("old", "new")}
        assert here.journal.links == {("old", "new"): "old-new"}
        assert world.of("link") == [("old", "new", {"sales": "sales"})]

    run(test())


def test_a_switch_that_not_every_instance_takes_is_given_up_in_time(store: Store, world: World) -> None:
    """With the reason that there is."""

    async def test() -> None:
        here = await store.node()
        await store.node("there")
        await here.register(W, WRITER)
        await here.begin(timeout_ms=0)
        journal = await here.go_on()
        assert journal.state is SwitchState.CANCELLED
        assert journal.why.startswith("it was not done in time")

    run(test())


def test_whom_the_table_would_refuse_gives_the_switch_up(store: Store, world: World) -> None:
    """One that came after it was planned."""

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        await here.begin()
        refused = {**AFTER, "codes": {"orders": {"cluster": "new"}}}
        begun = SwitchOrder(table_of(refused, "a test"), 1, "a test", SwitchPolicy(), {})
        with pytest.raises(SwitchUnderWayError):
            await here.switching.begin(begun, "mei")
        await here.switching.cancel(here.journal.id, "no")
        await here.go_on()
        await here.register(A, APART)
        await here.switching.begin(begun, "mei")
        journal = await here.go_on()
        assert journal.state is SwitchState.CANCELLED
        assert "would be refused" in journal.why and not journal.named

    run(test())


def test_a_topic_of_a_live_client_gets_no_other_name_on_its_cluster_and_who_comes_is_held_meanwhile(
    store: Store, world: World
) -> None:
    """The client has no place in that log; one that comes begins there alone."""

    async def test() -> None:
        here = await store.node()
        renamed = {**AFTER, "codes": {**BEFORE["codes"], "orders": {"cluster": "old", "topics": "v2.{topic}"}}}
        begun = SwitchOrder(table_of(renamed, "a test"), 1, "a test", SwitchPolicy(), {})
        await here.register(W, WRITER)
        await here.switching.begin(begun, "mei")
        journal = await here.go_on()
        assert journal.state is SwitchState.CANCELLED and "sales would be v2.sales on old" in journal.why
        await here.registry.remove(ACCOUNT, W)
        switch = await here.switching.begin(begun, "mei")
        await here.step()
        assert await here.register(A, APART) is None and await here.register(R, READER) == switch
        here.watching.open(R)
        assert (await here.go_on()).state is SwitchState.DONE
        assert dict(here.routing.route(READER).topics) == {"sales": "v2.sales"}
        kind, last = here.events(R)[-1]
        assert (kind, last["route"]["topics"]) == ("go", {"sales": "v2.sales"})

    run(test())


# -- asking to pause -----------------------------------------------------------------------------------


def test_each_instance_asks_its_own_named_clients_once(store: Store, world: World) -> None:
    """To pause, with the switch and until when; nobody else is told anything."""

    async def test() -> None:
        here, there = await store.node(), await store.node("there")
        for node, client, query in ((here, R, READER), (there, W, WRITER), (here, A, APART)):
            await node.register(client, query)
            node.watching.open(client)
        switch = await here.begin()
        await there.switching.look()
        await here.step()
        await there.switching.look()
        for node, client in ((here, R), (there, W)):
            ((kind, data),) = node.events(client)
            assert (kind, data["switch"], data["deadline_ms"]) == ("prepare", switch, here.journal.deadline_ms)
        assert here.events(A) == []
        await here.hand_over(R)
        await here.step()
        await there.switching.look()
        assert (here.events(R), there.events(W)) == ([], [])
        assert set(here.journal.ready) == {R}

    run(test())


def test_who_begins_to_watch_hears_what_it_missed(store: Store, world: World) -> None:
    """To pause, where it has not; how it ended, until it says that it follows that; who is not concerned, nothing."""
    world.positions = {"sales-0": 70}

    async def test() -> None:
        here = await store.node()
        assert here.switching.missed(R, READER) is None
        for client, query in ((R, READER), (W, WRITER), (A, APART)):
            await here.register(client, query)
        switch = await here.begin()
        held = "4" * 32
        await here.step()
        assert await here.register(held, WRITER) == switch
        missed = here.switching.missed(R, READER)
        assert missed is not None and told(missed)[0] == "prepare"
        assert here.switching.missed(A, APART) is None
        assert here.switching.missed(held, WRITER) is None, "it has not connected"
        await here.hand_over(R, W, positions={"sales-0": 7})
        await here.step()
        assert here.switching.missed(R, READER) is None, "it has answered"
        await here.step()
        assert here.journal.state is SwitchState.DRAINING
        assert here.switching.missed(W, WRITER) is None
        await here.go_on()
        for client, query, starts in ((R, READER, {"sales-0": 70}), (held, WRITER, {})):
            missed = here.switching.missed(client, query)
            assert missed is not None
            kind, data = told(missed)
            assert (kind, data["switch"], data["starts"], data["route"]["cluster"]) == ("go", switch, starts, "new")
        here.switching.follows(R, 1)
        assert here.switching.missed(R, READER) is not None
        here.switching.follows(R, 2)
        assert here.switching.missed(R, READER) is None
        assert here.switching.missed(A, APART) is None

    run(test())


def test_who_begins_to_watch_hears_that_a_switch_was_given_up(store: Store, world: World) -> None:
    """With the reason."""

    async def test() -> None:
        here = await store.node()
        await here.register(R, READER)
        switch = await here.begin()
        await here.step()
        await here.switching.cancel(switch, "mei: no")
        await here.go_on()
        missed = here.switching.missed(R, READER)
        assert missed is not None and told(missed) == ("cancel", {"switch": switch, "why": "mei: no"})

    run(test())


def test_clients_are_asked_again_once_their_cluster_is_lost(store: Store, world: World) -> None:
    """Else they would wait for it as they pause; who has paused, or was told so already, is not asked."""

    async def test() -> None:
        here = await store.node()
        for client, query in ((R, READER), (W, WRITER)):
            await here.register(client, query)
            here.watching.open(client)
        await here.begin()
        await here.step()
        await here.hand_over(R)
        await here.step()
        assert [data["lost"] for _, data in (*here.events(R), *here.events(W))] == [False, False]
        await here.switching.keep(replace(here.journal, lost=("old",)), here.taken.revision)
        for client, heard in ((R, []), (W, [True])):
            assert [data["lost"] for _, data in here.events(client)] == heard
        await here.switching.keep(replace(here.journal, deadline_ms=here.journal.deadline_ms + 1), here.taken.revision)
        assert here.events(W) == []
        missed = here.switching.missed(W, WRITER)
        assert missed is not None and told(missed)[1]["lost"]

    run(test())


# -- H3: where clients begin ---------------------------------------------------------------------------


def test_where_a_client_begins_is_told_until_it_follows_the_version(store: Store, world: World) -> None:
    """Not before it is published; also by an instance that was started since."""

    async def test() -> None:
        here = await store.node()
        await here.register(R, READER)
        await here.register(W, WRITER)
        switch = await here.begin()
        await here.step()
        await here.hand_over(R, positions={"sales-0": 7})
        await here.hand_over(W)
        while here.journal.state is not SwitchState.PUBLISHED:
            assert here.switching.go(R) is None
            await here.step()
        await here.go_on()
        again = await store.node()
        for node in (here, again):
            told = node.switching.go(R)
            assert told is not None and (told.switch, told.starts) == (switch, {"sales-0": 70})
            assert node.switching.go(W) is None and node.switching.go(A) is None
            node.switching.follows(R, 1)
            assert node.switching.go(R) is not None
            node.switching.follows(R, 2)
            assert node.switching.go(R) is None

    run(test())


def test_where_a_client_begins_is_told_by_no_switch_that_was_given_up(store: Store, world: World) -> None:
    """Its positions count on the cluster where it is."""

    async def test() -> None:
        here = await store.node()
        await here.register(R, READER)
        switch = await here.begin()
        await here.step()
        await here.hand_over(R, positions={"sales-0": 7})
        while not here.journal.starts:
            await here.step()
        await here.switching.cancel(switch, "no")
        assert (await here.go_on()).state is SwitchState.CANCELLED
        assert here.switching.go(R) is None

    run(test())


# -- answers and giving up -----------------------------------------------------------------------------


def test_an_answer_to_another_switch_is_refused(store: Store, world: World) -> None:
    """Whether there is none, or one that has ended."""

    async def test() -> None:
        here = await store.node()
        with pytest.raises(NoSwitchError):
            await here.switching.ready(R, "s", Ready())
        await here.register(R, READER)
        switch = await here.begin()
        with pytest.raises(NoSwitchError):
            await here.switching.ready(R, "s", Ready())
        await here.switching.cancel(switch, "no")
        await here.go_on()
        with pytest.raises(NoSwitchError):
            await here.switching.ready(R, switch, Ready())

    run(test())


def test_a_switch_that_is_given_up_tells_all_to_go_on_where_they_were(store: Store, world: World) -> None:
    """Those that paused and those that were held; no table is published, and it is given up once."""

    async def test() -> None:
        here, there = await store.node(), await store.node("there")
        await here.register(R, READER)
        switch = await here.begin()
        assert await there.register(W, WRITER) == switch
        here.watching.open(R)
        there.watching.open(W)
        await here.step()
        await here.hand_over(R)
        here.events(R)
        there.events(W)
        await there.switching.cancel(switch, "mei: no")
        assert here.journal.state is SwitchState.PREPARING
        with pytest.raises(SwitchTakenError):
            await here.step()
        await here.switching.look()
        journal = await here.go_on()
        assert (journal.state, journal.why) == (SwitchState.CANCELLED, "mei: no")
        for _ in range(2):
            await there.switching.look()
        cancelled = ("cancel", {"switch": switch, "why": "mei: no"})
        assert here.events(R) == [cancelled]
        asked, told = there.events(W)
        assert (asked[0], told) == ("prepare", cancelled)
        assert store.stored.versions.newest_number() == 1
        assert not world.of("take back"), "nothing had been moved"
        for gone in (switch, "f" * 32):
            with pytest.raises(SwitchOverError):
                await here.switching.cancel(gone, "again")

    run(test())


def test_a_switch_is_given_up_over_what_another_instance_writes_meanwhile(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again over the newer journal."""

    async def test() -> None:
        here, there = await store.node(), await store.node("there")
        await here.register(W, WRITER)
        switch = await here.begin()
        await there.switching.look()
        keep, raced = store.stored.switches.keep, list[str]()

        def late(*asked: Any, **more: Any) -> None:
            if not raced:
                raced.append("once")
                keep(switch, there.taken.revision, "preparing", store.stored.switches.get(switch).journal, is_open=True)
            keep(*asked, **more)

        monkeypatch.setattr(store.stored.switches, "keep", late)
        await there.switching.cancel(switch, "no")
        assert raced and switch_of(store.stored.switches.get(switch).journal).why == "no"

    run(test())


def test_a_switch_whose_table_is_published_is_not_given_up(store: Store, world: World) -> None:
    """It only goes on (W3)."""

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        switch = await here.begin()
        await here.step()
        await here.hand_over(W)
        while here.journal.state is not SwitchState.PUBLISHED:
            await here.step()
        with pytest.raises(SwitchPublishedError):
            await here.switching.cancel(switch, "no")
        assert (await here.go_on()).state is SwitchState.DONE

    run(test())


# -- steps ---------------------------------------------------------------------------------------------


def test_a_switch_goes_through_all_its_steps(store: Store, world: World) -> None:
    """What was written is pinned and copied, groups are moved, the table is published, and all are told to go on."""

    async def test() -> None:
        here = await store.node()
        for client, query in ((R, READER), (W, WRITER)):
            await here.register(client, query)
            here.watching.open(client)
        switch = await here.begin()
        await here.go_on()
        assert not await here.step(), "nobody has paused"
        await here.hand_over(W)
        await here.go_on()
        assert set(here.journal.ready) == {W} and here.journal.ends is None
        await here.hand_over(R, positions={"sales-0": 5})
        world.uncopied = ("sales-0 up to 7: not copied",)
        await here.go_on()
        assert (here.journal.state, here.journal.ends) == (SwitchState.DRAINING, {"old": {"sales-0": 7}})
        assert world.of("uncopied")[0] == ("new", "old-new", {"sales-0": 7}) and not world.of("groups")
        world.uncopied, world.moved = (), Moved(False, why="group billing has members")
        await here.go_on()
        assert here.journal.state is SwitchState.MOVING and not world.of("starts")
        world.moved, world.positions = Moved(True), {}
        await here.go_on()
        assert not here.journal.starts, "its position is not there yet"
        world.positions = {"sales-0": 50}
        assert (await here.go_on()).state is SwitchState.DONE
        assert world.of("pin") == [("old", ["sales"])]
        assert world.of("groups")[-1] == ("old", "new", "old-new", ["billing"], ["sales"])
        assert (here.routing.number, store.stored.versions.get(2).author) == (2, "mei")
        (ended,) = [data for kind, data in here.events(R) if kind == "go"]
        assert (ended["switch"], ended["starts"], ended["route"]["version"]) == (switch, {"sales-0": 50}, 2)
        assert [data["starts"] for kind, data in here.events(W) if kind == "go"] == [{}]
        order = [one.state for one in here.said]
        assert [state for at, state in enumerate(order) if state not in order[:at]] == [
            SwitchState.PREPARING, SwitchState.DRAINING, SwitchState.MOVING, SwitchState.PUBLISHED, SwitchState.DONE
        ]  # fmt: skip
        assert await here.switching.ended(switch) == here.journal

    run(test())


def test_topics_that_a_producer_came_to_until_it_paused_are_copied_as_well(store: Store, world: World) -> None:
    """It was named before it asked for them, and what it wrote there meanwhile lies on the old cluster alone."""

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        switch = await here.begin()
        await here.step()
        assert await here.register(W, replace(WRITER, topics=("sales", "audit"))) == switch
        await here.hand_over(W)
        assert (await here.go_on()).state is SwitchState.DONE
        assert world.of("pin") == [("old", ["audit", "sales"])]
        assert here.journal.named[W].topics == {"sales": "sales", "audit": "audit"}

    run(test())


def test_a_group_is_moved_with_the_topics_that_its_regular_expression_met(store: Store, world: World) -> None:
    """Those that others name are not all that it has committed."""
    world.positions = {"sales-eu-0": 70}

    async def test() -> None:
        here = await store.node()
        await here.register(R, replace(READER, topics=("^sales.*",)))
        await here.register(W, WRITER)
        await here.begin()
        await here.step()
        await here.hand_over(R, positions={"sales-eu-0": 5})
        await here.hand_over(W)
        assert (await here.go_on()).state is SwitchState.DONE
        assert world.of("groups")[-1] == ("old", "new", "old-new", ["billing"], ["sales", "sales-eu"])

    run(test())


def test_a_group_begins_where_its_members_paused_whichever_of_them_has_a_partition_there(
    store: Store, world: World
) -> None:
    """Also one that was held, and not one that comes later; of two that had a partition the later one counts."""
    world.positions = {"sales-0": 70, "sales-1": 71}

    async def test() -> None:
        here = await store.node()
        for client in (R, A):
            await here.register(client, READER)
            here.watching.open(client)
        switch = await here.begin()
        await here.step()
        held, late = "4" * 32, "5" * 32
        assert await here.register(held, READER) == switch
        await here.hand_over(R, positions={"sales-0": 5})
        await here.hand_over(A, positions={"sales-0": 6, "sales-1": 5})
        assert (await here.go_on()).state is SwitchState.DONE
        assert world.of("starts")[-1][-1] == {"group billing": {"sales-0": 6, "sales-1": 5}}
        await here.register(late, READER)
        for client in (R, A, held):
            told = here.switching.go(client)
            assert told is not None and told.starts == {"sales-0": 70, "sales-1": 71}
        assert here.switching.go(late) is None
        assert [data["starts"] for kind, data in here.events(A) if kind == "go"] == [told.starts]

    run(test())


def test_a_consumer_of_no_group_begins_where_it_paused(store: Store, world: World) -> None:
    """No group has to be moved for that."""

    async def test() -> None:
        here = await store.node()
        await here.register(R, replace(READER, group=""))
        await here.begin()
        await here.step()
        await here.hand_over(R, positions={"sales-0": 5})
        assert (await here.go_on()).state is SwitchState.DONE
        assert here.journal.starts == {R: {"sales-0": 70}} and not world.of("groups")

    run(test())


def test_a_consumer_that_was_not_heard_of_is_in_doubt(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have paused, and go on there: where its group has committed nothing, by its own settings alone."""

    async def nobody(*_: object) -> frozenset[str]:
        return frozenset()

    monkeypatch.setattr(switch_steps, "may_act", nobody)

    async def test() -> None:
        here, gone = await store.node(), "4" * 32
        for client, query in ((R, READER), (A, READER), (W, WRITER), (gone, READER)):
            await here.register(client, query)
        await here.begin()
        await here.step()
        await here.hand_over(A, positions={"sales-0": 6})
        await here.registry.remove(ACCOUNT, gone)
        assert (await here.go_on()).state is SwitchState.DONE
        assert here.journal.doubts == (
            "consumer shop (host-1, pid 42): it was not heard of, and has not said where it stands: "
            "where nothing is committed it begins on new by itself, unless it reaches the service first",
        )

    run(test())


@pytest.mark.parametrize("state", ["draining", "moving", "done"])
def test_a_consumer_that_says_too_late_where_it_stood_begins_there(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """H4: it did not reach the service for longer than its lease; another instance may hear it."""

    async def nobody(*_: object) -> frozenset[str]:
        return frozenset()

    monkeypatch.setattr(switch_steps, "may_act", nobody)

    async def test() -> None:
        here, other = await store.node(), await store.node("other")
        await here.register(R, READER)
        await here.register(W, WRITER)
        switch = await here.begin()
        await other.switching.look()
        await here.step()
        while here.journal.state.value != state:
            assert await here.step()
        if state == "done":
            await other.switching.look()
            assert other.switching.go(R) is None
        await other.switching.ready(R, switch, Ready({"sales-0": 5}))
        assert (await here.go_on()).state is SwitchState.DONE
        await other.switching.look()
        asked = len(world.of("starts"))
        await other.steps.hear_late(R)
        told = other.switching.go(R)
        assert told is not None and told.starts == {"sales-0": 70}
        assert len(world.of("starts")) - asked == (state == "done"), "what is in the journal is not asked again"
        assert bool(here.journal.doubts) is (state == "done")
        other.switching.follows(R, 2)
        with pytest.raises(NoSwitchError):
            await other.switching.ready(R, switch, Ready({"sales-0": 5}))

    run(test())


def test_what_is_in_doubt_of_producers_of_a_lost_cluster_is_told_without_any_group(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not acknowledged, up to where their topics were copied, and who has said nothing."""

    async def copied_to(target: Any, link: str, topics: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{topic} was copied by {link}" for topic in topics)

    async def move_without(target: Any, link: str, positions: Mapping[str, Any]) -> MovedWithout:
        assert not positions
        return MovedWithout(Moved(True))

    for one in (copied_to, move_without):
        monkeypatch.setattr(lost, one.__name__, one)

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        await here.register(A, replace(WRITER, client_id="gone"))
        switch = await here.begin()
        await here.step()
        await here.switching.keep(replace(here.journal, lost=("old",)), here.taken.revision)
        await here.switching.ready(W, switch, Ready({}, {"unacknowledged": 3}))
        await here.registry.remove(ACCOUNT, A)
        assert (await here.go_on()).state is SwitchState.DONE
        assert here.journal.doubts == (
            "producer till (host-1, pid 42): 3 messages were not acknowledged",
            "producer gone (host-1, pid 42): it has not said where it stands",
            "sales was copied by old-new",
        )

    run(test())


def test_an_instance_that_has_not_taken_a_switch_yet_takes_an_answer_to_it(store: Store, world: World) -> None:
    """Another one has asked the client, which would not say it again."""

    async def test() -> None:
        here, there = await store.node(), await store.node("there")
        await there.register(W, WRITER)
        await there.registry.write()
        switch = await here.begin()
        assert there.switching.open is None
        await there.switching.ready(W, switch, Ready())
        assert W in store.signed(switch)

    run(test())


def test_groups_that_were_moved_are_taken_back(store: Store, world: World) -> None:
    """And what could not be is said; only from when moving them had begun."""
    world.moved, world.undone = Moved(False, why="group billing has members"), "group billing: it has read on"

    async def test() -> None:
        here = await store.node()
        await here.register(R, READER)
        switch = await here.begin()
        await here.step()
        await here.hand_over(R)
        await here.go_on()
        assert here.journal.state is SwitchState.MOVING
        await here.switching.cancel(switch, "no")
        journal = await here.go_on()
        assert world.of("take back") == [("new", "old-new", ["billing"], journal.began_ms)]
        assert journal.state is SwitchState.CANCELLED
        assert journal.why == "no; not taken back on new: group billing: it has read on"

    run(test())


@pytest.mark.parametrize("policy", Stragglers)
def test_producers_that_do_not_pause_are_left_behind_where_that_is_the_policy(
    store: Store, world: World, policy: Stragglers
) -> None:
    """What they write is not waited for; by the other policy the switch is given up."""

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        await here.begin(stragglers=policy)
        await here.step()
        late = replace(here.journal, began_ms=now_ms() - 200_000, deadline_ms=now_ms() - 1)
        await here.switching.keep(late, here.taken.revision)
        journal = await here.go_on()
        if policy is Stragglers.LEAVE:
            assert (journal.state, journal.left) == (SwitchState.DONE, (W,))
        else:
            assert (journal.state, journal.left) == (SwitchState.CANCELLED, ())
            assert "not paused in time: producer till" in journal.why
        assert not world.of("pin")

    run(test())


@pytest.mark.parametrize("state", ["preparing", "draining", "moving", "published"])
def test_another_instance_goes_on_with_a_switch_wherever_it_stands(store: Store, world: World, state: str) -> None:
    """By the journal alone; who would go on with an older one is refused (T1, T2)."""

    async def test() -> None:
        here, there = await store.node(), await store.node("there")
        await here.register(R, READER)
        await there.register(W, WRITER)
        await here.begin()
        await there.switching.look()
        await here.step()
        await there.switching.look()
        await here.hand_over(R, positions={"sales-0": 7})
        await there.hand_over(W)
        while here.journal.state.value != state:
            assert await here.step()
        older = here.taken
        await there.switching.look()
        assert (await there.go_on()).state is SwitchState.DONE
        with pytest.raises(SwitchTakenError):
            await here.switching.keep(older.journal, older.revision)
        await here.switching.look()
        assert here.journal == there.journal and here.routing.number == 2
        assert here.journal.starts == {"group billing": {"sales-0": 70}}

    run(test())


def test_a_person_gives_a_switch_up_by_a_plan_that_was_seen(store: Store, world: World) -> None:
    """The plan changes nothing, and holds however far the switch comes; applied, it says who gave it up and why."""

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        desk = ServiceDesk(store.stored, here.routing, here.registry, here.switching, here.clusters, "mei")
        switch = await here.switching.begin(
            SwitchOrder(table_of(AFTER, "a test"), 1, "a test", SwitchPolicy(), {}), "jo"
        )
        watching = asyncio.create_task(here.switching.watch(here.steps.go_on))
        async with asyncio.timeout(TIMEOUT_S):
            while W not in here.journal.named:
                await asyncio.sleep(0.01)
            planned = await cancelling.plan(desk, switch, "not today")
            assert (planned.switch, planned.version, planned.clients, planned.paused) == (switch, 2, 1, 0)
            assert here.journal.why == ""
            with pytest.raises(PlanChangedError):
                await cancelling.apply(desk, replace(planned, hash="0" * 12))
            assert here.journal.why == ""
            done = await cancelling.apply(desk, planned)
        watching.cancel()
        assert (done.switch, done.state, done.why) == (switch, SwitchState.CANCELLED, "mei: not today")
        assert here.routing.number == 1
        with pytest.raises(SwitchOverError):
            await cancelling.plan(desk, switch, "again")
        with pytest.raises(NoSuchSwitchError):
            await cancelling.plan(desk, "0" * 32, "no such")

    run(test())


def test_the_instance_that_acts_goes_on_by_itself(store: Store, world: World) -> None:
    """One task at a time; the operation that began the switch learns its end."""

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        desk = ServiceDesk(store.stored, here.routing, here.registry, here.switching, here.clusters, "mei")
        begun = SwitchOrder(table_of(AFTER, "a test"), 1, "a test", SwitchPolicy(), {})
        watching = asyncio.create_task(here.switching.watch(here.steps.go_on))
        switching = asyncio.create_task(desk.switch(begun))
        async with asyncio.timeout(TIMEOUT_S):
            while here.switching.open is None or W not in here.journal.named:
                await asyncio.sleep(0.01)
            await here.switching.cancel(here.journal.id, "no")
            with pytest.raises(SwitchCancelledError, match="no"):
                await switching
            switching = asyncio.create_task(desk.switch(begun))
            while here.switching.open is None or W not in here.journal.named:
                await asyncio.sleep(0.01)
            await here.hand_over(W)
            made = await switching
            assert (made.switch, made.version.version) == (here.journal.id, 2)
        watching.cancel()
        await here.steps.end()

    run(test())


# -- one switch after the other ------------------------------------------------------------------------


def test_an_instance_that_sees_only_the_next_switch_tells_the_end_of_the_one_before(store: Store, world: World) -> None:
    """Its clients still wait for that, and would else be taken for stragglers of the next."""

    async def test() -> None:
        here, there = await store.node(), await store.node("there")
        await there.register(R, READER)
        there.watching.open(R)
        first = await here.begin()
        await there.switching.look()
        await here.step()
        await there.switching.look()
        await there.hand_over(R, positions={"sales-0": 7})
        assert (await here.go_on()).state is SwitchState.DONE
        back = SwitchOrder(table_of(BEFORE, "a test"), 2, "back", SwitchPolicy(), {})
        second = await here.switching.begin(back, "mei")
        await there.switching.look()
        assert there.journal.id == second and there.switching.sign in store.signed(second)
        (ended,) = [data for kind, data in there.events(R) if kind == "go"]
        assert (ended["switch"], ended["starts"], ended["route"]["cluster"]) == (first, {"sales-0": 70}, "new")
        there.registry.report(ACCOUNT, R, ClientReport(2))
        assert there.switching.hold(R, READER) == second

    run(test())


def test_old_switches_are_forgotten_as_one_begins(store: Store, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those of the last months."""
    monkeypatch.setattr("anabranch.service.switching.KEPT_MS", -1)

    async def test() -> None:
        here = await store.node()
        ids = []
        for _ in range(3):
            ids.append(await here.begin())
            await here.switching.cancel(ids[-1], "no")
            await here.go_on()
            ended = now_ms()
            while now_ms() <= ended:
                await asyncio.sleep(0.001)
        assert [one.id for one in store.stored.switches.last(10)] == ids[-1:]
        assert KEPT_MS > 0

    run(test())


@pytest.mark.parametrize("by", ["deadline", "person"])
@pytest.mark.parametrize("hangs", [False, True])
def test_a_switch_whose_new_cluster_does_not_answer_is_given_up(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch, by: str, hangs: bool
) -> None:
    """Nobody can say whether all is copied: the deadline and a person's word count as ever."""

    async def uncopied(*_: object) -> tuple[str, ...]:
        if hangs:
            await asyncio.Event().wait()
        raise UnreachableError("new", ("127.0.0.1:1: connection refused",))

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        switch = await here.begin()
        await here.step()
        await here.hand_over(W)
        while here.journal.state is not SwitchState.DRAINING:
            await here.step()
        monkeypatch.setattr(moving, "uncopied", uncopied)
        if by == "person":
            await here.switching.cancel(switch, "no")
        else:
            late = replace(here.journal, deadline_ms=now_ms() - 1)
            await here.switching.keep(late, here.taken.revision)
        journal = await here.go_on()
        assert journal.state is SwitchState.CANCELLED
        assert journal.why.startswith("no" if by == "person" else "it was not done in time: ")

    run(test())


@pytest.mark.parametrize(
    ("was", "silent_s", "why"),
    [
        ("sales-0 up to 7", 60.0, "not copied yet: sales-0 up to 7"),
        ("", 60.0, "what was written last is being copied"),
        ("sales-0 up to 7", 0.0, "new does not answer"),
    ],
)
def test_a_look_that_the_deadline_cuts_off_is_not_why_a_switch_is_given_up(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch, was: str, silent_s: float, why: str
) -> None:
    """Also where nobody acted until then: a cluster that was asked only just now is not said not to answer."""

    async def uncopied(*_: object) -> tuple[str, ...]:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    monkeypatch.setattr(switch_steps, "SILENT_S", silent_s)

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        await here.begin()
        await here.step()
        await here.hand_over(W)
        while here.journal.state is not SwitchState.DRAINING:
            await here.step()
        if was:
            world.uncopied = (was,)
            assert not await here.step()
        monkeypatch.setattr(moving, "uncopied", uncopied)
        await here.switching.keep(replace(here.journal, deadline_ms=now_ms() - 1), here.taken.revision)
        journal = await here.go_on()
        assert (journal.state, journal.why) == (SwitchState.CANCELLED, f"it was not done in time: {why}")

    run(test())


@pytest.mark.parametrize("when_lost", list(WhenLost))
@pytest.mark.parametrize("state", ["preparing", "draining", "moving", "published"])
def test_an_old_cluster_that_dies_while_a_switch_is_under_way_is_waited_for_or_left_by_what_is_known(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch, state: str, when_lost: WhenLost
) -> None:
    """Waited for until it is given up, and what was moved is taken back; left with what is in doubt; or not missed."""

    async def away(source: Any, *_: object) -> Any:
        raise UnreachableError(source.name, ("127.0.0.1:1: connection refused",))

    async def move_without(target: Any, link: str, positions: Mapping[str, Any]) -> MovedWithout:
        return MovedWithout(Moved(True), (f"read on {link} up to {dict(positions)}",))

    async def copied_to(target: Any, link: str, topics: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{topic} was copied by {link}" for topic in topics)

    for one in (move_without, copied_to):
        monkeypatch.setattr(lost, one.__name__, one)
    for name in ("LOOK_LOST_S", "LOST_S"):
        monkeypatch.setattr(switch_steps, name, 0.0)

    async def test() -> None:
        here = await store.node()
        for client, query in ((R, READER), (W, WRITER)):
            await here.register(client, query)
        await here.begin(when_lost=when_lost)
        await here.step()
        await here.switching.ready(R, here.journal.id, Ready({"sales-0": 7}))
        await here.switching.ready(W, here.journal.id, Ready({}, {"sales-0": 2}))
        while here.journal.state.value != state:
            await here.step()
        for name in ("pin", "move_groups", "starts"):
            monkeypatch.setattr(moving, name, away)
        world.uncopied = ("sales-0 up to 7",)  # what the link has not copied it cannot copy any more
        here.steps._copied = None
        monkeypatch.setattr(here.clusters, "why_away", _says_away)
        for _ in range(30):
            if not here.journal.state.is_open:
                break
            try:
                goes_on = await here.step()
            except UnreachableError:
                goes_on = False
            if goes_on or await here.steps._found_lost(here.taken):
                continue
            late = replace(here.journal, deadline_ms=now_ms() - 1)
            await here.switching.keep(late, here.taken.revision)
        journal = here.journal
        if state == "published":
            assert (journal.state, journal.lost, journal.doubts) == (SwitchState.DONE, (), ())
        elif when_lost is WhenLost.WAIT:
            assert (journal.state, journal.lost) == (SwitchState.CANCELLED, ())
            assert here.routing.route(WRITER).cluster == "old"
            assert len(world.of("take back")) == (state == "moving")
        else:
            assert (journal.state, journal.lost) == (SwitchState.DONE, ("old",))
            assert here.routing.route(WRITER).cluster == "new"
            assert "producer till (host-1, pid 42): 2 messages of sales-0 were not acknowledged" in journal.doubts
            assert any(doubt.startswith("read on old-new up to") for doubt in journal.doubts)

    run(test())


async def _says_away(name: str, _: float) -> str:
    return f"cluster {name} does not answer" if name == "old" else ""
