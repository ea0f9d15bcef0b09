"""Positions found by content in real logs, against where the records really are."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from anabranch.model.topics import TopicPartition
from anabranch.operations.mirrormaker.content import find, read_snapshot
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.brokers import STEADY, create_topics
from qa.timeouts import TIMEOUT_S
from tests.chance import seed
from tests.contract.lab import connect

pytestmark = pytest.mark.test

RECORDS = 60_000
PER_MS = 40
SHIFT = 1234
BEGIN_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[SandboxCluster]:
    """One cluster for a source and its copies: what is found does not depend on where they are."""
    with SandboxCluster.start(ClusterSpec("contents", overrides=STEADY)) as running:
        clock = {"message.timestamp.type": "LogAppendTime"}
        keep = {"retention.ms": "-1"}
        topics = [
            NewTopic("source", 1, 1, config=keep),
            NewTopic("copy", 1, 1, config=keep),
            NewTopic("clocked", 1, 1, config=keep | clock),
            NewTopic("dull-source", 1, 1, config=keep),
            NewTopic("dull-copy", 1, 1, config=keep),
        ]
        create_topics(running, topics)
        write(running, "source", range(RECORDS))
        for copy in ("copy", "clocked"):
            write(running, copy, range(-SHIFT, RECORDS))
        for dull in ("dull-source", "dull-copy"):
            write(running, dull, [7] * 3000)
        yield running


def write(cluster: SandboxCluster, topic: str, numbers: range | list[int]) -> None:
    """Records that tell their number, forty a millisecond; equal numbers are equal records."""
    # Idempotent: a busy broker that answers late must not have batches sent again behind later ones.
    settings = {"linger.ms": 20, "queue.buffering.max.messages": 200_000, "enable.idempotence": True}
    producer = Producer({**cluster.client_config(), **settings})
    for number in numbers:
        time = BEGIN_MS + (number + SHIFT) // PER_MS
        producer.produce(topic, b"%d" % number, b"%d" % (number % 100), partition=0, timestamp=time)
        producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0


def found(cluster: SandboxCluster, source: str, copy: str, questions: list[tuple[int, int]]) -> list[int | None]:
    """The answers to (position, MirrorMaker's answer)."""

    async def ask() -> list[int | None]:
        async with connect(cluster) as client:
            place, there = [await read_snapshot(client, TopicPartition(topic, 0)) for topic in (source, copy)]
            return [await find(place, position, there, answer) for position, answer in questions]

    return asyncio.run(ask())


def test_any_position_of_a_long_log_is_found_by_time_and_content(cluster: SandboxCluster) -> None:
    """However far MirrorMaker's answer is behind, and though forty records share each millisecond."""
    chance = random.Random(seed(5))
    positions = [0, 1, RECORDS - 1, RECORDS, *(chance.randrange(RECORDS) for _ in range(40))]
    answers = found(cluster, "source", "copy", [(position, SHIFT) for position in positions])
    assert answers == [position + SHIFT for position in positions]


def test_a_copy_with_its_own_clock_is_searched_from_the_answer_to_its_end(cluster: SandboxCluster) -> None:
    """Without times only a place that is the only one up to the end counts; further back there is no answer."""
    near = [RECORDS - 10_000, RECORDS - 1, RECORDS]
    answers = found(cluster, "source", "clocked", [(position, position + SHIFT - 500) for position in near])
    assert answers == [position + SHIFT for position in near]
    assert found(cluster, "source", "clocked", [(1000, 100)]) == [None]


def test_records_that_are_all_alike_give_no_answer(cluster: SandboxCluster) -> None:
    """Nothing tells which of equal records a position is at."""
    assert found(cluster, "dull-source", "dull-copy", [(1500, 1000)]) == [None]
