"""Ports on loopback that stay ours while a broker is down.

A broker that is killed and started again must find its port free.  So ports are taken below the range from which the
kernel serves outgoing connections, and each is held by a lock on a file, which ends with the process that holds it.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from types import TracebackType

from anabranch.sandbox.errors import NoFreePortError

FIRST_PORT, LAST_PORT = 20000, 32000


class PortLease:
    """A port that no other sandbox of this user takes until ``release``."""

    def __init__(self, port: int, descriptor: int) -> None:
        self.port = port
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the port back; twice is once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> PortLease:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.release()


def _lock(directory: Path, port: int) -> int | None:
    descriptor = os.open(directory / str(port), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


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
        descriptor = _lock(directory, port)
        if descriptor is None:
            continue
        if _bindable(port):
            leases.append(PortLease(port, descriptor))
        else:
            os.close(descriptor)
    for lease in leases:
        lease.release()
    raise NoFreePortError(count, FIRST_PORT, LAST_PORT)
