"""A consumer that is told of switches, without brokers: what it hands over, and where it begins."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, Message, TopicPartition

from anabranch.sdk import Consumer, LostAssignmentError, StaleMessageError, StaleOffsetError
from qa.timeouts import TIMEOUT_S
from tests.unit.sdk.stand import SETTINGS, Log, PlainConsumer, Told, put_in

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


def test_a_consumer_that_is_held_waits_for_as_long_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for less than a slice: else an application that polls so would take all of a core."""
    consumer, led, _ = reading()
    led.prepare("s")
    consumer.poll(0)
    waits: list[float] = []

    def wait(timeout: float) -> bool:
        waits.append(timeout)
        return False

    monkeypatch.setattr(consumer._changed, "wait", wait)
    consumer.poll(0.05)
    assert max(waits) > 0.04
    waits.clear()
    consumer.poll(0)
    assert max(waits, default=0.0) == 0.0


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
    """It has not connected, or its group has given it nothing yet; else that counts, and not what was long ago."""
    consumer, led, inner = reading()
    inner.given(A)
    inner.read[A] = 100
    led.prepare("s")
    consumer.poll(0)
    led.go("new", {"a-0": 7, "a-1": 8})
    led.prepare("t")
    assert led.ready_for[-1] == ("t", {"a-0": 7, "a-1": 8}, {})
    for switch, has, handed in (("u", False, {"a-0": 7, "a-1": 8}), ("v", True, {"a-0": 9})):
        led.cancel()
        consumer.poll(0)
        if has:
            PlainConsumer.made[-1].given(A)
            PlainConsumer.made[-1].read[A] = 9
        led.prepare(switch)
        consumer.poll(0)
        assert led.ready_for[-1] == (switch, handed, {})


def test_a_consumer_that_begins_at_the_end_and_has_read_nothing_goes_on_there() -> None:
    """What is written while it is moved is read; its partition may come to another member, so it is handed over."""
    PlainConsumer.logs["old"].ends = {A: 50, B: 60}
    PlainConsumer.logs["old"].committed = {B: 7}
    consumer, led, inner = reading()
    inner.given(A, B)
    assert inner.assigned == {A: 50, B: OFFSET_INVALID}
    led.prepare("s")
    consumer.poll(0)
    assert led.ready_for == [("s", {"a-0": 50, "a-1": 7}, {})]
    PlainConsumer.logs["old"].ends = {A: 55}
    led.cancel()
    consumer.poll(0)
    again = PlainConsumer.made[-1]
    again.given(A)
    assert again.assigned == {A: 50}
    led.prepare("t")
    consumer.poll(0)
    led.go("new", {"a-0": 5})
    PlainConsumer.logs["new"].ends = {A: 9}
    consumer.poll(0)
    PlainConsumer.made[-1].given(A)
    assert PlainConsumer.made[-1].assigned == {A: 5}


@pytest.mark.parametrize("is_lost", [False, True])
def test_offsets_that_an_application_assigned_are_where_it_stands_until_it_has_read(is_lost: bool) -> None:
    """In its callback or by hand; what its group has committed is another place."""
    PlainConsumer.logs["old"].committed = {A: 7}
    called, led, inner = reading(enable_auto_commit=not is_lost)

    def placed(consumer: Any, partitions: list[Any]) -> None:
        consumer.assign([TopicPartition(one.topic, one.partition, 20) for one in partitions])

    called.subscribe(["a"], on_assign=placed)
    inner.given(A)
    led.prepare("s", lost=is_lost)
    called.poll(0)
    assert led.ready_for == [("s", {"a-0": 20}, {})]
    by_hand = Consumer({**SETTINGS, "group.id": "g", "enable.auto.commit": not is_lost})
    by_hand.assign([TopicPartition(*A, 20)])
    led = Told.last
    led.prepare("s", lost=is_lost)
    by_hand.poll(0)
    assert led.ready_for == [("s", {"a-0": 20}, {})]
    led.cancel()
    by_hand.poll(0)
    assert PlainConsumer.made[-1].assigned == {A: 20}


