"""A result beside the same rewrite made again: all but the offsets of its positions must be as it is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from flink_samples import Arithmetic, MemoryFiles, kafka_operator, metadata, moved_stream, opened, reopened, split

from anabranch.checkpoints.flink import FlinkCheckpoint
from anabranch.checkpoints.flink.comparing import absent_files, differences, has_relatives
from anabranch.checkpoints.flink.enumerator import ASSIGNED, UNASSIGNED, Assignment, EnumeratorState
from anabranch.checkpoints.flink.handles import Inline, RelativeFile
from anabranch.checkpoints.flink.keyed import Span
from anabranch.checkpoints.flink.metadata import Operator, SavepointMetadata, Subtask
from anabranch.checkpoints.plan import RewriteSpec
from anabranch.checkpoints.position import Position
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

ORDERS = [[split("orders", 0, 100), split("orders", 2, 300)], [split("orders", 1, 200)]]
SOURCE = "operator " + kafka_operator("src", ORDERS).hex
OTHER = kafka_operator("other", [[split("bills", 0, 1)]])


def ahead(by: int) -> Arithmetic:
    """To topics of longer names, so many records on."""
    return Arithmetic(by=by, rename=lambda topic: f"b.{topic}")


def rewritten(checkpoint: FlinkCheckpoint, route: Arithmetic) -> FlinkCheckpoint:
    """The result of a rewrite."""
    data = checkpoint.rewrite(RewriteSpec(), route).writes["_metadata"]
    assert data is not None
    return reopened(data)


@pytest.mark.parametrize(
    ("version", "by"), [(1, 0), (1, 37), (1, 5_000), (2, 0), (2, 37), (2, 5_000), (3, 37), (3, 5_000)]
)
def test_a_result_whose_logs_have_moved_on_is_as_it_was_made(version: int, by: int) -> None:
    """Where its offsets lead by now is proved on its own."""
    checkpoint = opened(kafka_operator("src", ORDERS, version), OTHER)
    assert checkpoint.unlike(rewritten(checkpoint, ahead(37)), RewriteSpec(), ahead(by)) == ()


def test_the_end_of_a_bounded_source_and_a_place_that_was_given_move_on_too() -> None:
    """Each by its own offset in the result: the end is no start, and what waited has a start since."""
    bounded = opened(kafka_operator("src", [[split("orders", 0, 100, stop=500)]]))
    assert bounded.unlike(rewritten(bounded, ahead(37)), RewriteSpec(), ahead(50)) == ()
    places = [
        Assignment(TopicPartition("orders", number), status) for number, status in ((0, ASSIGNED), (1, UNASSIGNED))
    ]
    waiting = opened(
        kafka_operator("src", [[split("orders", 0, 5)]], enumerator=EnumeratorState(2, tuple(places), True))
    )
    first, later = (replace(ahead(37), given={TopicPartition("b.orders", 1): offset}) for offset in (77, 90))
    assert waiting.unlike(rewritten(waiting, first), RewriteSpec(), later) == ()


def test_a_result_that_leads_elsewhere_is_told() -> None:
    """To another topic, or not at all: positions and enumerator are both not as they must be."""
    checkpoint = opened(kafka_operator("src", ORDERS))
    elsewhere = rewritten(checkpoint, Arithmetic(by=37, rename=lambda topic: f"c.{topic}"))
    for result in (elsewhere, checkpoint):
        assert checkpoint.unlike(result, RewriteSpec(), ahead(37)) == (
            f"{SOURCE}: its coordinator's state is not as it must be",
            f"{SOURCE}: the operator state of subtask 0 is not as it must be",
            f"{SOURCE}: the operator state of subtask 1 is not as it must be",
        )


def test_a_rewrite_that_is_refused_by_now_cannot_be_compared_with() -> None:
    """The first reason is named, and how many more there are."""
    checkpoint = opened(kafka_operator("src", ORDERS))
    result = rewritten(checkpoint, ahead(37))
    one, two = ({TopicPartition("orders", number) for number in range(count)} for count in (1, 2))
    for refuse, more in ((one, ""), (two, " (and 1 more)")):
        (told,) = checkpoint.unlike(result, RewriteSpec(), replace(ahead(37), refuse=frozenset(refuse)))
        assert told == (
            "what is beside the positions could not be compared: the rewrite is refused by now: "
            f"orders-0 is not copied{more}"
        )


def begun(start: int, **stop: int) -> Operator:
    """A source whose enumerator still has where its one partition began, and ends, which no restart uses."""
    one = Assignment(TopicPartition("orders", 0), ASSIGNED, split("orders", 0, start, **stop))
    state = EnumeratorState(3, (one,), True)
    return kafka_operator("src", [[split("orders", 0, 100)]], enumerator=state)


@pytest.mark.parametrize(("by", "same"), [(50, True), (38, True), (37, True), (36, False), (0, False)])
def test_where_a_partition_once_began_leads_later_and_later(by: int, same: bool) -> None:
    """A result that says later than the route does now was changed by somebody else."""
    checkpoint = opened(begun(10))
    found = checkpoint.unlike(rewritten(checkpoint, ahead(37)), RewriteSpec(), ahead(by))
    assert found == (() if same else (f"{SOURCE}: its coordinator's state is not as it must be",))


@pytest.mark.parametrize("by", [5, 0, -10])
def test_the_first_offset_of_all_is_one_where_a_partition_once_began(by: int) -> None:
    """It is not taken for none."""
    checkpoint = opened(begun(10))
    assert checkpoint.unlike(rewritten(checkpoint, ahead(-10)), RewriteSpec(), ahead(by)) == ()


@pytest.mark.parametrize(("by", "same"), [(50, True), (36, False)])
def test_where_a_bounded_partition_ends_leads_later_and_later(by: int, same: bool) -> None:
    """As its beginning does, and each by its own offset."""
    checkpoint = opened(begun(10, stop=500))
    found = checkpoint.unlike(rewritten(checkpoint, ahead(37)), RewriteSpec(), ahead(by))
    assert found == (() if same else (f"{SOURCE}: its coordinator's state is not as it must be",))


def test_where_a_partition_once_began_may_lead_nowhere_by_now() -> None:
    """Its log has lost that: no restart uses it, so the result's own counts."""

    class Lost(Arithmetic):
        def move(self, position: Position) -> TranslatedPosition | Reason | None:
            answer = super().move(position)
            return Reason(ReasonKind.OUTSIDE_LOG, "gone") if position.offset == 10 else answer

    checkpoint = opened(begun(10))
    route = Lost(by=37, rename=lambda topic: f"b.{topic}")
    assert checkpoint.unlike(rewritten(checkpoint, ahead(37)), RewriteSpec(), route) == ()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda one: replace(one, version=5), "its format version is 5, and was 4"),
        (lambda one: replace(one, checkpoint_id=8), "its checkpoint id is 8, and was 7"),
        (lambda one: replace(one, masters=(b"m",)), "the state of the job manager's hooks is not as it was"),
        (lambda one: replace(one, properties=b"p"), "the checkpoint's properties are not as they were"),
        (lambda one: replace(one, operators=one.operators[::-1]), "its operators are in another order"),
        (lambda one: replace(one, operators=one.operators[:1]), f"operator {OTHER.hex} is missing"),
    ],
)
def test_what_differs_of_the_whole_is_named(
    change: Callable[[SavepointMetadata], SavepointMetadata], what: str
) -> None:
    """Each part in words of its own."""
    expected = metadata(kafka_operator("src", ORDERS), OTHER)
    assert differences(expected, expected) == ()
    assert differences(expected, change(expected)) == (what,)


