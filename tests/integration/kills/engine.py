"""An engine to be killed: all of an instance of the service but its web server, as a process of its own.

It is asked for one verb, goes on with a run that is open already, and dies at the points that it is told.  Links that
it starts are processes that outlive it, as Spark's are; it asks the test for them.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import psutil

from anabranch.config.jobspec import LinkJob
from anabranch.migration.journal import run_fields
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.model.cluster import ClusterContext
from anabranch.operations.jobs import launcher
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.submission import Submission
from anabranch.service import hooks, migrating, migration_desk
from anabranch.service.instance import Addresses, Instance
from anabranch.service.job_settings import JobSettings
from anabranch.service.settings import ServeSettings
from anabranch.service.stored import Stored
from anabranch.service.verbs import VERBS
from anabranch.service.verbs.migration_shapes import TakenBackError
from anabranch.store.database import open_database
from tests.integration.kills.link_process import write_to
from tests.integration.kills.points import Killer, KillPlan, WatchedJournals, WatchedSteps

GIVE_UP = "give-up"
_LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class EngineOrder:
    """What an engine is asked for: a verb of a wave, over a store, with clusters of a contexts file.

    ``directory`` gets its files: ``points``, ``journals`` and ``outcome`` of JSON, and ``engine.log``; ``helper`` is
    where links are started.
    """

    store: str
    contexts: Path
    directory: Path
    helper: str
    verb: str
    request: Mapping[str, Any]
    kills: KillPlan
    hooks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


def main(order: EngineOrder) -> None:
    """Carry it out, and write down what came of it."""
    write_to(order.directory / "engine.log")
    os.environ.update(order.environment)
    _hasten()
    killer = Killer(order.kills, order.directory / "points")
    outcome = asyncio.run(_carried_out(order, killer))
    (order.directory / "outcome").write_text(json.dumps(outcome), encoding="utf-8")


def _hasten() -> None:
    """Wait less for what cannot come in these tests: nobody is slow, and each run of a link has been heard of.

    An engine lives for a moment only, and there are hundreds of them.
    """
    from anabranch.kafka.groups import snapshot
    from anabranch.operations.links import delete, run, stop
    from anabranch.operations.migrations import lost
    from anabranch.service.verbs import migration_waves, migrations

    migrations.WATCH_S = 0.0
    migration_waves.LOOK_LOST_S = lost.LOOK_LOST_S = 0.5  # what was killed does not answer later either
    migrating.LOOK_S = migrating.LOOK_END_S = 0.05
    snapshot.SETTLE_S = 0.3
    delete._SILENCE_MS = 400
    stop._NAMED_S = 0.5
    run.LOOK_S = 0.1


async def _carried_out(order: EngineOrder, killer: Killer) -> Mapping[str, str]:
    database = open_database(order.store)
    jobs = JobSettings("local[1]", "local[1]", order.directory / "jobs")
    roots = (str(order.directory),)
    settings = ServeSettings("127.0.0.1", 0, order.store, order.contexts, jobs, roots, hooks=order.hooks)
    instance = Instance(settings, Stored(database), "engine", Addresses("http", frozenset(), None))
    _watch(order, killer, instance)
    killer.watch_store(database._engine)
    try:
        async with instance.running():
            while not instance.acting.acts:
                await asyncio.sleep(_LOOK_S)
            return await _asked(order, instance)
    finally:
        database.close()


async def _asked(order: EngineOrder, instance: Instance) -> Mapping[str, str]:
    """Ask for the verb; how the run ended."""
    verb = VERBS[f"migrations.{order.verb}"]
    request = verb.request.model_validate(order.request)
    reach = replace(instance.reach, account="mei", planned_by="ann")
    name = order.request["migration"]
    run = await _open_run(instance, name if isinstance(name, str) else name["name"])
    if run is not None:

        async def nobody(_: object) -> None:
            """Nobody listens."""

        ended = await instance.migrating.ended(run, nobody)
        return {"run": ended.id, "state": ended.state.value, "why": ended.why}
    try:
        report = await verb.apply(reach, request, await verb.plan(reach, request))
    except TakenBackError as error:
        return {"state": WaveRunState.CANCELLED.value, "why": error.message}
    return {"state": WaveRunState.DONE.value, "why": "", "report": str(report)}


async def _open_run(instance: Instance, migration: str) -> str | None:
    found = await instance.stored.ask(instance.stored.migrations.open_runs)
    return next((run.id for run in found if run.migration == migration), None)


# -- how it differs from the service ----------------------------------------------------------------------------


def _watch(order: EngineOrder, killer: Killer, instance: Instance) -> None:
    """Have it die at its points, start links without Spark, and compare without Spark."""
    carry_out = migrating.carry_out

    def wrote(run: WaveRun, revision: int) -> None:
        with (order.directory / "journals").open("a", encoding="utf-8") as file:
            file.write(json.dumps([revision, run_fields(run)]) + "\n")

    async def watched(journals: Any, run: str, steps: Any, *rest: Any) -> WaveRun:
        return await carry_out(WatchedJournals(journals, killer, wrote), run, WatchedSteps(steps), *rest)

    migrating.carry_out = watched  # type: ignore[assignment]
    killer.watch_requests()
    killer.watch_files()
    killer.watch_call(hooks.asyncio, "create_subprocess_exec", "hook runs")

    def start_link(
        target: ClusterContext,
        source: ClusterContext,
        link: str,
        how: Submission,
        lease_seconds: float,
        directory: Path,
        **_: object,
    ) -> StartedJob:
        del how, directory
        job = LinkJob(link, "", source, target, lease_seconds).named()
        with Client(order.helper, "AF_UNIX") as helper:
            helper.send(job.to_json())
            pid, log = helper.recv()
        killer.changed("link started")
        return StartedJob(job.run, Path(log), _Elsewhere(pid))  # type: ignore[arg-type]

    launcher.start_link = start_link  # type: ignore[assignment]

    async def verify(*_: object) -> str:
        """The test compares both logs itself."""
        return "compared"

    migration_desk.ServiceMigrationDesk.verify = verify  # type: ignore[method-assign, assignment]


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """A process that another one has begun, as far as a started job asks for it."""

    pid: int
    stdin: None = None
    stdout: None = None

    def poll(self) -> int | None:
        """None while it lives."""
        try:
            return None if psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE else 0
        except psutil.NoSuchProcess:
            return 0
