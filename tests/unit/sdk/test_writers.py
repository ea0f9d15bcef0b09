"""A producer that is told of switches, without brokers: what it hands over, and what it says."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Message

from anabranch.sdk import Producer, SwitchingError
from anabranch.sdk.orders import Phase
from tests.unit.sdk.stand import SETTINGS, PlainProducer, Told, put_in

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in(monkeypatch)


def test_a_transaction_writes_to_a_topic_that_it_comes_to_while_a_switch_waits_for_it() -> None:
    """It is asked for once, and the transaction ends where it was begun; then the switch is answered."""
    producer = Producer(SETTINGS)
    producer.produce("a")
    producer.init_transactions()
    producer.begin_transaction()
    Told.last.prepare("s")
    asked = Told.last.registered
    producer.produce("b")
    assert Told.last.registered == asked + 1
    producer.commit_transaction()
    producer.flush(1)
    assert PlainProducer.made[0].topics == ["a", "b"]
    assert Told.last.ready_for == [("s", {}, {})]
    Told.last.go("new")
    producer.produce("b")
    assert PlainProducer.made[1].topics == ["b"]


def test_a_callback_writes_nothing_to_a_cluster_that_is_lost() -> None:
    """What it hands over there would be told by nobody; it is told at once, as of a full queue."""
    PlainProducer.lost = True
    refused = list[Exception]()
    producer = Producer(SETTINGS)

    def again(error: Any, _: Any) -> None:
        try:
            producer.produce("a", on_delivery=again)
        except BufferError as found:
            refused.append(found)

    for _ in range(2):
        producer.produce("a", on_delivery=again)
    Told.last.prepare("s", lost=True)
    producer.flush(0.1)
    assert Told.last.ready_for[-1] == ("s", {}, {"a-1": 2})
    assert [type(one) for one in refused] == [SwitchingError, SwitchingError]
    assert PlainProducer.made[0].topics == ["a", "a"] and not len(producer)


def test_transactions_that_are_initialized_while_a_switch_is_made_are_initialized_there_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The call was on its way to the old cluster as the client went on."""
    producer = Producer({**SETTINGS, "route.topics": ["a"]})

    def slow(self: PlainProducer, *_: float) -> None:
        self.calls.append("init")
        if len(PlainProducer.made) == 1:
            Told.last.prepare("s")
            producer.tick()
            assert producer._orders.phase is Phase.PAUSED
            Told.last.go("new")

    monkeypatch.setattr(PlainProducer, "init_transactions", slow)
    producer.init_transactions()
    producer.begin_transaction()
    assert [one.calls for one in PlainProducer.made] == [["init"], ["init", "begin"]]


def test_an_application_may_initialize_its_transactions_anew_after_a_switch() -> None:
    """Then it is not done once more, which the client refuses."""
    producer = Producer({**SETTINGS, "route.topics": ["a"]})
    producer.init_transactions()
    Told.last.prepare("s")
    producer.tick()
    Told.last.go("new")
    producer.init_transactions()
    producer.begin_transaction()
    assert PlainProducer.made[1].calls == ["init", "begin"]


def test_what_is_not_acknowledged_by_a_lost_cluster_is_counted_by_partition_as_far_as_a_report_is_taken() -> None:
    """Of a message without a callback nobody is told where it went; none of them counts as written."""
    PlainProducer.lost = True
    told = list[Any]()
    producer = Producer(SETTINGS)
    for topic, partition, callback in (("a", 0, told.append), ("a", 0, None), ("b", 7, told.append), ("b", 7, None)):
        taken = None if callback is None else lambda error, _: told.append(error)
        producer.produce(topic, b"value", partition=partition, on_delivery=taken)
    Told.last.prepare("s", lost=True)
    producer.flush(0.1)
    assert Told.last.ready_for[-1] == ("s", {}, {"a-0": 1, "b-7": 1, "unacknowledged": 2})
    assert told == ["purged", "purged"]
    Told.last.go("new")
    PlainProducer.lost = False
    producer.produce("a", b"value", on_delivery=lambda *_: None)
    found = producer.figures()
    assert (found.records, found.errors, found.last_error) == (1, 2, "purged")
    Told.last.prepare("t", lost=True)
    producer.flush(0.1)
    assert Told.last.ready_for[-1] == ("t", {}, {}), "what was in doubt on another cluster is not told again"


def test_a_producer_counts_what_was_acknowledged_and_what_was_not_across_a_switch() -> None:
    """Of a method that is looked up again for each message there is one report in its place."""
    given = list[Any]()

    class Application:
        def got(self, *found: Any) -> None:
            given.append(found)

    application, producer = Application(), Producer(SETTINGS)
    for _ in range(3):
        producer.produce("a", b"12345", on_delivery=application.got)
    producer.produce("a", b"123", callback=lambda *found: given.append(found))
    producer.produce("a", "\u00e4")
    producer.produce("a")
    found = producer.figures()
    assert (found.records, found.bytes, found.errors, len(given)) == (6, 20, 0, 4)
    Told.last.prepare("s")
    producer.tick()
    Told.last.go("new")
    PlainProducer.refuses = "message too large"
    producer.produce("a", b"1234567", on_delivery=application.got)
    PlainProducer.refuses = None
    producer.produce("a", b"1", on_delivery=application.got)
    found = producer.figures()
    assert (found.records, found.bytes, found.errors, found.last_error) == (7, 21, 1, "message too large")
    assert [one[0] for one in given] == [None] * 4 + ["message too large", None]
    PlainProducer.lost = True
    producer.produce("a", b"1", on_delivery=application.got)
    found = producer.figures()
    assert (found.records, found.bytes) == (7, 22), "it is not acknowledged yet"


def test_a_callback_of_the_configuration_is_called_and_failures_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of each message."""
    made = list[Any]()
    plain = PlainProducer.__init__

    def kept(producer: PlainProducer, config: Any) -> None:
        made.append(config)
        plain(producer, config)

    monkeypatch.setattr(PlainProducer, "__init__", kept)
    told = list[Any]()
    producer = Producer({**SETTINGS, "on_delivery": lambda *found: told.append(found)})
    producer.produce("a", b"123")
    late = Message(topic="a", partition=0, value=b"12")
    made[-1]["on_delivery"]("too late", late)
    made[-1]["on_delivery"](None, late)
    found = producer.figures()
    assert (found.bytes, found.errors, told) == (1, 1, [("too late", late), (None, late)])
