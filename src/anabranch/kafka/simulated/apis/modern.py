"""Groups of KIP-848 and KIP-932, read and written by hand: the library has no schema of these requests.

Source: ConsumerGroupHeartbeatRequest.json, ConsumerGroupDescribeRequest.json, ShareGroupHeartbeatRequest.json and their
responses in Apache Kafka; all versions are flexible.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from anabranch.kafka.compact import read_string, read_uvarint, skip_tags, uvarint
from anabranch.kafka.simulated.access import DESCRIBE, READ
from anabranch.kafka.simulated.apis.groups import refused
from anabranch.kafka.simulated.broker import Api, ClientSession
from anabranch.kafka.simulated.groups import (
    NON_EMPTY,
    NOT_FOUND,
    ConsumerMember,
    HeartbeatResult,
    Place,
    SimulatedGroup,
)

INTERVAL_MS = 1000
NO_OPERATIONS = -(1 << 31)
_Reply = Callable[[Any], None]


class _Flexible:
    """What the broker asks of a request's class."""

    def __init__(self, key: int, newest: int) -> None:
        self.API_KEY = key
        self.valid_versions = (0, newest)

    def flexible_version_q(self, _: int) -> bool:
        """In all versions."""
        return True


def _text(value: str | None) -> bytes:
    if value is None:
        return b"\0"
    raw = value.encode()
    return uvarint(len(raw) + 1) + raw


def _names(view: memoryview, at: int) -> tuple[list[str] | None, int]:
    count, at = read_uvarint(view, at)
    names = []
    for _ in range(count - 1):
        name, at = read_string(view, at)
        names.append(name)
    return (names if count else None), at


def _places(session: ClientSession, places: Iterable[Place]) -> bytes:
    """Partitions by their topics' ids."""
    topics: dict[uuid.UUID, list[int]] = {}
    for topic, index in sorted(places):
        topics.setdefault(session.broker.cluster.topics[topic].id, []).append(index)
    out = bytearray(uvarint(len(topics) + 1))
    for topic_id, indexes in topics.items():
        out += topic_id.bytes + uvarint(len(indexes) + 1)
        for index in indexes:
            out += index.to_bytes(4)
        out += b"\0"
    return bytes(out + b"\0")


class ConsumerGroupHeartbeat:
    """A member of a group of KIP-848 joins, goes on or leaves."""

    request = _Flexible(68, 1)

    def decode(self, body: bytes, version: int) -> tuple[str, int, ConsumerMember]:
        """(group, member epoch, the member as it tells of itself; topics' ids stand for their names)."""
        view = memoryview(body)
        group, at = read_string(view, 0)
        member, at = read_string(view, at)
        (epoch,) = struct.unpack_from(">i", view, at)
        _, at = read_string(view, at + 4)
        _, at = read_string(view, at)
        topics, at = _names(view, at + 4)
        if version >= 1:
            _, at = read_string(view, at)
        _, at = read_string(view, at)
        count, at = read_uvarint(view, at)
        owned: set[Place] = set()
        for _ in range(count - 1):
            topic_id = str(uuid.UUID(bytes=bytes(view[at : at + 16])))
            parts, at = read_uvarint(view, at + 16)
            owned |= {(topic_id, struct.unpack_from(">i", view, at + 4 * one)[0]) for one in range(parts - 1)}
            at = skip_tags(view, at + 4 * (parts - 1))
        return group, epoch, ConsumerMember(member, "", "", epoch, tuple(topics or ()), frozenset(owned))

    def handle(
        self, session: ClientSession, request: tuple[str, int, ConsumerMember], version: int, reply: _Reply
    ) -> None:
        """By the coordinator."""
        name, epoch, reader = request
        cluster = session.broker.cluster
        reader.client_id, reader.host = session.client_id, f"/{session.host}"
        names = {str(topic.id): topic.name for topic in cluster.topics.values()}
        reader.owned = frozenset((names[topic], index) for topic, index in reader.owned if topic in names)
        code = refused(session, READ, name)
        beat = HeartbeatResult(code) if code else cluster.groups.beat(name, reader, epoch)
        out = bytearray((0).to_bytes(4) + beat.code.to_bytes(2, signed=True) + b"\0" + _text(beat.member or None))
        out += beat.epoch.to_bytes(4, signed=True) + INTERVAL_MS.to_bytes(4)
        if beat.assignment is None:
            out += b"\xff"
        else:
            out += b"\x01" + _places(session, beat.assignment)
        reply(bytes(out + b"\0"))


