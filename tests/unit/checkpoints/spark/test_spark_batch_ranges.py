"""An uncommitted batch of Spark, partition by partition, and files of its logs that are not what they should be."""

from __future__ import annotations

import pytest
from spark_samples import CONF, TestRoute, offsets, opened, reasons, tree

from anabranch.checkpoints.plan import PositionChange, RewriteSpec, Uncommitted
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.checkpoints.spark.commits_log import parse_commits
from anabranch.checkpoints.spark.errors import MalformedError
from anabranch.checkpoints.spark.initial import parse_initial
from anabranch.checkpoints.spark.kafka_offset import parse_kafka_offset
from anabranch.checkpoints.spark.offsets_log import parse_offsets
from anabranch.checkpoints.spark.restart import StoredSource
from anabranch.checkpoints.spark.translate import (
    Translated,
    ask,
    counted_once,
    fill_starts,
    range_refusals,
    stay,
    translate,
)
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TRANSLATE = RewriteSpec(uncommitted=Uncommitted.TRANSLATE)


def stored(text: str, role: OffsetRole) -> StoredSource:
    """The offset of source 0 at one end of the batch."""
    offset = parse_kafka_offset(text, "here")
    assert offset is not None
    return StoredSource("0", "offsets/1" if role is OffsetRole.BATCH_END else "offsets/0", role, offset)


def ends(start: str, end: str, route: TestRoute) -> tuple[Translated, Translated]:
    """Both ends of a batch, translated."""
    return (
        translate(stored(start, OffsetRole.BATCH_START), route),
        translate(stored(end, OffsetRole.BATCH_END), route),
    )


def refusals(
    start: Translated, end: Translated, route: TestRoute, uncommitted: Uncommitted = Uncommitted.TRANSLATE
) -> list[tuple[ReasonKind, str]]:
    """Why the batch cannot be run again, in words."""
    return [(one.why, one.what) for one in range_refusals(start, end, route, uncommitted)]


def test_a_batch_that_ends_before_it_begins_is_refused() -> None:
    """Not one that is empty, of which nothing has to be equal."""
    route = TestRoute()
    assert refusals(*ends('{"t":{"0":5}}', '{"t":{"0":4}}', route), route) == [
        (ReasonKind.LOG_ORDER, "t-0 begins at 5 and ends at 4")
    ]
    assert refusals(*ends('{"t":{"0":5}}', '{"t":{"0":5}}', route), route) == []
    assert route.compared == []


def test_what_a_batch_holds_must_be_the_same_on_the_target() -> None:
    """Each partition over its own range; only where it is to be run again there."""
    route = TestRoute(unequal=frozenset({T1}))
    both = ends('{"t":{"0":5,"1":1000}}', '{"t":{"0":6,"1":2000}}', route)
    assert refusals(*both, route) == [(ReasonKind.NOT_EQUAL, "t-1 differs")]
    assert route.compared == [(T0, 5, 6), (T1, 1000, 2000)]
    assert refusals(*both, route, Uncommitted.REFUSE) == []
    assert len(route.compared) == 2


def test_a_partition_that_the_batch_no_longer_has_is_refused() -> None:
    """The others are looked at all the same."""
    route = TestRoute(unequal=frozenset({T1}))
    both = ends('{"t":{"0":5,"1":1}}', '{"t":{"1":2}}', route)
    found = refusals(*both, route)
    assert [why for why, _ in found] == [ReasonKind.LOG_ORDER, ReasonKind.NOT_EQUAL]
    assert found[0][1] == "t-0 has a beginning in the batch and no end: it was deleted, or the subscription changed"


def test_a_partition_that_stays_at_both_ends_is_left_alone() -> None:
    """And one that stays at one of them is refused, whichever it is."""
    route = TestRoute(stays=frozenset({"t"}))
    start, end = ends('{"t":{"0":5}}', '{"t":{"0":7}}', route)
    assert refusals(start, end, route) == []
    assert route.compared == []
    moved = TestRoute()
    begun, ended = ends('{"t":{"0":5}}', '{"t":{"0":7}}', moved)
    told = [(ReasonKind.NOT_EQUAL, "the beginning and the end of the batch in t-0 lead to different places")]
    assert refusals(begun, end, moved) == told
    assert refusals(start, ended, moved) == told