def test_an_operator_that_was_put_in_is_named() -> None:
    """It is none of the original's."""
    expected = metadata(kafka_operator("src", ORDERS))
    found = replace(expected, operators=(*expected.operators, OTHER))
    assert differences(expected, found) == (f"operator {OTHER.hex} is not of it",)


def subtask(change: Callable[[Subtask], Subtask]) -> Callable[[Operator], Operator]:
    """An operator whose second subtask is another."""
    return lambda one: replace(one, subtasks=(*(one.subtasks or ())[:1], change((one.subtasks or ())[1])))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda one: replace(one, uid="u"), "operator u: its name or uid is not as it was"),
        (lambda one: replace(one, name="n"), "operator n: its name or uid is not as it was"),
        (lambda one: replace(one, parallelism=3), f"{SOURCE}: its parallelism is not as it was"),
        (lambda one: replace(one, max_parallelism=9), f"{SOURCE}: its parallelism is not as it was"),
        (lambda one: replace(one, coordinator=None), f"{SOURCE}: its coordinator's state is not as it must be"),
        (lambda one: replace(one, subtasks=None), f"{SOURCE}: it has not as many subtasks as it had"),
        (lambda one: replace(one, subtasks=one.subtasks[:1]), f"{SOURCE}: it has not as many subtasks as it had"),
        *(
            (subtask(change), f"{SOURCE}: {what} of subtask {number} is not as it must be")
            for change, what, number in (
                (lambda one: replace(one, index=7), "the number or the end", 7),
                (lambda one: replace(one, finished=True), "the number or the end", 1),
                (lambda one: replace(one, managed=None), "the operator state", 1),
                (lambda one: replace(one, raw=one.managed), "the raw operator state", 1),
                (lambda one: replace(one, keyed=(one.keyed[0], Span(b"k"))), "the keyed state", 1),
                (lambda one: replace(one, channels=(Span(b"c"), one.channels[1])), "the in-flight records", 1),
            )
        ),
    ],
)
def test_what_differs_of_an_operator_is_named(change: Callable[[Operator], Operator], what: str) -> None:
    """With the subtask, and nothing else is told."""
    expected = metadata(kafka_operator("src", ORDERS), OTHER)
    found = replace(expected, operators=(change(expected.operators[0]), OTHER))
    assert differences(expected, found) == (what,)
    assert len(differences(found, expected)) == 1


