"""Trials of scripts: a few at once, each in a process of its own with limits, kept for a while where it is asked again.

Invariants
    R1  at most ``at_once`` previews, and one trial of each other kind, have a process; the others wait in the
        order they were asked.
    R2  a trial that nobody listens to is ended, and no process of one outlives this instance.
    R3  an earlier answer is given only where the process would be told the same, by the same account.
"""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import structlog

from anabranch.config.catalogspec import CatalogSpec
from anabranch.config.streamspec import StreamRunSpec
from anabranch.errors import AnabranchError
from anabranch.model.clock import now_ms
from anabranch.operations.jobs.outcome import how_it_ended
from anabranch.operations.jobs.stream_launchers import DEFAULT
from anabranch.service.clusters import ClusterPool
from anabranch.service.job_settings import JobSettings
from anabranch.service.trial import Trial
from anabranch.service.trial_errors import (
    NoTrialError,
    NotValidatedError,
    PreviewsOffError,
    ScriptDeniedError,
    ScriptRefusedError,
    TooManyTrialsError,
)
from anabranch.service.trial_figures import TrialFigures
from anabranch.service.trial_process import Starter, TrialProcess, directory_of, remove_left, start_trial
from anabranch.streams.events import read_event
from anabranch.streams.script import split
from anabranch.streams.trials import ScriptProblem, TrialKind, TrialQuestion, TrialState

AT_ONCE = 2
MOST_WAITING = 20
START_S = 300.0
"""How long Spark may take to start, and to look at the script."""
END_S = 15.0
"""How long a job that is done has to end by itself."""
UNHEARD_S = 30.0
CACHED_S = 300.0
KEPT_S = 600.0
"""How long a trial is known after its end."""
MOST_KEPT, MOST_BYTES = 100, 64 << 20
"""Of trials that are over, and of their rows; with more the oldest are forgotten."""
LONGEST_LINE = 32 << 20
LOOK_S = 1.0
_FILE_SYSTEMS = "spark.hadoop."
_CATALOGS = ("spark.sql.catalog.", "spark.sql.extensions", "spark.jars")
"""Settings of a launcher that its catalogs need, with the jars that they are in."""
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"

log = structlog.get_logger()


CatalogFor = Callable[[str, str, Mapping[str, str]], Awaitable[CatalogSpec]]
"""What an account may use of the catalog, in a script of an author, and with settings of Spark that attach others."""


