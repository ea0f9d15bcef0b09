"""All that runs in the demo: two clusters, the service, the applications and the jobs; leaving it ends them all."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anabranch.errors import ClusterError
from anabranch.model.cluster import ClusterContext
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.sandbox.process import SupervisedProcess
from examples.demo import ledger, serving
from examples.demo.control import STOPPED, Control
from examples.demo.counts import Counts
from examples.demo.migration import NAME, START_HOOK, STOP_HOOK
from qa.brokers import await_coordinators

_SECONDS = 600.0
_END_S = 120.0
_LOOK_S = 0.1


@dataclass(eq=False)
class DemoStuckError(ClusterError):
    """Something did not come as far as it should in time."""

    what: str

    _message = "not within ten minutes: {what}"
    _hint = "run `make demo` again on a machine with less to do"


class Stage:
    """``desk`` and ``totals`` are where those are led; ``counts`` is the Flink job."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.desk = Control(scratch / "desk")
        self.totals = Control(scratch / "totals")
        self._resources = ExitStack()
        self._processes: dict[str, SupervisedProcess] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._resources.close()

    def begin(self) -> None:
        """Start clusters and Flink beside each other, and then the service."""
        for control in (self.desk, self.totals):
            control.directory.mkdir()
        flinks = self.scratch / "flink"
        flinks.mkdir()
        with ThreadPoolExecutor(1) as pool:
            flink = pool.submit(Counts, flinks, {})
            try:
                self.old, self.new = start_clusters([ClusterSpec("old"), ClusterSpec("new")])
                for cluster in (self.old, self.new):
                    self._resources.callback(cluster.stop)
            finally:
                self.counts = flink.result()
                self._resources.callback(self.counts.close)
        self.counts.lead(old=self.old.bootstrap, new=self.new.bootstrap)
        self.token, client = serving.tokens(self.scratch)
        (self.scratch / "shop.token").touch(mode=0o600)
        (self.scratch / "shop.token").write_text(client)
        self.port = serving.free_port()
        contexts = {"old": self.old.context(), "new": self.new.context()}
        hooks = {STOP_HOOK: self.desk.hook(STOPPED), START_HOOK: self.desk.hook("$ANABRANCH_TO")}
        self.service = serving.serve(self.scratch, contexts, hooks, self.port)
        self._resources.callback(serving.end, self.service, self.scratch)

    @property
    def url(self) -> str:
        """Where the service is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def clusters(self) -> Mapping[str, SandboxCluster]:
        """Both, by name."""
        return {"old": self.old, "new": self.new}

    def await_service(self) -> None:
        """Return when the service answers, and both clusters can take groups."""
        for cluster in self.clusters.values():
            await_coordinators(cluster)
        serving.await_answer(self.service, self.port)

    def run(self, name: str, *words: str) -> None:
        """Start an application of this package as a process."""
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        command = [sys.executable, "-m", f"examples.demo.{name}", *words]
        process = SupervisedProcess.spawn(name, command, self.scratch / f"{name}.log", environment)
        self._resources.callback(process.kill)
        self._processes[name] = process

    @property
    def servers(self) -> list[str]:
        """The words that tell an application where each cluster is."""
        return [f"{name}={cluster.bootstrap}" for name, cluster in self.clusters.items()]

    def told(self, name: str) -> Mapping[str, Any]:
        """What an application has told of itself."""
        where = {"shop": self.scratch, "desk": self.desk.directory, "totals": self.totals.directory}[name]
        return ledger.told(where / f"{name}.json")

    def runs(self) -> list[Mapping[str, Any]]:
        """What the service has done for the migration's wave, the newest first."""
        found: list[Mapping[str, Any]] = serving.ask(self.port, self.token, f"/migrations/{NAME}")["runs"]
        return found

    def until(self, what: str, true: Callable[[], bool]) -> None:
        """Wait; raises DemoStuckError, and SandboxProcessError where an application has ended."""
        deadline = time.monotonic() + _SECONDS
        while not true():
            for process in self._processes.values():
                if not process.alive:
                    raise process.failure("has ended")
            if time.monotonic() > deadline:
                raise DemoStuckError(what)
            time.sleep(_LOOK_S)

    def lead(self, name: str, control: Control, where: str) -> None:
        """Have an application go somewhere, or stop, as its owner does."""
        control.want(where)
        self.until(f"{name} goes to {where}", lambda: control.at() == where)

    def end(self, name: str) -> Mapping[str, Any]:
        """Have an application end by itself, and return what it told at last."""
        process = self._processes.pop(name)
        if not process.terminate(_END_S) or process.exit_code:
            raise process.failure(f"ended with {process.exit_code}")
        return self.told(name)


def context(cluster: SandboxCluster) -> ClusterContext:
    """How a cluster is reached."""
    return ClusterContext(cluster.spec.name, tuple(cluster.bootstrap.split(",")))