def test_a_batch_that_is_not_committed_is_read_again_after_a_switch_and_not_after_one_that_is_given_up() -> None:
    """Its commits are refused after a switch, since it is read again; so it has to be."""
    consumer, led, inner = reading(enable_auto_commit=False, auto_offset_reset="earliest")
    inner.given(A, B)
    inner.read |= {A: 100, B: 200}
    consumer.commit(offsets=[TopicPartition(*B, 200)], asynchronous=False)
    led.prepare("s")
    consumer.poll(0)
    assert led.ready_for == [("s", {"a-1": 200}, {})]
    led.cancel()
    consumer.poll(0)
    PlainConsumer.made[-1].given(A, B)
    assert PlainConsumer.made[-1].assigned == {A: 100, B: 200}


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_batch_that_is_not_committed_is_read_again_after_a_switch_that_follows_one_that_was_given_up(
    is_lost: bool,
) -> None:
    """It went on behind it on the old cluster, which is no commit: it may still be lost with the application."""
    old = PlainConsumer.logs["old"]
    old.starts = {A: 3, B: 0}
    old.committed = {B: 40}
    consumer, led, inner = reading(enable_auto_commit=False, auto_offset_reset="earliest")
    inner.given(A, B)
    inner.read |= {A: 100, B: 50}
    for switch, begins in (("s", {A: 100, B: 50}), ("t", {A: 110, B: 60})):
        led.prepare(switch)
        consumer.poll(0)
        assert led.ready_for[-1] == (switch, {"a-0": 3, "a-1": 50 if switch == "s" else 60}, {})
        led.cancel()
        consumer.poll(0)
        inner = PlainConsumer.made[-1]
        inner.given(A, B)
        assert inner.assigned == begins
        inner.read |= {A: 110, B: 60}
    led.prepare("u", lost=is_lost)
    consumer.poll(0)
    assert led.ready_for[-1] == ("u", {"a-0": 3, "a-1": 40 if is_lost else 60}, {})


def test_what_another_member_has_committed_meanwhile_is_handed_over_of_a_lost_cluster() -> None:
    """Its own earlier commit would have all of that read again."""
    old = PlainConsumer.logs["old"]
    consumer, led, inner = reading(enable_auto_commit=False, auto_offset_reset="earliest")
    inner.given(A)
    inner.read[A] = 150
    consumer.commit(offsets=[TopicPartition(*A, 150)], asynchronous=False)
    inner.callbacks["on_revoke"](inner, [TopicPartition(*A)])
    inner.read, old.committed = {}, {A: 300}
    inner.given(A)
    led.prepare("s", lost=True)
    consumer.poll(0)
    assert led.ready_for == [("s", {"a-0": 300}, {})]


def test_partitions_that_were_assigned_by_hand_stay_paused_where_it_goes_on() -> None:
    """As those that a group gives."""
    consumer = Consumer({**SETTINGS, "group.id": "g"})
    consumer.assign([TopicPartition(*A, 1), TopicPartition(*B, 2)])
    consumer.pause([TopicPartition(*A)])
    led = Told.last
    led.prepare("s")
    consumer.poll(0)
    led.go("new", {"a-0": 3, "a-1": 4})
    consumer.poll(0)
    assert (PlainConsumer.made[-1].assigned, PlainConsumer.made[-1].paused) == ({A: 3, B: 4}, {A})


def test_a_topic_that_is_called_otherwise_on_the_same_cluster_is_another_log() -> None:
    """No number and no message of before is taken for one of it; of other topics all goes on as it was."""
    consumer, led, inner = reading()
    consumer.subscribe(["a", "b"])
    inner.given(A, ("b", 0))
    inner.read |= {A: 100, ("b", 0): 200}
    led.names = {"a": "v2.a"}
    led.tell()
    consumer.poll(0)
    assert PlainConsumer.logs["old"].committed == {A: 100, ("b", 0): 200}
    again = PlainConsumer.made[-1]
    again.given(("v2.a", 0), ("b", 0))
    assert again.assigned == {("v2.a", 0): OFFSET_INVALID, ("b", 0): 200}
    for offsets in ([TopicPartition("a", 0, 100)], [TopicPartition("b", 0, 200), TopicPartition("a", 0, 100)]):
        with pytest.raises(StaleOffsetError):
            consumer.commit(offsets=offsets)
    with pytest.raises(StaleMessageError):
        consumer.commit(Message(topic="a", partition=0, offset=99))
    consumer.commit(offsets=[TopicPartition("b", 0, 200)])
    assert ("v2.a", 0) not in PlainConsumer.logs["old"].committed


def test_partitions_by_hand_of_a_topic_that_is_called_otherwise_are_assigned_anew() -> None:
    """They begin nowhere there."""
    consumer = Consumer({**SETTINGS, "group.id": "g"})
    consumer.assign([TopicPartition(*A, 20)])
    led = Told.last
    led.names = {"a": "v2.a"}
    led.tell()
    with pytest.raises(LostAssignmentError):
        consumer.poll(0)


@pytest.mark.parametrize(("there", "begins"), [("one", 100), ("two", OFFSET_INVALID)])
def test_other_servers_lead_to_the_same_cluster_only_by_its_id(there: str, begins: int) -> None:
    """The positions of another one are not taken there, and numbers neither; where it is the same all goes on."""
    PlainConsumer.logs |= {"old": Log(id="one"), "old-2": Log(id=there)}
    PlainConsumer.logs["old-2"].committed = {A: 50} if there == "one" else {}
    consumer, led, inner = reading(enable_auto_commit=False)
    inner.given(A)
    inner.read[A] = 100
    led.servers = "old-2"
    led.tell()
    consumer.poll(0)
    again = PlainConsumer.made[-1]
    again.given(A)
    assert again.assigned == {A: begins}
    if there == "one":
        consumer.commit(offsets=[TopicPartition(*A, 100)])
    else:
        with pytest.raises(StaleOffsetError):
            consumer.commit(offsets=[TopicPartition(*A, 100)])


