"""A cluster that does not answer, and does not refuse to: calls of confluent-kafka wait for it one behind another."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from confluent_kafka import Message

from anabranch.sdk import Consumer
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.unit.sdk.stand import SETTINGS, PlainConsumer, Told, put_in

pytestmark = pytest.mark.unit


def test_a_consumer_that_waits_for_its_commit_leaves_a_cluster_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """U4, U5: it asks its client for nothing any more, and hands over what it has given out."""
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
    finally:
        answers.set()
        ended.set()
        thread.join()
