"""Applications of the SDK in a migration's switch: held, let go and led, asked twice at each point, by anybody."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from anabranch.kafka.security import open_cluster
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import CopyRules, FenceKind, Limits, Migration, Wave
from anabranch.migration.steps import MigrationStep, Part, StepKind
from anabranch.model.clock import now_ms
from anabranch.model.link import ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.operations.migrations.engine import NotYetError, carry_out
from anabranch.operations.migrations.steps import ClusterSteps
from anabranch.sdk import Consumer, Producer
from anabranch.service.clusters import ClusterPool
from anabranch.service.migration_routes import HoldLostError, MigrationRoutes
from anabranch.service.registry import Registry
from anabranch.service.route_desk import ServiceDesk
from anabranch.service.routing import Routing
from anabranch.service.stored import Stored
from anabranch.service.switching import Switching
from anabranch.service.watching import Watching
from anabranch.store.database import Database, open_database
from anabranch.store.waves import StoredMigrations
from qa.service import until
from tests.integration.kafka.security import context_of
from tests.integration.links.test_migration_switch import Journals, Stand
from tests.integration.links.topics import create, delete_records, fresh, numbered, produce
from tests.integration.sdk.lab import Lab, read, write
from tests.integration.sdk.test_coordinated import PARTITIONS, Moving

pytestmark = [pytest.mark.test, pytest.mark.real]


@dataclass
class SdkStand(Stand):
    """A migration whose one wave is of applications that the route service leads."""

    lab: Lab = field(kw_only=True)
    database: Database = field(kw_only=True)
    run_id: str = ""

    @asynccontextmanager
    async def instance(self) -> AsyncIterator[MigrationRoutes]:
        """An instance that knows what the store has, and has never been asked anything."""
        stored, pool, watching = Stored(self.database), ClusterPool(self.lab.service.contexts), Watching()

        async def changed() -> None:
            """Nobody is registered here."""

        routing = Routing(stored, pool, changed)
        registry = Registry(stored, routing, watching, "beside")
        switching = Switching(stored, routing, registry, watching, "beside", lambda _: None)
        try:
            yield MigrationRoutes(ServiceDesk(stored, routing, registry, switching, pool, "mei"))
        finally:
            pool.close()

    async def twice(self, question: Callable[[MigrationRoutes], Awaitable[None]]) -> None:
        """Ask two instances the same, one after the other."""
        for _ in range(2):
            async with self.instance() as routes:
                await question(routes)

    def ask(self, question: Callable[[MigrationRoutes], Awaitable[None]]) -> None:
        """Ask until it is done."""

        async def go() -> None:
            while True:
                try:
                    return await self.twice(question)
                except NotYetError as error:
                    print(error.message)
                    await asyncio.sleep(0.1)

        asyncio.run(go())

    # -- the desk --------------------------------------------------------------------------------------

    async def verify(self, _: str, __: str) -> str:
        """What applications read is looked at."""
        return "compared"

    async def hold(self, leg: Leg) -> None:  # type: ignore[override]
        """By the service."""
        await self.twice(lambda routes: routes.hold(leg, self.run_id, None))

    async def let_go(self, leg: Leg) -> None:  # type: ignore[override]
        """By the service."""
        await self.twice(lambda routes: routes.let_go(leg, self.run_id))

    async def lead(self, leg: Leg, part: Part) -> None:  # type: ignore[override]
        """By the service."""
        await self.twice(lambda routes: routes.lead(leg, part, self.run_id))

    def carry_out(self, run: str, dies: Callable[[WaveRun], bool] = lambda _: False) -> WaveRun:
        """Go on with a run until it has ended; what is held is bound before the point of no return."""
        self.run_id = run

        async def tell(run: WaveRun, why: str) -> None:
            print(f"step {run.at}: {why}")

        async def go() -> WaveRun:
            contexts = context_of(self.old, "admin"), context_of(self.new, "admin")
            async with open_cluster(contexts[0]) as source, open_cluster(contexts[1]) as target:
                steps = Binding(ClusterSteps(self.migration, source, target, self), self)
                return await carry_out(Journals(self.store, dies), run, steps, now_ms, tell)

        return asyncio.run(go())

    @property
    def codes(self) -> Any:
        """Where codes lead now, and the rules."""
        table = self.lab.service.ask("GET", "/routes").json["table"]
        return table["codes"], table["rules"]

    @property
    def switches(self) -> list[Any]:
        """The newest first."""
        return list(self.lab.service.ask("GET", "/switches").json)


@dataclass(frozen=True)
class Binding:
    """The steps of a migration, of which the point of no return binds what is held."""

    steps: ClusterSteps
    stand: SdkStand

    async def do(self, run: WaveRun, step: MigrationStep) -> Mapping[str, Any] | None:
        """Do a step."""
        if step.kind is StepKind.JOURNAL:
            leg = self.stand.leg(run.leg)
            await self.stand.twice(lambda routes: routes.bind(leg, run.id))
        return await self.steps.do(run, step)

    async def put_back(self, run: WaveRun, step: MigrationStep) -> None:
        """Undo a step."""
        await self.steps.put_back(run, step)


@contextmanager
def migration(lab: Lab, naming: str, longest_pause_ms: int = 30_000) -> Iterator[SdkStand]:
    """A wave of a topic, the group of the lab and the code orders; it is started: all is copied."""
    topic = create(lab.old, fresh("wave"), PARTITIONS)
    produce(lab.old, topic, numbered(20) + numbered(20, partition=1))
    for partition in range(PARTITIONS):
        delete_records(lab.old, topic, 20, partition)
    wave = Wave("shop", (topic,), (lab.group,), codes=("orders",), fences=(FenceKind.ROUTES,))
    copy = CopyRules(PluginSpec(naming), mode=ModePolicy.MAPPED)
    limits = Limits(quiet_ms=200, longest_pause_ms=longest_pause_ms)
    made = Migration(fresh("move"), "old", "new", (wave,), copy=copy, limits=limits)
    database = open_database(lab.service.store)
    with ExitStack() as stack:
        stack.callback(database.close)
        stand = SdkStand(lab.old, lab.new, made, StoredMigrations(database), stack, lab=lab, database=database)
        stand.start()
        yield stand


def clusters(lab: Lab) -> set[str]:
    """Where the clients are."""
    return {one["cluster"] for one in lab.service.clients()}


def test_applications_are_moved_by_a_migration_and_back(lab: Lab) -> None:
    """Each record is read once and in its order, on whichever cluster; the table is then the one that was before."""
    with migration(lab, "identity") as made:
        before = made.codes
        with Moving(lab, made.link(made.leg().link), made.wave.topics[0]).application(consumers=1) as app:
            for number, where in enumerate(("new", "old")):
                run = made.carry_out(made.switch(leg=number))
                assert run.state is WaveRunState.DONE, run.why
                until(lambda where=where: clusters(lab) == {where})  # type: ignore[misc]
                goal = app.total + 100
                until(lambda goal=goal: len(app.read) >= goal)  # type: ignore[misc]
                assert (made.codes == before) is (where == "old")


def test_who_is_held_waits_is_let_go_where_it_was_and_is_led_all_the_same(lab: Lab) -> None:
    """A switch that is taken back is not begun again by its run; the next run's binds, and only goes on."""
    with migration(lab, "prefix", longest_pause_ms=120_000) as made:
        leg = made.leg()
        with Moving(lab, made.link(leg.link), made.wave.topics[0]).application(consumers=1) as app:
            first, second = uuid.uuid4().hex, uuid.uuid4().hex
            made.ask(lambda routes: routes.hold(leg, first, None))
            held = app.total
            switch = made.switches[0]
            assert (switch["state"], switch["paused"], switch["clients"]) == ("preparing", 3, 3)
            made.ask(lambda routes: routes.let_go(leg, first))
            until(lambda: app.total > held + 50)
            assert clusters(lab) == {"old"}
            with pytest.raises(HoldLostError):
                made.ask(lambda routes: routes.hold(leg, first, None))

            made.ask(lambda routes: routes.hold(leg, second, None))
            made.ask(lambda routes: routes.bind(leg, second))
            asked = lab.service.ask("POST", f"/switches/{made.switches[0]['id']}/cancel", {"reason": "no"}, "approver")
            assert (asked.status, made.switches[0]["state"]) == (409, "preparing"), asked.body
            made.ask(lambda routes: routes.lead(leg, Part.ALL, second))
            until(lambda: clusters(lab) == {"new"})
            number = len(made.switches)
            made.ask(lambda routes: routes.lead(leg, Part.ALL, second))
            assert len(made.switches) == number, "it leads there already"


def test_a_static_member_that_is_held_keeps_its_group_from_nothing(lab: Lab) -> None:
    """It is taken out as it is held, so that its group is seen to be empty, and goes on at its next record."""
    session = {"group_instance_id": "one", "session_timeout_ms": 300_000}
    with migration(lab, "prefix") as made:
        (topic,) = made.wave.topics
        with Producer(lab.configured()) as producer, Consumer(lab.reading(**session)) as consumer:
            write(producer, topic, ["a", "b"], key="one partition")
            consumer.subscribe([topic])
            found = [one.value() for one in read(consumer, lambda found: len(found) == 2)]
            ended: list[WaveRun] = []
            thread = threading.Thread(target=lambda: ended.append(made.carry_out(made.switch())))
            thread.start()
            until(lambda: consumer.poll(0.1) is None and not thread.is_alive())
            assert ended[0].state is WaveRunState.DONE, ended[0].why
            write(producer, topic, ["c"], key="one partition")
            found += [one.value() for one in read(consumer, lambda found: len(found) == 1)]
            assert found == [b"a", b"b", b"c"]
            assert clusters(lab) == {"new"}
