"""What producers of real clusters report of what they have sent, and of what was not delivered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import KafkaError

from anabranch.sdk import Producer
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.integration.sdk.lab import stored, write
from tests.integration.sdk.scene import Scene

pytestmark = [pytest.mark.test, pytest.mark.real]
BIG = 10_000
"""A record of this size stands out of the first ones of a topic, of which some are sent again."""


def reported(scene: Scene) -> int:
    """Bytes of the last report."""
    return int(max((one["bytes"] for one in scene.service.bodies("POST", "/report")), default=0))


def test_bytes_are_counted_on_across_a_switch(scene: Scene) -> None:
    """Also those that no statistics had told yet as the old cluster was left; the application hears all as before."""
    topic, told = scene.topic(1), list[Any]()
    given = {"stats_cb": lambda text: told.append(json.loads(text))}
    with Producer({**scene.configured(statistics_interval_ms=2000), **given}) as producer:
        write(producer, topic, ["a"])
        until(lambda: producer.poll(0.1) and told)
        write(producer, topic, ["x" * BIG] * 3, key="k")
        scene.prepare("s")
        until(lambda: scene.ready("s"))
        scene.go("s")
        until(lambda: not producer.is_switching)
        write(producer, topic, ["a"])
        write(producer, topic, ["x" * BIG] * 2)
        until(lambda: producer.poll(0.1) >= 0 and producer.figures().bytes >= 5 * BIG)
        found = producer.figures()
        assert found.records == 7 and found.bytes < 5 * BIG + 1000
        until(lambda: reported(scene) >= found.bytes)
    assert max(one["txmsg_bytes"] for one in told) < 4 * BIG, "of one cluster each"
    assert [len(part) for cluster in (scene.old, scene.new) for part in stored(cluster, topic, 1)] == [4, 3]


def test_bytes_are_counted_as_they_are_sent(scene: Scene) -> None:
    """They need not be acknowledged yet; nor do headers belong to them."""
    topic, broker = scene.topic(1), scene.old.broker(1)
    with Producer(scene.configured(statistics_interval_ms=100)) as producer:
        write(producer, topic, ["a"])
        broker.pause()
        try:
            producer.produce(topic, b"x" * BIG, b"key", headers={"h": b"y" * BIG})
            until(lambda: producer.poll(0.05) >= 0 and producer.figures().bytes >= BIG)
            assert len(producer) and producer.figures().bytes < BIG + 100
        finally:
            broker.resume()


@pytest.mark.parametrize("way", ["each", "batch", "none", "all"])
def test_messages_that_are_not_delivered_are_counted_where_reports_are_of_failures_alone(
    scene: Scene, way: str
) -> None:
    """D1: the application hears the same; the broker refuses what is bigger than it takes."""
    topic, told = scene.topic(1), list[Any]()

    def delivered(error: Any, message: Any) -> None:
        told.append((error.code(), message.topic()))

    given = {"delivery.report.only.error": True, **({"on_delivery": delivered} if way == "all" else {})}
    with Producer({**scene.configured(message_max_bytes=4_000_000), **given}) as producer:
        write(producer, topic, ["a"])
        for value in (b"b", b"x" * 2_000_000, b"c"):
            if way == "batch":
                assert producer.produce_batch(topic, [{"value": value, "callback": delivered}]) == 1
            elif way == "each":
                producer.produce(topic, value, on_delivery=delivered)
            else:
                producer.produce(topic, value)
        assert producer.flush(TIMEOUT_S) == 0
        found = producer.figures()
    assert found.errors == 1 and "too large" in found.last_error, found
    assert told == ([] if way == "none" else [(KafkaError.MSG_SIZE_TOO_LARGE, topic)])
    assert stored(scene.old, topic, 1) == [["a", "b", "c"]]


@pytest.mark.parametrize("only", [False, True])
def test_an_application_that_hears_of_each_message_hears_of_each(scene: Scene, only: bool) -> None:
    """D1: of what was delivered as well, unless it asks for failures alone; no failure is none."""
    topic, told = scene.topic(1), list[Any]()
    given = {"delivery.report.only.error": only}
    with Producer({**scene.configured(), **given}) as producer:
        for value in "ab":
            producer.produce(topic, value, on_delivery=lambda error, _: told.append(error))
        assert producer.flush(TIMEOUT_S) == 0
        assert producer.figures().errors == 0
    assert told == ([] if only else [None, None])
