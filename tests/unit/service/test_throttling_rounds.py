"""A round of throttling: each migration by itself."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from anabranch.config.migration_file import migration_fields
from anabranch.errors import ConfigError
from anabranch.kafka.cluster import Cluster
from anabranch.migration.journal import run_fields
from anabranch.migration.kept import SEEN, StoredRun
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.steps import start_steps
from anabranch.migration.throttle import OperatorThrottle, ThrottleDecision
from anabranch.migration.throttle_state import ThrottleState
from anabranch.model.plans import PlanChangedError
from anabranch.operations.migrations import resume, throttle
from anabranch.operations.migrations.copying import operator_in
from anabranch.operations.migrations.throttling import Throttled
from anabranch.service import throttling
from anabranch.service.clusters import ClusterPool
from anabranch.service.stored import Stored
from anabranch.store.database import open_database
from anabranch.store.waves import StoredMigrations

pytestmark = pytest.mark.unit
WAVE = Wave("orders", ("orders",), ("shop",))


class Pool:
    """Clusters by their contexts; one of these is gone."""

    def cluster(self, name: str) -> Cluster:
        """Whatever stands for it."""
        if name == "gone":
            raise ConfigError(f"no context {name}")
        return cast(Cluster, name)


class Throttle:
    """It changes nothing."""

    def __init__(self, *_: object) -> None:
        self.rounds = 0

    async def adjust(self, *_: object) -> Throttled:
        """As if all were well."""
        return Throttled(ThrottleState(), ThrottleDecision({}, False, (), ()), (), ())


def test_a_migration_whose_context_is_gone_holds_up_no_other_one(
    empty_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one behind it is still slowed down and let go."""
    monkeypatch.setattr(throttling, "MigrationThrottle", Throttle)
    database = open_database(empty_store)
    stored = Stored(database)
    for name, source in (("a-first", "gone"), ("b-second", "old")):
        migration = Migration(name, source, "new", (WAVE,))
        stored.migrations.add(name, migration_fields(migration), "mei", 0)
        run = WaveRun(f"{name}-1", name, "orders", "start", start_steps(Leg(migration, WAVE)), 0)
        fields: dict[str, Any] = run_fields(run) | {"state": WaveRunState.DONE.value}
        stored.migrations.begin(StoredRun(run.id, name, "orders", False, "done", 1, 0, "mei", "", fields))
    watch = throttling.Throttling(stored, cast(ClusterPool, Pool()), lambda: True)
    asyncio.run(watch._round())
    seen = {one.name: SEEN in one.throttle for one in stored.migrations.all()}
    database.close()
    assert seen == {"a-first": False, "b-second": True}


async def test_a_pause_has_the_length_that_the_source_allows(empty_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept with when it began; a source that does not answer is paused all the same."""
    move = Migration("move", "old", "new", (WAVE,))
    copying = WaveRun("r", "move", "orders", "start", start_steps(Leg(move, WAVE)), 0, state=WaveRunState.DONE)
    run = StoredRun("r", "move", "orders", False, "done", 1, 0, "mei", "", run_fields(copying))
    database = open_database(empty_store)
    stored = StoredMigrations(database)
    stored.add("move", migration_fields(move), "mei", 0)
    stored.begin(run)

    async def retentions(_: Cluster, topics: list[str]) -> dict[str, int | None]:
        assert topics == ["orders"]
        return {"orders": 7_200_000}

    async def silent(*_: object) -> dict[str, int | None]:
        raise TimeoutError

    def wanted(wave: str | None = None) -> OperatorThrottle:
        return operator_in(stored.get("move").throttle, wave)

    clusters = Pool().cluster
    for answer, longest in ((retentions, 3_600_000), (silent, None)):
        monkeypatch.setattr(throttle, "topic_retentions", answer)
        planned = await throttle.plan(stored, clusters, "move", None)
        assert (planned.after.is_paused, planned.after.longest_ms) == (True, longest)
        await throttle.apply(stored, planned)
        wish = wanted()
        assert (wish.is_paused, wish.longest_ms, wish.since_ms is not None) == (True, longest, True)
    await resume.apply(stored, await resume.plan(stored, "move"))
    # Of a wave it is kept beside, until the wave is resumed, or all is.
    for wave, ended in (("orders", ()), (None, ("orders",))):
        await throttle.apply(stored, await throttle.plan(stored, clusters, "move", 1_000_000, wave="orders"))
        assert (wanted(), wanted("orders").rate) == (OperatorThrottle(), 1_000_000)
        resumed = await resume.plan(stored, "move", wave=wave)
        assert resumed.ended == ended
        await resume.apply(stored, resumed)
        assert wanted("orders") == OperatorThrottle()
    database.close()


async def test_a_wish_that_somebody_else_has_changed_since_is_not_overwritten(empty_store: str) -> None:
    """Whoever planned by what was wanted before looks again; nothing is kept."""
    database = open_database(empty_store)
    stored = StoredMigrations(database)
    stored.add("move", migration_fields(Migration("move", "old", "new", (WAVE,))), "mei", 0)
    clusters = Pool().cluster
    planned = await throttle.plan(stored, clusters, "move", 1_000)
    resumed = await resume.plan(stored, "move")
    await throttle.apply(stored, await throttle.plan(stored, clusters, "move", 2_000))
    for late in (planned, resumed):
        with pytest.raises(PlanChangedError, match="migration move changed since plan"):
            await throttle.apply(stored, late)
    assert operator_in(stored.get("move").throttle).rate == 2_000
    database.close()
