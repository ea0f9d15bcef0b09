"""The system under test: two clusters, a link between them, and a supervisor that keeps a run of it alive."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from anabranch.config.context_file import read_context
from anabranch.model.lane import LaneProgress
from anabranch.model.link import ClusterRef, LinkSpec
from anabranch.operations.jobs import launcher
from anabranch.operations.links.create import LinkExistsError, LinkRefusedError
from anabranch.sandbox import SandboxCluster
from qa import brokers, links
from qa.faults.processes import LinkRun
from qa.faults.standalone import StandaloneSpark
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S

LINK = "struck"
GONE_S = TIMEOUT_S
_ENDS_S = LONG_TIMEOUT_S


@dataclass(slots=True)
class Notes:
    """What was seen on the way; ``wrong`` are sentences about what must not be."""

    wrong: list[str] = field(default_factory=list)
    exits: list[str] = field(default_factory=list)
    runs: int = 0
    slowest_end: float = 0.0


class LinkTestbed:
    """Two clusters and the runs of one link; ``keep`` starts a first run and restarts it whenever it ends."""

    def __init__(
        self,
        root: Path,
        source: SandboxCluster,
        target: SandboxCluster,
        *,
        lease_seconds: int,
        standalone: StandaloneSpark | None,
        environment: Mapping[str, str],
    ) -> None:
        self.root = root
        self.source = source
        self.target = target
        self.standalone = standalone
        self.notes = Notes()
        self.stopped: set[int] = set()
        self._lease_seconds = lease_seconds
        self._environment = dict(environment)
        self._lock = threading.RLock()
        self._runs: list[LinkRun] = []
        self._keeping = False
        self._thread: threading.Thread | None = None
        self.source_context = read_context("source", dict(source.context()), "fault testbed")
        self.target_context = read_context("target", dict(target.context()), "fault testbed")

    def create_link(self) -> None:
        """Store the link on the target; raises ``RuntimeError`` where its probe forbids it."""
        spec = LinkSpec(LINK, ClusterRef("source", ""), ClusterRef("target", ""), lease_seconds=self._lease_seconds)
        self.target.wait_ready()  # the control topics get no more replicas than there are brokers now
        brokers.retry(lambda: self._store(spec))

    def _store(self, spec: LinkSpec) -> None:
        try:
            links.create(self.source_context, self.target_context, spec)
        except LinkExistsError:  # on a fresh target: it was stored before, and the answer was lost
            return
        except LinkRefusedError as error:
            raise RuntimeError(f"the link was refused: {error.errors}") from error

    def lanes(self) -> Sequence[LaneProgress]:
        """What the lanes have persisted, asked again while a broker is away: one that stood still may be for a
        moment.
        """
        return brokers.retry(lambda: links.show(self.target_context, LINK)).lanes

    # -- runs ------------------------------------------------------------------------------------------

    def start_run(self) -> LinkRun:
        """One more run of the link."""
        with self._lock:
            self.notes.runs += 1
            number = self.notes.runs
            spec = self.root / f"job-{number}.json"
            spec.write_text(launcher.job_spec(self.target_context, self.source_context, LINK, self._lease_seconds))
            run = LinkRun(
                spec,
                self.standalone.url if self.standalone else "local[2,8]",
                self.root / f"run-{number}.log",
                conf=self._conf(),
                slots=1 if self.standalone else None,
                environment=self._environment,
            )
            self._runs.append(run)
            return run

    def _conf(self) -> dict[str, str]:
        if self.standalone is None:
            return {"spark.ui.enabled": "false"}
        events = self.root / "events"
        events.mkdir(exist_ok=True)
        return {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.task.maxFailures": "1000",
            "spark.excludeOnFailure.enabled": "false",
            # One task and two executors: whatever runs for two seconds gets a speculative attempt.
            "spark.speculation": "true",
            "spark.speculation.interval": "200ms",
            "spark.speculation.task.duration.threshold": "2s",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
        }

    @property
    def workers(self) -> list[psutil.Process]:
        """Python workers of every run."""
        if self.standalone is not None:
            return self.standalone.workers
        with self._lock:
            runs = list(self._runs)
        return [worker for run in runs for worker in run.workers]

    def keep(self) -> None:
        """Run the link from now on, whatever ends it."""
        self._keeping = True
        self.start_run()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while self._keeping:
            with self._lock:
                first = self._runs[0]
                if self._keeping and not first.alive:
                    text = first.log.read_text(errors="replace")[-1500:]
                    self.notes.exits.append(f"{first.log.name} ended by itself with {first.process.returncode}: {text}")
                    self._finished(first)
                    self._runs.insert(0, self.start_run())
                    self._runs.pop()
            time.sleep(0.2)

    def _finished(self, run: LinkRun) -> None:
        """A driver ended: nothing of its run may stay, but what we stopped ourselves."""
        seconds = run.gone_after(GONE_S, tuple(self.stopped))
        if seconds is None:
            self.notes.wrong.append(f"processes of {run.log.name} were alive {GONE_S:.0f} s after its driver")
        else:
            self.notes.slowest_end = max(self.notes.slowest_end, seconds)
        if run in self._runs:
            self._runs.remove(run)

    def kill_driver(self, by_jvm: bool) -> None:
        """SIGKILL the first run's driver, see its processes vanish, and start it again."""
        with self._lock:
            run = self._runs[0]
            before = self.standalone.workers if self.standalone else []
            run.kill_driver(by_jvm)
            self._finished(run)
            if self.standalone is not None:
                self._executors_gone([worker for worker in before if worker.pid not in self.stopped])
            others = list(self._runs)
            self._runs[:] = []
            self.start_run()
            self._runs += others

    def _executors_gone(self, before: list[psutil.Process]) -> None:
        assert self.standalone is not None
        seconds = self.standalone.gone_after(before, GONE_S)
        if seconds is None:
            self.notes.wrong.append(f"Python workers were alive {GONE_S:.0f} s after their driver")
        else:
            self.notes.slowest_end = max(self.notes.slowest_end, seconds)

    def second_run(self, hold: float, chance: random.Random) -> None:
        """Run the link twice at once for a while; the second is killed or ended cleanly."""
        run = self.start_run()
        time.sleep(hold)
        with self._lock:
            if not run.alive:
                text = run.log.read_text(errors="replace")[-1500:]
                self.notes.exits.append(f"{run.log.name}, a second run, ended with {run.process.returncode}: {text}")
            elif chance.random() < 0.5:
                run.kill_driver(by_jvm=chance.random() < 0.5)
            elif not run.stop(_ENDS_S):
                self.notes.wrong.append(f"{run.log.name} did not end within {_ENDS_S:.0f} s of SIGTERM")
            self._finished(run)

    def stop_runs(self) -> None:
        """End every run cleanly; nothing of them may stay."""
        self._keeping = False
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            for run in list(self._runs):
                if not run.alive:  # by itself, and too lately to be started again
                    self.notes.exits.append(f"{run.log.name} ended by itself with {run.process.returncode}")
                elif not run.stop(_ENDS_S):
                    self.notes.wrong.append(f"{run.log.name} did not end within {_ENDS_S:.0f} s of SIGTERM")
                elif run.process.returncode not in (0, -signal.SIGTERM):  # the latter while Spark was starting
                    self.notes.wrong.append(f"{run.log.name} ended with {run.process.returncode} after SIGTERM")
                self._finished(run)
                run.end_all()

    def end_all(self) -> None:
        """SIGKILL everything that is left."""
        self._keeping = False
        with self._lock:
            for run in self._runs:
                run.end_all()