def test_an_operator_of_which_all_had_finished_is_as_it_was() -> None:
    """It has no subtasks in either."""
    expected = metadata(replace(kafka_operator("src", ORDERS), subtasks=None))
    assert differences(expected, expected) == ()


@pytest.mark.parametrize(("count", "last"), [(8, "operator {} is missing"), (9, "and 1 more"), (10, "and 2 more")])
def test_no_more_than_some_differences_are_told(count: int, last: str) -> None:
    """And how many more there are."""
    many = [kafka_operator(f"op-{number}", [[split("t", 0, 1)]]) for number in range(count)]
    found = differences(metadata(*many), metadata())
    assert len(found) == min(count, 9)
    assert found[-1] == last.format(many[-1].hex)
    assert found[7] == f"operator {many[7].hex} is missing"


STATE = RelativeFile("state-1", 5)


@pytest.mark.parametrize(
    ("contents", "told"),
    [
        ({"state-1": b"12345"}, ()),
        ({}, ("state-1, a file of its state, is not there",)),
        ({"state-1": b"1234"}, ("state-1, a file of its state, has 4 bytes, 5 are told",)),
        ({"state-1": b"123456"}, ("state-1, a file of its state, has 6 bytes, 5 are told",)),
    ],
)
@pytest.mark.parametrize("place", ["managed", "raw", "keyed", "channels"])
def test_a_file_beside_it_that_is_absent_or_cut_is_told_once(
    contents: dict[str, bytes], told: tuple[str, ...], place: str
) -> None:
    """Whichever state names it."""
    operator = moved_stream(kafka_operator("src", ORDERS), STATE)
    first, second = operator.subtasks or ()
    span = Span(b"span", 5, ((0, 4, STATE),))
    plain = replace(first, managed=second.managed)
    moved = {
        "managed": first,
        "raw": replace(plain, raw=first.managed),
        "keyed": replace(plain, keyed=(plain.keyed[0], span)),
        "channels": replace(plain, channels=(span, plain.channels[1])),
    }[place]
    named = metadata(replace(operator, subtasks=(moved, replace(moved, index=1))))
    assert absent_files(named, MemoryFiles(contents)) == told
    assert has_relatives(named)
    assert not has_relatives(metadata(kafka_operator("src", ORDERS), replace(OTHER, subtasks=None)))


def test_a_coordinator_of_other_bytes_is_told() -> None:
    """Also where nothing else differs."""
    expected = metadata(kafka_operator("src", ORDERS))
    (operator,) = expected.operators
    found = replace(expected, operators=(replace(operator, coordinator=Inline("n", b"x")),))
    assert differences(expected, found) == (f"{SOURCE}: its coordinator's state is not as it must be",)
