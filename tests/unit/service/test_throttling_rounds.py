"""A round of throttling: each migration by itself."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.config.migration_file import migration_fields
from anabranch.errors import ConfigError
from anabranch.kafka.cluster import Cluster
from anabranch.migration.journal import run_fields
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.steps import start_steps
from anabranch.migration.throttle import OperatorThrottle, ThrottleDecision
from anabranch.migration.throttle_state import ThrottleState
from anabranch.operations.migrations.throttling import Throttled
from anabranch.service import throttling
from anabranch.service.clusters import ClusterPool
from anabranch.service.stored import Stored
from anabranch.service.verbs import migration_changes
from anabranch.service.verbs.migration_shapes import ResumeRequest, ThrottleRequest
from anabranch.store.database import open_database
from anabranch.store.waves import SEEN, StoredRun

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


def test_a_pause_has_the_length_that_the_source_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept with when it began; a source that does not answer is paused all the same."""
    move = Migration("move", "old", "new", (WAVE,))
    copying = WaveRun("r", "move", "orders", "start", start_steps(Leg(move, WAVE)), 0, state=WaveRunState.DONE)
    run = StoredRun("r", "move", "orders", False, "done", 1, 0, "mei", "", run_fields(copying))
    kept: list[dict[str, Any]] = []

    async def ask(what: Any) -> None:
        what()

    def slow_down(_: str, part: str, fields: dict[str, Any]) -> None:
        kept.append({part: fields})

    stored = SimpleNamespace(ask=ask, migrations=SimpleNamespace(slow_down=slow_down))
    reach: Any = SimpleNamespace(clusters=Pool(), migrating=SimpleNamespace(stored=stored))
    known = SimpleNamespace(migration=move, runs=(run,), kept=SimpleNamespace(throttle={}), stands=move.wave)

    async def read(*_: object) -> Any:
        return known

    async def retentions(_: Cluster, topics: list[str]) -> dict[str, int | None]:
        assert topics == ["orders"]
        return {"orders": 7_200_000}

    async def silent(*_: object) -> dict[str, int | None]:
        raise TimeoutError

    monkeypatch.setattr(migration_changes, "read_migration", read)
    for answer, longest in ((retentions, 3_600_000), (silent, None)):
        monkeypatch.setattr(migration_changes, "topic_retentions", answer)
        request = ThrottleRequest(migration="move", pause=True)
        planned = asyncio.run(migration_changes._throttle_plan(reach, request))
        assert (planned.after.is_paused, planned.after.longest_ms) == (True, longest)
        asyncio.run(migration_changes._throttled(reach, planned))
        wish = throttling.operator_in(kept[-1])
        assert (wish.is_paused, wish.longest_ms, wish.since_ms is not None) == (True, longest, True)
    # Of a wave it is kept beside, until the wave is resumed, or all is.
    alone = asyncio.run(
        migration_changes._throttle_plan(reach, ThrottleRequest(migration="move", wave="orders", rate="1MB/s"))
    )
    asyncio.run(migration_changes._throttled(reach, alone))
    assert throttling.operator_in(kept[-1]) == OperatorThrottle()
    assert throttling.operator_in(kept[-1], "orders").rate == 1_000_000
    known.kept.throttle = kept[-1]
    for wave, ended in (("orders", ()), (None, ("orders",))):
        resumed = asyncio.run(migration_changes._resume_plan(reach, ResumeRequest(migration="move", wave=wave)))
        assert resumed.ended == ended
        before = len(kept)
        asyncio.run(migration_changes._throttled(reach, resumed))
        merged = {part: fields for one in kept[before:] for part, fields in one.items()}
        assert throttling.operator_in(merged, "orders") == OperatorThrottle()
