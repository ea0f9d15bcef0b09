"""Connections that fail, stall and end, and the frames that answers are received into."""

import asyncio
import socket
from collections.abc import Iterator

import pytest
from kafka.protocol.metadata import MetadataRequest

from anabranch.kafka import fetch, produce
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import BrokerRefusedError, ConnectionLostError, UnreachableError
from anabranch.kafka.frames import Frame
from anabranch.kafka.partitions import EARLIEST, LATEST, list_offset
from anabranch.model.cluster import ClusterContext
from anabranch.records.encode import encode
from anabranch.records.record import Record, TimestampType
from anabranch.records.split import split
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S
from tests.integration.kafka.security import ask, context_of

pytestmark = pytest.mark.test

BATCH_BYTES = 900_000
BATCHES = 130


@pytest.fixture(scope="module", params=["2.8.2", "4.3.1"])
def cluster(request: pytest.FixtureRequest) -> Iterator[SandboxCluster]:
    """A cluster without security, of the oldest and the newest version."""
    version: str = request.param
    # The broker cuts a fetch at 55 MiB by default, whatever the client asks for.
    large = {"fetch.max.bytes": str(200 << 20)}
    spec = ClusterSpec(name=f"plain-{version.replace('.', '-')}", version=version, overrides=large)
    with SandboxCluster.start(spec) as running:
        yield running


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed() -> Iterator[tuple[int, int]]:
    """Two ports that nobody listens on, nor will while the test lasts: they are taken."""
    with socket.socket() as one, socket.socket() as two:
        for taken in (one, two):
            taken.bind(("127.0.0.1", 0))
        yield one.getsockname()[1], two.getsockname()[1]


def context_at(*ports: int) -> ClusterContext:
    """A context of addresses on this machine."""
    return ClusterContext("somewhere", tuple(f"127.0.0.1:{port}" for port in ports))


