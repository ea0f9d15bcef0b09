"""Clients that a migration's run holds: they have been let go before the run says that all is as before."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.migration.legs import Leg
from anabranch.migration.spec import FenceKind, Migration, Wave
from anabranch.migration.steps import Part
from anabranch.model.clock import now_ms
from anabranch.model.topics import TopicPartition
from anabranch.operations.migrations.engine import NotYetError
from anabranch.routes.switch import SwitchState
from anabranch.service import migration_against
from anabranch.service.migration_against import against, not_held
from anabranch.service.migration_routes import MigrationRoutes
from anabranch.service.route_desk import ServiceDesk
from tests.unit.service.test_switching import WRITER, Store, W, World, run, store, world

__all__ = ["store", "world"]
pytestmark = pytest.mark.unit

WAVE = Wave("sales", ("sales",), ("billing",), codes=("orders",))
LEG = Leg(Migration("move", "old", "new", (WAVE,)), WAVE)


def test_who_is_held_has_been_let_go_once_that_is_said(store: Store, world: World) -> None:
    """The instance that acts gives the switch up a moment later: until then they stand still."""

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        desk = ServiceDesk(store.stored, here.routing, here.registry, here.switching, here.clusters, "mei")
        routes = MigrationRoutes(desk)
        with pytest.raises(NotYetError):
            await routes.hold(LEG, Part.ALL, "run-1", None)
        for _ in range(2):
            with pytest.raises(NotYetError, match="is being given up"):
                await routes.let_go(LEG, "run-1")
        assert here.journal.state.is_open and here.switching.hold(W, WRITER)
        assert (await here.go_on()).state is SwitchState.CANCELLED
        await routes.let_go(LEG, "run-1")
        assert here.switching.hold(W, WRITER) is None

    run(test())


def test_a_wave_whose_codes_could_not_be_led_hears_it_before_its_switch(store: Store, world: World) -> None:
    """And one of whose clients uses topics that it does not have; nothing is begun by asking."""

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        desk = ServiceDesk(store.stored, here.routing, here.registry, here.switching, here.clusters, "mei")

        async def told(wave: Wave) -> list[str]:
            leg = Leg(Migration("move", "old", "new", (wave,)), wave)
            return [one.what for one in await against(desk, leg, Part.ALL)]

        assert await told(WAVE) == []
        gone = Wave("sales", ("sales",), ("billing",), codes=("gone", "lost"))
        assert await told(gone) == [f"wave sales: the route table has no code '{one}'" for one in gone.codes]
        narrow = Wave("sales", ("other",), ("billing",), codes=("orders",))
        assert ["uses topics that the wave does not have: sales" in one for one in await told(narrow)] == [True]
        assert here.switching.open is None

    run(test())


def test_more_writers_than_clients_that_pause_are_told(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the producer ids that wrote of late; with another fence nothing rests on it."""

    async def test() -> None:
        here = await store.node()
        await here.register(W, WRITER)
        cluster: Any = SimpleNamespace(metadata=metadata)
        desk: Any = SimpleNamespace(
            newest=here.routing.newest, registry=here.registry, clusters=SimpleNamespace(cluster=lambda _: cluster)
        )
        entries = {TopicPartition("sales", 0): [SimpleNamespace(producer_id=at, last_timestamp=0) for at in range(2)]}

        async def producers(*_: object) -> Any:
            return entries

        monkeypatch.setattr(migration_against, "active_producers", producers)

        async def told(*fences: FenceKind) -> list[str]:
            wave = replace(WAVE, fences=fences)
            return [one.what for one in await not_held(desk, Leg(LEG.migration, wave), Part.ALL)]

        assert await told(FenceKind.ROUTES) == []
        for entry in entries[TopicPartition("sales", 0)]:
            entry.last_timestamp = now_ms()
        assert await told(FenceKind.ROUTES) == [
            "wave sales: 2 producers wrote to its topics within 10 min, and 1 of its codes are registered: routes hold "
            "nobody else"
        ]
        assert await told(FenceKind.ROUTES, FenceKind.ACL) == []

    async def metadata(names: list[str]) -> Any:
        return SimpleNamespace(topics={name: SimpleNamespace(error=0, partitions={0: None}) for name in names})

    run(test())
