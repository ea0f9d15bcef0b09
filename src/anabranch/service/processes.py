"""The Spark jobs that an instance started on this machine: found again after a restart, and noted as they end.

A process that was killed between starting a job and noting it leaves a run that holds its log, under the run's name,
and whose command names its specification: by these it is found, and noted late (``adopted``).
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import structlog

from anabranch.config.jobspec import LinkJob
from anabranch.errors import AnabranchError
from anabranch.model.clock import now_ms
from anabranch.operations.jobs.outcome import how_it_ended
from anabranch.operations.jobs.runlogs import held_logs
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.verify.ending import conclude
from anabranch.service.clusters import ClusterPool
from anabranch.service.hub import Hub
from anabranch.service.stored import Stored
from anabranch.store.errors import StoreError
from anabranch.store.runs import Run, RunKind

LOOK_S = 2.0
_SAME_MS = 2_000
"""By how much the system may tell another time of the same process's beginning."""
UNSEEN = "the job has ended, and nobody saw how"
"""Of one that an earlier process of the service started."""

log = structlog.get_logger()


class Processes:
    """The jobs of this machine."""

    def __init__(self, stored: Stored, hub: Hub, clusters: ClusterPool) -> None:
        self._stored = stored
        self._hub = hub
        self._clusters = clusters
        self._host = socket.gethostname()
        self._children: dict[int, StartedJob] = {}

    async def launched(self, kind: RunKind, target: str, link: str, account: str, started: StartedJob) -> Run:
        """Note a job that was started; raises StoreError."""
        pid = started.pid
        self._children[pid] = started
        created, log_path = began_ms(pid) or now_ms(), str(started.log)
        made = Run(kind, target, link, self._host, pid, created, log_path, account, now_ms())
        kept = await self._stored.ask(lambda: self._stored.runs.began(made))
        self._hub.tell("process", {"target": target, "link": link, "pid": pid})
        return kept

    async def adopted(self, target: str, link: str, account: str, directory: Path) -> Run | None:
        """Note a link's job that lives and was never noted, by who asks for it; raises StoreError.

        ``directory`` has the logs of that link's jobs.  None where all that live were noted.
        """
        held = await asyncio.to_thread(held_logs, directory)
        known = {one.log for one in await self._stored.ask(lambda: self._stored.runs.alive(self._host))}
        unknown = [one for one in held if str(one) not in known]
        for (pid, created), file in (await asyncio.to_thread(_processes_of, unknown, target)).items():
            if pid in self._children:  # it is being noted
                continue
            made = Run(RunKind.LINK, target, link, self._host, pid, created, str(file), account, now_ms())
            log.warning("a job was found that nobody noted", link=link, run=file.stem, process=pid)
            kept = await self._stored.ask(partial(self._stored.runs.began, made))
            self._hub.tell("process", {"target": target, "link": link, "pid": pid})
            return kept
        return None

    async def watch(self) -> None:
        """Note the ends of this machine's jobs until this is cancelled."""
        while True:
            try:
                for run in await self._stored.ask(lambda: self._stored.runs.alive(self._host)):
                    await self._look(run)
            except StoreError as error:
                log.warning("the store does not answer", why=error.message)
            await asyncio.sleep(LOOK_S)

    async def of_link(self, link: str) -> Sequence[Run]:
        """The jobs of a link, the newest first; raises StoreError."""
        return await self._stored.ask(lambda: self._stored.runs.of_link(link))

    async def begun(self, kind: RunKind, target: str, link: str, since_ms: int) -> Run | None:
        """The newest job of a link that was started since then; raises StoreError."""
        runs = await self.of_link(link)
        return next(
            (run for run in runs if (run.kind, run.target) == (kind, target) and run.began_at >= since_ms), None
        )

    async def running(self, kind: RunKind, target: str, link: str) -> bool:
        """Whether a job of a link runs that was started here, as far as this machine can tell; raises StoreError."""
        run = await self.begun(kind, target, link, 0)
        return run is not None and run.ended_at is None and (run.host != self._host or is_alive(run.pid, run.created))

    async def _look(self, run: Run) -> None:
        child = self._children.get(run.pid)
        code = None if child is None else child.code
        if child is not None and code is None:
            return
        if child is None and is_alive(run.pid, run.created):
            return
        self._children.pop(run.pid, None)
        await self._stored.ask(lambda: self._stored.runs.ended(run.id, code, now_ms()))
        self._hub.tell("process", {"target": run.target, "link": run.link, "pid": run.pid, "exit_code": code})
        if run.kind is RunKind.VERIFY:
            await self._conclude(run, UNSEEN if code is None else how_it_ended(code))

    async def _conclude(self, run: Run, why: str) -> None:
        """Have the target know the end of a comparison that nobody follows any more: whoever did may be gone."""
        try:
            await conclude(self._clusters.cluster(run.target), run.link, Path(run.log).stem, why)
        except AnabranchError as error:
            log.warning("a comparison's end could not be noted on its target", link=run.link, why=error.message)


def is_alive(pid: int, created_ms: int) -> bool:
    """Whether a process of this id lives that began then; a zombie has ended."""
    found = began_ms(pid)
    return found is not None and abs(found - created_ms) <= _SAME_MS


def started_with(specs: Collection[str]) -> Mapping[tuple[int, int], str]:
    """The processes that were started with one of these specifications: which, by their id and when they began (ms)."""
    wanted = set(specs)
    found: dict[tuple[int, int], str] = {}
    for process in psutil.process_iter() if wanted else ():
        with suppress(psutil.Error, ProcessLookupError):
            named = wanted & set(process.cmdline())
            created = began_ms(process.pid)
            if named and created is not None and os.getsid(process.pid) == process.pid:  # and not what it has started
                found[process.pid, created] = named.pop()
    return found


def _processes_of(logs: Sequence[Path], target: str) -> Mapping[tuple[int, int], Path]:
    """The processes that were started with these logs to this target, with when they began (ms)."""
    specs = {str(one.with_suffix(".json")): one for one in logs if _target_of(one.with_suffix(".json")) == target}
    return {process: specs[spec] for process, spec in started_with(specs).items()}


def _target_of(spec: Path) -> str | None:
    """The target that a link's job is told, None where that cannot be read."""
    try:
        return LinkJob.from_json(spec.read_text(encoding="utf-8")).target.name
    except (OSError, ValueError, AnabranchError):
        return None


def began_ms(pid: int) -> int | None:
    """When a process began, as the system says; None of one that has ended, as a zombie has."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return round(process.create_time() * 1000)
    except psutil.Error:
        return None
