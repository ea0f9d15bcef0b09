"""Which numbers stand for offsets of the cluster where a client is, and its messages."""

from __future__ import annotations

import pickle

import pytest
from confluent_kafka import KafkaException, Message
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import RefusedError
from anabranch.sdk.errors import StaleMessageError, SwitchingError
from anabranch.sdk.known import KnownOffsets
from anabranch.sdk.message import RoutedMessage
from tests.chance import examples

pytestmark = pytest.mark.unit
T = ("t", 0)


@examples(300)
@given(st.lists(st.integers(0, 40), max_size=20), st.lists(st.integers(-3, 90), max_size=10), st.integers(0, 99))
def test_only_what_was_delivered_or_answered_is_known(delivered: list[int], told: list[int], asked: int) -> None:
    """K1."""
    known = KnownOffsets()
    for offset in delivered:
        known.delivered(T, offset)
    known.told(T, told)
    between = bool(delivered) and min(delivered) <= asked <= max(delivered) + 1
    assert known.is_known(T, asked) == (between or asked in told)
    assert not known.is_known(("t", 1), asked)


def test_logical_offsets_are_of_every_cluster() -> None:
    """Beginning and end are what they say."""
    assert KnownOffsets().is_known(T, -2)


def test_answers_are_forgotten_in_their_order() -> None:
    """K2."""
    known = KnownOffsets()
    known.told(T, range(100))
    assert not known.is_known(T, 0) and known.is_known(T, 99)


def test_a_routed_message_is_one_of_confluent_kafka() -> None:
    """With all that it answers, and the application's name of its topic."""
    raw = Message(topic="old.t", partition=1, offset=5, key=b"k", value=b"abc", timestamp=(1, 7), leader_epoch=2)
    made = RoutedMessage(raw, 2, "t")
    assert isinstance(made, Message)
    assert (made.topic(), made.partition(), made.offset(), made.key(), made.value()) == ("t", 1, 5, b"k", b"abc")
    assert (len(made), made.error(), made.timestamp(), made.leader_epoch(), made.latency()) == (
        3,
        None,
        raw.timestamp(),
        raw.leader_epoch(),
        raw.latency(),
    )
    made.set_value(b"z")
    assert made.value() == raw.value() == b"z"
    named = [name for name in dir(Message) if not name.startswith("_")]
    assert [name for name in named if name not in vars(RoutedMessage)] == []
    made.set_topic("u")
    assert (made.topic(), raw.topic()) == ("u", "old.t")


def test_messages_are_equal_where_they_are_the_same_record_of_one_cluster() -> None:
    """As confluent-kafka's: what they say counts, and not which object says it."""

    def made(offset: int, era: int = 2, topic: str = "t") -> RoutedMessage:
        return RoutedMessage(Message(topic="old.t", partition=1, offset=offset, value=b"abc"), era, topic)

    assert made(5) == made(5)
    for other in (made(6), made(5, era=3), made(5, topic="u"), made(5).raw, None):
        assert made(5) != other


def test_errors_are_those_that_handlers_of_kafka_expect() -> None:
    """``except KafkaException`` and ``except BufferError`` meet them; they are pickled whole."""
    stale = StaleMessageError("t", 0, 7, "new")
    assert isinstance(stale, KafkaException) and isinstance(stale, RefusedError)
    assert stale.args[0].code() == -186
    assert isinstance(SwitchingError(60.0, "switch s is under way"), BufferError)
    again = pickle.loads(pickle.dumps(stale))
    assert (str(again), again.args[0].code()) == (str(stale), -186)
