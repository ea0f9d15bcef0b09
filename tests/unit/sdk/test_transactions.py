"""Transactions that commit offsets of a consumer, beside switches, without brokers."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Message, TopicPartition

from anabranch.sdk import (
    Consumer,
    PartedTransactionError,
    Producer,
    StaleOffsetError,
    SwitchingError,
    UndoneMessagesError,
)
from qa.timeouts import TIMEOUT_S
from tests.unit.sdk.stand import SETTINGS, PlainConsumer, PlainProducer, Told, put_in

pytestmark = pytest.mark.unit
PLACE = ("a", 0)


class Application:
    """A consumer and a producer of one process, each with its session; the consumer has partition a-0."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        put_in(patch)
        self.consumer = Consumer({**SETTINGS, "group.id": "g", "enable.auto.commit": False, "route.block.max.ms": 50})
        self.consumer.subscribe(["a"])
        self.reads = Told.last
        PlainConsumer.made[-1].given(PLACE)
        self.producer = Producer({**SETTINGS, "route.topics": ["b"], "route.block.max.ms": 50})
        self.writes = Told.last
        self.producer.init_transactions()

    def comes(self, *offsets: int, topic: str = "a") -> list[Any]:
        """What the application gets of messages that come."""
        PlainConsumer.made[-1].comes = [Message(topic=topic, partition=0, offset=at, value=b"v") for at in offsets]
        return [self.consumer.poll(0) for _ in offsets]

    def begin(self) -> None:
        """A transaction with a message."""
        self.producer.begin_transaction()
        self.producer.produce("b")

    def sends(self, offset: int, metadata: Any = None) -> None:
        """It commits an offset."""
        given = metadata or self.consumer.consumer_group_metadata()
        self.producer.send_offsets_to_transaction([TopicPartition(*PLACE, offset)], given)

    def does(self, *offsets: int) -> None:
        """A transaction for messages that come."""
        self.comes(*offsets)
        self.begin()
        self.sends(offsets[-1] + 1)
        self.producer.commit_transaction()

    def prepare(self) -> None:
        """A switch begins."""
        self.writes.prepare("s")
        self.reads.prepare("s")

    def go(self) -> None:
        """It has been made."""
        self.reads.go("new")
        self.writes.go("new")
        self.comes(-1)
        PlainConsumer.made[-1].given(PLACE)


@pytest.fixture
def application(monkeypatch: pytest.MonkeyPatch) -> Application:
    """One that has done a transaction."""
    made = Application(monkeypatch)
    made.does(5)
    return made


def sent() -> list[list[tuple[str, int, int]]]:
    """What each cluster's producer was told to commit."""
    return [[(one.topic, one.partition, one.offset) for one in made.offsets] for made in PlainProducer.made]


def test_a_transaction_for_what_was_read_before_a_switch_asks_for_it_ends_where_it_was_read(
    application: Application,
) -> None:
    """The consumer does not pause in between: not as it is asked for its metadata, and not in the transaction."""
    application.comes(6, 7)
    application.prepare()
    metadata = application.consumer.consumer_group_metadata()
    application.begin()
    (more,) = application.comes(8)
    assert more.offset() == 8
    application.sends(9, metadata)
    application.producer.commit_transaction()
    assert (application.reads.ready_for, application.writes.ready_for) == ([], [])
    assert application.consumer.poll(0) is None
    application.producer.tick()
    assert [one.ready_for[0][0] for one in (application.reads, application.writes)] == ["s", "s"]
    application.go()
    application.does(9)
    assert sent() == [[("a", 0, 6), ("a", 0, 9)], [("a", 0, 10)]]


@pytest.mark.parametrize("asked_before", [True, False])
def test_what_was_read_before_a_switch_is_in_no_transaction_after_it(
    application: Application, asked_before: bool
) -> None:
    """X1: with the metadata of either cluster; the first transaction is refused, and the next one is not."""
    application.comes(6, 7)
    metadata = application.consumer.consumer_group_metadata() if asked_before else None
    application.prepare()
    assert application.consumer.poll(0) is None
    application.producer.flush(TIMEOUT_S)
    application.go()
    application.comes(7)
    application.begin()
    with pytest.raises(UndoneMessagesError) as refused:
        application.sends(8, metadata)
    assert (refused.value.before, refused.value.cluster) == ("old", "new")
    application.producer.abort_transaction()
    application.begin()
    with pytest.raises(StaleOffsetError):
        application.sends(3)
    application.producer.abort_transaction()
    application.does(8)
    assert sent() == [[("a", 0, 6)], [("a", 0, 9)]]


def test_a_switch_that_is_given_up_refuses_nothing(application: Application) -> None:
    """The consumer goes on after what it has delivered, where it was."""
    application.comes(6)
    application.prepare()
    assert application.consumer.poll(0) is None
    application.reads.cancel()
    application.writes.cancel()
    application.comes(-1)
    PlainConsumer.made[-1].given(PLACE)
    application.begin()
    application.sends(7)
    application.producer.commit_transaction()
    assert sent()[-1][-1] == ("a", 0, 7)


def test_a_transaction_that_is_open_as_its_consumer_has_paused_waits_for_nothing(application: Application) -> None:
    """X2: the switch waits for it, so that it would wait for itself."""
    application.prepare()
    application.begin()
    assert application.consumer.poll(0) is None
    with pytest.raises(SwitchingError, match="transaction that is open is waited for"):
        application.consumer.consumer_group_metadata()
    application.producer.abort_transaction()
    application.producer.flush(TIMEOUT_S)
    assert [one.ready_for[0][0] for one in (application.reads, application.writes)] == ["s", "s"]


def test_offsets_of_one_cluster_are_in_no_transaction_of_another(application: Application) -> None:
    """The consumer has gone over by itself; its producer may follow it, and waits for it no more (X3)."""
    application.reads.prepare("s")
    application.consumer.poll(0)
    application.reads.go("new")
    application.comes(-1)
    PlainConsumer.made[-1].given(PLACE)
    application.comes(8)
    application.begin()
    with pytest.raises(PartedTransactionError):
        application.sends(9)
    application.producer.abort_transaction()
    application.writes.prepare("t")
    application.producer.flush(TIMEOUT_S)
    assert [one[0] for one in application.writes.ready_for] == ["t"]
    application.writes.go("new")
    application.does(9)
    assert sent() == [[("a", 0, 6)], [("a", 0, 10)]]


def test_offsets_of_a_topic_that_a_route_renames_go_by_the_name_there(application: Application) -> None:
    """The producer writes to other topics: it does not know what this one is called there."""
    application.prepare()
    application.consumer.poll(0)
    application.producer.flush(TIMEOUT_S)
    application.reads.names = {"a": "old.a"}
    application.reads.go("new")
    application.writes.go("new")
    application.comes(-1)
    PlainConsumer.made[-1].given(("old.a", 0))
    application.comes(8, topic="old.a")
    application.begin()
    application.sends(9)
    assert sent()[-1] == [("old.a", 0, 9)]


def test_where_a_transaction_has_committed_is_known_where_its_cluster_is_lost(application: Application) -> None:
    """U5: the consumer is not told of it; of one that was aborted nothing counts."""
    application.does(6, 7)
    application.comes(8, 9)
    application.begin()
    application.sends(10)
    application.producer.abort_transaction()
    application.reads.prepare("s", lost=True)
    assert application.consumer.poll(0) is None
    assert application.reads.ready_for == [("s", {"a-0": 8}, {})]
