"""Jobs of a wave that is led back without its target: rewritten by the offset maps that are on the source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from anabranch.migration.run import WaveRunState
from anabranch.migration.spec import CopyRules, JobKind, Limits, Migration, StreamJob, Wave
from anabranch.migration.steps import StepKind
from anabranch.model.link import ModePolicy
from anabranch.sandbox import ClusterSpec
from anabranch.store.database import open_database
from anabranch.store.waves import StoredMigrations
from qa.brokers import STEADY
from tests.integration.links.test_migration_switch import Stand
from tests.integration.links.topics import newest_offset
from tests.integration.migrations.test_migration_jobs import (
    HERE,
    LOST,
    PARTITIONS,
    RECORDS,
    STAGE,
    THERE,
    Doing,
    filled,
    reads,
    with_jobs,
)
from tests.simulated import Simulated
from tests.unit.operations.checkpoints.world import copy, settle, starts

pytestmark = pytest.mark.test


@dataclass
class IdleBack(Stand):
    """A stand whose way back never runs."""

    async def run_link(self, target: str, name: str) -> None:
        """Only the way there."""
        if not name.endswith("-back"):
            await super().run_link(target, name)


@pytest.fixture
def led(tmp_path: Path) -> Iterator[Stand]:
    """A wave that was switched with a job that is where it was, on the target."""
    job = StreamJob("sums", JobKind.SPARK, str(copy("rocksdb", tmp_path / "sums")))
    wave = Wave("all", tuple(PARTITIONS), jobs=(job,))
    rules, limits = CopyRules(mode=ModePolicy.MAPPED), Limits(quiet_ms=200)
    migration = Migration("move", "old", "new", (wave,), copy=rules, limits=limits)
    database = open_database(f"{tmp_path}/store.sqlite")
    old, new = (Simulated(ClusterSpec(name, overrides=STEADY)) for name in ("old", "new"))
    with old, new, ExitStack() as stack:
        stack.callback(database.close)
        filled(old)
        made = IdleBack(old, new, migration, StoredMigrations(database), stack)  # type: ignore[arg-type]
        made.start()
        assert made.carry_out(made.switch(None)).state is WaveRunState.DONE
        yield made


def test_a_position_is_exact_where_it_was_copied_and_else_where_the_copies_end(led: Stand, tmp_path: Path) -> None:
    """Though the way back has never run; what the job has of the tail is told, and a dead target is not asked."""
    place = tmp_path / "sums"
    assert starts(place) == THERE
    settle(place)
    doing = Doing(with_jobs(led, *led.wave.jobs), leg=1)
    steps = tuple(replace(step, kind=LOST) if step.kind is STAGE else step for step in doing.run.steps)
    doing.run = replace(doing.run, what="reverse", steps=steps)
    end = newest_offset(led.new, "flights")
    for broker in led.new.brokers:
        broker.kill()
    for _ in range(2):
        assert doing.do(LOST, "sums")["doubts"] == []
    doing.put_back("sums")
    assert starts(place) == THERE
    reads(place, 600)
    settle(place)
    told = f"job sums is at 600 of flights-0, and goes on where the copies end: what it has of {end} to 599"
    assert doing.do(LOST, "sums")["doubts"] == [f"{told} is not on old"]
    doing.do(StepKind.PUBLISH_CHECKPOINTS, "sums")
    assert starts(place) == {**HERE, "flights-0": RECORDS}
