"""A cluster as its clients see it: addresses, leaders, coordinators, and one place to ask them.

Leader epochs only ever rise here: a broker that was stopped and goes on answers stale metadata, so the highest
epoch of all answers stands (LANE protocol, R1).
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from anabranch.errors import AnabranchError, ClusterError
from anabranch.kafka.acl_numbers import operations_of
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import (
    UNKNOWN_TOPIC,
    AuthenticationError,
    BrokerRefusedError,
    ConnectionLostError,
    LoginLostError,
    UnreachableError,
    check,
)
from anabranch.kafka.frames import FramePool
from anabranch.model.acls import AclOperation
from anabranch.model.topics import TopicPartition

NO_TOPIC_ID = uuid.UUID(int=0)
REFUSED_S = 5.0
ASK_S = 3.0
"""How long one of several brokers may take to say what it knows."""
_OTHERS = 4
"""How many more brokers are asked for what one does not know: each that is away costs ``ASK_S``, together."""
_COORDINATOR_RETRIES = {14, 15, 16}  # LOAD_IN_PROGRESS, NOT_AVAILABLE, NOT_COORDINATOR


@dataclass(frozen=True, slots=True)
class PartitionMeta:
    """Who leads one partition, since which epoch."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    error: int


@dataclass(frozen=True, slots=True)
class TopicMeta:
    """One topic of a metadata answer; ``operations`` are the allowed ACL operations, or None if not told."""

    name: str
    id: uuid.UUID
    internal: bool
    error: int
    partitions: dict[int, PartitionMeta]
    operations: frozenset[AclOperation] | None


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """One whole metadata answer."""

    cluster_id: str
    controller: int
    brokers: dict[int, tuple[str, int]]
    topics: dict[str, TopicMeta]


@dataclass(slots=True)
class _Known:
    brokers: dict[int, tuple[str, int]] = field(default_factory=dict)
    epochs: dict[tuple[uuid.UUID | str, int], tuple[int, int]] = field(default_factory=dict)
    controller: int = -1
    cluster_id: str = ""


class _Opening:
    """Connects for one caller after the other; who asked before an attempt that failed began takes it for its own.

    A broker that does not answer costs each attempt ten seconds, and many may wait for it.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._failed_from = 0.0
        self._failure: ClusterError | None = None

    async def connection(
        self, find: Callable[[], Connection | None], connect: Callable[[], Awaitable[Connection]]
    ) -> Connection:
        """What ``find`` finds once it is this caller's turn, else what ``connect`` opens; raises what that raises."""
        asked = time.monotonic()
        async with self._lock:
            if (found := find()) is not None:
                return found
            if self._failure is not None and self._failed_from > asked:
                raise self._failure
            began = time.monotonic()
            try:
                opened = await connect()
            except ClusterError as error:
                self._failed_from, self._failure = began, error
                raise
            self._failure = None
            return opened


