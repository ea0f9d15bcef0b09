"""Clients that a migration's run holds: they have been let go before the run says that all is as before."""

from __future__ import annotations

import pytest

from anabranch.migration.legs import Leg
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.steps import Part
from anabranch.operations.migrations.engine import NotYetError
from anabranch.routes.switch import SwitchState
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
        routes = MigrationRoutes(desk)

        async def told(wave: Wave) -> list[str]:
            leg = Leg(Migration("move", "old", "new", (wave,)), wave)
            return [one.what for one in await routes.against(leg, Part.ALL)]

        assert await told(WAVE) == []
        gone = Wave("sales", ("sales",), ("billing",), codes=("gone", "lost"))
        assert await told(gone) == [f"wave sales: the route table has no code '{one}'" for one in gone.codes]
        narrow = Wave("sales", ("other",), ("billing",), codes=("orders",))
        assert ["uses topics that the wave does not have: sales" in one for one in await told(narrow)] == [True]
        assert here.switching.open is None

    run(test())
