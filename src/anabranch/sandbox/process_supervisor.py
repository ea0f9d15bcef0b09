"""Holds one child process, and ends it when the owner is gone, however the owner went.

Run as a script (``python -I -S supervisor.py OWNER LOG COMMAND...``; standard library only, so that it starts in 20
ms). It prints the child's process id on its standard output, then waits.  The child is killed when the owner has died,
even by SIGKILL, or when the supervisor gets SIGTERM; the supervisor exits as its child did.

Two races are settled here.  The kernel's parent-death signal is bound to the *thread* that forked, so a cluster that a
short-lived thread starts would lose its brokers: the supervisor has one thread and forks itself, and watches the owner
by its process id.  And an owner that died before the supervisor looked leaves another parent: that is compared first.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys

_PR_SET_PDEATHSIG = 1
_POLL_SECONDS = 0.25


def _die_with(parent: int) -> None:
    """Ask Linux to kill this process with its parent, and notice a parent that has died already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(127)


def _start(log_path: str, command: list[str]) -> int:
    """Fork the child with its output appended to the log; returns its process id."""
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    supervisor = os.getpid()
    child = os.fork()
    if child:
        os.close(log)
        return child
    try:
        _die_with(supervisor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(log, f"{command[0]}: {error}\n".encode())
    finally:
        os._exit(127)


def _hold(owner: int, child: int, wake: socket.socket) -> int:
    """Wait for the child; kill it when the owner is gone.  Returns the child's wait status."""
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        if os.getppid() != owner:
            os.kill(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1]
        select.select([wake], [], [], _POLL_SECONDS)
        with contextlib.suppress(BlockingIOError):
            if signal.SIGTERM in wake.recv(64):
                os.kill(child, signal.SIGKILL)


def main(arguments: list[str]) -> int:
    """Start the command, print its process id and hold it; returns its exit code."""
    owner, log_path, *command = arguments
    if os.getppid() != int(owner):
        return 127
    wake, waker = socket.socketpair()
    wake.setblocking(False)
    waker.setblocking(False)
    child = _start(log_path, command)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(child, flush=True)
    os.close(1)
    status = _hold(int(owner), child, wake)
    return os.waitstatus_to_exitcode(status) & 0xFF


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
