"""Messages that say by their offset of which cluster they are, and those that have to be told of."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from anabranch.sdk import Consumer, StaleMessageError, StaleOffsetError
from anabranch.sdk.message import RoutedMessage
from tests.chance import examples
from tests.unit.sdk.stand import SETTINGS, Log, PlainConsumer, Told, put_in

pytestmark = pytest.mark.unit
A, B = ("a", 0), ("a", 1)
CLUSTERS = ("old", "new", "third")


def message(at: int, place: tuple[str, int] = A) -> Any:
    """As a client reads it."""
    return Message(topic=place[0], partition=place[1], offset=at, value=b"v")


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Consumer:
    """One that has read a-0 up to 100 on the cluster old, and has just gone over."""
    put_in(monkeypatch)
    made = Consumer({**SETTINGS, "group.id": "g", "auto.offset.reset": "earliest"})
    made.subscribe(["a"])
    PlainConsumer.made[-1].given(A, B)
    PlainConsumer.made[-1].comes = [message(99)]
    assert type(made.poll(0)) is Message
    switched(made, "new", {})
    return made


def switched(made: Any, cluster: str, starts: dict[str, int]) -> None:
    """The consumer has gone over."""
    Told.last.prepare("s")
    made.poll(0)
    Told.last.go(cluster, starts)
    made.poll(0)


def polled(made: Any, *given: Any) -> list[Any]:
    """What the application gets of these."""
    PlainConsumer.made[-1].comes = list(given)
    return [made.poll(0) for _ in given]


def test_messages_beyond_what_was_read_before_are_given_out_as_they_are(consumer: Consumer) -> None:
    """Those below are not, or one of the cluster before could not be told from them."""
    PlainConsumer.logs["new"].committed = {A: 98}
    inner = PlainConsumer.made[-1]
    inner.given(A)
    kinds = [type(one) for one in polled(consumer, *map(message, (98, 99, 100, 101)))]
    assert kinds == [RoutedMessage, RoutedMessage, Message, Message]
    with pytest.raises(StaleMessageError):
        consumer.commit(message(99))
    consumer.commit(message(100))
    inner.comes = [message(102), message(103)]
    assert [type(one) for one in consumer.consume(2, 0)] == [Message, Message]
    for offset in (98, 102, 104):
        consumer.commit(offsets=[TopicPartition(*A, offset)])
    for offset in (97, 105):
        with pytest.raises(StaleOffsetError):
            consumer.commit(offsets=[TopicPartition(*A, offset)])


def test_after_a_seek_back_messages_are_told_of_again(consumer: Consumer) -> None:
    """Until they lie beyond what was read before."""
    PlainConsumer.logs["new"].committed = {A: 100}
    PlainConsumer.made[-1].given(A)
    polled(consumer, message(100))
    consumer._era.known.told(A, [50])
    consumer.seek(TopicPartition(*A, 50))
    assert [type(one) for one in polled(consumer, message(50), message(100))] == [RoutedMessage, Message]
    consumer.commit(offsets=[TopicPartition(*A, 51)])
    with pytest.raises(KafkaException):
        consumer.seek(TopicPartition(*B, -2))
    assert consumer._floors.open == set()


def test_a_partition_of_which_nothing_comes_keeps_no_other_one_from_being_quick(consumer: Consumer) -> None:
    """What is committed says where it begins, or else its log's start; below what was read it stays as it is."""
    log, inner, c, d = PlainConsumer.logs["new"], PlainConsumer.made[-1], ("a", 2), ("a", 3)
    log.committed, log.starts = {A: 100}, {c: 5}
    inner.given(A, B, c, d)
    log.committed |= {B: 7}
    polled(consumer, *map(message, range(100, 1098)))
    assert consumer._floors.open == {B, c, d}
    log.is_gone = True
    polled(consumer, *map(message, range(1098, 1101)))
    assert consumer._floors.open == {B, c, d}, "it is asked once in so many"
    log.is_gone = False
    polled(consumer, *map(message, range(1101, 10_101)))
    assert consumer._floors.open == {d}
    consumer.commit(offsets=[TopicPartition(*B, 7), TopicPartition(*c, 5)])
    with pytest.raises(StaleOffsetError):
        consumer.commit(offsets=[TopicPartition(*c, 6)])
    polled(consumer, message(0, d))
    assert consumer._floors.open == set()
    assert [type(one) for one in polled(consumer, message(7, B), message(5, c))] == [Message, Message]


def test_a_message_that_comes_as_the_client_is_left_knows_its_cluster(consumer: Consumer) -> None:
    """It may not be among those of which the client says that they were read."""
    PlainConsumer.logs["new"].committed = {A: 100}
    inner = PlainConsumer.made[-1]
    inner.given(A)
    polled(consumer, message(100))
    for read in (consumer.poll, lambda timeout: consumer.consume(1, timeout)[0]):
        late = message(101)

        def comes(*_: Any, late: Any = late) -> Any:
            Told.last.prepare("s")
            return late

        inner.poll, inner.consume = comes, lambda *_: [comes()]  # type: ignore[method-assign]
        found: Any = read(0)
        assert isinstance(found, RoutedMessage) and found.raw is late
        consumer.commit(found)
        Told.last.cancel()


