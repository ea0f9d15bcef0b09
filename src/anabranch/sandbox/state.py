"""What is written down of a cluster in the background: ``HOME/sandbox/NAME/state.json``, replaced in one piece.

Its supervisor alone writes it; everybody reads it.  A process is recorded with the time it started, so that its number,
used again by the system for another process, is never taken for it.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from anabranch.errors import ProtocolError
from anabranch.sandbox.cluster import SandboxCluster
from anabranch.sandbox.errors import UnknownSandboxError
from anabranch.sandbox.layout import LOOPBACK
from anabranch.sandbox.process import ProcessIdentity
from anabranch.sandbox.spec import ClusterSpec

VERSION = 1
Phase = Literal["starting", "up", "failed"]


@dataclass(frozen=True, slots=True)
class ProcessState:
    """A process of a cluster: a ``broker`` with its id and address, or a helper (node 0)."""

    role: str
    node_id: int
    process: ProcessIdentity | None
    address: str
    log: str

    @property
    def alive(self) -> bool:
        """Whether that very process still runs."""
        return self.process is not None and self.process.running


@dataclass(frozen=True, slots=True)
class SandboxState:
    """A background cluster as its supervisor last wrote it; ``error`` says why it failed, with its next command."""

    name: str
    phase: Phase
    version: str
    security: str
    supervisor: ProcessIdentity | None
    cluster_id: str = ""
    bootstrap: str = ""
    internal_bootstrap: str = ""
    control: int | None = None
    processes: tuple[ProcessState, ...] = ()
    context: dict[str, Any] | None = None
    error: str = ""
    hint: str = ""

    @property
    def brokers(self) -> tuple[ProcessState, ...]:
        """The brokers' processes."""
        return tuple(process for process in self.processes if process.role == "broker")

    @property
    def condition(self) -> str:
        """One word for people: ``starting``, ``up``, ``degraded`` (a process is dead), ``failed`` or ``dead``."""
        if self.supervisor is None or not self.supervisor.running:
            return "failed" if self.phase == "failed" else "dead"
        if self.phase != "up":
            return self.phase
        return "up" if all(process.alive for process in self.processes) else "degraded"


@dataclass(eq=False)
class BrokenStateError(ProtocolError):
    """A sandbox's state file does not read."""

    path: str
    problem: str

    _message = "{path} does not read: {problem}"
    _hint = "look for its processes, end them, then delete that directory"


def starting(spec: ClusterSpec, supervisor: ProcessIdentity | None) -> SandboxState:
    """The state of a cluster that is about to start."""
    return SandboxState(spec.name, "starting", spec.version, spec.listener.value, supervisor)


def running(cluster: SandboxCluster, supervisor: ProcessIdentity | None) -> SandboxState:
    """The state of a cluster that is ready."""
    brokers = [
        ProcessState("broker", b.node_id, b.process.identity, f"{LOOPBACK}:{b.port}", str(b.log_path))
        for b in cluster.brokers
    ]
    helpers = [ProcessState(h.name, 0, h.identity, "", str(h.log_path)) for h in cluster.helpers]
    return dataclasses.replace(
        starting(cluster.spec, supervisor),
        phase="up",
        cluster_id=cluster.cluster_id,
        bootstrap=cluster.bootstrap,
        internal_bootstrap=cluster.internal_bootstrap,
        control=cluster.layout.control,
        processes=(*brokers, *helpers),
        context=cluster.context(secret_files=True),
    )


@dataclass(frozen=True, slots=True)
class Home:
    """The ``.anabranch`` directory below which background clusters are kept."""

    path: Path

    @classmethod
    def find(cls, directory: Path) -> Home:
        """The nearest one, from ``directory`` upwards, that has sandboxes; else ``directory``'s own."""
        for above in (directory, *directory.parents):
            if (above / ".anabranch" / "sandbox").is_dir():
                return cls(above / ".anabranch")
        return cls(directory / ".anabranch")

    def directory(self, name: str) -> Path:
        """Everything of one cluster."""
        return self.path / "sandbox" / name

    def names(self) -> tuple[str, ...]:
        """The clusters that have a state, in order."""
        return tuple(sorted(path.parent.name for path in self.path.glob("sandbox/*/state.json")))

    def read(self, name: str) -> SandboxState:
        """A cluster's state; raises ``UnknownSandboxError`` and ``BrokenStateError``."""
        path = self.directory(name) / "state.json"
        try:
            return decode(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UnknownSandboxError(name, self.names()) from None
        except (ValueError, KeyError, TypeError) as error:
            raise BrokenStateError(str(path), repr(error)) from error

    def write(self, state: SandboxState) -> None:
        """Replace a cluster's state; a reader sees the old one or the new one."""
        directory = self.directory(state.name)
        directory.mkdir(parents=True, exist_ok=True)
        scratch = directory / f".state.{os.getpid()}"
        scratch.write_text(encode(state), encoding="utf-8")
        scratch.replace(directory / "state.json")


def encode(state: SandboxState) -> str:
    """The state as JSON."""
    return json.dumps({"format": VERSION, **dataclasses.asdict(state)}, indent=2) + "\n"


def decode(text: str) -> SandboxState:
    """The reverse of ``encode``; raises ``ValueError``, ``KeyError`` or ``TypeError``."""
    fields: dict[str, Any] = json.loads(text)
    if fields.pop("format") != VERSION:
        raise ValueError("another version's format")

    def identity(value: dict[str, Any] | None) -> ProcessIdentity | None:
        return None if value is None else ProcessIdentity(**value)

    fields["supervisor"] = identity(fields["supervisor"])
    fields["processes"] = tuple(
        ProcessState(**{**process, "process": identity(process["process"])}) for process in fields["processes"]
    )
    return SandboxState(**fields)
