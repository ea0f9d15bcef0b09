"""A producer that is told of switches, without brokers: what it hands over, and what it says."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.sdk import Producer, SwitchingError, writer
from anabranch.sdk.orders import Phase
from qa.timeouts import TIMEOUT_S
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
    assert Told.last.ready_for[-1] == ("s", {}, {"unacknowledged": 2})
    assert [type(one) for one in refused] == [SwitchingError, SwitchingError]
    assert PlainProducer.made[0].topics == ["a", "a"] and not len(producer)


def test_an_application_without_calls_leaves_a_lost_cluster_after_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is outstanding there is never acknowledged: half of the switch's time would be waited for nothing."""
    now, told = [100.0], list[Any]()
    monkeypatch.setattr(writer, "monotonic", lambda: now[0])
    PlainProducer.lost = True
    producer = Producer(SETTINGS)
    producer.produce("a", on_delivery=lambda error, _: told.append(error))
    for lost, waited_s in ((False, 0), (False, 3600), (True, 0)):
        Told.last.prepare("s", lost=lost)
        now[0] += waited_s
        producer.tick()
        assert (Told.last.ready_for, told) == ([], [])
    now[0] += 6
    producer.tick()
    assert (Told.last.ready_for, told) == ([("s", {}, {"unacknowledged": 1})], ["purged"])


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


def test_what_a_callback_wrote_as_all_seemed_acknowledged_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread served it between the look at what is outstanding and the answer to the switch."""
    producer = Producer({**SETTINGS, "route.topics": ["a"]})
    outstanding, flushed = iter([0, 1, 0, 0]), list[int]()

    def flush(self: PlainProducer, timeout: float = 0) -> int:
        flushed.append(len(Told.last.ready_for))
        return 0

    monkeypatch.setattr(PlainProducer, "flush", flush)
    monkeypatch.setattr(PlainProducer, "__len__", lambda _: next(outstanding, 0))
    Told.last.prepare("s")
    producer.flush(TIMEOUT_S)
    assert flushed[:2] == [0, 0]
    assert Told.last.ready_for == [("s", {}, {})]
    assert next(outstanding, None) is None
