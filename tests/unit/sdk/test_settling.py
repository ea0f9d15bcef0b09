"""How a group of the newer protocol is had to settle soon after a switch, without brokers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from anabranch.sdk import Consumer, settling
from anabranch.sdk.settling import Settling
from tests.unit.clock import Clock
from tests.unit.sdk.stand import SETTINGS, Log, PlainConsumer, Told, put_in

pytestmark = pytest.mark.unit


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The one by which members settle."""
    put_in(monkeypatch)
    made = Clock(100.0)
    monkeypatch.setattr(settling, "monotonic", made)
    return made


def moved(clock: Clock, **more: Any) -> tuple[Consumer, PlainConsumer]:
    """A consumer that has just gone over, and its client there."""
    named = {name.replace("_", "."): one for name, one in more.items()}
    consumer = Consumer({**SETTINGS, "group.id": "g", **named})
    consumer.subscribe(["a"])
    Told.last.prepare("s")
    consumer.poll(0)
    Told.last.go("new")
    consumer.poll(0)
    return consumer, PlainConsumer.made[-1]


def subscribed(client: PlainConsumer, clock: Clock, consumer: Consumer, seconds: float) -> int:
    """How often it subscribes in that time, in which its application polls a hundred times a second."""
    before = client.subscribed
    for _ in range(round(seconds * 100)):
        clock.now += 0.01
        consumer.poll(0)
    return client.subscribed - before


def test_a_member_that_has_gone_over_subscribes_again_for_some_seconds(clock: Clock) -> None:
    """Each time it hears what its group gives it; after that it hears it as any other member."""
    consumer, there = moved(clock, group_protocol="consumer")
    assert there.subscribed == 1
    assert subscribed(there, clock, consumer, 20.0) > 20
    assert subscribed(there, clock, consumer, 20.0) == 0


def test_so_does_one_that_takes_its_messages_by_the_batch(clock: Clock) -> None:
    """It is the same member."""
    consumer, there = moved(clock, group_protocol="consumer")
    clock.now += 1.0
    consumer.consume(10, 0)
    assert there.subscribed == 2


def test_none_is_later_than_an_eighth_of_the_time_that_has_passed(clock: Clock) -> None:
    """So many members ask no more than some dozen times each, and none waits for long."""
    made, times = Settling({"group.protocol": "consumer"}), [clock.now]
    made.assigned()
    made.begin()
    while made.is_on:
        clock.now += 0.01
        made.beat(lambda: times.append(clock.now))
    assert len(times) < 40
    for before, after in pairwise(times):
        assert after - before <= max(0.1, (before - times[0]) / 8) + 0.02


def test_a_member_of_the_classic_protocol_subscribes_once(clock: Clock) -> None:
    """Its group would begin to settle again."""
    consumer, there = moved(clock)
    assert there.subscribed == 1
    assert subscribed(there, clock, consumer, 20.0) == 0


def test_one_that_has_gone_nowhere_subscribes_once(clock: Clock) -> None:
    """It does as confluent-kafka's."""
    consumer = Consumer({**SETTINGS, "group.id": "g", "group.protocol": "consumer"})
    consumer.subscribe(["a"])
    consumer.poll(0)
    assert subscribed(PlainConsumer.made[-1], clock, consumer, 20.0) == 0


def test_one_that_a_switch_has_held_from_its_beginning_goes_on_as_the_others_do(clock: Clock) -> None:
    """What it gives up or gets the others wait for."""
    consumer = Consumer({**SETTINGS, "group.id": "g", "group.protocol": "consumer"})
    Told.last.hold = "s"
    consumer.subscribe(["a"])
    consumer.poll(0)
    Told.last.go("new")
    consumer.poll(0)
    assert subscribed(PlainConsumer.made[-1], clock, consumer, 20.0) > 20


def test_what_the_application_takes_back_is_not_subscribed_to_again(clock: Clock) -> None:
    """J1: neither after unsubscribe, nor after another subscription."""
    for take_back in (Consumer.unsubscribe, lambda one: one.subscribe(["b"])):
        consumer, there = moved(clock, group_protocol="consumer")
        take_back(consumer)
        before = there.subscribed
        assert subscribed(there, clock, consumer, 20.0) == 0
        assert there.subscribed == before


def test_a_member_that_does_not_know_its_topics_subscribes_again_once_it_has_partitions(clock: Clock) -> None:
    """J2: where the cluster does not name them, of a regular expression, or of very many."""
    for topics in (["a"], ["^a.*"], [f"t{at}" for at in range(21)]):
        PlainConsumer.logs["new"] = Log(unknown={"a"})
        consumer = Consumer({**SETTINGS, "group.id": "g", "group.protocol": "consumer"})
        consumer.subscribe(topics)
        Told.last.prepare("s")
        consumer.poll(0)
        Told.last.go("new")
        consumer.poll(0)
        there = PlainConsumer.made[-1]
        assert subscribed(there, clock, consumer, 5.0) == 0
        there.given(("a", 0))
        assert subscribed(there, clock, consumer, 5.0) > 3


def test_one_that_has_gone_over_looks_its_topics_up_before_it_subscribes(clock: Clock) -> None:
    """J2; one of the classic protocol, and one that has gone nowhere, have no need to."""
    _, there = moved(clock, group_protocol="consumer")
    assert there.looked_up == ["a"]
    _, there = moved(clock)
    assert there.looked_up == []
