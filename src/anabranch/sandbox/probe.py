"""Asks a broker, on the wire and without a client library, who its cluster is.  Used to tell when it is ready.

Metadata version 4 (spoken by 0.11 to 4.x) over the plain inner listener: message formats of the Kafka protocol guide.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

from anabranch.errors import ProtocolError
from anabranch.sandbox.layout import LOOPBACK

_METADATA, _VERSION, _CORRELATION = 3, 4, 1
_CLIENT = b"anabranch-sandbox"


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What one broker says of its cluster; ``controller`` is -1 where it knows none."""

    cluster_id: str
    brokers: frozenset[int]
    controller: int


@dataclass(eq=False)
class MalformedAnswerError(ProtocolError):
    """A broker's answer to a probe broke the format."""

    port: int
    problem: str

    _message = "127.0.0.1:{port} answered a metadata request with bytes that break the format: {problem}"


def ask_cluster(port: int, timeout: float = 2.0) -> ProbeAnswer:
    """Ask the broker on that port, within ``timeout`` seconds; raises ``OSError`` and ``MalformedAnswerError``."""
    header = struct.pack(">hhih", _METADATA, _VERSION, _CORRELATION, len(_CLIENT)) + _CLIENT
    body = struct.pack(">i?", 0, False)  # no topics, none to be created
    request = header + body
    with socket.create_connection((LOOPBACK, port), timeout) as connection:
        connection.settimeout(timeout)
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", _read(connection, 4))
        answer = _read(connection, size)
    try:
        return decode_answer(answer)
    except (struct.error, UnicodeDecodeError) as error:
        raise MalformedAnswerError(port, str(error)) from error


def decode_answer(answer: bytes) -> ProbeAnswer:
    """Decode correlation id, throttle time, brokers, cluster id and controller; raises ``struct.error``."""
    at = 8
    (count,) = struct.unpack_from(">i", answer, at)
    at += 4
    brokers = []
    for _ in range(count):
        node_id, host_length = struct.unpack_from(">ih", answer, at)
        brokers.append(node_id)
        at += 6 + host_length + 4
        (rack_length,) = struct.unpack_from(">h", answer, at)
        at += 2 + max(rack_length, 0)
    (id_length,) = struct.unpack_from(">h", answer, at)
    at += 2
    cluster_id = answer[at : at + max(id_length, 0)].decode()
    at += max(id_length, 0)
    (controller,) = struct.unpack_from(">i", answer, at)
    return ProbeAnswer(cluster_id, frozenset(brokers), controller)


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise ConnectionResetError("the broker closed the connection")
        data += chunk
    return bytes(data)