class Cluster:
    """Connections to one cluster; use as an async context manager, within one event loop.

    ``was_let_in``: the same login was taken before, here or by whoever started this process.
    """

    def __init__(self, transport: Transport, bootstrap: Iterable[tuple[str, int]], was_let_in: bool = False) -> None:
        self.transport = transport
        self.name = transport.cluster
        self.pool = FramePool()
        self._bootstrap = tuple(bootstrap)
        self._known = _Known()
        self._connections: dict[tuple[int, str], Connection] = {}
        self._opening: dict[tuple[int, str], _Opening] = {}
        self._opening_any = _Opening()
        self._was_let_in = was_let_in
        self._refused: tuple[float, LoginLostError] | None = None
        self._coordinators: dict[tuple[int, str], int] = {}

    async def __aenter__(self) -> Cluster:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """Where it was first asked: hosts with their ports."""
        return self._bootstrap

    @property
    def bootstrap(self) -> tuple[str, ...]:
        """Where it was first asked, each ``host:port``."""
        return tuple(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self._bootstrap)

    def close(self) -> None:
        """End every connection at once."""
        for connection in list(self._connections.values()):
            connection.abort("closed by us")
        self._connections.clear()

    # -- connections -----------------------------------------------------------------------------------

    async def connection(self, node: int, purpose: str = "main") -> Connection:
        """A live connection to a broker; one for each purpose, so that a long poll holds up nothing else."""
        key = (node, purpose)

        def find() -> Connection | None:
            found = self._connections.get(key)
            return found if found is not None and found.closed is None else None

        async def connect() -> Connection:
            if node not in self._known.brokers:
                await self.metadata([])
            address = self._known.brokers.get(node)
            if address is None:
                raise ConnectionLostError(self.name, f"broker {node}", "not in the cluster's metadata")
            opened = await self._opened(*address)
            self._connections[key] = opened
            return opened

        return find() or await self._opening.setdefault(key, _Opening()).connection(find, connect)

    async def any_connection(self) -> Connection:
        """A live connection to any broker; raises UnreachableError naming what happened at each address."""
        return self._live() or await self._opening_any.connection(self._live, self._open_any)

    def _live(self) -> Connection | None:
        for (_, purpose), connection in self._connections.items():
            if purpose in {"main", "bootstrap"} and connection.closed is None:
                return connection
        return None

    async def _open_any(self) -> Connection:
        attempts: list[str] = []
        addresses = list(self._known.brokers.items())
        addresses += [(-1 - index, address) for index, address in enumerate(self._bootstrap)]
        for node, address in addresses:
            try:
                opened = await self._opened(*address)
            except ConnectionLostError as error:
                attempts.append(f"{error.node}: {error.reason}")
                continue
            self._connections[(node, "main" if node >= 0 else "bootstrap")] = opened
            return opened
        raise UnreachableError(self.name, tuple(attempts))

    async def _opened(self, host: str, port: int) -> Connection:
        """A new connection.  A login that is refused now and was not before may be taken again: then it is tried a few
        times a minute, since many a server locks a user out who is refused too often."""
        if self._refused is not None and time.monotonic() < self._refused[0]:
            raise self._refused[1]
        try:
            opened = await Connection.open(self.transport, f"{host}:{port}", host, port, self.pool)
        except AuthenticationError as error:
            if not self._was_let_in:
                raise
            lost = LoginLostError(error.cluster, error.principal, error.mechanism, error.reason)
            self._refused = time.monotonic() + REFUSED_S, lost
            raise lost from error
        self._was_let_in, self._refused = True, None
        return opened

    # -- metadata --------------------------------------------------------------------------------------

    async def metadata(
        self, topics: Iterable[str] | None, operations: bool = False, node: int | None = None
    ) -> ClusterMetadata:
        """Ask for some topics (None: all of them, []: only the brokers), of one broker (None: any)."""
        last: AnabranchError | None = None
        for _ in range(3):
            connection = await (self.any_connection() if node is None else self.connection(node))
            request = MetadataRequest(
                topics=None
                if topics is None
                else [MetadataRequest.MetadataRequestTopic(topic_id=NO_TOPIC_ID, name=name) for name in topics],
                allow_auto_topic_creation=False,
                include_topic_authorized_operations=operations,
            )
            try:
                return self._learn(await connection.call(request, cap=12))
            except ConnectionLostError as error:
                last = error
        assert last is not None
        raise last

    def _learn(self, response: Any) -> ClusterMetadata:
        known = self._known
        known.cluster_id = response.cluster_id or known.cluster_id
        known.controller = response.controller_id
        if response.brokers:
            known.brokers = {broker.node_id: (broker.host, broker.port) for broker in response.brokers}
        topics = {}
        for topic in response.topics:
            topic_id = topic.topic_id or NO_TOPIC_ID
            partitions = {}
            for part in topic.partitions:
                key = (topic_id if topic_id.int else topic.name, part.partition_index)
                leader, epoch = part.leader_id, part.leader_epoch
                seen = known.epochs.get(key)
                if seen is not None and seen[1] > epoch:
                    leader, epoch = seen
                else:
                    known.epochs[key] = (leader, epoch)
                partitions[part.partition_index] = PartitionMeta(
                    leader, epoch, tuple(part.replica_nodes), tuple(part.isr_nodes), part.error_code
                )
            allowed = topic.authorized_operations
            topics[topic.name] = TopicMeta(
                topic.name,
                topic_id,
                bool(topic.is_internal),
                topic.error_code,
                partitions,
                None if allowed is None or isinstance(allowed, int) else operations_of(allowed),
            )
        return ClusterMetadata(known.cluster_id, known.controller, dict(known.brokers), topics)

    async def described(self, partitions: Iterable[TopicPartition]) -> dict[str, TopicMeta]:
        """The topics of partitions that are to be there; where the broker that is asked lacks one, others are asked.

        A broker may have old metadata for long.  Errors inside are the caller's, also that no broker that was asked
        knows a topic; raises ClusterError where none answers.
        """
        wanted: dict[str, set[int]] = {}
        for one in partitions:
            wanted.setdefault(one.topic, set()).add(one.partition)

        def lacks(topic: str) -> bool:
            meta = found[topic]
            return meta.error == UNKNOWN_TOPIC or (not meta.error and not wanted[topic] <= meta.partitions.keys())

        answer = await self.metadata(sorted(wanted))
        found = {topic: answer.topics[topic] for topic in wanted}
        lacking = sorted(filter(lacks, found))
        others = sorted(answer.brokers)[: _OTHERS + 1] if lacking else []  # the one that was asked may be among them
        for told in await asyncio.gather(*(told_by(self, node, lacking) for node in others)):
            if told is not None:
                found |= {topic: told.topics[topic] for topic in lacking if topic in told.topics and lacks(topic)}
        return found

    async def partition(self, topic: str, index: int) -> tuple[TopicMeta, PartitionMeta]:
        """The topic and one of its partitions, asked again; raises BrokerRefusedError while it has no leader."""
        meta = (await self.described([TopicPartition(topic, index)]))[topic]
        self.check(meta.error, "Describe", f"topic {topic}")
        part = meta.partitions.get(index)
        if part is None:
            raise BrokerRefusedError(self.name, "Metadata", f"partition {topic}-{index}", UNKNOWN_TOPIC)
        if part.leader < 0:
            raise BrokerRefusedError(self.name, "Metadata", f"partition {topic}-{index}", 5)
        return meta, part

    async def cluster_id(self) -> str:
        """The cluster's own id."""
        return (await self.metadata([])).cluster_id

    # -- asking ----------------------------------------------------------------------------------------

    async def call(self, request: Any, node: int | None = None, timeout: float = 30.0, cap: int | None = None) -> Any:
        """Ask one broker (None: any) and return the decoded answer; errors inside it are the caller's."""
        connection = await (self.any_connection() if node is None else self.connection(node))
        return await connection.call(request, timeout, cap)

    async def call_controller(self, request: Any, timeout: float = 30.0, cap: int | None = None) -> Any:
        """Ask the controller (KRaft brokers forward to it themselves)."""
        controller = (await self.metadata([])).controller
        return await self.call(request, controller if controller >= 0 else None, timeout, cap)

    async def coordinator(self, key: str, kind: int, timeout: float = 30.0) -> int:
        """The node that coordinates a group (kind 0) or a transactional id (kind 1); waits while it loads."""
        found = self._coordinators.get((kind, key))
        if found is not None:
            return found
        deadline = time.monotonic() + timeout
        while True:
            request = FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])
            response = await self.call(request, cap=4)
            answer = response.coordinators[0] if response.coordinators else response
            if answer.error_code == 0:
                self._coordinators[(kind, key)] = answer.node_id
                self._known.brokers.setdefault(answer.node_id, (answer.host, answer.port))
                return int(answer.node_id)
            if answer.error_code not in _COORDINATOR_RETRIES or time.monotonic() > deadline:
                self.check(answer.error_code, "Describe", f"{'transactional id' if kind else 'group'} {key}")
            await asyncio.sleep(0.1)

    def forget_coordinator(self, key: str, kind: int) -> None:
        """Ask again next time: the coordinator moved."""
        self._coordinators.pop((kind, key), None)

    def check(self, code: int, request: str, resource: str, detail: str | None = "") -> None:
        """Raise the fitting error for a code of this cluster."""
        check(
            code,
            cluster=self.name,
            principal=self.transport.principal,
            request=request,
            resource=resource,
            detail=detail,
        )


async def told_by(cluster: Cluster, node: int, topics: Iterable[str]) -> ClusterMetadata | None:
    """What one broker knows of some topics; None where it does not say within ``ASK_S``."""
    try:
        async with asyncio.timeout(ASK_S):
            return await cluster.metadata(topics, node=node)
    except (ClusterError, TimeoutError):
        return None