def test_the_ends_of_a_batch_must_lead_to_one_partition_in_its_order() -> None:
    """Not to two, and not backwards; the same offset is none backwards."""
    route = TestRoute()
    start, end = ends('{"t":{"0":5000}}', '{"t":{"0":7000}}', route)

    def at(partition: int, offset: int) -> Translated:
        change = PositionChange(end.changes[T0].old, TranslatedPosition(TopicPartition("new.t", partition), offset))
        return Translated(end.stored, {T0: change})

    assert refusals(start, at(0, 5100), route) == []
    assert refusals(start, at(0, 5099), route) == [
        (ReasonKind.NOT_EQUAL, "the batch in t-0 would begin at 5,100 and end at 5,099 on the target")
    ]
    assert [why for why, _ in refusals(start, at(1, 9000), route)] == [ReasonKind.NOT_EQUAL]


def test_a_marker_at_an_end_of_a_batch_is_not_compared() -> None:
    """It is no offset; that it cannot move is said of the position itself."""
    route = TestRoute()
    start, end = ends('{"t":{"0":5}}', '{"t":{"0":7}}', route)
    marked = Position("0", T0, SymbolicOffset.EARLIEST, OffsetRole.BATCH_START, "here")
    moved = start.changes[T0].moved
    assert refusals(Translated(start.stored, {T0: PositionChange(marked, moved)}), end, route) == []
    assert refusals(start, Translated(end.stored, {T0: PositionChange(marked, moved)}), route) == []


def test_a_partition_that_was_first_seen_in_the_batch_begins_at_its_first_offset() -> None:
    """Where that leads; one that stays, or whose offsets cannot move, has none put in."""
    route = TestRoute()
    start, end = ends('{"t":{"0":5}}', '{"t":{"0":7,"1":3}}', route)
    filled = fill_starts(start, end, route)
    assert filled.changes[T0] == start.changes[T0]
    assert (filled.changes[T1].old.offset, filled.changes[T1].old.role) == (0, OffsetRole.BATCH_START)
    assert filled.target[T1] == (TopicPartition("new.t", 1), 100)
    assert fill_starts(start, stay(end.stored), route).changes.keys() == {T0}
    assert fill_starts(end, end, route) is end
    refused = Translated(start.stored, start.changes, (Reason(ReasonKind.EXPIRED, "gone"),))
    assert fill_starts(refused, end, route) is refused
    assert fill_starts(start, Translated(end.stored, end.changes, refused.refusals), route) is start


def test_a_beginning_that_the_target_lost_refuses_a_partition_that_was_first_seen_in_the_batch() -> None:
    """Spark would read from the target's first record and call the others lost."""
    files = tree({0: offsets('{"t":{"0":5}}'), 1: offsets('{"t":{"0":5,"1":3}}')}, 0)
    gone = TestRoute(refused={T1: lambda offset: offset == 0})
    assert reasons(opened(files).rewrite(TRANSLATE, gone)) == {ReasonKind.EXPIRED}


def test_a_position_that_stays_keeps_its_partition_and_its_offset() -> None:
    """A marker as well; one without an offset is none that can be written."""
    one = stay(stored('{"t":{"0":5,"1":-1}}', OffsetRole.NEXT))
    assert one.target == {T0: (T0, 5), T1: (T1, SymbolicOffset.LATEST)}
    nothing = Position("0", T0, None, OffsetRole.ASSIGNED, "here")
    for moved in (None, TranslatedPosition(T1, None)):
        with pytest.raises(ValueError, match="t-0 has no offset"):
            _ = Translated(one.stored, {T0: PositionChange(nothing, moved)}).target


