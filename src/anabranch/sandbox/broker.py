"""One broker's process: kill, stop, start again on the same port and log, pause and resume."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from anabranch.jars import shared_classes
from anabranch.sandbox.jars import class_path, java_program, runtime_jars
from anabranch.sandbox.layout import ClusterLayout, NodeLayout
from anabranch.sandbox.process import SupervisedProcess
from anabranch.sandbox.properties import ZOOKEEPER_SESSION_MS
from anabranch.sandbox.spec import ClusterSpec

_STOP_SECONDS = 120.0
_PAUSE_SECONDS = 30.0
# One line an event with its time; everything goes to the log file of the process.
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.showShortLogName=true",
)


def jvm_command(spec: ClusterSpec, main_class: str, *arguments: str) -> list[str]:
    """The command of a JVM of the spec's version, heap and options."""
    runtime = spec.kafka.runtime
    classes = shared_classes.using(runtime, runtime_jars(runtime))
    heap = [f"-Xmx{spec.heap_mb}m", *spec.jvm_options, *classes, "-Djava.awt.headless=true", *_LOGGING]
    return [java_program(), *heap, "-cp", class_path(runtime), main_class, *arguments]


def _stat(task: Path) -> str:
    try:
        return (task / "stat").read_text()
    except OSError:
        return ""  # the thread has just ended


class BrokerProcess:
    """A broker of a running cluster.

    ``kill`` and ``pause`` take hold at once; ``start`` returns when the process runs, which is before it serves: call
    ``Cluster.wait_ready`` for that.
    """

    def __init__(self, layout: ClusterLayout, node: NodeLayout) -> None:
        self._layout = layout
        self._node = node
        self._process: SupervisedProcess | None = None
        self._ended_at = 0.0

    def __repr__(self) -> str:
        return f"<broker {self.node_id} of {self._layout.spec.name}, 127.0.0.1:{self.port}>"

    @property
    def node_id(self) -> int:
        """The broker's id, from 1."""
        return self._node.node_id

    @property
    def port(self) -> int:
        """The port on which the broker itself listens for clients (a proxy has its own)."""
        return self._node.client

    @property
    def internal_port(self) -> int:
        """The port of the plain inter-broker listener."""
        return self._node.internal

    @property
    def log_path(self) -> Path:
        """The file of what the broker prints; restarts append."""
        return self._node.log

    @property
    def data_path(self) -> Path:
        """The broker's log directory."""
        return self._node.data

    @property
    def process(self) -> SupervisedProcess:
        """The broker's last process; raises ``RuntimeError`` if it has never been started."""
        if self._process is None:
            raise RuntimeError(f"{self!r} has not been started")
        return self._process

    @property
    def pid(self) -> int:
        """The process id of the JVM (of the last one, if it is down)."""
        return self.process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs; a paused one does."""
        return self._process is not None and self._process.alive

    def start(self) -> None:
        """Start the process on the same ports and log directory; nothing happens if it runs.

        With ZooKeeper, a killed broker's registration blocks its successor until the session has expired: that is
        waited for.
        """
        if self.alive:
            return
        if self._layout.zookeeper is not None and self._ended_at:
            expired = self._ended_at + 1.5 * ZOOKEEPER_SESSION_MS / 1000
            time.sleep(max(0.0, expired - time.monotonic()))
        command = jvm_command(self._layout.spec, "kafka.Kafka", str(self._node.properties))
        name = f"broker {self.node_id} of cluster {self._layout.spec.name}"
        self._process = SupervisedProcess.spawn(name, command, self._node.log)

    def kill(self) -> None:
        """SIGKILL; returns when the process is gone.  Nothing happens if it is down."""
        if self._process is not None and self._process.alive:
            self._process.kill()
            self._ended_at = time.monotonic()

    def stop(self, seconds: float = _STOP_SECONDS) -> None:
        """SIGTERM and wait for the controlled shutdown; SIGKILL if that takes longer than ``seconds``."""
        if self._process is not None and self._process.alive:
            graceful = self._process.terminate(seconds)
            self._ended_at = 0.0 if graceful else time.monotonic()

    def pause(self) -> None:
        """SIGSTOP: connections stay open and nothing answers; returns once every thread stands still."""
        self.process.signal(signal.SIGSTOP)
        tasks = Path(f"/proc/{self.pid}/task")
        deadline = time.monotonic() + _PAUSE_SECONDS
        while tasks.is_dir() and time.monotonic() < deadline:
            states = {stat.rpartition(")")[2].split()[0] for stat in map(_stat, tasks.iterdir()) if stat}
            if states <= {"T", "t", "Z"}:
                return
            time.sleep(0.005)

    def resume(self) -> None:
        """SIGCONT."""
        self.process.signal(signal.SIGCONT)
