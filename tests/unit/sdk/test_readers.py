"""A consumer that is told of switches, without brokers: what it hands over, and where it begins."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import TopicPartition

from anabranch.sdk import Consumer
from tests.unit.sdk.stand import SETTINGS, PlainConsumer, Told, put_in

pytestmark = pytest.mark.unit
A, B = ("a", 0), ("a", 1)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in(monkeypatch)


def reading(**more: Any) -> tuple[Consumer, Told, PlainConsumer]:
    """A consumer on the cluster old, what leads it, and its client there."""
    consumer = Consumer({**SETTINGS, "group.id": "g", **{name.replace("_", "."): one for name, one in more.items()}})
    consumer.subscribe(["a"])
    return consumer, Told.last, PlainConsumer.made[-1]


def test_a_switch_that_begins_before_it_heard_the_end_of_the_last_one_gets_no_positions_of_before_that() -> None:
    """They are of another cluster than the one where the service has it by then."""
    consumer, led, inner = reading()
    inner.given(A)
    inner.read[A] = 100
    led.prepare("s")
    consumer.poll(0)
    assert led.ready_for == [("s", {"a-0": 100}, {})]
    led.cluster, led.hold = "new", "t"
    led.register()
    assert led.ready_for[-1] == ("t", {}, {})


def test_a_client_that_is_led_elsewhere_as_a_switch_begins_hands_over_no_positions_of_where_it_was() -> None:
    """The service has it there already."""
    consumer, led, inner = reading()
    inner.given(A)
    inner.read[A] = 100
    led.cluster = "new"
    led.register()
    led.prepare("s")
    consumer.poll(0)
    assert led.ready_for == [("s", {}, {})]


def test_where_it_was_to_begin_is_handed_over_by_one_that_never_got_there() -> None:
    """It has not connected, or its group has not given it the partition yet; what it read there counts more."""
    consumer, led, inner = reading()
    inner.given(A)
    inner.read[A] = 100
    led.prepare("s")
    consumer.poll(0)
    led.go("new", {"a-0": 7, "a-1": 8})
    led.prepare("t")
    assert led.ready_for[-1] == ("t", {"a-0": 7, "a-1": 8}, {})
    led.cancel()
    consumer.poll(0)
    led.prepare("u")
    PlainConsumer.made[-1].given(A)
    PlainConsumer.made[-1].read[A] = 9
    consumer.poll(0)
    assert led.ready_for[-1] == ("u", {"a-0": 9, "a-1": 8}, {})
