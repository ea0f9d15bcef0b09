"""A replay that runs as a process of its own, beside a test or the demo."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.sandbox.process import SupervisedProcess
from anabranch.sandbox.replay_plan import ReplayPlan

if TYPE_CHECKING:
    from anabranch.sandbox.cluster import SandboxCluster

_FLUSH_SECONDS = 180.0


class ReplayProcess:
    """Started with ``start_replay``; ``stop`` flushes and returns the final counts by topic."""

    def __init__(self, process: SupervisedProcess) -> None:
        self._process = process

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.alive

    @property
    def records(self) -> dict[str, int]:
        """Acknowledged records by topic, at most a second old while it runs; empty before the first count."""
        for line in reversed(self._process.log_path.read_text().splitlines(keepends=True)):
            if line.startswith('{"records"') and line.endswith("\n"):  # else it is just being written
                counts: dict[str, int] = json.loads(line)["records"]
                return counts
        return {}

    def wait(self, seconds: float) -> bool:
        """Wait for its end; returns whether it has ended."""
        return self._process.wait(seconds)

    def stop(self, seconds: float = _FLUSH_SECONDS) -> dict[str, int]:
        """Ask it to flush and end; returns the counts.  Raises ``SandboxProcessError`` if it has failed."""
        ended = self._process.terminate(seconds)
        if not ended or self._process.exit_code != 0:
            raise self._process.failure("did not flush" if not ended else f"exited with {self._process.exit_code}")
        return self.records


def start_replay(cluster: SandboxCluster, plan: ReplayPlan, log_path: Path | None = None) -> ReplayProcess:
    """Feed a cluster from a process that dies with this one."""
    options: dict[str, Any] = {"bootstrap": cluster.internal_bootstrap, **dataclasses.asdict(plan)}
    command = [sys.executable, "-m", "anabranch.sandbox.replay", json.dumps(options)]
    # The package may be on this process's path only.
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    log = log_path or cluster.layout.root / "replay.log"
    return ReplayProcess(SupervisedProcess.spawn(f"replay into {cluster.spec.name}", command, log, environ))
