"""An application that commits its offsets in transactions, through a switch to a cluster of other offsets.

The service here only says what it is told to, and what copies and moves is the test.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest
from confluent_kafka import Consumer as PlainConsumer
from confluent_kafka import KafkaException, TopicPartition

from anabranch.sandbox import SandboxCluster
from anabranch.sdk import Consumer, Producer, UndoneMessagesError
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.integration.sdk.lab import commit, committed, write
from tests.integration.sdk.scene import Scene

pytestmark = [pytest.mark.test, pytest.mark.real]
RECORDS, AHEAD, EACH = 60, 7, 10
"""``AHEAD`` records are in front on the new cluster."""


class Application:
    """One thread: a batch, some work, and a transaction that holds what came of it."""

    def __init__(self, scene: Scene, source: str, target: str) -> None:
        self.scene, self.source, self.target = scene, source, target
        self.works, self.goes_on, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.done: list[str] = []
        self.refused: list[KafkaException] = []
        self.polls_on = False
        self.failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Application:
        self._thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self.ended.set()
        self.goes_on.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._read()
        except BaseException as error:
            self.failed.append(error)

    def _read(self) -> None:
        settings = {"enable_auto_commit": False, "isolation_level": "read_committed"}
        one_hour = {"transactional_id": f"x-{self.scene.group}", "route_block_max_ms": 3_600_000}
        with (
            Consumer(self.scene.reading(**settings)) as consumer,
            Producer(self.scene.configured(**one_hour)) as producer,
        ):
            consumer.subscribe([self.source])
            producer.init_transactions(TIMEOUT_S)
            for turn in itertools.count():
                messages = consumer.consume(EACH, 0.5)
                if self.ended.is_set():
                    return
                if not messages:
                    continue
                if turn and not self.works.is_set() and self.done:
                    self.works.set()
                    while not self.goes_on.wait(0.05):
                        if self.polls_on:
                            messages += consumer.consume(1, 0.01)
                self._transaction(consumer, producer, messages)

    def _transaction(self, consumer: Any, producer: Any, messages: list[Any]) -> None:
        metadata = consumer.consumer_group_metadata()
        producer.begin_transaction()
        try:
            for message in messages:
                producer.produce(self.target, message.value())
            ends = {(one.topic(), one.partition()): one.offset() + 1 for one in messages}
            positions = [TopicPartition(*place, offset) for place, offset in ends.items()]
            producer.send_offsets_to_transaction(positions, metadata, TIMEOUT_S)
            producer.commit_transaction(TIMEOUT_S)
        except KafkaException as error:
            producer.abort_transaction(TIMEOUT_S)
            self.refused.append(error)
        else:
            self.done += [message.value().decode() for message in messages]


def results(cluster: SandboxCluster, topic: str) -> list[str]:
    """What is committed in the one partition of a topic."""
    plain = PlainConsumer({"bootstrap.servers": cluster.bootstrap, "group.id": "look", "enable.auto.commit": False})
    try:
        plain.assign([TopicPartition(topic, 0, 0)])
        end = plain.get_watermark_offsets(TopicPartition(topic, 0), TIMEOUT_S)[1]
        found: list[str] = []
        while plain.position([TopicPartition(topic, 0)])[0].offset < end:
            message = plain.poll(1.0)
            if message is not None and message.error() is None:
                found.append(message.value().decode())
            elif message is None and end == 0:
                break
        return found
    finally:
        plain.close()


@pytest.mark.parametrize("polls_on", [False, True])
def test_what_was_read_and_not_yet_done_as_a_switch_began_is_done_once(scene: Scene, polls_on: bool) -> None:
    """X1, X2: either where it was read, or, if the consumer has paused before, it is refused, and read again there."""
    source, target = scene.topic(1), scene.topic(1)
    with Producer(scene.configured()) as producer:
        write(producer, source, [str(number) for number in range(RECORDS)])
    scene.service.route = scene.route(scene.new, 1)
    with Producer(scene.configured(client_id="copies")) as producer:
        write(producer, source, [*["ahead"] * AHEAD, *[str(number) for number in range(RECORDS)]])
    scene.service.route = scene.route(scene.old, 1)
    with Application(scene, source, target) as app:
        app.polls_on = polls_on
        until(app.works.is_set)
        scene.prepare("s", 2)
        if polls_on:
            until(lambda: scene.ready("s"))
        app.goes_on.set()
        until(lambda: len(scene.ready("s")) == 2)
        (at,) = committed(scene.old, scene.group, source, 1)
        commit(scene.new, scene.group, [(source, 0, at + AHEAD)])
        scene.go("s")
        until(lambda: app.failed or len(app.done) >= RECORDS)
        assert app.failed == []
    assert [type(one) for one in app.refused] == ([UndoneMessagesError] if polls_on else [])
    everything = [*results(scene.old, target), *results(scene.new, target)]
    assert everything == [str(number) for number in range(RECORDS)]
    assert committed(scene.new, scene.group, source, 1) == [RECORDS + AHEAD]