async def http_server() -> asyncio.Server:
    """A server that speaks something else."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", 0)


def test_an_unreachable_cluster_names_every_address(closed: tuple[int, int]) -> None:
    """Each bootstrap server is tried, and the error says what happened at each."""
    with pytest.raises(UnreachableError) as raised:
        ask(context_at(*closed), Client.cluster_id)
    assert all(f"127.0.0.1:{port}" in str(raised.value) for port in closed)
    assert len(raised.value.attempts) == 2
    assert "refused" in str(raised.value).lower()


def test_a_dead_bootstrap_server_is_passed_over(cluster: SandboxCluster, closed: tuple[int, int]) -> None:
    """One that answers is enough."""
    live = int(cluster.bootstrap.rpartition(":")[2])
    answered = ask(context_at(closed[0], live), Client.cluster_id)
    assert answered == ask(context_of(cluster), Client.cluster_id)


async def test_a_port_that_speaks_something_else_is_told() -> None:
    """The first bytes of an HTTP answer cannot be the length of a Kafka one."""
    server = await http_server()
    port = server.sockets[0].getsockname()[1]
    async with server:
        client = Client(Transport("somewhere", "User:ANONYMOUS"), [("127.0.0.1", port)])
        with pytest.raises(UnreachableError, match="is this a Kafka listener"):
            await client.cluster_id()


async def test_a_port_that_never_answers_is_given_up(silent: int) -> None:
    """Opening ends at its time limit with a reason."""
    client = Client(Transport("somewhere", "User:ANONYMOUS"), [("127.0.0.1", silent)])
    with pytest.raises(ConnectionLostError, match="no answer in time"):
        await Connection.open(client.transport, "silent", "127.0.0.1", silent, client.pool, timeout=0.3)


async def test_a_request_out_of_time_ends_the_connection_and_all_behind_it(cluster: SandboxCluster) -> None:
    """A stopped broker: the request fails at its limit, those behind it with it, and nothing more can be sent."""
    async with client_of(cluster) as client:
        connection = await client.any_connection()
        told: list[ConnectionLostError] = []
        connection.on_close.append(told.append)
        cluster.brokers[0].pause()
        try:
            request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
            asked = [asyncio.ensure_future(connection.call(request, timeout, 12)) for timeout in (0.3, 60.0, 60.0)]
            for one in asked:
                with pytest.raises(ConnectionLostError, match="no answer in time"):
                    await one
        finally:
            cluster.brokers[0].resume()
        assert told == [connection.closed]
        assert connection.in_flight == 0
        with pytest.raises(ConnectionLostError):
            await connection.call(request)
        assert await brokers_of(client), "a new connection is opened in its place"


async def test_a_killed_broker_ends_its_connections_at_once(cluster: SandboxCluster) -> None:
    """What is in flight fails with the connection, long before its own limit; then the broker is found again."""
    async with client_of(cluster) as client:
        connection = await client.any_connection()
        cluster.brokers[0].pause()
        asked = asyncio.ensure_future(connection.call(MetadataRequest(topics=[]), LONG_TIMEOUT_S, 12))
        await asyncio.sleep(0)
        await asyncio.to_thread(cluster.brokers[0].kill)
        async with asyncio.timeout(TIMEOUT_S):
            with pytest.raises(ConnectionLostError):
                await asked
        with pytest.raises(UnreachableError):
            await client.metadata([])
        await asyncio.to_thread(cluster.brokers[0].start)
        await asyncio.to_thread(cluster.wait_ready)
        assert await brokers_of(client)


async def test_concurrent_first_questions_share_one_connection(cluster: SandboxCluster) -> None:
    """A crowd that asks at once opens one connection for each purpose and leaks none."""
    async with client_of(cluster) as client:
        opened = await asyncio.gather(*(client.any_connection() for _ in range(10)))
        assert len({id(connection) for connection in opened}) == 1
        node = next(iter(await brokers_of(client)))
        again = await asyncio.gather(*(client.connection(node, "lanes") for _ in range(10)))
        assert len({id(connection) for connection in again}) == 1


async def test_an_unknown_topic_is_refused_by_name(cluster: SandboxCluster) -> None:
    """Nothing is created by asking."""
    async with client_of(cluster) as client:
        with pytest.raises(BrokerRefusedError, match="topic nowhere"):
            await client.partition("nowhere", 0)
        assert "nowhere" not in (await client.metadata(None)).topics


async def test_a_fetch_of_100_mb_arrives_whole_in_one_pooled_frame(cluster: SandboxCluster) -> None:
    """All batches come back in order in one answer, and the next answer reuses the memory of small ones."""
    async with client_of(cluster) as client:
        await create_topic(client, "bulk", 1, 1, {"retention.ms": "-1"})
        connection, topic_id = await leader_of(client, "bulk")
        one = encode([Record(0, 1_700_000_000_000, TimestampType.CREATE_TIME, None, bytes(BATCH_BYTES))])
        version = produce.version_for(connection)
        for _ in range(BATCHES):
            sent = produce.submit(connection, [produce.Outgoing("bulk", topic_id, 0, one)])
            frame = await sent
            assert [answer.code for answer in produce.parse(frame, version)] == [0]
            frame.release()
        end = await list_offset(connection, "bulk", 0, LATEST)
        assert end.offset == BATCHES

        limit = 110 << 20
        wanted = fetch.PartitionFetch("bulk", topic_id, 0, -1, 0, -1, limit)
        frame = await fetch.submit(connection, [wanted], max_wait_ms=1000, max_bytes=limit, timeout=TIMEOUT_S)
        code, (answer,) = fetch.parse(frame, fetch.version_for(connection))
        assert (code, answer.code) == (0, 0)
        assert len(answer.records) > 100_000_000
        headers = [header for _, header in split(answer.records)]
        assert [header.base_offset for header in headers] == list(range(len(headers)))
        assert len(headers) > 110
        frame.release()
        assert (await list_offset(connection, "bulk", 0, EARLIEST)).offset == 0
        assert connection.closed is None


async def test_frames_are_reused_and_those_in_hand_are_not(cluster: SandboxCluster) -> None:
    """While an answer is held its bytes stay; released, the next answer of that size takes them over."""
    async with client_of(cluster) as client:
        await create_topic(client, "frames", 1, 1, {"retention.ms": "-1"})
        connection, topic_id = await leader_of(client, "frames")
        one = encode([Record(0, 1_700_000_000_000, TimestampType.CREATE_TIME, b"k", bytes(200_000))])
        frame = await produce.submit(connection, [produce.Outgoing("frames", topic_id, 0, one)])
        frame.release()
        wanted = fetch.PartitionFetch("frames", topic_id, 0, -1, 0, -1, 1 << 20)

        async def fetched() -> tuple[Frame, memoryview]:
            answer = await fetch.submit(connection, [wanted], max_wait_ms=1000, max_bytes=1 << 20)
            return answer, answer.view

        first, first_view = await fetched()
        kept = bytes(first_view[8:])
        second, second_view = await fetched()
        assert second_view.obj is not first_view.obj
        assert bytes(first_view[8:]) == kept
        memory = first_view.obj
        first.release()
        third, third_view = await fetched()
        assert third_view.obj is memory
        second.release()
        third.release()


def client_of(cluster: SandboxCluster) -> Client:
    """A client of a cluster without security."""
    host, _, port = cluster.bootstrap.rpartition(":")
    return Client(Transport(cluster.spec.name, "User:ANONYMOUS"), [(host, int(port))])


async def brokers_of(client: Client) -> dict[int, tuple[str, int]]:
    """The brokers that are told, once some are: a controller takes one that stood still for dead, for a moment."""
    async with asyncio.timeout(TIMEOUT_S):
        while not (found := (await client.metadata([])).brokers):
            await asyncio.sleep(0.05)
    return found


async def leader_of(client: Client, topic: str) -> tuple[Connection, object]:
    """(connection to the leader of partition 0 once it leads, the topic's id)."""
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            try:
                meta, part = await client.partition(topic, 0)
                connection = await client.connection(part.leader, "lanes")
                if (await list_offset(connection, topic, 0, LATEST)).code == 0:
                    return connection, meta.id
            except BrokerRefusedError:
                pass
            await asyncio.sleep(0.05)
