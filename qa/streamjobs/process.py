"""A job as a process: started, watched by its checkpoints, and ended at a moment, by SIGKILL with all that it has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import psutil

from qa.streamjobs.spec import JobSpec, QuerySpec
from qa.timeouts import LONG_TIMEOUT_S, SCALE, TIMEOUT_S

_LOOK_S = 0.005
_STOPS_S = 60.0 * SCALE
_TRIES = 5
_BUSY = "Python worker failed to connect back"


class JobFailedError(Exception):
    """A job ended by itself, or did not come as far as wanted."""


@dataclass(frozen=True, slots=True)
class Batches:
    """The newest batch that has begun and the newest that was committed, -1 for none."""

    begun: int
    committed: int

    @property
    def open(self) -> bool:
        """Whether a batch has begun and was not committed."""
        return self.begun > self.committed


def batches(checkpoint: str | Path) -> Batches:
    """Where a query is, by the names of its logs' files."""
    return Batches(*(_newest(Path(checkpoint) / log) for log in ("offsets", "commits")))


class JobProcess:
    """One that runs; to be used as a context that leaves nothing behind."""

    def __init__(self, spec: JobSpec, environment: Mapping[str, str] = MappingProxyType({})) -> None:
        self.spec = spec
        directory = Path(spec.results)
        directory.mkdir(parents=True, exist_ok=True)
        self.log = directory / "job.log"
        (directory / "job.json").write_text(spec.to_json())
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "qa.streamjobs.job", str(directory / "job.json")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **environment},
                start_new_session=True,
            )

    def __enter__(self) -> JobProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def until(self, condition: Callable[[], bool], seconds: float = LONG_TIMEOUT_S) -> None:
        """Wait; raises JobFailedError where the job ends first."""
        deadline = time.monotonic() + seconds
        while not condition():
            if self._process.poll() is not None:
                raise JobFailedError(f"the job ended with {self._process.returncode}: {self._said()}")
            if time.monotonic() > deadline:
                raise JobFailedError(f"the job did not come as far within {seconds:.0f} s: {self._said()}")
            time.sleep(_LOOK_S)

    def finish(self, seconds: float = LONG_TIMEOUT_S) -> None:
        """Wait for its end; raises JobFailedError where it is not a good one."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise JobFailedError(f"the job did not end within {seconds:.0f} s: {self._said()}") from None
        if code:
            raise JobFailedError(f"the job ended with {code}: {self._said()}")

    def stop(self) -> None:
        """Have every query stopped where it is."""
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOPS_S)
        self.kill()

    def kill(self) -> None:
        """SIGKILL the JVM and Python at once, and wait until they are gone."""
        family: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            mine = psutil.Process(self._process.pid)
            family = [*mine.children(recursive=True), mine]
        # The JVM first: it would go on with its batch while it notices that Python is gone.
        family.sort(key=lambda one: not _is_java(one))
        for one in family:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(family, TIMEOUT_S)
        self._process.wait(TIMEOUT_S)

    def _said(self) -> str:
        failures = "; ".join(path.read_text()[:2000] for path in self.log.parent.glob("*.failure"))
        return failures or self.log.read_text(errors="replace")[-3000:]


def run_to_end(spec: JobSpec) -> None:
    """Run a job whose queries end by themselves.

    One that could not start a Python worker, for which Spark waits 10 s, is run again: it goes on where it is.  Other
    failures of queries are left to the caller; raises JobFailedError where the job itself fails.
    """
    for _ in range(_TRIES):
        with JobProcess(spec) as job:
            job.finish()
        busy = [path for path in Path(spec.results).glob("*.failure") if _BUSY in path.read_text()]
        if not busy:
            return
        for path in busy:
            path.unlink()
    raise JobFailedError(f"{_BUSY}, {_TRIES} times")


def follow(spec: JobSpec, until_cut: Callable[[JobProcess], None]) -> None:
    """Run a job until it is cut; as a user would, start it again where it could not start a Python worker."""
    for attempt in range(_TRIES):
        with JobProcess(spec) as job:
            try:
                until_cut(job)
                return
            except JobFailedError as error:
                if _BUSY not in str(error) or attempt + 1 == _TRIES:
                    raise
        for path in Path(spec.results).glob("*.failure"):
            path.unlink()


def together(*queries: QuerySpec) -> Callable[[], bool]:
    """That every query has committed two batches, so that all have something to lose.

    The first batch ends before the first marker of the input: up to there offsets are the same on both clusters, and a
    query that is moved naively does nothing wrong.
    """
    return lambda: all(batches(query.checkpoint).committed >= 1 for query in queries)


def _is_java(process: psutil.Process) -> bool:
    try:
        return "java" in process.name()
    except psutil.NoSuchProcess:
        return False


def _newest(log: Path) -> int:
    if not log.is_dir():
        return -1
    return max((int(name) for name in os.listdir(log) if name.isdecimal()), default=-1)
