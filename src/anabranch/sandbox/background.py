"""Clusters that outlive the command that brought them up: up, down, and their proxies."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from filelock import FileLock

from anabranch.sandbox.cluster import READY_SECONDS
from anabranch.sandbox.errors import AlreadyUpError, NotProxiedError, SandboxFailedError, SandboxProcessError
from anabranch.sandbox.process import ProcessIdentity, end_process, log_tail
from anabranch.sandbox.proxy import Proxy
from anabranch.sandbox.spec import ClusterSpec
from anabranch.sandbox.state import Home, SandboxState

_STOP_SECONDS = 60.0
_GONE_SECONDS = 30.0
_POLL_SECONDS = 0.05
# Bringing the jars of a first start is on top of what a cluster needs.
_UP_SECONDS = READY_SECONDS + 600.0


def bring_up(home: Home, specs: Sequence[ClusterSpec]) -> tuple[SandboxState, ...]:
    """Start clusters in the background and wait until all are ready; if one fails, or this is interrupted, none runs.

    The files of one that failed stay, to be read, until the next ``up`` or ``down``.  Raises ``AlreadyUpError`` before
    anything is started, ``SandboxFailedError`` with what the supervisor says, and ``SandboxProcessError``.
    """
    with _one_at_a_time(home):
        for spec in specs:
            if spec.name in home.names():
                if home.read(spec.name).condition in ("starting", "up", "degraded"):
                    raise AlreadyUpError(spec.name)
                take_down(home, spec.name)
        supervisors = {}
        try:
            for spec in specs:
                supervisors[spec.name] = _supervise(home, spec)
            return tuple(_wait(home, name, process) for name, process in supervisors.items())
        except BaseException:
            for name, process in supervisors.items():
                process.terminate()
                process.wait()
                if name not in home.names() or home.read(name).phase != "failed":
                    _remove(home, name)
            raise


def take_down(home: Home, name: str) -> tuple[str, ...]:
    """Stop a cluster and remove its files; returns the processes that did not end by themselves and were killed.

    Only processes that are still those which were recorded are touched.  Raises ``UnknownSandboxError``.
    """
    state = home.read(name)
    killed = []
    if state.supervisor is not None and not end_process(state.supervisor, signal.SIGTERM, _STOP_SECONDS):
        killed.append("supervisor")
        end_process(state.supervisor, signal.SIGKILL, _STOP_SECONDS)
    for process in state.processes:
        # Each has a process supervisor, which takes a moment to notice the end of the cluster's supervisor.
        if process.process is not None and not _gone(process.process):
            killed.append(f"{process.role} {process.node_id}" if process.node_id else process.role)
            end_process(process.process, signal.SIGKILL, _STOP_SECONDS)
    _remove(home, name)
    return tuple(killed)


def proxy_of(state: SandboxState, node_id: int) -> Proxy:
    """The handle of one broker's proxy; raises ``NotProxiedError``."""
    addresses = state.bootstrap.split(",")
    ids = [broker.node_id for broker in state.brokers]
    if state.control is None or node_id not in ids:
        raise NotProxiedError(state.name, node_id)
    port = addresses[ids.index(node_id)].rpartition(":")[2]
    return Proxy(node_id, int(port), state.control)


@contextlib.contextmanager
def _one_at_a_time(home: Home) -> Iterator[None]:
    """Two ``up`` of the same name at once would both find it absent."""
    (home.path / "sandbox").mkdir(parents=True, exist_ok=True)
    with FileLock(home.path / "sandbox" / ".lock"):
        yield


def _supervise(home: Home, spec: ClusterSpec) -> subprocess.Popen[bytes]:
    directory = home.directory(spec.name)
    _remove(home, spec.name)
    directory.mkdir(parents=True)
    fields = {field.name: getattr(spec, field.name) for field in dataclasses.fields(spec)}
    text = json.dumps({**fields, "overrides": dict(spec.overrides), "users": dict(spec.users)})
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with (directory / "supervisor.log").open("ab") as log:
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "anabranch.sandbox.supervise", str(home.path.resolve())],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=directory,
            env=environ,
            start_new_session=True,
        )
    assert supervisor.stdin is not None
    # Not as an argument: it holds the users' passwords.
    with supervisor.stdin as stdin:
        stdin.write(text.encode())
    return supervisor


def _wait(home: Home, name: str, supervisor: subprocess.Popen[bytes]) -> SandboxState:
    deadline = time.monotonic() + _UP_SECONDS
    process = f"the supervisor of cluster {name}"
    log = home.directory(name) / "supervisor.log"
    while time.monotonic() < deadline:
        ended = supervisor.poll() is not None
        state = home.read(name) if name in home.names() else None
        if state is not None and state.phase == "up":
            return state
        if state is not None and state.phase == "failed":
            raise SandboxFailedError(name, state.error, state.hint)
        if ended:
            raise SandboxProcessError(process, f"exited with {supervisor.returncode}", str(log), log_tail(log))
        time.sleep(_POLL_SECONDS)
    raise SandboxProcessError(process, f"did not bring it up in {_UP_SECONDS:g} s", str(log), log_tail(log))


def _gone(process: ProcessIdentity) -> bool:
    deadline = time.monotonic() + _GONE_SECONDS
    while process.running:
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _remove(home: Home, name: str) -> None:
    directory: Path = home.directory(name)
    # The state goes first: a directory that is half removed is not a cluster.
    (directory / "state.json").unlink(missing_ok=True)
    shutil.rmtree(directory, ignore_errors=True)