def test_where_a_cluster_does_not_tell_its_id_the_consumer_waits_for_it() -> None:
    """It may be either; once it answers the consumer goes on."""
    PlainConsumer.logs |= {"old": Log(id="one"), "old-2": Log()}
    consumer, led, inner = reading(enable_auto_commit=False)
    inner.given(A)
    inner.read[A] = 100
    led.servers = "old-2"
    led.tell()
    assert consumer.poll(0) is None and consumer.assignment() == []
    PlainConsumer.logs["old-2"].id = "one"
    consumer.poll(0)
    PlainConsumer.made[-1].given(A)
    assert PlainConsumer.made[-1].assigned == {A: 100}


def test_a_consumer_counts_errors_that_its_application_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that stand in the place of records are none; the end of a partition is neither."""
    end, away = Message(topic="a"), Message(topic="a")
    end.set_error(KafkaError(KafkaError._PARTITION_EOF))
    away.set_error(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    ready = [Message(topic="a", value=b"12345", offset=0), end, away]
    more = [Message(topic="a", value=b"1", offset=1)]
    monkeypatch.setattr(PlainConsumer, "poll", lambda *_: ready.pop(0) if ready else None)
    monkeypatch.setattr(PlainConsumer, "consume", lambda *_: more, raising=False)
    consumer, _, inner = reading()
    assert [consumer.poll(0) is not None for _ in range(3)] == [True] * 3
    assert len(consumer.consume(1, 0)) == 1

    def fails(**_: Any) -> None:
        raise KafkaException(KafkaError(KafkaError.REBALANCE_IN_PROGRESS))

    monkeypatch.setattr(inner, "commit", fails)
    with pytest.raises(KafkaException):
        consumer.commit(asynchronous=False)
    found = consumer.figures()
    assert (found.records, found.bytes, found.errors) == (2, 6, 2)


def test_an_error_behind_records_is_told_by_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The records count as given out, so they are given out; the error is not lost, and is told once."""
    ready: list[list[Message]] = [[Message(topic="a", value=b"1", offset=0)]]

    def consume(*_: Any) -> list[Message]:
        if not ready:
            raise KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
        return ready.pop(0)

    monkeypatch.setattr(PlainConsumer, "consume", consume, raising=False)
    consumer, _, _ = reading()
    assert [one.value() for one in consumer.consume(3, TIMEOUT_S)] == [b"1"]
    ready.append([Message(topic="a", value=b"2", offset=1)])
    with pytest.raises(KafkaException):
        consumer.consume(1, 0)
    assert [one.value() for one in consumer.consume(1, 0)] == [b"2"]


@pytest.mark.parametrize("commits", [False, True])
def test_where_a_consumer_stood_as_its_session_ended_is_handed_over_only_where_its_cluster_is_lost(
    commits: bool,
) -> None:
    """Until the cluster answers nobody can say whether another member has read on, so it has not paused."""
    PlainConsumer.logs["old"].committed = {A: 70} if commits else {}
    consumer, led, inner = reading(enable_auto_commit=not commits)
    revoked: list[Any] = []
    consumer.subscribe(["a"], on_revoke=lambda _, partitions: revoked.extend(partitions))
    inner.given(A, B)
    inner.read[A] = 100
    if commits:
        consumer.commit(offsets=[TopicPartition(*A, 90)], asynchronous=False)
    inner.log.is_gone = True
    inner.lost(A, B)
    assert len(revoked) == 2, "an application that has no on_lost is told so"
    led.prepare("s")
    consumer.poll(0)
    assert led.ready_for == []
    led.prepare("s", lost=True)
    consumer.poll(0)
    assert led.ready_for == [("s", {"a-0": 90 if commits else 100}, {})]


def test_where_a_consumer_stood_as_its_session_ended_counts_no_more_once_its_cluster_answers() -> None:
    """What the group has committed does (U6), also where it gives the consumer something again."""
    consumer, led, inner = reading()
    inner.given(A)
    inner.read[A] = 100
    inner.lost(A)
    led.prepare("s")
    consumer.poll(0)
    assert led.ready_for == [("s", {}, {})]
    led.cancel()
    consumer.poll(0)
    again = PlainConsumer.made[-1]
    again.given(A)
    again.read[A] = 100
    again.lost(A)
    again.given(B)
    again.read = {B: 5}
    led.prepare("t", lost=True)
    consumer.poll(0)
    assert led.ready_for[-1] == ("t", {"a-1": 5}, {})


def test_a_consumer_that_never_had_a_partition_has_paused_once_its_cluster_answers_or_is_lost() -> None:
    """Its client would wait for the cluster as it is closed."""
    consumer, led, inner = reading()
    inner.log.is_gone = True
    led.prepare("s")
    consumer.poll(0)
    assert led.ready_for == []
    inner.log.is_gone = False
    consumer.poll(0)
    assert led.ready_for == [("s", {}, {})]
