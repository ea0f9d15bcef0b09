"""Where an engine can be killed: between two writings of its journal, and behind each thing that a step changes.

A point is named by the verb, the step and what has just been done there, so that it is the same one in each run of
the same list.  What a step does is watched where it leaves the process: requests that change something on a cluster,
files, transactions of the store, hooks, links that are started.  What else the service does beside a run is no point.
"""

from __future__ import annotations

import asyncio
import os
import signal
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

from sqlalchemy import Connection as SqlConnection
from sqlalchemy import Engine, event

from anabranch.kafka.connection import Connection
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.steps import MigrationStep
from anabranch.operations.migrations.engine import Journals, KeptRun, Steps
from anabranch.storage.local import LocalFiles

DONE, BEGUN, UNDONE, TURNED = "done", "begun", "undone", "turned"
CHANGES: Mapping[int, str] = {
    0: "Produce",
    8: "OffsetCommit",
    13: "LeaveGroup",
    19: "CreateTopics",
    20: "DeleteTopics",
    21: "DeleteRecords",
    22: "InitProducerId",
    24: "AddPartitionsToTxn",
    25: "AddOffsetsToTxn",
    26: "EndTxn",
    28: "TxnOffsetCommit",
    30: "CreateAcls",
    31: "DeleteAcls",
    33: "AlterConfigs",
    37: "CreatePartitions",
    42: "DeleteGroups",
    44: "IncrementalAlterConfigs",
    47: "OffsetDelete",
    49: "AlterClientQuotas",
}
"""Requests that change something on a cluster, by their numbers."""
_FILE_CHANGES = ("_put", "_copy", "_delete", "_prune", "link", "become")


@dataclass(frozen=True, slots=True)
class KillPlan:
    """At which points an engine dies: at the first that is none of ``spared``, and is among ``only`` or the share.

    ``share`` is how many of a hundred are chosen, by ``seed``, and with ``bounds`` all at which a step is done and that
    is not written down.  ``sent`` adds those at which a request has left and is not answered.
    """

    spared: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    share: int = 100
    seed: int = 0
    bounds: bool = True
    sent: bool = False

    def has(self, point: str) -> bool:
        """Whether it is one to die at."""
        if point in self.spared:
            return False
        if self.only is not None:
            return point in self.only
        if self.bounds and point.endswith((f": {DONE}", f": {UNDONE}")):
            return True
        return zlib.crc32(f"{self.seed} {point}".encode()) % 100 < self.share


