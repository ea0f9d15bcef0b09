"""What verbs are handed: the clusters, how jobs are started, and which paths may be named."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from anabranch.operations.artifacts.desk import ArtifactDesk
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.service.alerting import Alerting
from anabranch.service.clusters import ClusterPool
from anabranch.service.errors import PathNotOpenError
from anabranch.service.job_settings import JobSettings
from anabranch.service.launching import Launching
from anabranch.service.migrating import Migrating
from anabranch.service.route_desk import ServiceDesk
from anabranch.service.stream_links import StreamLinks
from anabranch.service.streaming import Streaming
from anabranch.service.telling import Tell, nobody
from anabranch.service.trials import Trials
from anabranch.storage.opening import open_files
from anabranch.store.runs import Run, RunKind

T = TypeVar("T")
Launched = Callable[[RunKind, str, str, str, StartedJob], Awaitable[Run]]
"""Keeps a job: its kind, target, link, for which account, and the job itself."""


@dataclass(frozen=True, slots=True)
class Reach:
    """``roots`` are where checkpoints may be read and written, all below them; none where nothing may.

    ``routes`` is where route tables are published, ``migrating`` goes on with the runs of migrations, ``streaming``
    looks after streams, whose functions come from ``artifacts``, ``stream_links`` are links beside them, ``trials``
    tries scripts, ``alerting`` has who is told of alerts.  ``launched`` keeps each job that was started, for whom;
    ``tell`` keeps how far the operation came.
    ``account`` is who applies a plan that ``planned_by`` has made.  ``ending`` is set as the service ends.
    """

    clusters: ClusterPool
    jobs: JobSettings
    roots: tuple[str, ...]
    launched: Launched
    routes: ServiceDesk
    launching: Launching
    migrating: Migrating
    streaming: Streaming
    trials: Trials
    alerting: Alerting
    artifacts: ArtifactDesk
    stream_links: StreamLinks
    account: str = ""
    planned_by: str = ""
    tell: Tell = nobody
    ending: asyncio.Event = field(default_factory=asyncio.Event, compare=False)

    async def until_ending(self, wait: Coroutine[Any, Any, T]) -> T | None:
        """What a wait answers for something that goes on by itself; None as soon as the service ends."""
        waiting, ending = asyncio.create_task(wait), asyncio.create_task(self.ending.wait())
        try:
            await asyncio.wait((waiting, ending), return_when=asyncio.FIRST_COMPLETED)
            return waiting.result() if waiting.done() else None
        finally:
            for task in (waiting, ending):
                task.cancel()
            await asyncio.gather(waiting, ending, return_exceptions=True)

    def maps_file(self, path: str) -> Path:
        """A maps file that a request named: one that was made here, or one below ``roots`` on this machine.

        Raises PathNotOpenError, StorageError.
        """
        found = self._on_this_machine(path, path)
        if found.parent == self.jobs.maps.resolve():
            return found
        named = self.place(path)
        if "://" in named:
            raise PathNotOpenError(path, tuple(root for root in self.roots if "://" not in root))
        return Path(named)

    def place(self, path: str) -> str:
        """A place that a request named, as it is opened; raises PathNotOpenError, StorageError.

        Links are followed before it is judged, so that none leads out.
        """
        if "\0" in path:
            raise PathNotOpenError(path, self.roots)
        root = open_files(path).root
        named = root if "://" in root else str(self._on_this_machine(path, root))
        for open_root in self.roots:
            begin = open_root if "://" in open_root else str(Path(open_root).resolve())
            if named == begin or named.startswith(begin.rstrip("/") + "/"):
                return named
        raise PathNotOpenError(path, self.roots)

    def _on_this_machine(self, path: str, found: str) -> Path:
        """Where a path that a request named leads to; raises PathNotOpenError for one that can lead nowhere."""
        try:
            return Path(found).resolve()
        except (ValueError, RuntimeError):  # a NUL character, or a link that leads to itself
            raise PathNotOpenError(path, self.roots) from None
