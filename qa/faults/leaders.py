"""Moving the leadership of partitions about, as fast as a cluster does it."""

from __future__ import annotations

import asyncio
import contextlib
import random
import struct
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple, TypeVar

from anabranch.errors import ClusterError
from anabranch.kafka.admin import alter_topic_configs
from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.cluster import ClusterMetadata
from anabranch.kafka.compact import uvarint
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import UnreachableError
from anabranch.sandbox import SandboxCluster
from qa.timeouts import SCALE

_ELECT_LEADERS = 43
_ALTER_PARTITION_REASSIGNMENTS = 45
_ANSWER_S = 2.0 * SCALE
Place = tuple[str, int]
T = TypeVar("T")


class Replicas(NamedTuple):
    """Where a partition lies: its leader (-1 for none), its replicas in their order, those in sync."""

    leader: int
    replicas: tuple[int, ...]
    in_sync: frozenset[int]


class Leaders:
    """Moves leaders of one cluster over its inner listener, past all proxies; nothing here waits for long."""

    def __init__(self, cluster: SandboxCluster) -> None:
        self._cluster = cluster

    def look(self, topics: Collection[str]) -> dict[Place, Replicas]:
        """How the partitions of some topics stand, as the first broker that answers knows it; raises ClusterError."""

        async def ask(client: Client) -> ClusterMetadata:
            return await client.metadata(topics)

        return {
            (name, number): Replicas(part.leader, part.replicas, frozenset(part.isr))
            for name, topic in self._anyone(ask).topics.items()
            for number, part in topic.partitions.items()
        }

    def rotate(self, topics: Collection[str], chance: random.Random) -> int:
        """Let another replica in sync lead each partition; returns how many could be moved.

        Raises ClusterError where nobody answers.
        """
        orders: dict[Place, tuple[int, ...]] = {}
        for place, now in self.look(topics).items():
            others = sorted(now.in_sync - {now.leader})
            if others:
                first = chance.choice(others)
                orders[place] = (first, *(replica for replica in now.replicas if replica != first))
        self.assign(orders)
        self.elect(orders)
        return len(orders)

    def assign(self, orders: Mapping[Place, Sequence[int]]) -> None:
        """Give partitions these replicas, the first of which is preferred; raises ClusterError where nobody answers."""
        if orders:
            self._send(_ALTER_PARTITION_REASSIGNMENTS, 0, _reassignment(orders))

    def elect(self, places: Collection[Place], *, unclean: bool = False) -> None:
        """Ask for elections and wait for the answer; what cannot be elected stays as it is.

        Raises ClusterError where nobody answers.
        """
        if places:
            self._send(_ELECT_LEADERS, 2, _election(places, unclean))

    def _send(self, api: int, version: int, body: bytes) -> None:
        """Send a flexible request, which any broker hands on to the controller, and wait for its answer."""

        async def ask(client: Client) -> None:
            connection = await client.any_connection()
            (await connection.submit(api, version, True, (body,), _ANSWER_S)).release()

        self._anyone(ask)

    def _anyone(self, ask: Callable[[Client], Awaitable[T]]) -> T:
        async def one(port: int) -> T:
            transport = Transport(self._cluster.spec.name, "User:ANONYMOUS")
            async with Client(transport, [("127.0.0.1", port)]) as client, asyncio.timeout(_ANSWER_S):
                return await ask(client)

        for broker in self._cluster.brokers:
            if broker.alive:
                with contextlib.suppress(ClusterError, TimeoutError):  # it stands still, or is just beginning
                    return asyncio.run(one(broker.internal_port))
        raise UnreachableError(self._cluster.spec.name, tuple(repr(broker) for broker in self._cluster.brokers))

    def let_one_do(self, topics: Collection[str]) -> None:
        """One replica in sync suffices for an acknowledgement from now on: the others may be lost with it."""

        async def ask(client: Client) -> None:
            for topic in topics:
                await alter_topic_configs(client, topic, {"min.insync.replicas": "1"})

        self._anyone(ask)


def _reassignment(orders: Mapping[Place, Sequence[int]]) -> bytes:
    """AlterPartitionReassignments v0 (KIP-455)."""
    parts = {place: struct.pack(">i", place[1]) + _numbers(replicas) + _NO_TAGS for place, replicas in orders.items()}
    by_topic = {topic: [part for place, part in parts.items() if place[0] == topic] for topic, _ in orders}
    topics = [_string(topic) + _array(found) + _NO_TAGS for topic, found in by_topic.items()]
    return _TIMEOUT + _array(topics) + _NO_TAGS


def _election(places: Collection[Place], unclean: bool) -> bytes:
    """ElectLeaders v2 (KIP-460, KIP-482)."""
    by_topic = {topic: [number for name, number in places if name == topic] for topic, _ in places}
    topics = [_string(topic) + _numbers(numbers) + _NO_TAGS for topic, numbers in by_topic.items()]
    return struct.pack(">b", unclean) + _array(topics) + _TIMEOUT + _NO_TAGS


_TIMEOUT = struct.pack(">i", int(_ANSWER_S * 1000))
_NO_TAGS = b"\0"


def _string(text: str) -> bytes:
    return uvarint(len(text.encode()) + 1) + text.encode()


def _array(items: Sequence[bytes]) -> bytes:
    return uvarint(len(items) + 1) + b"".join(items)


def _numbers(numbers: Sequence[int]) -> bytes:
    return _array([struct.pack(">i", number) for number in numbers])
