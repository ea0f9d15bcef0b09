"""Going on with the runs of migrations: each open one has a task on the instance that acts, by its journal alone.

Invariants
    T3  only the instance that acts goes on, and what it writes down is refused where another one has gone on meanwhile.
    T4  a run that nobody goes on with is found in the store, and gone on with, by whoever acts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog

from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.migration.ends import End
from anabranch.migration.journal import run_fields, run_of
from anabranch.migration.kept import RunTakenError, StoredRun
from anabranch.migration.run import NextMove, WaveRun, decide, lost_meanwhile
from anabranch.migration.spec import Migration
from anabranch.migration.steps import MigrationStep
from anabranch.model.clock import now_ms
from anabranch.operations.migrations.engine import Journals, KeptRun, carry_out
from anabranch.operations.migrations.known import migration_in
from anabranch.operations.migrations.steps import ClusterSteps
from anabranch.service.clusters import ClusterPool
from anabranch.service.errors import NotActingError
from anabranch.service.hub import Hub
from anabranch.service.migration_desk import ServiceMigrationDesk
from anabranch.service.stored import Stored
from anabranch.store.errors import StoreError

LOOK_S, LOOK_END_S = 1.0, 0.2
"""How often runs are looked for that nobody goes on with, and how often the end of one is."""
TELL_S = 1.0
"""What a run waits for is kept at most so often: numbers in it change with each look."""

log = structlog.get_logger()


def clusters_of(clusters: ClusterPool, migration: Migration) -> tuple[Cluster, Cluster]:
    """A migration's source and its target; raises ConfigError."""
    return clusters.cluster(migration.source), clusters.cluster(migration.target)