def test_a_route_that_leads_to_no_offset_moves_no_offset() -> None:
    """It is a refusal, not an offset of the old cluster on the new one."""

    class Nowhere(TestRoute):
        def move(self, position: Position) -> TranslatedPosition | Reason | None:
            return TranslatedPosition(position.partition, None)

    one = translate(stored('{"t":{"0":5}}', OffsetRole.NEXT), Nowhere())
    assert [(refusal.why, refusal.what) for refusal in one.refusals] == [
        (ReasonKind.UNKNOWN, "t-0: the route leads to no offset")
    ]
    assert one.changes == {}
    nothing = Position("0", T0, None, OffsetRole.ASSIGNED, "here")
    assert ask(Nowhere(), nothing) == TranslatedPosition(T0, None), "it has none to be moved"


@pytest.mark.parametrize("role", list(OffsetRole))
def test_the_damage_of_an_unmodified_restart_is_counted_where_it_begins_to_read(role: OffsetRole) -> None:
    """At one place of each partition."""
    moved = TranslatedPosition(T0, 5, 3, 4, "too early", "a note", "east")
    change = PositionChange(Position("0", T0, 1, role, "here"), moved)
    counts = role in {OffsetRole.NEXT, OffsetRole.BATCH_START}
    once = counted_once(change)
    assert once == (
        change if counts else PositionChange(change.old, TranslatedPosition(T0, 5, 0, 0, "", "a note", "east"))
    )
    unmoved = PositionChange(change.old, None)
    assert counted_once(unmoved) is unmoved


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"v1", "has two lines in every version"),
        (b'v1\n{"nextBatchWatermarkMs":0}\nmore', "has two lines in every version"),
        (b"v1\n[1]", "is no object"),
        (b'v1\n{"nextBatchWatermarkMs":true}', "nextBatchWatermarkMs is no number"),
        (b'v1\n{"nextBatchWatermarkMs":"1"}', "nextBatchWatermarkMs is no number"),
        (b'v1\n{"sinkMetadataMap":[1]}', "sinkMetadataMap is no object of objects"),
        (b'v1\n{"sinkMetadataMap":{"a":1}}', "sinkMetadataMap is no object of objects"),
    ],
)
def test_a_commit_that_is_not_as_spark_writes_it_is_refused(text: bytes, what: str) -> None:
    """What is wrong with it is said."""
    with pytest.raises(MalformedError, match=what):
        parse_commits(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"v1\n{CONF}\n\nx", "line 3: is empty"),
        ("v1\n[1]\n-", "line 2: is no object"),
        ('v1\n{"conf":[1]}\n-', "conf is not of texts"),
        ('v1\n{"conf":{"a":1}}\n-', "conf is not of texts"),
        ('v1\n{"batchWatermarkMs":true}\n-', "a time is no number"),
        ('v1\n{"batchTimestampMs":"1"}\n-', "a time is no number"),
        ('v1\n{"sourceMetadataInfo":[1]}\n-', "sourceMetadataInfo is no object"),
        (f"v2\n{CONF}\nno colon", "has no source id before a colon"),
        (f"v2\n{CONF}\n:-", "has no source id before a colon"),
        (f"v2\n{CONF}\n0:", "line 3: is empty"),
        (f"v2\n{CONF}\n0:-\n0:-", "have an id twice"),
        ("v2\n\n0:-", "line 2: is empty"),
    ],
)
def test_offsets_that_are_not_as_spark_writes_them_are_refused(text: str, what: str) -> None:
    """With the line, and none is guessed."""
    with pytest.raises(MalformedError) as refused:
        parse_offsets(text.encode())
    assert what in str(refused.value)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\0v1\n{}\n{}", "the file has two lines"),
        (b"\0\xff", "byte 1: is not UTF-8"),
        (b"\xff", "byte 0: is not UTF-8"),
        (b"\0v1\n-", "are not of Kafka"),
        (b'\0{"logOffset":3}', "are not of Kafka"),
    ],
)
def test_a_beginning_that_is_not_as_spark_writes_it_is_refused(content: bytes, what: str) -> None:
    """Byte by byte as it stands."""
    with pytest.raises(MalformedError, match=what):
        parse_initial(content)