class Trials:
    """The trials of one instance; one event loop."""

    def __init__(
        self,
        clusters: ClusterPool,
        jobs: JobSettings,
        artifact_place: str,
        catalog_for: CatalogFor,
        at_once: int = AT_ONCE,
        start: Starter = start_trial,
    ) -> None:
        self._clusters = clusters
        self._jobs = jobs
        self._most = {kind: at_once if kind is TrialKind.PREVIEW else 1 for kind in TrialKind}
        self._artifact_place = artifact_place
        self._catalog_for = catalog_for
        self._start = start
        self._known: dict[str, Trial] = {}
        self._waiting: list[Trial] = []
        self._tasks: dict[Trial, asyncio.Task[None]] = {}
        self._over: dict[tuple[TrialKind, TrialState], tuple[int, float]] = {}
        self._is_ending = False

    async def watch(self) -> None:
        """End trials that nobody listens to, and forget old ones, until this is cancelled."""
        await asyncio.to_thread(remove_left, self._jobs.directory)
        while True:
            self.look()
            await asyncio.sleep(LOOK_S)

    def look(self) -> None:
        """Do so now."""
        now = now_ms()
        for trial in tuple(self._known.values()):
            if trial.listeners:
                trial.heard_ms = now
            if trial.ended_ms is None:
                if now - trial.heard_ms > UNHEARD_S * 1000:
                    self.end(trial, "nobody listens any more")
            elif now - trial.ended_ms > KEPT_S * 1000:
                self._known.pop(trial.id, None)
        over = [one for one in self._known.values() if one.state.is_over]
        size = sum(one.size for one in over)
        while len(over) > MOST_KEPT or size > MOST_BYTES:
            oldest = over.pop(0)
            size -= oldest.size
            self._known.pop(oldest.id, None)

    async def ask(self, account: str, question: TrialQuestion, *, fresh: bool = False) -> tuple[Trial, bool]:
        """The trial that answers a question, and whether it was there already.

        A script is judged by what the account may use of the catalog now: with other grants it is another trial.
        Raises ScriptError where that needs no Spark, PreviewsOffError, TooManyTrialsError, ConfigError.
        """
        if question.kind.has_script:
            split(question.script)
        if not self._most[question.kind]:
            raise PreviewsOffError()
        spec, now = self._spec(question, await self._catalog(account, question)), now_ms()
        if not fresh:
            for one in reversed(self._known.values()):
                if one.answers(account, question, spec) and now - (one.ended_ms or now) <= CACHED_S * 1000:
                    one.heard_ms = now
                    return one, True
        if len(self._waiting) >= MOST_WAITING or self._is_ending:
            raise TooManyTrialsError(len(self._waiting))
        trial = Trial(uuid.uuid4().hex, account, question, spec, now, now, when_over=self._count)
        self._known[trial.id] = trial
        self._waiting.append(trial)
        self._begin_next()
        return trial, False

    def get(self, trial_id: str, account: str, *, is_admin: bool) -> Trial:
        """A trial; raises NoTrialError also for one of another account."""
        trial = self._known.get(trial_id)
        if trial is None or not (is_admin or trial.account == account):
            raise NoTrialError(trial_id)
        return trial

    def figures(self) -> TrialFigures:
        """How many wait, run and are over."""
        waiting = Counter(one.question.kind for one in self._waiting)
        running = Counter(one.question.kind for one in self._tasks)
        kinds = tuple(TrialKind)
        return TrialFigures({one: waiting[one] for one in kinds}, {one: running[one] for one in kinds}, self._over)

    def hear(self, trial: Trial) -> None:
        """Somebody asks for a trial."""
        trial.heard_ms = now_ms()

    def end(self, trial: Trial, why: str = "it was ended by who asked") -> None:
        """End a trial; one that is over is forgotten."""
        if trial.state.is_over:
            self._known.pop(trial.id, None)
            return
        trial.stop(why, now_ms())
        if trial in self._waiting:
            self._waiting.remove(trial)
            self._begin_next()

    async def validated(self, account: str, question: TrialQuestion) -> Mapping[str, Any]:
        """What Spark says that a script is, as the event ``analysed`` has it.

        Raises what ``ask`` raises, ScriptRefusedError and ScriptDeniedError where it refuses the script,
        NotValidatedError.
        """
        trial, _ = await self.ask(account, question)
        with trial.listening():
            while not trial.state.is_over:
                await trial.changed.wait()
        if trial.state is TrialState.FINISHED and trial.analysed is not None:
            return trial.analysed
        if trial.problem is not None and trial.problem.is_of_script:
            raise ScriptRefusedError(trial.problem)
        if trial.problem is not None and trial.problem.is_denied:
            raise ScriptDeniedError(trial.problem)
        raise NotValidatedError(trial.why, "" if trial.problem is None else trial.problem.hint)

    def end_all(self) -> None:
        """End each of them: the service ends."""
        self._is_ending = True
        for trial in tuple(self._known.values()):
            if not trial.state.is_over:
                self.end(trial, "the service ends")

    async def close(self) -> None:
        """End each of them, and wait until their processes are gone."""
        self.end_all()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _count(self, trial: Trial) -> None:
        key = trial.question.kind, trial.state
        count, seconds = self._over.get(key, (0, 0.0))
        self._over[key] = count + 1, seconds + ((trial.ended_ms or trial.made_ms) - trial.made_ms) / 1000

    # -- one trial -------------------------------------------------------------------------------------

    async def _catalog(self, account: str, question: TrialQuestion) -> CatalogSpec:
        """What a trial may use; of catalogs whose tables are asked for those alone that are the launcher's."""
        author, settings = question.author or account, self._jobs.settings
        if question.kind is not TrialKind.TABLES:
            return await self._catalog_for(account, author, settings)
        launcher = self._jobs.launcher(question.launcher or DEFAULT)
        found = await self._catalog_for(account, author, launcher.submission.settings)
        return replace(found, attached=self._jobs.catalogs.get(launcher.name, {}))

    def _spec(self, question: TrialQuestion, catalog: CatalogSpec) -> StreamRunSpec:
        """What a trial's process is told; each has its own run's name."""
        is_named = question.kind is not TrialKind.VALIDATION
        return StreamRunSpec(
            stream=(question.stream if is_named else "") or question.kind.value,
            version=(question.version if is_named else None) or 1,
            run="",
            fence=0,
            script=question.script,
            checkpoints=question.checkpoints,
            clusters=self._clusters.contexts().contexts,
            catalog=catalog,
            artifacts=question.artifacts,
            artifact_place=self._artifact_place,
        )

    def _begin_next(self) -> None:
        """Begin those that have waited longest, as many as may run."""
        for trial in tuple(self._waiting):
            kind = trial.question.kind
            if sum(one.question.kind is kind for one in self._tasks) < self._most[kind]:
                self._waiting.remove(trial)
                trial.begin(now_ms())
                self._tasks[trial] = asyncio.create_task(self._carry_out(trial))
        counts = dict.fromkeys(TrialKind, 0)
        for trial in self._waiting:
            trial.wait_behind(counts[trial.question.kind])
            counts[trial.question.kind] += 1

    async def _carry_out(self, trial: Trial) -> None:
        """Run a trial to its end; raises nothing."""
        try:
            await self._run(trial)
        except AnabranchError as error:
            said = ScriptProblem(error.message, error.hint, type(error).__name__, error.exit_code)
            trial.fail(said, now_ms())
        except Exception:
            log.exception("a trial failed", trial=trial.id)
            fix = "the service's log has the details; please report them"
            trial.fail(
                ScriptProblem("it failed in a way that the service does not know", fix, "unexpected", 1), now_ms()
            )
        finally:
            self._tasks.pop(trial, None)
            if not self._is_ending:
                self._begin_next()

    async def _run(self, trial: Trial) -> None:
        directory = directory_of(self._jobs.directory, trial.id)
        spec = replace(trial.spec, run=f"run-{trial.id[:12]}")
        try:
            settings = self._settings(trial.question)
            job = await asyncio.to_thread(self._start, spec, trial.question, settings, directory)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        process = TrialProcess(job, directory)
        reading = asyncio.create_task(self._read(trial, process))
        asked = asyncio.create_task(trial.ending.wait())
        is_late = False
        try:
            done, _ = await asyncio.wait(
                {reading, asked}, timeout=START_S + trial.question.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            is_late = not done
            if reading in done and await process.ended_within(END_S):
                reading.result()
        finally:
            is_out_of_memory = not trial.state.is_over and await asyncio.to_thread(process.log_has, _OUT_OF_MEMORY)
            code = await asyncio.shield(process.end())
            for task in (reading, asked):
                task.cancel()
            await asyncio.gather(reading, asked, return_exceptions=True)
        self._conclude(trial, code, is_late=is_late, is_out_of_memory=is_out_of_memory)

    def _settings(self, question: TrialQuestion) -> Mapping[str, str]:
        """Of Spark: the service's own, with the file systems of the launcher whose checkpoints are looked at, and the
        catalogs of the one whose tables are.
        """
        if not question.launcher:
            return self._jobs.settings
        found = self._jobs.launcher(question.launcher).submission.settings
        parts = (_FILE_SYSTEMS, *_CATALOGS) if question.kind is TrialKind.TABLES else (_FILE_SYSTEMS,)
        return {**self._jobs.settings, **{key: value for key, value in found.items() if key.startswith(parts)}}

    async def _read(self, trial: Trial, process: TrialProcess) -> None:
        """Take in what the process tells, until it tells no more."""
        with suppress(ValueError):  # a line that is longer than any that is meant: what follows is not read
            async for line in process.job.lines_within(LONGEST_LINE):
                if (event := read_event(line)) is not None:
                    trial.take(event, len(line), now_ms())

    def _conclude(self, trial: Trial, code: int, *, is_late: bool, is_out_of_memory: bool) -> None:
        """Say how it ended, unless that was told already."""
        now = now_ms()
        if is_late:
            why = f"it took longer than {START_S + trial.question.seconds:,.0f} s, and was ended"
            fix = "try again: the machine may be busy"
            trial.fail(ScriptProblem(why, fix, "TOO_LATE", 3), now)
        elif is_out_of_memory:
            fix = "have it read less: fewer columns, a WHERE before joins and windows, a shorter window"
            trial.fail(ScriptProblem("it needed more memory than a trial has", fix, "OUT_OF_MEMORY", 3), now)
        elif trial.problem is not None:
            trial.fail(trial.problem, now)
        else:
            fix = "try again; the service's machine may be out of memory"
            trial.fail(ScriptProblem(f"its process is gone: {how_it_ended(code)}", fix, "PROCESS_GONE", 5), now)
