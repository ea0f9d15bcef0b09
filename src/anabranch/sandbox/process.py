"""Processes of the sandbox: each has a supervisor that ends it with this process, and is known by its start time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch.sandbox import process_supervisor
from anabranch.sandbox.errors import SandboxProcessError

_TAIL_BYTES = 64 * 1024
_TAIL_LINES = 10
_ERROR = re.compile(r"\b(ERROR|FATAL|Caused by|Error:|Exception in thread)\b")
# A Java stack frame: where it went wrong in the program, which does not say what is wrong.
_FRAME = re.compile(r"\s+(at |\.\.\. \d+ more)")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process that cannot be confused with a later one of the same number: its id and when it started."""

    pid: int
    started: str

    @property
    def running(self) -> bool:
        """Whether that very process still runs (a zombie does not)."""
        return identify(self.pid) == self


def identify(pid: int) -> ProcessIdentity | None:
    """The identity of a running process, or None; its start is in clock ticks on Linux, else as ``ps`` prints it."""
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        state, started = fields[0], fields[19]
    else:
        shown = subprocess.run(
            ["ps", "-o", "state=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        state, _, started = shown.stdout.strip().partition(" ")
    return None if state[:1] in ("", "Z", "X") else ProcessIdentity(pid, started.strip())


def telling_lines(text: str) -> str:
    """What a program's output says last, for an error message: its errors with the line after each, else its end."""
    lines = [line for line in text.splitlines() if line.strip() and not _FRAME.match(line)]
    told = [line for i, line in enumerate(lines) if any(_ERROR.search(near) for near in lines[max(0, i - 1) : i + 1])]
    return "\n".join((told or lines)[-_TAIL_LINES:])


def log_tail(path: Path) -> str:
    """The telling lines of a log's end; empty when there is no log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return telling_lines(file.read().decode(errors="replace"))
    except OSError:
        return ""


class SupervisedProcess:
    """A child that dies with this process, even if this process is killed; see ``process_supervisor``.

    It runs in a session of its own, so a Ctrl-C in the terminal reaches this process alone, which then stops its
    children in order.
    """

    def __init__(self, name: str, holder: subprocess.Popen[bytes], pid: int, log_path: Path) -> None:
        self.name = name
        self.pid = pid
        self.log_path = log_path
        self._holder = holder

    @classmethod
    def spawn(
        cls, name: str, command: Sequence[str], log_path: Path, environ: Mapping[str, str] | None = None
    ) -> SupervisedProcess:
        """Start ``command`` with its output appended to ``log_path``; raises ``SandboxProcessError``."""
        log_path.parent.mkdir(parents=True, exist_ok=True)
        holder = subprocess.Popen(
            [sys.executable, "-I", "-S", process_supervisor.__file__, str(os.getpid()), str(log_path), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=None if environ is None else dict(environ),
        )
        assert holder.stdout is not None
        with holder.stdout as stdout:
            line = stdout.readline()
        if not line:
            holder.wait()
            raise SandboxProcessError(name, "could not be started", str(log_path), log_tail(log_path))
        return cls(name, holder, int(line), log_path)

    @property
    def alive(self) -> bool:
        """Whether the child runs (or is stopped by SIGSTOP)."""
        return self._holder.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The child's exit code once it has ended, modulo 256 (a signal n is 256 - n), else None."""
        return self._holder.poll()

    @property
    def identity(self) -> ProcessIdentity | None:
        """What recognises the child from another process; None once it is gone."""
        return identify(self.pid) if self.alive else None

    def signal(self, number: int) -> None:
        """Send a signal to the child; nothing happens if it is gone."""
        if self.alive:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                # It ended between the two lines; the supervisor is about to say so.
                return

    def wait(self, seconds: float) -> bool:
        """Wait for the child's end; returns whether it has ended."""
        try:
            self._holder.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """SIGKILL, and wait until the child is reaped."""
        self.signal(signal.SIGKILL)
        self._holder.wait()

    def terminate(self, seconds: float) -> bool:
        """SIGTERM, and SIGKILL after ``seconds``; returns whether the child ended by itself."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        ended = self.wait(seconds)
        if not ended:
            self.kill()
        return ended

    def failure(self, problem: str) -> SandboxProcessError:
        """An error about this process with the end of its log."""
        return SandboxProcessError(self.name, problem, str(self.log_path), log_tail(self.log_path))


def end_process(identity: ProcessIdentity, number: int, seconds: float) -> bool:
    """Signal a process that is not our child, only if it is still the same one; returns whether it is gone."""
    if identity.running:
        try:
            os.kill(identity.pid, number)
        except ProcessLookupError:
            return True
    deadline = time.monotonic() + seconds
    while identity.running:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
