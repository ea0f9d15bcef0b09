"""Real Flink in a process of its own: jobs are started, stopped with savepoints and restored by one line each.

The Java program beside this module is compiled against the jars of the version that runs it. One process may run
several jobs after each other, each in a MiniCluster of its own, which saves the start of a JVM.
"""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anabranch.sandbox.jars import java_program, runtime_jars
from qa.timeouts import LONG_TIMEOUT_S

SECONDS = LONG_TIMEOUT_S
_JAVA = Path(__file__).parent / "java"
_OPENED = ("util", "lang", "time", "util.concurrent", "nio", "io", "net", "lang.reflect", "text")
_HEAP = ("-Xmx640m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True, slots=True)
class Version:
    """A Flink version, its Kafka connector, and what the program can be compiled with there."""

    number: str
    connector: str
    old_consumer: bool = False
    dynamic_source: bool = False

    @property
    def _parts(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.number.split("."))

    def conf(self, restore: Path | str | None = None, **more: str) -> dict[str, str]:
        """Settings of a small job: no restarts, little memory, and the savepoint to begin at."""
        recent = self._parts >= (1, 20)
        made = {
            "restart-strategy.type" if recent else "restart-strategy": "none",
            "taskmanager.memory.network.min": "16mb",
            "taskmanager.memory.network.max": "16mb",
            "taskmanager.memory.managed.size": "32mb",
            "taskmanager.numberOfTaskSlots": "4",
        }
        if restore is not None:
            made["execution.state-recovery.path" if recent else "execution.savepoint.path"] = str(restore)
        return made | more

    def retained(self, directory: Path | str, interval: str = "300ms", **more: str) -> dict[str, str]:
        """Settings of a job whose checkpoints outlive it; ``more`` names further settings by what they are for."""
        recent = self._parts >= (1, 20)
        made = {
            "execution.checkpointing.interval": interval,
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
            "execution.checkpointing.dir" if recent else "state.checkpoints.dir": Path(directory).as_uri(),
        }
        return made | more


VERSIONS: Mapping[str, Version] = {
    version.number: version
    for version in (
        Version("1.15.4", "1.15.4", old_consumer=True),
        Version("1.17.2", "1.17.2", old_consumer=True),
        Version("1.20.3", "3.4.0-1.20", old_consumer=True, dynamic_source=True),
        Version("2.0.1", "4.0.1-2.0", dynamic_source=True),
        Version("2.2.0", "5.0.0-2.2", dynamic_source=True),
    )
}


@dataclass(slots=True)
class Job:
    """What a job has told so far, by kind of line."""

    name: str
    lines: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """All lines of a kind."""
        return self.lines.get(kind, [])

    @property
    def records(self) -> list[dict[str, Any]]:
        """Every record that the counter saw, with its count."""
        return self.of("record")

    def positions(self, checkpoint: int) -> dict[str, dict[str, int]]:
        """The next offsets that the subtasks of each source told at a checkpoint: source -> topic:partition -> next."""
        found: dict[str, dict[str, int]] = {}
        for line in self.of("snapshot"):
            if line["checkpoint"] == checkpoint:
                found.setdefault(line["source"], {}).update(line["next"])
        return found


class Flink:
    """A running program; leaving the ``with`` block ends it and all its jobs."""

    def __init__(self, version: Version, log: Path) -> None:
        self.version = version
        self._scratch = tempfile.TemporaryDirectory(prefix="anabranch-flink-")
        self._jobs: dict[str, Job] = {}
        self._lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        jars = f"{runtime_jars(f'flink-{version.number}')}/*"
        classes = compile_into(Path(self._scratch.name), version, jars)
        opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPENED]
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [java_program(), *_HEAP, quiet, *opened, "-cp", f"{classes}:{jars}", "FlinkJobs"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        threading.Thread(target=self._read, daemon=True).start()

    def start(
        self,
        name: str,
        sources: Sequence[Mapping[str, Any]],
        conf: Mapping[str, str],
        *,
        parallelism: int = 1,
        slow_ms: int = 0,
        window_ms: int = 0,
        sink: Mapping[str, str] | None = None,
    ) -> Job:
        """Submit a job; ``sources`` and ``sink`` are as the Java program takes them."""
        job = self._jobs[name] = Job(name)
        order: dict[str, Any] = {"verb": "start", "job": name, "sources": list(sources), "conf": dict(conf)}
        order |= {"parallelism": parallelism, "slow_ms": slow_ms, "window_ms": window_ms}
        self._order(order if sink is None else order | {"sink": dict(sink)})
        return job

    def wait(self, job: Job, enough: Callable[[Job], bool], what: str, seconds: float = SECONDS) -> None:
        """Read lines until ``enough``; an end of the job or a refusal before that is an AssertionError."""
        deadline = time.monotonic() + seconds
        while not enough(job):
            ends = [*job.of("refused"), *(line for line in job.of("ended") if line["error"])]
            assert not ends, f"{job.name} ended before {what}: {ends[0]['error'][-3000:]}"
            told = {kind: len(lines) for kind, lines in job.lines.items()}
            assert self._next(deadline), f"{job.name}: not {what} in {seconds:.0f} s but {told}; see {self._log}"

    def wait_records(self, job: Job, count: int) -> None:
        """Until the counter has seen that many records."""
        self.wait(job, lambda seen: len(seen.records) >= count, f"{count} records")

    def watch(self, seconds: float) -> None:
        """Read lines for a time, to see that nothing more comes."""
        deadline = time.monotonic() + seconds
        while self._next(deadline):
            pass

    def wait_failure(self, job: Job) -> str:
        """Until the job has failed; its stack trace."""
        self._until(lambda: any(line["error"] for line in (*job.of("ended"), *job.of("refused"))), f"{job.name} fails")
        return str(next(line["error"] for line in (*job.of("ended"), *job.of("refused")) if line["error"]))

    def stop(self, job: Job, directory: Path, form: str = "CANONICAL") -> Path:
        """Stop it with a savepoint and return where that is."""
        self._order({"verb": "stop", "job": job.name, "to": directory.as_uri(), "format": form})
        self.wait(job, lambda seen: bool(seen.of("savepoint")), "its savepoint")
        self._until(lambda: bool(job.of("ended")), f"{job.name} ends")
        return Path(job.of("savepoint")[0]["path"].removeprefix("file:"))

    def complete_checkpoint(self, job: Job, directory: Path, least: int = 2) -> Path:
        """Cancel it when ``least`` more checkpoints are complete; the newest one that it left behind."""
        begun = len({line["checkpoint"] for line in job.of("snapshot")})

        def enough(seen: Job) -> bool:
            done = sorted({line["checkpoint"] for line in seen.of("complete")})
            return bool(done) and done[-1] >= begun + least

        self.wait(job, enough, f"{least} more checkpoints")
        self.cancel(job)
        return newest_checkpoint(directory)

    def cancel(self, job: Job) -> None:
        """End it without a savepoint."""
        self._order({"verb": "cancel", "job": job.name})
        self._until(lambda: bool(job.of("ended")), f"{job.name} ends")

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.wait()
        self._scratch.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _order(self, order: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def _until(self, true: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not true():
            assert self._next(deadline), f"not so in {seconds:.0f} s: {what}; see {self._log}"

    def _next(self, deadline: float) -> bool:
        try:
            line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return False
        assert line is not None, f"Flink has ended: {self._log.read_text()[-3000:]}"
        self._jobs[line["job"]].lines.setdefault(line["kind"], []).append(line)
        return True

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self._lines.put(json.loads(line))
        self._lines.put(None)


def compile_into(directory: Path, version: Version, jars: str) -> Path:
    """The program's classes for a version, without the sources that its connector lacks."""
    left_out = {"OldSource.java": version.old_consumer, "DynamicSource.java": version.dynamic_source}
    sources = [str(path) for path in sorted(_JAVA.glob("*.java")) if left_out.get(path.name, True)]
    compiler = Path(java_program()).with_name("javac")
    program = str(compiler) if compiler.exists() else shutil.which("javac")
    assert program is not None, "a JDK is needed, its javac is not there"
    done = subprocess.run(
        [program, "-nowarn", "-cp", jars, "-d", str(directory), *sources], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


def newest_checkpoint(directory: Path) -> Path:
    """The retained checkpoint of the highest number that is complete.

    Flink takes older ones away, and the one that the job's end broke off, while they are looked for: then anew.
    """
    while True:
        try:
            found = [path.parent for path in directory.rglob("chk-*/_metadata")]
        except FileNotFoundError:
            time.sleep(0.1)
        else:
            return max(found, key=lambda path: int(path.name.removeprefix("chk-")))