@pytest.mark.parametrize("by_hand", [False, True])
def test_what_is_asked_for_while_figures_are_due_is_read(monkeypatch: pytest.MonkeyPatch, by_hand: bool) -> None:
    """The client is there: only what is ordered has it wait."""
    put_in(monkeypatch)
    made = Consumer({**SETTINGS, "group.id": "g"})
    made.assign([TopicPartition(*A, 5)]) if by_hand else made.subscribe(["a"])
    inner = PlainConsumer.made[-1]
    made.figures()
    made.assign([TopicPartition(*B, 6)]) if by_hand else made.subscribe(["a"])
    assert (inner.assigned, inner.subscribed) == (({B: 6}, 0) if by_hand else ({}, 2))


class Life(RuleBasedStateMachine):
    """A consumer that goes from cluster to cluster, and an application that keeps every message: U3, M1, M2."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        put_in(self.patch)
        self.patch.setattr(PlainConsumer, "logs", {name: Log(id=name) for name in CLUSTERS})
        self.kept: list[tuple[int, Any]] = []
        self.era = 1
        self.next: dict[tuple[str, int], int] = {}
        self.has: list[tuple[str, int]] = []

    def teardown(self) -> None:
        self.patch.undo()

    @initialize(by_hand=st.booleans())
    def begin(self, by_hand: bool) -> None:
        """By a group, or by hand."""
        self.made = Consumer({**SETTINGS, "group.id": "g", "auto.offset.reset": "earliest"})
        self.by_hand = by_hand
        if by_hand:
            self.has = [A, B]
            self.made.assign([TopicPartition(*A, 0), TopicPartition(*B, 0)])
        else:
            self.made.subscribe(["a"])

    @property
    def inner(self) -> PlainConsumer:
        """The client of now."""
        return PlainConsumer.made[-1]

    @precondition(lambda self: not self.by_hand and not self.has)
    @rule(places=st.lists(st.sampled_from([A, B]), min_size=1, unique=True), committed=st.none() | st.integers(0, 12))
    def gives(self, places: list[tuple[str, int]], committed: int | None) -> None:
        """The group gives it partitions."""
        self.inner.read = {}
        self.inner.log.committed = {} if committed is None else dict.fromkeys(places, committed)
        self.inner.given(*places)
        self.has = places

    @precondition(lambda self: not self.by_hand and self.has)
    @rule()
    def takes(self) -> None:
        """And takes them away."""
        self.inner.callbacks["on_revoke"](self.inner, [TopicPartition(*place) for place in self.has])
        self.has, self.inner.assigned = [], {}

    @precondition(lambda self: self.has)
    @rule(which=st.integers(0, 1), first=st.integers(0, 12), number=st.integers(1, 4), batch=st.booleans())
    def reads(self, which: int, first: int, number: int, batch: bool) -> None:
        """From where it stands, or where it begins."""
        place = self.has[which % len(self.has)]
        begins = self.inner.assigned.get(place, -1)
        at = self.inner.read.get(place, begins if begins >= 0 else self.inner.log.committed.get(place, first))
        given = [message(at + more, place) for more in range(number)]
        self.inner.comes = list(given)
        found = self.made.consume(number, 0) if batch else [self.made.poll(0) for _ in given]
        assert [one.offset() for one in found] == [one.offset() for one in given]
        self.kept += [(self.era, one) for one in found]

    @precondition(lambda self: any(era == self.era for era, _ in self.kept))
    @rule(data=st.data())
    def seeks(self, data: st.DataObject) -> None:
        """To a message of this cluster."""
        one = data.draw(st.sampled_from([one for era, one in self.kept if era == self.era]))
        place = (one.topic(), one.partition())
        if place in self.has:
            self.made.seek(TopicPartition(*place, one.offset()))

    @rule(
        cluster=st.sampled_from(["old", "new", "third"]),
        starts=st.dictionaries(st.sampled_from([A, B]), st.integers(0, 12)),
    )
    def goes(self, cluster: str, starts: dict[tuple[str, int], int]) -> None:
        """To another cluster, or to the same one again."""
        before = Told.last.cluster
        Told.last.prepare("s")
        self.made.poll(0)
        named = {f"{topic}-{part}": at for (topic, part), at in starts.items()}
        if self.by_hand:
            named = {"a-0": 0, "a-1": 0} | named
        Told.last.go(cluster, named)
        self.made.poll(0)
        self.era += before != cluster
        if not self.by_hand:
            self.has = []
        assert self.made._floors.open <= set(self.has), "what it reads no more slows nothing down"

    @rule()
    def reports(self) -> None:
        """As it does each some seconds."""
        self.made.figures()

    @precondition(lambda self: self.kept)
    @rule(data=st.data())
    def commits(self, data: st.DataObject) -> None:
        """A message is taken on its own cluster alone."""
        era, one = data.draw(st.sampled_from(self.kept))
        if era == self.era:
            self.made.commit(one)
            self.made.commit(offsets=[TopicPartition(one.topic(), one.partition(), one.offset() + 1)])
        else:
            with pytest.raises(StaleMessageError):
                self.made.commit(one)


TestLife = Life.TestCase
TestLife.settings = examples(400, stateful_step_count=30)


def test_a_message_in_place_of_a_record_has_no_offset(consumer: Consumer) -> None:
    """It is given out as it is."""
    wrong = Message(topic="a")
    wrong.set_error(KafkaError(KafkaError._PARTITION_EOF))
    assert polled(consumer, wrong) == [wrong]