class ConsumerGroupDescribe:
    """What a group of KIP-848 is; of any other it says that there is none."""

    request = _Flexible(69, 1)

    def decode(self, body: bytes, version: int) -> list[str]:
        """The groups' names."""
        return _names(memoryview(body), 0)[0] or []

    def handle(self, session: ClientSession, request: list[str], version: int, reply: _Reply) -> None:
        """One row a group."""
        out = bytearray((0).to_bytes(4)) + uvarint(len(request) + 1)
        for name in request:
            group = session.broker.cluster.groups.known.get(name)
            code = refused(session, DESCRIBE, name)
            if not code and (group is None or group.kind != "consumer"):
                code = NOT_FOUND
            out += self._row(session, name, code, None if code else group, version)
        reply(bytes(out + b"\0"))

    def _row(self, session: ClientSession, name: str, code: int, group: SimulatedGroup | None, version: int) -> bytes:
        out = bytearray(code.to_bytes(2, signed=True)) + b"\0" + _text(name)
        epoch = 0 if group is None else group.generation
        out += _text("" if group is None else group.state) + epoch.to_bytes(4) * 2
        out += _text("" if group is None else group.protocol)
        consumer_members = [] if group is None else list(group.consumer_members.values())
        out += uvarint(len(consumer_members) + 1)
        for reader in consumer_members:
            out += _text(reader.id) + b"\0\0" + reader.epoch.to_bytes(4) + _text(reader.client_id) + _text(reader.host)
            out += uvarint(len(reader.topics) + 1) + b"".join(map(_text, reader.topics)) + b"\0"
            # Here a topic has its name after its id.
            for _ in range(2):
                out += self._named(session, reader.assigned)
            out += (b"\x01" if version >= 1 else b"") + b"\0"
        return bytes(out + NO_OPERATIONS.to_bytes(4, signed=True) + b"\0")

    def _named(self, session: ClientSession, places: Iterable[Place]) -> bytes:
        topics: dict[str, list[int]] = {}
        for topic, index in sorted(places):
            topics.setdefault(topic, []).append(index)
        out = bytearray(uvarint(len(topics) + 1))
        for topic, indexes in topics.items():
            out += session.broker.cluster.topics[topic].id.bytes + _text(topic) + uvarint(len(indexes) + 1)
            for index in indexes:
                out += index.to_bytes(4)
            out += b"\0"
        return bytes(out + b"\0")


class ShareGroupHeartbeat:
    """A member of a share group (KIP-932) joins: enough for the group to be there and to be told apart."""

    request = _Flexible(76, 1)

    def decode(self, body: bytes, version: int) -> tuple[str, str, int]:
        """(group, member, epoch)."""
        view = memoryview(body)
        group, at = read_string(view, 0)
        member, at = read_string(view, at)
        return group, member, struct.unpack_from(">i", view, at)[0]

    def handle(self, session: ClientSession, request: tuple[str, str, int], version: int, reply: _Reply) -> None:
        """Make the group."""
        name, member, epoch = request
        code = refused(session, READ, name)
        known = session.broker.cluster.groups.known
        if not code:
            group = known.setdefault(name, SimulatedGroup(name, "share", "simple", kind="share"))
            code = 0 if group.kind == "share" else NON_EMPTY
        out = bytearray((0).to_bytes(4) + code.to_bytes(2, signed=True) + b"\0" + _text(member))
        reply(bytes(out + max(1, epoch).to_bytes(4) + INTERVAL_MS.to_bytes(4) + b"\xff\0"))


APIS: tuple[Api, ...] = (ConsumerGroupHeartbeat(), ConsumerGroupDescribe(), ShareGroupHeartbeat())
