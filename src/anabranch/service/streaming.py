"""Supervising streams: each run is a Spark job that outlives this process, found again after a restart.

Invariants
    T5  only the instance that acts begins runs, and tells that those of a silent machine are lost; each instance looks
        after those of its own machine.
    T6  a run is noted before its process is started, and found again by its specification where nobody noted that.
    T7  what is decided is written down before it is done, and done again where nobody knows whether it was.
    T8  what a run may use is what the author of its version may use as it begins; a PySpark file needs an admin.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from anabranch.config.streamspec import StreamBegin, StreamRunSpec
from anabranch.errors import AnabranchError
from anabranch.model.clock import now_ms
from anabranch.operations.jobs.outcome import unsaid
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.stream_launchers import DEFAULT, NoLauncherError, StreamLauncher
from anabranch.operations.jobs.streamjob import start_detached
from anabranch.service.clusters import ClusterPool
from anabranch.service.hub import Hub
from anabranch.service.job_settings import JobSettings
from anabranch.service.lineage_sending import LineageSending
from anabranch.service.machines import Machines
from anabranch.service.processes import began_ms, is_alive, started_with
from anabranch.service.routing import Routing
from anabranch.service.stored import Stored
from anabranch.service.stream_live import LiveRun
from anabranch.service.stream_specs import catalog_spec_for, check_runs_code
from anabranch.service.stream_totals import StreamTotals
from anabranch.store.errors import StoreError
from anabranch.store.streams import StoredStream, StoredStreamRun, StreamChangedError, StreamRunsError, SupervisedStream
from anabranch.streams.connector_counts import Counts
from anabranch.streams.kinds import StreamKind
from anabranch.streams.lineage.document import StoredLineage
from anabranch.streams.lineage.openlineage import RunEventType
from anabranch.streams.state.results import StateChoice
from anabranch.streams.states import StreamState
from anabranch.streams.supervising import (
    LOST_MS,
    AskRun,
    BeginRun,
    CloseRun,
    KillRun,
    SeenStream,
    SeenStreamRun,
    StreamAction,
    TellState,
    decide,
    silent_machine,
)
from anabranch.streams.versions import StreamVersion

LOOK_S = 0.5
Starter = Callable[[StreamRunSpec, StreamLauncher, Path], StartedJob]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class KnownStream:
    """A stream as metrics tell of it: ``fence`` counts its starts, ``live`` is what its open run has told here.

    ``counts`` and ``failures`` are of all its runs since this instance began, as far as this instance looks after them.
    """

    name: str
    state: StreamState
    fence: int
    live: LiveRun | None
    counts: Counts
    failures: Mapping[str, int]


class Streaming:
    """The streams of one store, as far as this machine runs them."""

    def __init__(
        self,
        stored: Stored,
        routing: Routing,
        clusters: ClusterPool,
        jobs: JobSettings,
        artifact_place: str,
        hub: Hub,
        acts: Callable[[], bool],
        start: Starter = start_detached,
        lineage: LineageSending | None = None,
    ) -> None:
        self._stored = stored
        self._routing = routing
        self._clusters = clusters
        self._jobs = jobs
        self._artifact_place = artifact_place
        self._hub = hub
        self._acts = acts
        self._start = start
        self._host = socket.gethostname()
        self._machines = Machines(stored, self._host)
        self._children: dict[str, StartedJob] = {}
        self._live: dict[str, LiveRun] = {}
        self._asked: set[str] = set()
        self._told_of: set[str] = set()
        self._lineage = lineage or LineageSending(None)
        self._totals = StreamTotals()
        self._known: list[KnownStream] = []
        self._busy: dict[str, asyncio.Task[None]] = {}

    async def watch(self) -> None:
        """Look after every stream until this is cancelled."""
        while True:
            try:
                await self.look()
            except StoreError as error:
                log.warning("the store does not answer", why=error.message)
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Do for each stream what is to be done now; one that takes long holds up no other.  Raises StoreError."""
        kept = self._stored.streams
        await self._stored.ask(self._machines.look)
        streams, every = await self._stored.ask(lambda: (kept.supervised(), kept.all()))
        for one in streams:
            task = self._busy.get(one.stream.name)
            if task is None or task.done():
                self._busy[one.stream.name] = asyncio.create_task(self._look(one))
        known = {one.run.id for one in streams if one.run is not None}
        runs = {one.stream.name: one.run.id for one in streams if one.run is not None}
        for gone in [run for run in self._live if run not in known]:
            ended = self._live.pop(gone)
            self._totals.end(ended.stream, ended)
        self._totals.keep({one.name for one in every})
        self._known = [self._as_known(one, self._live.get(runs.get(one.name, ""))) for one in every]
        self._asked &= known
        self._told_of &= known
        for name in [name for name, task in self._busy.items() if task.done()]:
            del self._busy[name]

    async def end(self) -> None:
        """Let what runs go on without this process."""
        for task in tuple(self._busy.values()):
            task.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)

    def silent_since(self, run: StoredStreamRun) -> int | None:
        """Since when nothing is heard of a run's machine (ms), None for this one or where that is not for too long."""
        return None if run.host == self._host else self._machines.silent_since(run.host, now_ms())

    async def abandon(self, run: StoredStreamRun, why: str) -> None:
        """Note that a person has given up a run of a silent machine; raises StreamChangedError."""
        now = now_ms()
        await self._stored.ask(lambda: self._stored.streams.abandon(run, why, now, LOST_MS))
        told = await self._stored.ask(lambda: self._stored.lineages.of(run.stream, run.version))
        self._lineage.tell(RunEventType.FAIL, run.stream, run.id, None if told is None else told.document, why)
        self._told(run.stream)

    def live(self, run: str) -> LiveRun | None:
        """What an open run has told; None where it is one of another machine, or nobody has looked yet."""
        return self._live.get(run)

    def known(self) -> Sequence[KnownStream]:
        """Every stream of the store, as it was looked at last."""
        return self._known

    def directory(self, stream: str) -> Path:
        """Where the specifications, events and logs of a stream are."""
        return (self._jobs.directory / "streams" / stream).absolute()

    async def place_of(self, name: str) -> str:
        """Where the checkpoints of a stream are, by its name; raises NoStreamError, StoreError."""
        streams = self._stored.streams
        return self.checkpoints(
            *await self._stored.ask(lambda: (streams.get(name), streams.runs_of(name), streams.versions(name)))
        )

    async def next_place_of(self, name: str) -> str:
        """Where a start would have the checkpoints of a stream, by its name; raises NoStreamError, StoreError."""
        streams = self._stored.streams
        stream, versions = await self._stored.ask(lambda: (streams.get(name), streams.versions(name)))
        launcher = next((one.settings.launcher for one in versions if one.number == stream.published), DEFAULT)
        return self._place(stream, launcher)

    def checkpoints(
        self, stream: StoredStream, runs: Sequence[StoredStreamRun], versions: Sequence[StreamVersion]
    ) -> str:
        """Where the checkpoints of a stream are: those of its newest run, else where a start would make them.

        One that is made again under a deleted one's name has its own.
        """
        if runs and runs[0].checkpoints:
            return runs[0].checkpoints
        launcher = next((one.settings.launcher for one in versions if one.number == stream.published), "")
        return self._place(stream, launcher)

    def _place(self, stream: StoredStream, launcher: str) -> str:
        """Where the checkpoints of a run of this launcher are; of one that is not there, as of the default."""
        try:
            found = self._jobs.launcher(launcher)
        except NoLauncherError:
            found = self._jobs.launcher(DEFAULT)
        return found.place(stream.name, stream.created, self.directory(stream.name))

    def _as_known(self, stream: StoredStream, live: LiveRun | None) -> KnownStream:
        counts, failures = self._totals.counts(stream.name, live), self._totals.failures(stream.name)
        return KnownStream(stream.name, stream.state, stream.fence, live, counts, failures)

    # -- one stream ------------------------------------------------------------------------------------

    async def _look(self, one: SupervisedStream) -> None:
        name = one.stream.name
        try:
            run = None if one.run is None else await asyncio.to_thread(self._seen, one.run)
            await self._keep_lineage(one)
            self._tell_start(one.run)
            if one.run is not None and run is not None and run.has_started and not one.run.ran:
                run_id = one.run.id
                await self._stored.ask(lambda: self._stored.streams.ran(run_id))
            seen = SeenStream(one.stream.state, one.stream.wanted, run, one.failures, one.settings.policy)
            action = decide(seen, now_ms())
            if one.run is not None and one.run.stopping_at is not None and one.run.id not in self._asked:
                self._end(one.run, signal.SIGTERM)
            if action is not None:
                await self._do(one, action, run)
        except StoreError as error:
            log.warning("the store does not answer", why=error.message)
        except AnabranchError as error:
            log.warning("a stream could not be looked after", stream=name, why=error.message)
        except Exception:
            log.exception("a stream could not be looked after", stream=name)

    async def _keep_lineage(self, one: SupervisedStream) -> None:
        """Keep what the open run has told of its lineage, once."""
        live = None if one.run is None else self._live.get(one.run.id)
        if one.run is None or live is None or live.lineage is None or live.is_kept:
            return
        told = StoredLineage(one.run.stream, one.run.version, now_ms(), live.lineage)
        await self._stored.ask(lambda: self._stored.lineages.keep(told))
        live.is_kept = True

    def _tell_start(self, run: StoredStreamRun | None) -> None:
        """Tell OpenLineage of a run whose queries have begun, once in this process."""
        live = None if run is None else self._live.get(run.id)
        if run is not None and live is not None and live.has_started and run.id not in self._told_of:
            self._told_of.add(run.id)
            self._lineage.tell(RunEventType.START, run.stream, run.id, live.lineage)

    def _tell_end(self, run: StoredStreamRun, action: CloseRun) -> None:
        live = self._live.get(run.id)
        end = RunEventType.FAIL if action.is_failure else RunEventType.COMPLETE
        why = action.why if action.is_failure else ""
        self._lineage.tell(end, run.stream, run.id, None if live is None else live.lineage, why)

    async def _do(self, one: SupervisedStream, action: StreamAction, seen: SeenStreamRun | None) -> None:
        streams, name, now = self._stored.streams, one.stream.name, now_ms()
        if isinstance(action, BeginRun):
            if self._acts():
                await self._begin(one)
            return
        if isinstance(action, TellState):
            await self._stored.ask(lambda: streams.tell(name, action.state, action.why, now))
        elif one.run is not None and isinstance(action, AskRun):
            run = one.run
            await self._stored.ask(lambda: streams.stopping(run.id, name, now))
            self._end(run, signal.SIGTERM)
        elif one.run is not None and isinstance(action, KillRun):
            self._end(one.run, signal.SIGKILL)
            return
        elif one.run is not None and isinstance(action, CloseRun):
            run, code = one.run, None if seen is None else seen.exit_code
            await self._stored.ask(
                lambda: streams.close(
                    *(run.id, action.state, action.why, code),
                    failed=action.is_failure,
                    over=action.is_over,
                    now_ms=now,
                )
            )
            self._children.pop(run.id, None)
            self._tell_end(run, action)
            if action.is_failure:
                self._totals.fail(name, self._live.get(run.id))
        self._told(name)

    async def _begin(self, one: SupervisedStream) -> None:
        """Note a run, then start its process (T6)."""
        streams, stream, now = self._stored.streams, one.stream, now_ms()
        directory = self.directory(stream.name)
        run_id = f"run-{uuid.uuid4().hex[:12]}"
        run = StoredStreamRun(
            *(run_id, stream.name, stream.published, 0, self._host, 0, 0, stream.owner, str(directory), now),
            launcher=one.settings.launcher,
            checkpoints=self._place(stream, one.settings.launcher),
        )
        try:
            has_run, places = await self._stored.ask(
                lambda: (streams.has_run(stream.name), streams.places(stream.name))
            )
            made = await self._stored.ask(lambda: streams.begin(run, now, stream.revision))
        except (StreamRunsError, StreamChangedError) as error:
            log.info("a stream was not started", stream=stream.name, why=error.message)
            return
        self._told(stream.name)
        try:
            version = await self._stored.ask(lambda: streams.version(stream.name, made.version))
            if version.kind is StreamKind.PYSPARK:
                await check_runs_code(self._stored, version.author)
            launcher = self._jobs.launcher(made.launcher)
            catalog = await catalog_spec_for(
                *(self._stored, self._routing, self._clusters, launcher.submission.settings),
                *(version.author, version.author),
            )
            spec = StreamRunSpec(
                stream=stream.name,
                version=made.version,
                run=made.id,
                fence=made.fence,
                script=version.script,
                checkpoints=made.checkpoints,
                clusters=self._clusters.contexts().contexts,
                trigger=version.settings.trigger,
                begin=_begin_of(stream, made.version),
                made=stream.created,
                catalog=catalog,
                artifacts=version.artifacts,
                artifact_place=self._artifact_place,
                former=tuple(dict.fromkeys(place or self._place(stream, DEFAULT) for place in places)),
                has_run=has_run,
                kind=version.kind,
            )
            started = await asyncio.to_thread(self._start, spec, launcher, directory)
        except AnabranchError as error:
            why = f"{error.message} ({error.hint})" if error.hint else error.message
            ended = made.id, StreamState.FAILED, why, error.exit_code
            await self._stored.ask(lambda: streams.close(*ended, failed=True, over=False, now_ms=now_ms()))
            self._totals.fail(stream.name, None)
            self._told(stream.name)
            return
        self._children[made.id] = started
        created = began_ms(started.pid) or now_ms()
        await self._stored.ask(lambda: streams.started(made.id, started.pid, created))

    def _seen(self, run: StoredStreamRun) -> SeenStreamRun:
        """A run as it can be seen from here."""
        if run.host != self._host:
            silent = self.silent_since(run) if self._acts() else None
            lost = "" if silent is None else silent_machine(run.host, silent)
            return SeenStreamRun(None, stopping_since_ms=run.stopping_at, lost=lost)
        live = self._live.get(run.id)
        if live is None:
            live = self._live[run.id] = LiveRun.of(run.directory, run.id, run.stream)
        alive = self._alive(run)  # before its events: what it told last is read once it is gone
        with suppress(OSError):
            if live.read():
                self._hub.tell("stream-progress", {"name": run.stream, "run": run.id})
        child = self._children.get(run.id)
        code = child.code if child is not None else None
        code = live.exit_code if code is None else code
        seen = SeenStreamRun(alive, live.has_started, code, live.is_finished, live.why, run.stopping_at)
        if alive is not False or live.why or code == 0:
            return seen
        return replace(seen, unsaid=unsaid(Path(run.directory) / f"{run.id}.log", code))

    def _alive(self, run: StoredStreamRun) -> bool | None:
        """Whether its process lives; None where another instance may be starting it just now."""
        child = self._children.get(run.id)
        if child is not None:
            return child.code is None
        if run.pid:
            return is_alive(run.pid, run.created)
        found = next(iter(started_with([str(Path(run.directory) / f"{run.id}.json")])), None)
        if found is not None:
            with suppress(StoreError):
                self._stored.streams.started(run.id, *found)
            return True
        return False if self._acts() else None

    def _end(self, run: StoredStreamRun, number: signal.Signals) -> None:
        """Send a signal to the process of a run; one that is gone needs none."""
        self._asked.add(run.id)
        if run.host == self._host and run.pid and is_alive(run.pid, run.created):
            with suppress(ProcessLookupError):
                if number is signal.SIGKILL:
                    os.killpg(run.pid, number)  # its JVM, too, which would go on for as long as it has not noticed
                else:
                    os.kill(run.pid, number)

    def _told(self, name: str) -> None:
        self._hub.tell("stream", {"name": name})


def _begin_of(stream: StoredStream, version: int) -> StreamBegin:
    """How a start goes on from its checkpoints: as a person said of that version, and of no other."""
    if stream.begin.get("version") != version:
        return StreamBegin()
    return StreamBegin(
        stream.begin_number,
        StateChoice(stream.begin["state"]),
        stream.begin["start"],
        stream.begin.get("checkpoint", ""),
    )
