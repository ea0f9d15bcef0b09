"""Ports on loopback that stay ours while a broker is down.

A broker that is killed and started again must find its port free.  So ports are taken below the range from which the
kernel serves outgoing connections, and each is held by a lock on a file, which ends with the process that holds it.
"""

from __future__ import annotations

import os
import random
import socket
import tempfile
from pathlib import Path
from types import TracebackType

from filelock import BaseFileLock, FileLock, Timeout

from anabranch.sandbox.errors import NoFreePortError

FIRST_PORT, LAST_PORT = 20000, 32000


class PortLease:
    """A port that no other sandbox of this user takes until ``release``."""

    def __init__(self, port: int, lock: BaseFileLock) -> None:
        self.port = port
        self._lock = lock

    def release(self) -> None:
        """Give the port back; twice is once."""
        self._lock.release()

    def __enter__(self) -> PortLease:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.release()


def _lease(directory: Path, port: int) -> PortLease | None:
    """The port, where it is free and nobody holds it."""
    # Not of one thread: clusters are stopped by others than those that started them.
    lock = FileLock(directory / str(port), mode=0o600, blocking=False, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        return None
    if _bindable(port):
        return PortLease(port, lock)
    lock.release()
    return None


def _bindable(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def lease_ports(count: int) -> list[PortLease]:
    """Lease ``count`` free ports in random order; raises ``NoFreePortError``, and then holds none."""
    directory = Path(tempfile.gettempdir()) / f"anabranch-ports-{os.getuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    leases: list[PortLease] = []
    for port in random.sample(range(FIRST_PORT, LAST_PORT), LAST_PORT - FIRST_PORT):
        if len(leases) == count:
            return leases
        lease = _lease(directory, port)
        if lease is not None:
            leases.append(lease)
    for lease in leases:
        lease.release()
    raise NoFreePortError(count, FIRST_PORT, LAST_PORT)
