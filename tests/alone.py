"""A test of the unit tier starts no process and connects to no other machine: what tries to is refused, and so seen."""

from __future__ import annotations

import ipaddress
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_STARTS = ((subprocess.Popen, "__init__"), (os, "fork"), (os, "posix_spawn"), (os, "system"))
_CONNECTS = ("connect", "connect_ex")


class NotAloneError(RuntimeError):
    """A unit test that needs more than this process; its tier is ``test``."""


@contextmanager
def alone() -> Iterator[None]:
    """No process is started and no other machine reached in here; raises NotAloneError where that is tried."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in _STARTS:
            patch.setattr(owner, name, _refused(name))
        for name in _CONNECTS:
            patch.setattr(socket.socket, name, _within(getattr(socket.socket, name)), raising=False)
        yield


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*arguments: object, **_: object) -> None:
        raise NotAloneError(f"a unit test starts a process: {name}{arguments[-1:]}")

    return refuse


def _within(connect: Callable[..., Any]) -> Callable[..., Any]:
    def connected(self: socket.socket, address: Any) -> Any:
        if self.family != socket.AF_UNIX and not is_here(address[0]):
            raise NotAloneError(f"a unit test connects to {address}")
        return connect(self, address)

    return connected


def is_here(host: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
