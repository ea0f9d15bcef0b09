"""The process of a trial: started with its limits in a session and a directory of its own, and ended for good.

Invariants
    P1  all that a trial's process writes is below its directory: specification, log, checkpoint, Spark's own files.
    P2  it ends with the service, however that ends: it is tied to it.
    P3  after ``end`` no process of its session is left, and its directory is gone.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from anabranch.config.streamspec import StreamRunSpec
from anabranch.operations.jobs.runlogs import NoLogDirectoryError
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.streamjob import start_stream
from anabranch.service.processes import began_ms
from anabranch.streams.trials import TrialKind, TrialQuestion

MASTER = "local[2]"
HEAP = "512m"
"""Of Spark's JVM."""
MEMORY_BYTES = 2 << 30
"""Of data of each process of a trial, the JVM's heap with it."""
ROW_BYTES = 4 << 20
"""Of all rows of a preview, as JSON."""
GRACE_S = 5.0
"""How long a process has to end by itself once it was told to."""
_LOOK_S = 0.05
_OPTIONS = "spark.driver.extraJavaOptions"

Starter = Callable[[StreamRunSpec, TrialQuestion, Mapping[str, str], Path], StartedJob]


def start_trial(
    spec: StreamRunSpec, question: TrialQuestion, settings: Mapping[str, str], directory: Path
) -> StartedJob:
    """Start the job in a directory of its own; ``settings`` are Spark's, of the service.

    Raises what ``start_stream`` raises.
    """
    scratch = directory / "tmp"
    try:
        directory.mkdir(mode=0o700, parents=True)
        scratch.mkdir()
    except OSError as error:
        raise NoLogDirectoryError(directory, error.strerror or str(error)) from error
    own = {
        **settings,
        "spark.driver.memory": HEAP,
        _OPTIONS: " ".join(
            [settings.get(_OPTIONS, ""), f"-Djava.io.tmpdir={scratch}", "-XX:+ExitOnOutOfMemoryError"]
        ).strip(),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.eventLog.enabled": "false",
    }
    variables = {"TMPDIR": str(scratch), "SPARK_LOCAL_DIRS": str(scratch)}
    return start_stream(spec, MASTER, own, directory, _words(question), variables)


def _words(question: TrialQuestion) -> Sequence[str]:
    words = ["--memory", str(MEMORY_BYTES)]
    if question.kind is TrialKind.VALIDATION:
        return [*words, "--mode", "validate"]
    if question.kind is TrialKind.CHECKPOINTS:
        return [*words, "--mode", "try"]
    if question.kind is TrialKind.TABLES:
        return [*words, "--mode", "tables", "--rows", str(question.rows)]
    words += ["--mode", "preview", "--select", str(question.select), "--rows", str(question.rows)]
    words += ["--bytes", str(ROW_BYTES), "--seconds", str(question.seconds)]
    return words if question.start is None else [*words, "--start", question.start]


@dataclass(frozen=True, slots=True)
class TrialProcess:
    """A started job and its directory."""

    job: StartedJob
    directory: Path

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended; one that nobody has waited for keeps its id, so that no other has it."""
        return began_ms(self.job.pid) is not None

    async def ended_within(self, seconds: float) -> bool:
        """Wait so long for its end, without taking note of it; whether it has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.is_alive:
                    await asyncio.sleep(_LOOK_S)
        return not self.is_alive

    async def end(self) -> int:
        """End it with all that it has started, by force after ``GRACE_S``; returns its exit code."""
        if self.is_alive:
            with suppress(ProcessLookupError):
                os.kill(self.job.pid, signal.SIGTERM)
            await self.ended_within(GRACE_S)
        while await asyncio.to_thread(_kill_session, self.job.pid):
            await asyncio.sleep(_LOOK_S)
        code = await self.job.ended()
        await asyncio.to_thread(shutil.rmtree, self.directory, ignore_errors=True)
        return code

    def log_has(self, text: str) -> bool:
        """Whether the end of its log has a text."""
        try:
            return text in self.job.log.read_text(encoding="utf-8", errors="replace")[-100_000:]
        except OSError:
            return False


def _kill_session(leader: int) -> bool:
    """Send SIGKILL to all of a session that live; whether there was one."""
    found = False
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError, PermissionError):
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                os.kill(process.pid, signal.SIGKILL)
                found = True
    return found


def directory_of(root: Path, trial: str) -> Path:
    """The directory of a trial of this process's."""
    return (root / "trials" / f"{os.getpid()}-{trial}").absolute()


def remove_left(root: Path) -> None:
    """Remove the directories of trials whose service was killed, and whose processes have ended."""
    lines = {word for process in psutil.process_iter() for word in _command(process)}
    for one in (root / "trials").absolute().glob("*-*"):
        service = one.name.partition("-")[0]
        is_of_living = service.isdecimal() and psutil.pid_exists(int(service))
        with suppress(FileNotFoundError):  # another service that starts now removes them, too
            if not is_of_living and not any(str(spec) in lines for spec in one.glob("run-*.json")):
                shutil.rmtree(one, ignore_errors=True)


def _command(process: psutil.Process) -> Sequence[str]:
    with suppress(psutil.Error):
        return list(process.cmdline())
    return ()
