"""Retries for what brokers learn late: new topics, new leaders, transaction markers.

The controller answers CreateTopics before its brokers have heard of the topic (KIP-631: they follow its log), each of
which shows it in its metadata before it leads its partitions; and a coordinator answers EndTxn before the markers are
in the logs (KIP-98).  confluent-kafka, a development dependency, is imported when it is used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from anabranch.errors import ClusterError
from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.connection import Transport
from anabranch.kafka.groups import describe
from anabranch.kafka.partitions import new_producer_id, transactional_producer_id
from qa.timeouts import SCALE, TIMEOUT_S

if TYPE_CHECKING:
    from anabranch.sandbox import SandboxCluster

# For a single broker that no test restarts: it must not be fenced while it stands still, for there is no other to lead.
STEADY = {"broker.session.timeout.ms": "60000"}
# For one that is killed and comes back: it may not before a session's time, and gives up after a minute.
RESTARTED = {"broker.session.timeout.ms": "25000"}
_ANSWER_S = 10.0 * SCALE
_LOOK_S = 0.05
_EXISTS = 36
_PASSING = frozenset({7, 8, 38, 41, -185, -195})
"""Timed out, a broker that is not available, too few brokers for the replicas, no controller; and the client's own
words for a time that was over and for a connection that was lost."""
Place = tuple[str, int]
T = TypeVar("T")


def create_topics(cluster: SandboxCluster, topics: Sequence[Any]) -> None:
    """Make these (confluent-kafka's ``NewTopic``) and return when they can be used; raises what the client raises."""
    make_topics({"bootstrap.servers": cluster.internal_bootstrap}, topics)
    await_topics(cluster, {topic.topic: topic.num_partitions for topic in topics})


def make_topics(config: Mapping[str, Any], topics: Sequence[Any]) -> None:
    """Have the controller make these topics; raises what the client raises.

    A broker that has stood still for longer than its session counts as away for a moment: then there are too few for
    the replicas.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"log_level": 0, **config})  # what goes wrong is raised
    left = {topic.topic: topic for topic in topics}
    deadline, asked = time.monotonic() + TIMEOUT_S, False
    while left:
        for name, made in admin.create_topics(list(left.values())).items():
            try:
                made.result(TIMEOUT_S)
            except KafkaException as error:
                code = error.args[0].code()
                if not (asked and code == _EXISTS):  # else it was made, and the answer was lost
                    if code not in _PASSING or time.monotonic() > deadline:
                        raise
                    continue
            del left[name]
        asked = True
        if left:
            time.sleep(0.5)


def await_topics(cluster: SandboxCluster, partitions: Mapping[str, int]) -> None:
    """Return when every running broker knows so many partitions with their leaders, and each leader answers for them.

    Raises what the last to be asked raised, after two minutes.
    """
    for broker in cluster.brokers:
        if broker.alive:
            retry(lambda port=broker.internal_port: asyncio.run(_check(port, partitions)))  # type: ignore[misc]
    places = [(name, number) for name, count in partitions.items() for number in range(count)]
    log_ends({"bootstrap.servers": cluster.internal_bootstrap}, places)


def await_coordinators(cluster: SandboxCluster) -> None:
    """Return when groups and transactions have coordinators: the first of a young cluster waits for their topics.

    Raises what was answered last, after two minutes.
    """

    async def ask() -> None:
        async with _client(cluster.brokers[0].internal_port) as client:
            await describe(client, ["nobody"])
            code, _, _ = await transactional_producer_id(client, "nobody")
            client.check(code, "InitProducerId", "transactional id nobody")
            await new_producer_id(client)

    retry(lambda: asyncio.run(ask()))


def _client(port: int) -> Client:
    return Client(Transport("sandbox", "User:ANONYMOUS"), [("127.0.0.1", port)])


async def _check(port: int, partitions: Mapping[str, int]) -> None:
    """Raise TimeoutError where a broker does not know them all yet, and ClusterError where it does not answer."""
    async with _client(port) as client:
        topics = (await client.metadata(partitions)).topics
    for name, count in partitions.items():
        topic = topics.get(name)
        led = 0 if topic is None else sum(part.leader >= 0 for part in topic.partitions.values())
        if led != count:
            raise TimeoutError(f"the broker at port {port} knows {led} of {count} partitions of {name}")


def existing(config: Mapping[str, Any], topics: Iterable[str]) -> dict[str, int]:
    """The partition counts of those of some topics that are there, as some broker tells it.

    Raises what the client raises, after two minutes.
    """
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({**config, "log_level": 0})
    found = retry(lambda: admin.list_topics(timeout=_ANSWER_S).topics)
    return {name: len(found[name].partitions) for name in topics if name in found and found[name].error is None}


def log_ends(config: Mapping[str, Any], places: Iterable[Place]) -> dict[Place, int]:
    """Where partitions that are there end: high watermarks, or last stable offsets if the config reads committed.

    Raises what the client raises, after two minutes.
    """
    from confluent_kafka import Consumer

    # By itself librdkafka asks for the last stable offsets.
    consumer = Consumer({"group.id": "anabranch-ends", "log_level": 0, "isolation.level": "read_uncommitted", **config})
    try:
        return {place: watermarks(consumer, place)[1] for place in places}
    finally:
        consumer.close()


def watermarks(consumer: Any, place: Place) -> tuple[int, int]:
    """Where a partition's log begins and ends, asked again while its leader is not found or does not answer."""
    from confluent_kafka import TopicPartition

    low, high = retry(lambda: consumer.get_watermark_offsets(TopicPartition(*place), timeout=_ANSWER_S))
    return int(low), int(high)


def await_markers(config: Mapping[str, Any], places: Iterable[Place]) -> None:
    """Return when no transaction is open in these partitions: all is below the last stable offset."""
    wanted = list(places)

    def look() -> None:
        ends = log_ends(config, wanted)
        stable = log_ends({**config, "isolation.level": "read_committed"}, wanted)
        if open_still := {place: (stable[place], end) for place, end in ends.items() if stable[place] < end}:
            raise TimeoutError(f"a transaction stays open: {open_still}")

    retry(look)


def retry(ask: Callable[[], T], seconds: float = TIMEOUT_S) -> T:
    """Ask until there is an answer; raises the last refusal of a client, or TimeoutError, after ``seconds``."""
    from confluent_kafka import KafkaException

    deadline = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except (KafkaException, ClusterError, TimeoutError):
            if time.monotonic() > deadline:
                raise
        time.sleep(_LOOK_S)
