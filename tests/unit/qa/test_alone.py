"""What the unit tier does not allow is refused, and what it needs is not."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from tests.alone import NotAloneError, is_here

pytestmark = pytest.mark.unit


def test_a_unit_test_starts_no_process() -> None:
    """By none of the ways."""
    with pytest.raises(NotAloneError, match="starts a process"):
        subprocess.run([sys.executable, "-c", ""], check=False)
    for start in (os.fork, lambda: os.system("true")):
        with pytest.raises(NotAloneError, match="starts a process"):
            start()


@pytest.mark.parametrize("address", [("192.0.2.1", 9), ("example.invalid", 9), ("2001:db8::1", 9)], ids=str)
def test_a_unit_test_reaches_no_other_machine(address: tuple[str, int]) -> None:
    """Not by its address, and not by its name."""
    with socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET) as one:
        with pytest.raises(NotAloneError, match="connects to"):
            one.connect(address)
        with pytest.raises(NotAloneError, match="connects to"):
            one.connect_ex(address)


def test_a_unit_test_may_serve_itself() -> None:
    """A simulated cluster is served on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        assert one.getpeername() == server.getsockname()
    assert is_here("localhost") and is_here("::1") and not is_here("localhost.invalid")
