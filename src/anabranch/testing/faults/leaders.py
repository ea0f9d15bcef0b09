"""Moving the leadership of partitions about, as fast as a cluster does it."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, NamedTuple

from anabranch.errors import ClusterError
from anabranch.kafka.compact import uvarint
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.frames import FramePool
from anabranch.sandbox import Cluster

_ALTER_PARTITION_REASSIGNMENTS = 45
_ANSWER_S = 2.0
Place = tuple[str, int]


class Replicas(NamedTuple):
    """Where a partition lies: its leader (-1 for none), its replicas in their order, those in sync."""

    leader: int
    replicas: tuple[int, ...]
    in_sync: frozenset[int]


class Leaders:
    """Moves leaders of one cluster over its inner listener, past all proxies; nothing here waits for long."""

    def __init__(self, cluster: Cluster) -> None:
        from confluent_kafka.admin import AdminClient

        self._cluster = cluster
        self._admin = AdminClient({"bootstrap.servers": cluster.internal_bootstrap, "log_level": 0})

    def look(self, topics: Iterable[str]) -> dict[Place, Replicas]:
        """How the partitions of some topics stand; raises ``KafkaException``."""
        wanted = set(topics)
        found = self._admin.list_topics(timeout=_ANSWER_S)
        return {
            (name, number): Replicas(part.leader, tuple(part.replicas), frozenset(part.isrs))
            for name, topic in found.topics.items()
            if name in wanted
            for number, part in topic.partitions.items()
        }

    def rotate(self, topics: Iterable[str], chance: random.Random) -> int:
        """Let another replica in sync lead each partition; returns how many could be moved.

        Raises ``KafkaException`` and ``ClusterError`` where nobody answers.
        """
        orders: dict[Place, tuple[int, ...]] = {}
        for place, now in self.look(topics).items():
            others = sorted(now.in_sync - {now.leader})
            if others:
                first = chance.choice(others)
                orders[place] = (first, *(one for one in now.replicas if one != first))
        self.assign(orders)
        self.elect(orders)
        return len(orders)

    def assign(self, orders: Mapping[Place, Sequence[int]]) -> None:
        """Give partitions these replicas, the first of which is preferred; raises ClusterError where nobody answers."""
        if orders:
            asyncio.run(self._assign(_reassignment(orders)))

    async def _assign(self, body: bytes) -> None:
        pool, last = FramePool(), None
        for broker in self._cluster.brokers:
            if not broker.alive:
                continue
            name, port = f"broker {broker.node_id}", broker.internal_port
            transport = Transport(self._cluster.spec.name, "User:ANONYMOUS")
            try:
                connection = await Connection.open(transport, name, "127.0.0.1", port, pool, _ANSWER_S)
            except ClusterError as error:
                last = error  # paused perhaps
                continue
            try:
                asked = connection.submit(_ALTER_PARTITION_REASSIGNMENTS, 0, True, (body,), _ANSWER_S)
                (await asked).release()
                return
            except ClusterError as error:
                last = error
            finally:
                connection.abort("done")
        if last is not None:
            raise last

    def elect(self, places: Iterable[Place], *, unclean: bool = False) -> None:
        """Ask for elections and wait for the answers; what cannot be elected stays as it is."""
        from confluent_kafka import ElectionType, TopicPartition

        kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
        partitions = [TopicPartition(*place) for place in places]
        if partitions:
            asked: Future[Any] = self._admin.elect_leaders(kind, partitions, request_timeout=_ANSWER_S)
            wait([asked], timeout=2 * _ANSWER_S)

    def let_one_do(self, topics: Iterable[str]) -> None:
        """One replica in sync suffices for an acknowledgement from now on: the others may be lost with it."""
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

        setting = ConfigEntry("min.insync.replicas", "1", incremental_operation=AlterConfigOpType.SET)
        wanted = [ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[setting]) for topic in topics]
        for future in self._admin.incremental_alter_configs(wanted, request_timeout=5.0).values():
            future.result(10)


def _reassignment(orders: Mapping[Place, Sequence[int]]) -> bytes:
    """AlterPartitionReassignments v0 (KIP-455), flexible."""
    by_topic: dict[str, list[bytes]] = {}
    for (topic, partition), replicas in orders.items():
        numbers = struct.pack(f">{len(replicas)}i", *replicas)
        part = struct.pack(">i", partition) + uvarint(len(replicas) + 1) + numbers + b"\0"
        by_topic.setdefault(topic, []).append(part)
    body = struct.pack(">i", int(_ANSWER_S * 1000)) + uvarint(len(by_topic) + 1)
    for topic, parts in by_topic.items():
        name = topic.encode()
        body += uvarint(len(name) + 1) + name + uvarint(len(parts) + 1) + b"".join(parts) + b"\0"
    return body + b"\0"