@dataclass(slots=True)
class _Inside:
    """What is under way: a step that is done or put back, or a writing of the journal."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)


_inside: ContextVar[_Inside | None] = ContextVar("inside", default=None)


class Killer:
    """Ends this process by SIGKILL at the points of a plan; each that is reached is a line of ``file`` before."""

    def __init__(self, plan: KillPlan, file: Path) -> None:
        self._plan = plan
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def reach(self, point: str) -> None:
        """It has come so far."""
        os.write(self._file, f"{point}\n".encode())
        if self._plan.has(point):
            os.kill(os.getpid(), signal.SIGKILL)

    def changed(self, what: str, inside: _Inside | None = None) -> None:
        """Something was changed for what is under way, if anything is."""
        inside = inside or _inside.get()
        if inside is not None:
            inside.counts[what] += 1
            self.reach(f"{inside.name}: {what} {inside.counts[what]}")

    # -- what is watched -------------------------------------------------------------------------------

    def watch_requests(self) -> None:
        """Requests that change a cluster, once each is answered and before anybody has read that."""
        submit, killer = Connection.submit, self

        @wraps(submit)
        def watched(connection: Connection, api_key: int, *rest: Any) -> asyncio.Future[Any]:
            future, inside = submit(connection, api_key, *rest), _inside.get()
            if api_key in CHANGES and inside is not None:
                if killer._plan.sent:
                    killer.changed(f"{CHANGES[api_key]} sent", inside)
                future.add_done_callback(lambda _: killer.changed(CHANGES[api_key], inside))
            return future

        Connection.submit = watched  # type: ignore[method-assign]

    def watch_files(self) -> None:
        """Files, once each is written, deleted or renamed, and while its bytes are there under another name."""
        for name in _FILE_CHANGES:
            self._after(LocalFiles, name, f"file {name.lstrip('_')}")
        commit, killer = LocalFiles._commit, self

        @wraps(commit)
        def watched(files: LocalFiles, *rest: Any) -> None:
            killer.changed("file written beside")
            commit(files, *rest)

        LocalFiles._commit = watched  # type: ignore[method-assign]

    def watch_store(self, engine: Engine) -> None:
        """Transactions that write, before each is committed."""

        def committing(connection: SqlConnection) -> None:
            if not connection.get_execution_options().get("reads"):
                self.changed("not committed")

        event.listen(engine, "commit", committing)

    def watch_call(self, owner: Any, name: str, what: str) -> None:
        """A coroutine function of a module or an object, once it has returned."""
        before, killer = getattr(owner, name), self

        @wraps(before)
        async def watched(*given: Any, **named: Any) -> Any:
            found = await before(*given, **named)
            killer.changed(what)
            return found

        setattr(owner, name, watched)

    def _after(self, owner: type, name: str, what: str) -> None:
        before, killer = getattr(owner, name), self

        @wraps(before)
        def watched(*given: Any, **named: Any) -> Any:
            found = before(*given, **named)
            killer.changed(what)
            return found

        setattr(owner, name, watched)


def _name(run: WaveRun, at: int) -> str:
    back = " back" if run.state is WaveRunState.TURNED else ""
    return f"{run.what} {run.part.value} {run.leg}, {at:02d} {run.steps[at].kind.value}{back}"


@dataclass(frozen=True, slots=True)
class WatchedJournals:
    """Journals that are points before and after each writing; ``wrote`` hears what was written."""

    real: Journals
    killer: Killer
    wrote: Callable[[WaveRun, int], None]

    async def read(self, run: str) -> KeptRun:
        """As it is kept."""
        return await self.real.read(run)

    async def write(self, before: KeptRun, run: WaveRun) -> KeptRun:
        """Over what was read."""
        name = _name(before.run, before.run.at)
        if run.state is WaveRunState.TURNED and before.run.state is WaveRunState.GOING:
            ends, phase = f"{name}: not {TURNED}", TURNED
        elif before.run.state is WaveRunState.TURNED:
            ends, phase = f"{name}: {UNDONE}", "put back"
        elif run.is_begun and not before.run.is_begun:
            ends, phase = "", BEGUN
        else:
            ends, phase = f"{name}: {DONE}", "finished"
        if ends:
            self.killer.reach(ends)
        # Whoever waits for the end of a run sees it in the store, and may cancel who wrote it before he has gone on.
        writing = asyncio.ensure_future(self._written(before, run, f"{name}: {phase}"))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.gather(writing, return_exceptions=True)  # what it fails with is not told in place of the end
            raise

    async def _written(self, before: KeptRun, run: WaveRun, name: str) -> KeptRun:
        token = _inside.set(_Inside(name))
        try:
            kept = await self.real.write(before, run)
        finally:
            _inside.reset(token)
        self.wrote(run, kept.revision)
        self.killer.reach(name)
        return kept


@dataclass(frozen=True, slots=True)
class WatchedSteps:
    """Steps of which each thing that they change is a point."""

    real: Steps

    async def do(self, run: WaveRun, step: MigrationStep) -> Mapping[str, Any] | None:
        """Do a step."""
        return await self._within(run, self.real.do(run, step))

    async def put_back(self, run: WaveRun, step: MigrationStep) -> None:
        """Undo a step."""
        await self._within(run, self.real.put_back(run, step))

    async def _within(self, run: WaveRun, work: Any) -> Any:
        token = _inside.set(_Inside(_name(run, run.at)))
        try:
            return await work
        finally:
            _inside.reset(token)
