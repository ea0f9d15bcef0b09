"""What a producer tells of the bytes that it has sent, by statistics that its application has asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import KafkaError

from anabranch.sdk import Producer, sent
from tests.unit.clock import Clock
from tests.unit.sdk.stand import SETTINGS, PlainProducer, Told, put_in

pytestmark = pytest.mark.unit


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """That of what is sent."""
    made = Clock(100.0)
    monkeypatch.setattr(sent, "monotonic", made)
    return made


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in(monkeypatch)


def statistics(size: int, age_s: float) -> str:
    """As much of them as is read."""
    return json.dumps({"txmsg_bytes": size, "age": int(age_s * 1e6)})


def producing(**more: Any) -> Producer:
    """One with statistics each second, which has begun."""
    made = Producer({**SETTINGS, "route.topics": ["a"], "statistics.interval.ms": "1000", **more})
    made.produce("a")
    return made


def moved() -> None:
    """To the new cluster."""
    Told.last.prepare("s")
    Told.last.follower.on_tick()
    Told.last.go("new")


@pytest.mark.parametrize("interval", [None, 0, "0", "often"])
def test_without_an_interval_of_the_application_a_client_is_configured_as_before(interval: Any) -> None:
    """Nothing is asked for in its name, since it might never fetch what the library keeps for it."""
    asked = {} if interval is None else {"statistics.interval.ms": interval}
    given = {"stats_cb": print, "throttle_cb": print, **asked}
    producer = Producer({**SETTINGS, **given})
    producer.produce("a", b"value")
    assert PlainProducer.made[0].config == {"bootstrap.servers": "old", "security.protocol": "PLAINTEXT", **given}
    assert (producer.figures().records, producer.figures().bytes) == (1, 0)


@pytest.mark.parametrize("more", [{}, {"stats_cb": None}])
def test_statistics_are_taken_where_the_application_has_no_callback(more: dict[str, Any]) -> None:
    """The interval is enough."""
    producer = producing(**more)
    inner = PlainProducer.made[0]
    inner.statistics = [statistics(7, 1), statistics(12, 2)]
    producer.poll(0)
    assert producer.figures().bytes == 12


def test_a_callback_of_the_application_is_called_with_the_same() -> None:
    """And not with what a client tells that was left."""
    told = list[str]()
    producer = producing(stats_cb=told.append)
    old = PlainProducer.made[0]
    old.statistics = [statistics(7, 1)]
    producer.poll(0)
    moved()
    old.statistics = [statistics(9, 1)]
    producer.tick()
    new = PlainProducer.made[1]
    new.statistics = [statistics(5, 1)]
    producer.poll(0)
    assert told == [statistics(7, 1), statistics(5, 1)]
    assert producer.figures().bytes == 14


def test_what_was_sent_last_is_counted_after_a_switch(clock: Clock) -> None:
    """Statistics of before the last message count for now, and are waited out."""
    producer = producing()
    old = PlainProducer.made[0]
    clock.now += 10
    moved()
    old.statistics = [statistics(3, 9.5)]
    producer.tick()
    assert producer.figures().bytes == 3
    PlainProducer.made[1].statistics = [statistics(100, 0.2)]
    producer.poll(0)
    old.statistics = [statistics(8, 10.5)]
    producer.tick()
    assert producer.figures().bytes == 108
    old.statistics = [statistics(1000, 11.5)]
    producer.tick()
    assert producer.figures().bytes == 108 and old.statistics, "it is gone"


def test_a_client_that_was_left_is_not_waited_for_without_end(clock: Clock) -> None:
    """What it told last counts."""
    producer = producing()
    old = PlainProducer.made[0]
    old.statistics = [statistics(3, 0.5)]
    producer.poll(0)
    clock.now += 10
    moved()
    clock.now += 2.9
    producer.tick()
    assert producer._sent.waits
    clock.now += 0.2
    producer.tick()
    assert not producer._sent.waits and producer.figures().bytes == 3


def test_errors_of_a_client_that_was_left_are_not_told() -> None:
    """Its cluster may be gone by then."""
    told = list[Any]()
    producer = producing(error_cb=told.append)
    error = KafkaError(KafkaError._ALL_BROKERS_DOWN)
    PlainProducer.made[0].config["error_cb"](error)
    moved()
    PlainProducer.made[0].config["error_cb"](error)
    assert told == [error]
    PlainProducer.made[1].config["error_cb"](error)
    assert told == [error, error] and producer.is_switching is False
    assert (producer.figures().errors, producer.figures().last_error) == (2, f"new: {error}")


def test_a_client_that_cannot_be_made_leaves_the_one_of_before_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a secret is missing: what that tells is told on."""
    told = list[str]()
    producer = producing(stats_cb=told.append)
    plain = PlainProducer.__init__

    def fails(*_: Any) -> None:
        raise ValueError("no such setting")

    monkeypatch.setattr(PlainProducer, "__init__", fails)
    with pytest.raises(ValueError, match="no such"):
        moved()
    monkeypatch.setattr(PlainProducer, "__init__", plain)
    PlainProducer.made[0].statistics = [statistics(4, 1)]
    PlainProducer.made[0].poll(0)
    assert told and producer.figures().bytes == 4