class Migrating:
    """The runs that this instance goes on with; ``acts`` says whether it is the one that acts.

    ``over`` waits until nothing else is made for a wave of a migration.
    """

    def __init__(
        self,
        stored: Stored,
        clusters: ClusterPool,
        desk: ServiceMigrationDesk,
        hub: Hub,
        acts: Callable[[], bool],
        over: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self.stored = stored
        self.desk = desk
        self._clusters = clusters
        self._hub = hub
        self._acts = acts
        self._over = over
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def watch(self) -> None:
        """Look for open runs, and go on with them, until this is cancelled."""
        while True:
            if self._acts():
                try:
                    await self.look()
                except StoreError as error:
                    log.warning("the store does not answer", why=error.message)
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Go on with each open run that has no task here; raises StoreError."""
        for run in await self.stored.ask(self.stored.migrations.open_runs):
            task = self._tasks.get(run.id)
            if task is None or task.done():
                self._tasks[run.id] = asyncio.create_task(self._go_on(run))
        for run_id in [one for one, task in self._tasks.items() if task.done()]:
            del self._tasks[run_id]

    async def end(self) -> None:
        """Stop where they are; whoever acts next goes on."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def begin(self, run: WaveRun, author: str, seen: int, revision: int | None = None) -> None:
        """Keep a run that begins, and go on with it; ``seen`` is how many of its wave had ended as it was planned.

        ``revision`` is the migration's by which it was planned, None where that makes no difference.  Raises
        WaveBusyError, WaveMovedError, MigrationChangedError, StoreError.
        """
        kept = run.id, run.migration, run.wave, True, run.state.value, 1, run.began_ms, author, "", run_fields(run)
        await self.stored.ask(lambda: self.stored.migrations.begin(StoredRun(*kept), seen, revision))
        await self.look()

    async def leave(self, run: str, end: End, why: str) -> None:
        """Have a run end without a cluster of its migration, by whoever goes on with it; one that has ended stays so.

        The race: whoever does a step writes over the journal, too; of both one is refused, and begins again.
        """
        while True:
            kept = await self.stored.ask(lambda: self.stored.migrations.run(run))
            before = run_of(kept.journal)
            after = lost_meanwhile(before, why, end)
            if after == before:
                return
            fields, state, revision = run_fields(after), after.state.value, kept.revision
            try:
                await self.stored.ask(
                    partial(self.stored.migrations.keep, run, revision, state, fields, is_open=True),
                )
                return
            except RunTakenError:
                continue

    async def ended(self, run: str, tell: Callable[[StoredRun], Any]) -> WaveRun:
        """Wait until a run has ended; ``tell`` hears each change.  It goes on also when nobody waits."""
        told: tuple[int, str] | None = None
        while True:
            kept = await self.stored.ask(lambda: self.stored.migrations.run(run))
            if (kept.revision, kept.waits) != told:
                told = kept.revision, kept.waits
                await tell(kept)
            if not kept.is_open:
                return run_of(kept.journal)
            await asyncio.sleep(LOOK_END_S)

    async def _go_on(self, run: StoredRun) -> None:
        journals = _StoredJournals(self.stored, self._hub, self._acts)
        desk = replace(self.desk, account=run.author, unwanted=partial(why_unwanted, journals, run.id))
        steps = _FreshSteps(self.stored, self._clusters, desk)
        said = _Said(self.stored, self._hub)
        try:
            await self._over(run.migration, run.wave)
            await carry_out(journals, run.id, steps, now_ms, said.say)
        except (RunTakenError, NotActingError):
            return  # another instance goes on
        except AnabranchError as error:
            log.warning("a migration does not go on just now", run=run.id, why=error.message)
        except Exception:
            log.exception("a migration does not go on", run=run.id)


@dataclass(frozen=True, slots=True)
class _FreshSteps:
    """The steps on the clusters of now: the file and the contexts may be changed while a run waits."""

    stored: Stored
    clusters: ClusterPool
    desk: ServiceMigrationDesk

    async def do(self, run: WaveRun, step: MigrationStep) -> Mapping[str, Any] | None:
        """Do a step; raises what `ClusterSteps.do` raises."""
        return await (await self._steps(run)).do(run, step)

    async def put_back(self, run: WaveRun, step: MigrationStep) -> None:
        """Undo a step."""
        await (await self._steps(run)).put_back(run, step)

    async def _steps(self, run: WaveRun) -> ClusterSteps:
        kept = await self.stored.ask(lambda: self.stored.migrations.get(run.migration))
        migration = migration_in(kept.document, kept.name)
        return ClusterSteps(migration, *clusters_of(self.clusters, migration), self.desk)


@dataclass(frozen=True, slots=True)
class _StoredJournals:
    """The journals of the store, for as long as this instance acts (T3)."""

    stored: Stored
    hub: Hub
    acts: Callable[[], bool]

    async def read(self, run: str) -> KeptRun:
        """As it is kept; raises NotActingError, NoRunError, StoreError."""
        if not self.acts():
            raise NotActingError("")
        kept = await self.stored.ask(lambda: self.stored.migrations.run(run))
        return KeptRun(run_of(kept.journal), kept.revision, kept.cancelled)

    async def write(self, before: KeptRun, run: WaveRun) -> KeptRun:
        """Over what was read; raises RunTakenError, StoreError."""
        fields, is_open = run_fields(run), run.state.is_open
        await self.stored.ask(
            lambda: self.stored.migrations.keep(run.id, before.revision, run.state.value, fields, is_open=is_open)
        )
        tell_of(self.hub, run, "")
        return KeptRun(run, before.revision + 1, before.cancelled)


async def why_unwanted(journals: Journals, run: str) -> str:
    """Why a run is to be turned back while a step of it goes on, empty where it is not, is already, or nobody knows."""
    try:
        kept = await journals.read(run)
    except (NotActingError, StoreError):
        return ""
    move, why = decide(kept.run, now_ms(), kept.cancelled)
    return why if move is NextMove.TURN else ""


class _Said:
    """Keeps and tells what a run waits for, not more often than anybody reads it."""

    def __init__(self, stored: Stored, hub: Hub) -> None:
        self._stored = stored
        self._hub = hub
        self._at = 0.0
        self._said: tuple[int, str] = -1, ""

    async def say(self, run: WaveRun, waits: str) -> None:
        """What it waits for now; of one step not more often than `TELL_S`."""
        is_new = (run.at, waits) != self._said
        if not is_new or (run.at == self._said[0] and time.monotonic() - self._at < TELL_S):
            return
        self._said, self._at = (run.at, waits), time.monotonic()
        await self._stored.ask(lambda: self._stored.migrations.tell(run.id, waits))
        tell_of(self._hub, run, waits)


def tell_of(hub: Hub, run: WaveRun, waits: str) -> None:
    """Tell listeners how far a run has come."""
    hub.tell(
        "migration",
        {
            "migration": run.migration,
            "wave": run.wave,
            "run": run.id,
            "what": run.what,
            "state": run.state.value,
            "at": run.at,
            "waits": waits,
        },
    )
