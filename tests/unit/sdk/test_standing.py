"""Where a client stands as it leaves a cluster that answers, that refuses, and that is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from anabranch.sdk.standing import Left, committed_by, stood, stood_alone
from tests.chance import examples

pytestmark = pytest.mark.unit
A, B, C = ("t", 0), ("t", 1), ("t", 2)
offsets = st.dictionaries(st.sampled_from([A, B, C]), st.integers(0, 9))


def at(offset: int, place: tuple[str, int] = A) -> Any:
    """A partition at an offset."""
    return TopicPartition(*place, offset)


@dataclass
class Answer:
    """What a cluster answers of a partition."""

    topic: str = "t"
    partition: int = 0
    offset: int = -1001
    error: KafkaError | None = None


@dataclass
class Inner:
    """A client of a cluster that says so; ``calls`` is what it was asked, in this order."""

    answers: list[Answer] = field(default_factory=list)
    refusal: int | None = None
    member: str | None = "m"
    calls: list[str] = field(default_factory=list)

    def commit(self, asynchronous: bool) -> list[Answer]:
        self.calls.append("commit")
        if self.refusal is not None:
            raise KafkaException(KafkaError(self.refusal))
        return []

    def memberid(self) -> str | None:
        return self.member

    def committed(self, partitions: list[Any], timeout: float) -> list[Answer]:
        self.calls.append("committed")
        return self.answers


def test_it_commits_first_and_stands_at_what_is_committed_where_it_has_not_read() -> None:
    """The broker takes commits in their order, so the answer holds what was committed just before."""
    inner = Inner([Answer(offset=2), Answer(partition=1, offset=4), Answer(partition=2)])
    left = stood(inner, "old", [at(3), at(-1001, B), at(-1001, C)], [at(-1001)], True)
    assert left == Left("old", {A: 3, B: 4}, {A: 2, B: 4, C: -1001})
    assert inner.calls == ["commit", "committed"]


def test_a_client_without_a_group_or_without_automatic_commits_asks_for_neither() -> None:
    """Where nothing was stored there is nothing to commit, and that is no failure."""
    alone = Inner()
    assert stood(alone, "old", [at(3)], [], False) == Left("old", {A: 3}, {})
    assert alone.calls == []
    assert stood(Inner(refusal=KafkaError._NO_OFFSET), "old", [at(3)], [], True).positions == {A: 3}


def test_a_cluster_that_refuses_is_heard_of() -> None:
    """A commit, or a partition's answer."""
    with pytest.raises(KafkaException):
        stood(Inner(refusal=KafkaError.NOT_COORDINATOR), "old", [], [], True)
    with pytest.raises(KafkaException):
        committed_by(Inner([Answer(error=KafkaError(3))]), [at(0)])


@pytest.mark.parametrize("commits", [True, False])
def test_a_client_whose_partitions_were_taken_away_hands_over_nothing_of_them(commits: bool) -> None:
    """U6: the group's commit stands, and the switch is not kept waiting; who assigns by hand is in no group."""
    answers = [Answer(offset=7)]
    for refusal in (KafkaError._ASSIGNMENT_LOST, KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION):
        told = Inner(answers, refusal)
        if commits:
            assert stood(told, "old", [at(9)], [at(-1001)], True, True) == Left("old", {}, {A: 7})
            with pytest.raises(KafkaException):
                stood(told, "old", [at(9)], [at(-1001)], True, False)
    gone = Inner(answers, member=None)
    assert stood(gone, "old", [at(9)], [at(-1001)], commits, True) == Left("old", {}, {A: 7})
    assert gone.calls == ["committed"]
    assert stood(gone, "old", [at(9)], [at(-1001)], commits, False).positions == {A: 9}
    assert stood(Inner(answers), "old", [at(9)], [at(-1001)], commits, True).positions == {A: 9}


@pytest.mark.parametrize(
    ("committed", "commits", "handed"),
    [
        ({A: -1001, B: -1001}, False, {A: 5, B: 3}),
        ({A: -1001, B: -1001}, True, {B: 2}),
        ({A: -1001, B: -1001, C: 1}, False, {B: 2}),
        ({A: 4, B: -1001}, True, {A: 5, B: 2}),
    ],
)
def test_what_was_given_out_is_not_handed_over_as_done_where_the_application_commits(
    committed: dict[Any, int], commits: bool, handed: dict[Any, int]
) -> None:
    """U7: where it has committed nothing in a partition it begins there as it did; one that never commits goes on."""
    left = Left("old", {A: 5, B: 3}, committed, {B: 2})
    assert left.handed(commits) == handed


@examples(200)
@given(offsets, offsets, offsets, st.sets(st.sampled_from([A, B, C])))
def test_of_a_lost_cluster_it_hands_over_what_is_known_without_it(
    given_out: dict[Any, int], committed: dict[Any, int], began: dict[Any, int], has: set[Any]
) -> None:
    """U5."""
    parts = [at(-1001, place) for place in has]
    positions = [at(given_out.get(place, -1001), place) for place in has]
    by_itself = stood_alone("old", parts, committed, positions, began)
    by_the_application = stood_alone("old", parts, committed, None, began)
    assert by_itself == Left("old", {place: given_out[place] for place in has & given_out.keys()})
    stands = {place: committed.get(place, began.get(place, -1)) for place in has & (committed.keys() | began.keys())}
    assert by_the_application.positions == stands
    assert by_the_application.handed(commits_itself=True, is_lost=True) == stands
    assert by_itself.handed(commits_itself=False, is_lost=True) == by_itself.positions
