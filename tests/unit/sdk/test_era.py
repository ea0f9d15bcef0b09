"""What counts on one cluster alone, and callbacks in which none is left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, TopicPartition

from anabranch.sdk.callbacks import Callbacks
from anabranch.sdk.era import Era
from anabranch.sdk.floors import Floors
from anabranch.sdk.names import Names
from tests.unit.sdk.stand import route
from tests.unit.sdk.test_names import names

pytestmark = pytest.mark.unit


def message(offset: int = 5, topic: str = "new.t") -> Any:
    """As a client reads it."""
    return Message(topic=topic, partition=0, offset=offset, value=b"v")


def test_a_message_is_of_the_era_in_which_it_was_given_out() -> None:
    """U3; the first gives out the client's own, since there is none before."""
    raw, there = message(), names(t="new.t")
    first, second, third = Era(1, "old"), Era(2, "new"), Era(3, "old")
    given = second.wrapped(raw, there)
    assert (given.topic(), second.raw_of(given, there, Floors())) == ("t", raw)
    assert first.raw_of(given, there, Floors()) is None and third.raw_of(given, there, Floors()) is None
    floors = Floors()
    assert first.raw_of(raw, Names(), floors) is raw
    floors.read_to(("new.t", 0), 6)
    floors.leave()
    assert second.raw_of(raw, Names(), floors) is None and second.raw_of(message(6), Names(), floors) is not None
    assert Era().raw_of(raw, Names(), Floors()) is None


def test_a_message_or_number_of_a_topic_that_was_called_otherwise_is_of_another_log() -> None:
    """U3, on the first cluster, too: others go on as they were, and a name that comes back is known of anew."""
    era, plain, there = Era(1, "old"), Names(), names(t="new.t")
    old, other = message(topic="t"), message(topic="u")
    era.called({"t": "t", "u": "u"})
    era.called({"t": "new.t"})
    assert (era.is_plain, era.renamed) == (False, {"t"})
    assert era.raw_of(old, there, Floors()) is None and era.raw_of(other, there, Floors()) is other
    assert not era.takes(TopicPartition("t", 0, 5), there) and era.takes(TopicPartition("u", 0, 5), there)
    era.wrapped(message(topic="new.t"), there)
    assert era.takes(TopicPartition("t", 0, 6), there)
    era.called({"t": "t"})
    assert not era.takes(TopicPartition("t", 0, 6), plain) and not era.is_plain
    era.called({"t": "new.t"})
    assert not era.takes(TopicPartition("t", 0, 6), there)


@pytest.mark.parametrize(("there", "goes_on"), [("one", True), ("two", False), ("", None)])
def test_other_servers_are_those_of_one_cluster_only_by_its_id(there: str, goes_on: bool | None) -> None:
    """U8; one that says nothing is asked again, and the same servers are not asked at all."""
    era = Era(1, "old", servers=("a:1",), id="one")

    def found(servers: str, id_there: str) -> Era | None:
        return era.at(replace(route(), bootstrap=(servers,)), {}, lambda: id_there)

    assert found("a:1", "two") is era
    came = found("b:1", there)
    assert (None if came is None else came is era) == goes_on
    assert came is None or (came.servers, came.number) == (("b:1",), 1 if goes_on else 2)


def test_a_number_is_an_offset_of_the_first_cluster_or_was_told_there() -> None:
    """U3, by the application's name."""
    both = names(t="new.t")
    era = Era(2, "new")
    assert Era(1, "old").takes(TopicPartition("t", 0, 9), both) and not era.takes(TopicPartition("t", 0, 5), both)
    era.wrapped(message(), both)
    assert era.takes(TopicPartition("t", 0, 6), both) and not era.takes(TopicPartition("t", 0, 6), Names())


def test_what_is_known_to_be_committed_is_the_last_that_was() -> None:
    """Not what was refused, nor what stands for no record."""
    era = Era(1, "old")
    era.noted(None)
    refused: Any = type("Refused", (), {"topic": "t", "partition": 0, "offset": 9, "error": KafkaError(3)})()
    era.noted([TopicPartition("t", 0, 4), TopicPartition("t", 0, 5), TopicPartition("t", 1, -1001), refused])
    assert era.committed == {("t", 0): 5}


def test_a_callback_is_known_to_run_while_it_does() -> None:
    """Whatever it raises, and in another one."""
    callbacks = Callbacks()
    seen: list[bool] = []

    def inner() -> None:
        seen.append(callbacks.are_running)
        raise LookupError

    def outer() -> None:
        with pytest.raises(LookupError):
            callbacks.guarded(inner)()
        seen.append(callbacks.are_running)

    callbacks.guarded(outer)()
    assert (seen, callbacks.are_running) == ([True, True], False)


def test_commits_that_nobody_waited_for_are_noted_beside_the_callback_of_the_application() -> None:
    """Those that failed are told to it alone; what is no function stays for the client to refuse."""
    noted: list[Any] = []
    told: list[Any] = []
    failed: list[Any] = []
    given = {"on_commit": lambda *found: told.append(found), "error_cb": told.append, "stats_cb": None}
    found = Callbacks().configured(given, noted.append, failed.append)
    assert found.keys() == {"on_commit", "error_cb"}
    found["on_commit"](None, ["a"])
    found["on_commit"]("failed", ["b"])
    assert (noted, told) == ([["a"]], [(None, ["a"]), ("failed", ["b"])])
    found["error_cb"]("away")
    assert (told[2:], failed) == (["away"], ["failed", "away"])
