"""The proxy stalls, cuts, delays and lets go again, on plain sockets and with Kafka's clients."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.sandbox import Proxy, SandboxCluster, proxy_server
from anabranch.sandbox.errors import NotProxiedError
from anabranch.sandbox.ports import lease_ports
from anabranch.sandbox.process import SupervisedProcess
from anabranch.sandbox.proxy import ProxyRefusedError, wait_for_proxies

from .clients import TIMEOUT_S, create, numbered, produce, read

pytestmark = pytest.mark.test

SILENCE = 0.3


def echo(server: socket.socket) -> None:
    """Send back whatever comes, on every connection, until the server's socket is closed."""

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65536):
                connection.sendall(data)

    with contextlib.suppress(OSError):
        while True:
            threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()


@pytest.fixture(scope="module")
def echo_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A proxy before a server that echoes."""
    log: Path = tmp_path_factory.mktemp("proxy") / "proxy.log"
    with contextlib.ExitStack() as stack:
        listen, control = (stack.enter_context(lease).port for lease in lease_ports(2))
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        threading.Thread(target=echo, args=(server,), daemon=True).start()
        route = f"1:{listen}:{server.getsockname()[1]}"
        command = [sys.executable, "-I", "-S", proxy_server.__file__, str(control), route]
        process = SupervisedProcess.spawn("proxy", command, log)
        stack.callback(process.kill)
        proxy = Proxy(1, listen, control)
        assert wait_for_proxies({1: proxy}, TIMEOUT_S)
        yield proxy


@pytest.fixture
def line(echo_proxy: Proxy) -> Iterator[socket.socket]:
    """A connection through the proxy that has passed data; the proxy is cleared before and after."""
    echo_proxy.clear()
    with socket.create_connection(("127.0.0.1", echo_proxy.port), TIMEOUT_S) as connection:
        assert roundtrip(connection, b"hello") == b"hello"
        yield connection
    echo_proxy.clear()


def roundtrip(connection: socket.socket, data: bytes) -> bytes:
    """Send, and receive as much."""
    connection.sendall(data)
    return receive(connection, len(data))


def receive(connection: socket.socket, size: int) -> bytes:
    """Exactly so many bytes."""
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        assert piece, "the connection was closed"
        data += piece
    return data


def test_a_stall_holds_everything_and_loses_nothing(echo_proxy: Proxy, line: socket.socket) -> None:
    """Nothing arrives while it lasts, the connection stays, and all arrives in order after it."""
    assert echo_proxy.stall().stalled
    sent = bytes(range(256)) * 1000
    line.sendall(sent)
    line.settimeout(SILENCE)
    with pytest.raises(TimeoutError):
        line.recv(1)
    echo_proxy.clear()
    line.settimeout(TIMEOUT_S)
    assert receive(line, len(sent)) == sent


def test_a_cut_resets_old_and_new_connections(echo_proxy: Proxy, line: socket.socket) -> None:
    """No end of file that could be taken for an orderly close; and after clear, a new connection works."""
    assert echo_proxy.cut().connections == 0
    with pytest.raises(ConnectionResetError):
        line.recv(1)
    # The reset may come before connect has returned.
    with (
        pytest.raises(ConnectionResetError),
        socket.create_connection(("127.0.0.1", echo_proxy.port), TIMEOUT_S) as late,
    ):
        late.recv(1)
    echo_proxy.clear()
    with socket.create_connection(("127.0.0.1", echo_proxy.port), TIMEOUT_S) as new:
        assert roundtrip(new, b"again") == b"again"


def test_a_cut_reaches_what_a_stall_holds(echo_proxy: Proxy, line: socket.socket) -> None:
    """Held data is lost with its connection, and does not appear on a later one."""
    echo_proxy.stall()
    line.sendall(b"lost")
    echo_proxy.cut()
    with pytest.raises(ConnectionResetError):
        line.recv(1)
    echo_proxy.clear()
    with socket.create_connection(("127.0.0.1", echo_proxy.port), TIMEOUT_S) as new:
        assert roundtrip(new, b"new") == b"new"


def test_a_delay_holds_both_directions(echo_proxy: Proxy, line: socket.socket) -> None:
    """A round trip takes the delay twice at least, and the order stays."""
    echo_proxy.delay(100)
    started = time.monotonic()
    assert roundtrip(line, b"slow") == b"slow"
    assert time.monotonic() - started >= 0.2
    echo_proxy.clear()
    sent = bytes(range(256)) * 4000
    sender = threading.Thread(target=line.sendall, args=(sent,))
    sender.start()
    assert receive(line, len(sent)) == sent
    sender.join()


def test_an_end_of_file_passes(echo_proxy: Proxy, line: socket.socket) -> None:
    """Half a close reaches the server, whose answer still comes back."""
    line.sendall(b"last")
    line.shutdown(socket.SHUT_WR)
    assert receive(line, 4) == b"last"
    assert line.recv(1) == b""


def test_an_unknown_node_is_refused(echo_proxy: Proxy) -> None:
    """An order for a node that the proxy does not know changes nothing."""
    with pytest.raises(ProxyRefusedError):
        Proxy(2, echo_proxy.port, echo_proxy.control_port).stall()


def test_kafka_clients_live_through_a_stall_and_a_cut(proxied: SandboxCluster) -> None:
    """Records that are written while the proxy lets nothing pass arrive once, after it does."""
    config, proxy = proxied.client_config(), proxied.proxy(1)
    assert config["bootstrap.servers"] == f"127.0.0.1:{proxy.port}"
    create(config, "faults")
    for number, fault in enumerate((proxy.stall, proxy.cut)):
        fault()
        writer = threading.Thread(target=produce, args=(config, "faults", numbered(100, first=100 * number)))
        writer.start()
        time.sleep(SILENCE)
        assert writer.is_alive()
        proxy.clear()
        writer.join()
    assert [message.value() for message in read(config, "faults", 200)] == numbered(200)
    with pytest.raises(NotProxiedError):
        proxied.proxy(2)
