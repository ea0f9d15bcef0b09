"""A cluster that does not answer, and does not refuse to: calls of confluent-kafka wait for it one behind another."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from anabranch.sdk import Consumer, reader
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.unit.sdk.stand import SETTINGS, PlainConsumer, Told, put_in

pytestmark = pytest.mark.unit


def test_a_consumer_that_waits_for_its_commit_leaves_a_cluster_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """U4, U5: it asks its client for nothing any more, and hands over what it has given out; that is no error."""
    put_in(monkeypatch)
    answers, commits = threading.Event(), threading.Event()

    def hangs(*_: Any, **__: Any) -> list[Any]:
        commits.set()
        assert answers.wait(TIMEOUT_S)
        return []

    def behind(*_: Any, **__: Any) -> str:
        assert not commits.is_set() or answers.wait(TIMEOUT_S)
        return ""

    consumer = Consumer({**SETTINGS, "group.id": "g"})
    consumer.subscribe(["a"])
    PlainConsumer.made[-1].given(("a", 0))
    PlainConsumer.made[-1].comes = [Message(topic="a", partition=0, offset=4, value=b"v")]
    assert consumer.poll(0).offset() == 4
    monkeypatch.setattr(PlainConsumer, "commit", hangs)
    monkeypatch.setattr(PlainConsumer, "cluster_id", behind)
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            consumer.poll(0.01)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        Told.last.prepare("s")
        assert commits.wait(TIMEOUT_S)
        Told.last.prepare("s", lost=True)
        until(lambda: Told.last.ready_for)
        assert Told.last.ready_for == [("s", {"a-0": 5}, {})]
        assert not answers.is_set()
        assert (consumer.figures().errors, consumer.figures().last_error) == (0, "")
    finally:
        answers.set()
        ended.set()
        thread.join()


def test_an_application_does_not_wait_in_its_commit_for_a_cluster_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """U4, U5: the commit has failed; what was committed before, or where it began, is handed over.

    One that is not lost any more, since the switch was given up, is waited for again.
    """
    put_in(monkeypatch)
    PlainConsumer.logs["old"].committed = {("a", 1): 7}
    answers, waits = threading.Event(), threading.Event()

    def hangs(*_: Any, **__: Any) -> list[Any]:
        waits.set()
        assert answers.wait(TIMEOUT_S)
        return [TopicPartition("a", 0, 6)]

    consumer = Consumer({**SETTINGS, "group.id": "g", "enable.auto.commit": False})
    consumer.subscribe(["a"])
    inner = PlainConsumer.made[-1]
    inner.given(("a", 0), ("a", 1))
    inner.comes = [Message(topic="a", partition=0, offset=at, value=b"v") for at in (4, 5)]
    inner.comes.append(Message(topic="a", partition=1, offset=7, value=b"v"))
    consumer.poll(0)
    consumer.commit(offsets=[TopicPartition("a", 0, 5)], asynchronous=False)
    consumer.consume(2, 0)
    monkeypatch.setattr(PlainConsumer, "commit", hangs)
    told: list[Any] = []

    def run() -> None:
        try:
            told.append(consumer.commit(asynchronous=False))
        except KafkaException as error:
            told.append(error)

    def committing() -> threading.Thread:
        waits.clear()
        thread = threading.Thread(target=run)
        thread.start()
        assert waits.wait(TIMEOUT_S)
        return thread

    try:
        Told.last.prepare("s", lost=True)
        Told.last.cancel()
        thread = committing()
        thread.join(0.3)
        assert thread.is_alive(), "as confluent-kafka's, it waits for a cluster that may answer"
        Told.last.prepare("t", lost=True)
        thread.join(TIMEOUT_S)
        assert isinstance(told[-1], KafkaException) and not answers.is_set()
        assert consumer.poll(0) is None
        assert Told.last.ready_for == [("t", {"a-0": 5, "a-1": 7}, {})]
    finally:
        answers.set()


def test_a_consumer_that_is_led_on_gives_up_a_cluster_that_takes_no_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """U4: no switch waits for it; the time that it tries is counted across calls, however short they are."""
    put_in(monkeypatch)
    monkeypatch.setattr(reader, "_TRY_S", 0.3)

    def fails(*_: Any, **__: Any) -> list[Any]:
        raise KafkaException(KafkaError(KafkaError._WAIT_COORD))

    consumer = Consumer({**SETTINGS, "group.id": "g"})
    consumer.subscribe(["a"])
    PlainConsumer.made[-1].given(("a", 0))
    PlainConsumer.made[-1].comes = [Message(topic="a", partition=0, offset=4, value=b"v")]
    assert consumer.poll(0).offset() == 4
    monkeypatch.setattr(PlainConsumer, "commit", fails)
    Told.last.cluster = "new"
    Told.last.tell()
    made = len(PlainConsumer.made)
    until(lambda: consumer.poll(0.01) is None and len(PlainConsumer.made) > made)
    assert consumer.route.cluster == "new"


@pytest.mark.parametrize("waits_in", ["commit", "close", "its own commit"])
def test_a_consumer_that_is_led_on_does_not_wait_in_a_cluster_that_answers_nothing(
    monkeypatch: pytest.MonkeyPatch, waits_in: str
) -> None:
    """U4: neither in what it commits itself as it leaves, nor in its end, nor in what the application commits."""
    put_in(monkeypatch)
    monkeypatch.setattr(reader, "_TRY_S", 0.3)
    answers = threading.Event()

    def hangs(*_: Any, **__: Any) -> list[Any]:
        assert answers.wait(TIMEOUT_S)
        raise KafkaException(KafkaError(KafkaError._WAIT_COORD))

    def fails(*_: Any, **__: Any) -> list[Any]:
        raise KafkaException(KafkaError(KafkaError._WAIT_COORD))

    consumer = Consumer({**SETTINGS, "group.id": "g", "enable.auto.commit": waits_in != "its own commit"})
    consumer.subscribe(["a"])
    PlainConsumer.made[-1].given(("a", 0))
    PlainConsumer.made[-1].comes = [Message(topic="a", partition=0, offset=4, value=b"v")]
    assert consumer.poll(0).offset() == 4
    monkeypatch.setattr(PlainConsumer, "commit", fails if waits_in == "close" else hangs)
    if waits_in == "close":
        monkeypatch.setattr(PlainConsumer.made[-1], "close", lambda: answers.wait(TIMEOUT_S))
    else:
        monkeypatch.setattr(PlainConsumer, "committed", hangs)
    try:
        Told.last.cluster = "new"
        Told.last.tell()
        if waits_in == "its own commit":
            with pytest.raises(KafkaException, match="the cluster does not answer"):
                consumer.commit(asynchronous=False)
        made = len(PlainConsumer.made)
        until(lambda: consumer.poll(0.01) is None and len(PlainConsumer.made) > made)
        assert consumer.route.cluster == "new" and not answers.is_set()
    finally:
        answers.set()
