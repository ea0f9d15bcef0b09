"""Groups of the newer protocol whose members send heartbeats unasked.

On a cluster whose brokers have them send one an hour, a group settles within a test's time only by these.  On one whose
brokers share partitions out at once, each of these may have one taken away.
"""

from __future__ import annotations

import multiprocessing
import threading
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer as PlainConsumer
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from anabranch.model.clock import monotonic
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.sdk import Consumer, settling
from anabranch.sdk.settling import Settling
from qa.brokers import STEADY, await_coordinators, create_topics
from qa.service import until
from tests.integration.sdk.fake_service import FakeService
from tests.integration.sdk.scene import Scene

pytestmark = [pytest.mark.full, pytest.mark.real]
HOUR_MS, MEMBERS, PARTITIONS = 3_600_000, 4, 8
HOURLY = {
    **STEADY,
    **{f"group.consumer.{limit}session.timeout.ms": str(2 * HOUR_MS) for limit in ("max.", "")},
    **{f"group.consumer.{limit}heartbeat.interval.ms": str(HOUR_MS) for limit in ("max.", "")},
}


@pytest.fixture
def hourly(
    pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Scene]:
    """Clients are led to the old cluster, and then to one with such brokers."""
    monkeypatch.setenv("ANABRANCH_TOKEN", "anabranch_token")
    (new,) = start_clusters([ClusterSpec("hourly", overrides=HOURLY)])
    with new, FakeService() as service:
        await_coordinators(new)
        monkeypatch.setenv("ANABRANCH_SERVICE", service.url)
        made = Scene(pair[0], new, tmp_path / "cache", service=service)
        service.route = made.route(made.old, 1)
        yield made


class Members:
    """Consumers in threads, and what each has by its callbacks."""

    def __init__(self, topic: str, made: Any, settings: dict[str, Any], number: int) -> None:
        self.has: defaultdict[int, set[int]] = defaultdict(set)
        self.changes = 0
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(made, settings, topic, one)) for one in range(number)]

    def __enter__(self) -> Members:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def share(self) -> bool:
        """Whether each of them has as many partitions as any other, and no two have one."""
        found = [set(one) for one in self.has.values()]
        return len(found) == MEMBERS and all(len(one) == PARTITIONS // MEMBERS for one in found)

    def _run(self, made: Any, settings: dict[str, Any], topic: str, number: int) -> None:
        def come(_: Any, partitions: list[Any]) -> None:
            self.changes += 1
            self.has[number] |= {one.partition for one in partitions}

        def gone(_: Any, partitions: list[Any]) -> None:
            self.changes += 1
            self.has[number] -= {one.partition for one in partitions}

        consumer = made(settings)
        consumer.subscribe([topic], on_assign=come, on_revoke=gone)
        while not self._ended.is_set():
            consumer.poll(0.1)
        consumer.close()


def test_a_group_that_is_moved_settles_before_brokers_ask_its_members_for_a_heartbeat(hourly: Scene) -> None:
    """Its first member has all partitions there until it hears what to give up."""
    topic = hourly.topic(PARTITIONS)
    with Members(topic, Consumer, hourly.reading(group_protocol="consumer"), MEMBERS) as members:
        until(members.share)
        hourly.prepare("s", clients=MEMBERS)
        until(lambda: len(hourly.ready("s")) == MEMBERS)
        assert not any(members.has.values())
        hourly.go("s")
        until(members.share)


def test_a_member_that_subscribes_again_to_the_same_changes_nothing(hourly: Scene) -> None:
    """Brokers do not begin to share out again: no member is told of any change by so many heartbeats of another."""
    topic = hourly.topic(PARTITIONS)
    given = {"bootstrap.servers": hourly.old.bootstrap, "group.id": hourly.group, "group.protocol": "consumer"}
    with Members(topic, PlainConsumer, given, MEMBERS - 1) as members:
        changes: list[str] = []
        callbacks = {
            "on_assign": lambda _, partitions: changes.append("come"),
            "on_revoke": lambda _, partitions: changes.append("gone"),
        }
        consumer = PlainConsumer(given)
        consumer.subscribe([topic], **callbacks)

        def settled() -> bool:
            consumer.poll(0.1)
            shares = [*(len(one) for one in list(members.has.values())), len(consumer.assignment())]
            return shares == [PARTITIONS // MEMBERS] * MEMBERS

        until(settled)
        before = members.changes, len(changes)
        for _ in range(30):
            consumer.subscribe([topic], **callbacks)
            assert settled()
        assert (members.changes, len(changes)) == before
        consumer.close()


@pytest.fixture
def ready() -> Iterator[SandboxCluster]:
    """A cluster whose brokers share partitions out whenever a member comes, and do not wait for more of them."""
    (made,) = start_clusters([ClusterSpec("ready", overrides={**STEADY, "group.consumer.assignment.interval.ms": "0"})])
    with made:
        await_coordinators(made)
        yield made


def join(pipe: Connection, cluster: str, number: int) -> None:
    """What a process does: so many members of each group that it is told; and how often they read each record."""
    settling._SHORTEST_S, settling._PART = 0.01, 1_000
    while group := pipe.recv():
        begun = threading.Barrier(number)
        reads: list[Counter[tuple[int, int]]] = [Counter() for _ in range(number)]
        threads = [threading.Thread(target=_read, args=(cluster, group, begun, one)) for one in reads]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pipe.send(sum(reads, Counter()))


def _read(cluster: str, group: str, begun: threading.Barrier, reads: Counter[tuple[int, int]]) -> None:
    given = {"bootstrap.servers": cluster, "group.id": group, "group.protocol": "consumer"}
    consumer, member = PlainConsumer({**given, "auto.offset.reset": "earliest"}), Settling(given)

    def subscribe() -> None:
        consumer.subscribe(["t"], on_assign=lambda *_: member.assigned())

    member.prepare(consumer, ["t"])
    begun.wait()
    subscribe()
    member.begin()
    until = monotonic() + 2.0
    while monotonic() < until or not consumer.assignment():
        member.beat(subscribe)
        message = consumer.poll(0.01)
        if message is not None and message.error() is None:
            reads[message.partition(), message.offset()] += 1
    consumer.close()


def test_no_record_is_read_by_two_members_of_a_group_that_settles(ready: SandboxCluster) -> None:
    """J2: of a member that looks up what it was given a broker thinks that it has nothing."""
    processes, members, partitions, rounds = 5, 4, 40, 12
    create_topics(ready, [NewTopic("t", partitions, 1)])
    context, pipes, running = multiprocessing.get_context("spawn"), [], []
    for _ in range(processes):
        here, there = context.Pipe()
        running.append(context.Process(target=join, args=(there, ready.bootstrap, members), daemon=True))
        running[-1].start()
        pipes.append(here)
    producer = Producer({"bootstrap.servers": ready.bootstrap})
    try:
        for _ in range(rounds):
            for number in range(10 * partitions):
                producer.produce("t", b"x", partition=number % partitions)
            producer.flush()
            group = uuid.uuid4().hex
            for pipe in pipes:
                pipe.send(group)
            reads = sum((pipe.recv() for pipe in pipes), Counter[tuple[int, int]]())
            assert reads
            assert {place: times for place, times in reads.items() if times > 1} == {}
    finally:
        for pipe in pipes:
            pipe.send("")
        for process in running:
            process.join()
