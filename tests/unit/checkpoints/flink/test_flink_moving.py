"""What a rewrite of a savepoint does, and each reason why it is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from flink_samples import (
    HEADER,
    PROPERTIES,
    Arithmetic,
    kafka_operator,
    metadata,
    moved_stream,
    opened,
    reader_state,
    reopened,
    split,
    stopped_properties,
)

from anabranch.checkpoints.flink import FlinkCheckpoint, old_consumer
from anabranch.checkpoints.flink.committables import COMMITTER_STATE
from anabranch.checkpoints.flink.coordinator import Coordinator
from anabranch.checkpoints.flink.dynamic import DynamicCluster, DynamicElement, DynamicState, Stream
from anabranch.checkpoints.flink.elements import wrap
from anabranch.checkpoints.flink.enumerator import ASSIGNED, UNASSIGNED, Assignment, EnumeratorState
from anabranch.checkpoints.flink.handles import File, FileSegment, Inline, RelativeFile
from anabranch.checkpoints.flink.keyed import Span
from anabranch.checkpoints.flink.metadata import Operator, Subtask
from anabranch.checkpoints.flink.operator_handle import Mode, OperatorHandle, StateEntry
from anabranch.checkpoints.flink.split import NOTHING, KafkaSplit
from anabranch.checkpoints.flink.uid import operator_id
from anabranch.checkpoints.plan import PendingTransactions, Rewrite, RewriteSpec, Split, StopSavepoint
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.errors import InvalidFieldError
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

ORDERS = [[split("orders", 0, 100), split("orders", 2, 300)], [split("orders", 1, 200)]]


def to_b() -> Arithmetic:
    """To topics of longer names, 37 records on."""
    return Arithmetic(by=37, rename=lambda topic: f"b.{topic}")


def positions(checkpoint: FlinkCheckpoint) -> set[tuple[str, object, OffsetRole]]:
    """All positions, without their source and place."""
    return {(str(one.partition), one.offset, one.role) for one in checkpoint.positions()}


def done(result: Rewrite, **files: Any) -> FlinkCheckpoint:
    """The result, opened again."""
    assert result.refusals == ()
    data = result.writes["_metadata"]
    assert data is not None and list(result.writes) == ["_metadata"]
    return reopened(data, **files)


def reasons(result: Rewrite) -> set[ReasonKind]:
    """Why it was refused; nothing may be written then."""
    assert result.writes == {}
    return {refusal.why for refusal in result.refusals}


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("format_version", [3, 4, 5, 6])
def test_readers_and_enumerator_move_together(version: int, format_version: int) -> None:
    """Both halves have the new names, in every pair of versions, and the header of the state is untouched."""
    checkpoint = opened(kafka_operator("src", ORDERS, version), version=format_version)
    again = done(checkpoint.rewrite(RewriteSpec(), to_b()))
    next_ = OffsetRole.NEXT
    assert positions(again) == {("b.orders-0", 137, next_), ("b.orders-1", 237, next_), ("b.orders-2", 337, next_)}
    (source,) = again.sources
    assert {str(one) for one in source.enumerators[""].assigned} == {"b.orders-0", "b.orders-1", "b.orders-2"}
    assert all(state.header == HEADER for state in source.states.values())


def test_names_of_any_length_fit() -> None:
    """One character and 249 characters, in both directions."""
    checkpoint = opened(kafka_operator("src", [[split("o", 0, 1)]]))
    longer = done(checkpoint.rewrite(RewriteSpec(), Arithmetic(rename=lambda _: "x" * 249)))
    assert positions(longer) == {("x" * 249 + "-0", 1, OffsetRole.NEXT)}
    shorter = longer.rewrite(RewriteSpec(), Arithmetic(rename=lambda _: "o"))
    assert shorter.writes["_metadata"] == metadata(kafka_operator("src", [[split("o", 0, 1)]])).emit()


def test_other_states_of_the_same_handle_are_carried_along() -> None:
    """Elements of foreign list and broadcast states keep their bytes and their order, at new places."""
    operator = kafka_operator("src", [[split("orders", 0, 5)]])
    handle = (operator.subtasks or ())[0].managed
    assert handle is not None and isinstance(handle.delegate, Inline)
    data = handle.delegate.data
    foreign = OperatorHandle(
        (
            StateEntry("mine", Mode.SPLIT, (len(data) + 7, len(data))),
            *handle.states,
            StateEntry("all", Mode.BROADCAST, (len(data) + 9,)),
        ),
        Inline("n", data + b"elementtwobroadcast"),
    )
    operator = replace(operator, subtasks=(Subtask(0, managed=foreign),))
    again = done(opened(operator).rewrite(RewriteSpec(), to_b()))
    new = (again.metadata.operators[0].subtasks or ())[0].managed
    assert new is not None and isinstance(new.delegate, Inline)
    first, second = new.states[0].offsets
    assert new.delegate.data[second:] == b"elementtwobroadcast"
    assert (first - second, new.states[2].offsets[0] - first) == (7, 2)
    assert new.delegate.data[:second] != data


@pytest.mark.parametrize("kind", ["file", "relative", "segment"])
def test_state_from_files_is_put_inline(kind: str) -> None:
    """The file is read and digested, the result stands in ``_metadata``, and nothing but that is written."""
    operator = kafka_operator("src", [[split("orders", 0, 5)]])
    handle = (operator.subtasks or ())[0].managed
    assert handle is not None and isinstance(handle.delegate, Inline)
    data = handle.delegate.data
    places = {
        "file": File("s3://bucket/a", len(data)),
        "relative": RelativeFile("a", len(data)),
        "segment": FileSegment(3, len(data), 0, "s3://bucket/a", "logical"),
    }
    moved = moved_stream(operator, places[kind])
    stored = b"..." + data + b"..." if kind == "segment" else data
    beside = {"contents": {"a": stored}} if kind == "relative" else {"foreign": {"s3://bucket/a": stored}}
    result = opened(moved, **beside).rewrite(RewriteSpec(), to_b())
    assert set(result.reads) == {"_metadata", "a" if kind == "relative" else "s3://bucket/a"}
    assert positions(done(result)) == {("b.orders-0", 42, OffsetRole.NEXT)}
    torn = {"contents": {"a": stored[:-20]}} if kind == "relative" else {"foreign": {"s3://bucket/a": stored[:-20]}}
    assert reasons(opened(moved, **torn).rewrite(RewriteSpec(), to_b())) == {ReasonKind.UNKNOWN}
    assert reasons(opened(moved).rewrite(RewriteSpec(), to_b())) == {ReasonKind.UNKNOWN}


def test_a_result_for_another_directory_names_its_files_whole() -> None:
    """Relative files of keyed, raw and operator state become absolute; a relative root is refused."""
    relative = RelativeFile("keyed-1", 9)
    body = b"\x07" + bytes(8) + relative.emit()
    span = Span(body, 9, ((9, len(body), relative),))
    other = Operator(
        "",
        "",
        bytes(16),
        1,
        1,
        None,
        (Subtask(0, managed=OperatorHandle((), RelativeFile("op-1", 3)), keyed=(span, span)),),
    )
    checkpoint = opened(kafka_operator("src", ORDERS), other)
    data = checkpoint.rewrite(RewriteSpec(), to_b()).writes["_metadata"]
    assert data is not None
    moved = checkpoint.relocated(data, "/data/savepoint 1/")
    assert moved.count(b"file:/data/savepoint 1/keyed-1") == 2
    assert moved.count(b"file:/data/savepoint 1/op-1") == 1
    assert positions(reopened(moved)) == positions(reopened(data))
    assert b"s3://b/x/keyed-1" in checkpoint.relocated(data, "s3://b/x")
    with pytest.raises(InvalidFieldError):
        checkpoint.relocated(data, "savepoint")


def test_one_refused_position_refuses_all() -> None:
    """Every position is asked for all the same, and nothing is written."""
    route = Arithmetic(by=1, refuse=frozenset({TopicPartition("orders", 1)}))
    result = opened(kafka_operator("src", ORDERS)).rewrite(RewriteSpec(), route)
    assert reasons(result) == {ReasonKind.NOT_COPIED}
    assert len(result.changes) == 2


@pytest.mark.parametrize("stored", [-1, -2, -3, NOTHING])
def test_a_marker_is_refused_unless_the_route_has_an_offset_for_it(stored: int) -> None:
    """Latest, earliest and committed are looked up anew on the new cluster, which is another place."""
    checkpoint = opened(kafka_operator("src", [[split("orders", 0, stored)]]))
    assert reasons(checkpoint.rewrite(RewriteSpec(), to_b())) == {ReasonKind.MARKER}
    if stored != NOTHING:
        again = done(checkpoint.rewrite(RewriteSpec(), Arithmetic(marker=11)))
        assert positions(again) == {("orders-0", 11, OffsetRole.NEXT)}


def test_partitions_that_only_the_target_has_are_refused_by_number() -> None:
    """A source reads partitions that it does not store from their beginning."""
    result = opened(kafka_operator("src", ORDERS)).rewrite(RewriteSpec(), Arithmetic(counts={"orders": 5}))
    assert reasons(result) == {ReasonKind.NEW_PARTITIONS}
    assert "3, 4" in result.refusals[0].what


@pytest.mark.parametrize("version", [1, 2, 3])
def test_partitions_that_only_the_target_has_are_put_in_where_the_route_says_from_where(version: int) -> None:
    """A start position holds for them too: a reader and the enumerator have them afterwards."""
    checkpoint = opened(kafka_operator("src", ORDERS, version))
    again = done(checkpoint.rewrite(RewriteSpec(), Arithmetic(counts={"orders": 4}, marker=9)))
    assert ("orders-3", 9, OffsetRole.NEXT) in positions(again)
    assert TopicPartition("orders", 3) in again.sources[0].enumerators[""].assigned


def test_partitions_that_only_the_target_has_are_not_put_in_where_two_topics_become_one() -> None:
    """Nobody can say of which of them they are."""
    operator = kafka_operator("src", [[split("a", 0, 1), split("b", 1, 2)]])
    route = Arithmetic(rename=lambda _: "both", counts={"both": 3}, marker=9)
    result = opened(operator).rewrite(RewriteSpec(), route)
    assert reasons(result) == {ReasonKind.NEW_PARTITIONS}
    assert "2" in result.refusals[0].what


def test_partitions_that_only_the_target_has_are_put_in_at_their_own_place_alone() -> None:
    """A route that leads the old partition of that number elsewhere says nothing of the new one."""

    class Crossed(Arithmetic):
        def move(self, position: Position) -> TranslatedPosition | Reason | None:
            answer = super().move(position)
            if isinstance(answer, TranslatedPosition) and position.partition.partition == 3:
                return replace(answer, partition=TopicPartition("orders", 4))
            return answer

    result = opened(kafka_operator("src", ORDERS)).rewrite(RewriteSpec(), Crossed(counts={"orders": 4}, marker=9))
    assert reasons(result) == {ReasonKind.NEW_PARTITIONS}


def test_a_partition_that_the_target_does_not_have_is_refused() -> None:
    """The route leads to it, and the topic is smaller."""
    result = opened(kafka_operator("src", ORDERS)).rewrite(RewriteSpec(), Arithmetic(counts={"orders": 1}))
    assert reasons(result) == {ReasonKind.OUTSIDE_LOG}
    assert "1, 2" in result.refusals[0].what


def test_two_partitions_that_become_one_are_refused() -> None:
    """A source stores a partition once, whatever the offsets."""
    checkpoint = opened(kafka_operator("src", [[split("a", 0, 5), split("b", 0, 5)]]))
    assert reasons(checkpoint.rewrite(RewriteSpec(), Arithmetic(rename=lambda _: "c"))) == {ReasonKind.COLLISION}


def test_a_source_moves_whole_or_not_at_all() -> None:
    """A Flink source reads one cluster; one that stays whole is left as it is."""
    checkpoint = opened(kafka_operator("src", [[split("a", 0, 5), split("b", 0, 5)]]))
    assert reasons(checkpoint.rewrite(RewriteSpec(), Arithmetic(stay=frozenset({"a"})))) == {ReasonKind.UNSUPPORTED}
    stays = checkpoint.rewrite(RewriteSpec(), Arithmetic(stay=frozenset({"a", "b"})))
    assert (stays.refusals, stays.writes) == ((), {})
    assert all(change.moved is None for change in stays.changes)


def test_a_source_is_not_led_to_two_clusters() -> None:
    """Links may lead to several, and a Flink source reads one."""
    checkpoint = opened(kafka_operator("src", [[split("a", 0, 5), split("b", 0, 5)]]))
    refused = checkpoint.rewrite(RewriteSpec(), Arithmetic(clusters={"a": "west", "b": "east"}))
    assert reasons(refused) == {ReasonKind.UNSUPPORTED}
    assert "b to east; a to west" in refused.refusals[0].what
    assert done(checkpoint.rewrite(RewriteSpec(), Arithmetic(by=1, clusters={"a": "west", "b": "west"})))


def test_a_bounded_source_keeps_its_end() -> None:
    """Stopping offsets are translated as the next ones are; a stop that is a marker is refused."""
    checkpoint = opened(kafka_operator("src", [[split("a", 0, 5, stop=90)]], 3))
    again = done(checkpoint.rewrite(RewriteSpec(), to_b()))
    assert positions(again) == {("b.a-0", 42, OffsetRole.NEXT), ("b.a-0", 127, OffsetRole.STOP)}
    stops = opened(kafka_operator("src", [[split("a", 0, 5, stop=-1)]]))
    assert reasons(stops.rewrite(RewriteSpec(), to_b())) == {ReasonKind.MARKER}


def test_a_partition_that_waits_with_an_offset_is_translated() -> None:
    """Version 3 stores from where a partition that was not handed out yet will be read."""
    waiting = EnumeratorState(
        3,
        (
            Assignment(TopicPartition("a", 0), ASSIGNED, split("a", 0, -2)),
            Assignment(TopicPartition("a", 1), UNASSIGNED, split("a", 1, 8)),
        ),
        True,
    )
    checkpoint = opened(kafka_operator("src", [[split("a", 0, 5)]], enumerator=waiting))
    assert ("a-1", 8, OffsetRole.NEXT) in positions(checkpoint)
    again = done(checkpoint.rewrite(RewriteSpec(), to_b()))
    assert positions(again) == {("b.a-0", 42, OffsetRole.NEXT), ("b.a-1", 45, OffsetRole.NEXT)}
    handed_out = again.sources[0].enumerators[""].assignments[0].split
    assert handed_out is not None and handed_out.start == -2


@pytest.mark.parametrize("version", [2, 3])
def test_a_partition_that_waits_without_an_offset_is_refused(version: int) -> None:
    """Its program would choose where it begins, on the new cluster."""
    one = Assignment(TopicPartition("a", 1), UNASSIGNED, split("a", 1, NOTHING) if version == 3 else None)
    first = Assignment(TopicPartition("a", 0), ASSIGNED, split("a", 0, NOTHING) if version == 3 else None)
    operator = kafka_operator("src", [[split("a", 0, 5)]], enumerator=EnumeratorState(version, (first, one), True))
    refused = opened(operator).rewrite(RewriteSpec(), to_b())
    assert ReasonKind.MARKER in reasons(refused)
    assert any("--offsets" in one.fix for one in refused.refusals)
    assert ("a-1", None, OffsetRole.UNASSIGNED) in positions(opened(operator))


@pytest.mark.parametrize("version", [2, 3])
def test_a_partition_that_waits_begins_where_it_is_given_an_offset(version: int) -> None:
    """A reader takes it where the enumerator's own state has no place for the offset, and nothing is read twice."""
    one = Assignment(TopicPartition("a", 1), UNASSIGNED, split("a", 1, NOTHING) if version == 3 else None)
    first = Assignment(TopicPartition("a", 0), ASSIGNED, split("a", 0, NOTHING) if version == 3 else None)
    operator = kafka_operator("src", [[split("a", 0, 5)]], enumerator=EnumeratorState(version, (first, one), True))
    given = replace(to_b(), given={TopicPartition("b.a", 1): 77})
    again = done(opened(operator).rewrite(RewriteSpec(), given))
    assert positions(again) == {("b.a-0", 42, OffsetRole.NEXT), ("b.a-1", 77, OffsetRole.NEXT)}
    assert again.sources[0].problems == ()
    waiting = [found.status for found in again.sources[0].enumerators[""].assignments]
    assert waiting == ([ASSIGNED, UNASSIGNED] if version == 3 else [ASSIGNED, ASSIGNED])
    nobody = kafka_operator("src", [[]], enumerator=EnumeratorState(version, (one,), True))
    if version == 2:
        refused = opened(nobody).rewrite(RewriteSpec(), given)
        assert reasons(refused) == {ReasonKind.MARKER} and "no reader stores" in refused.refusals[0].what


def test_a_partition_that_was_read_to_its_end_gets_its_new_name() -> None:
    """It is in the enumerator alone, without an offset."""
    state = EnumeratorState(1, (Assignment(TopicPartition("a", 0)), Assignment(TopicPartition("a", 1))))
    checkpoint = opened(kafka_operator("src", [[split("a", 0, 5)]], enumerator=state))
    assert positions(checkpoint) == {("a-0", 5, OffsetRole.NEXT), ("a-1", None, OffsetRole.ASSIGNED)}
    assert positions(done(checkpoint.rewrite(RewriteSpec(), to_b()))) == {
        ("b.a-0", 42, OffsetRole.NEXT),
        ("b.a-1", None, OffsetRole.ASSIGNED),
    }


def test_halves_that_do_not_agree_are_refused() -> None:
    """A reader beyond its enumerator, a missing enumerator, one of a later version, a split that is stored twice."""
    good = kafka_operator("src", [[split("a", 0, 5)]])
    beyond = kafka_operator("src", [[split("a", 0, 5)]], enumerator=EnumeratorState(1, (_assigned("b", 0),)))
    later = replace(good, coordinator=Inline("c", Coordinator(4, b"\x00\x00\x00\x00").emit()))
    twice = kafka_operator(
        "src", [[split("a", 0, 5)], [split("a", 0, 6)]], enumerator=EnumeratorState(1, (_assigned("a", 0),))
    )
    unread = replace(good, subtasks=(Subtask(0, managed=reader_state([b"what is this?"])),))
    old_coordinator = replace(good, coordinator=Inline("c", b"\x00\x00\x00\x00" + bytes(12)))
    for operator in (beyond, replace(good, coordinator=None), later, twice, unread, old_coordinator):
        checkpoint = opened(operator)
        assert reasons(checkpoint.rewrite(RewriteSpec(), to_b())) == {ReasonKind.UNKNOWN}, operator
        assert checkpoint.page().notes


def test_other_sources_are_left_alone() -> None:
    """A source whose splits have other bytes is not one of Kafka, and stays as it is."""
    other = replace(
        kafka_operator("files", [[]]),
        coordinator=Inline("c", Coordinator(1, b"\xde\xad\xbe\xef").emit()),
        subtasks=(Subtask(0, managed=reader_state([wrap(1, b"file:///data/part-0")])),),
    )
    checkpoint = opened(kafka_operator("src", ORDERS), other)
    result = checkpoint.rewrite(RewriteSpec(), to_b())
    assert result.untouched == (operator_id("files").hex(),)
    assert done(result).metadata.operators[1] == other


@pytest.mark.parametrize("word", ["src", operator_id("src").hex(), operator_id("src").hex().upper(), "topic:orders"])
def test_sources_are_named_by_uid_id_or_topic(word: str) -> None:
    """Others stay as they are."""
    checkpoint = opened(kafka_operator("src", ORDERS), kafka_operator("more", [[split("bills", 0, 1)]]))
    again = done(checkpoint.rewrite(RewriteSpec(sources=frozenset({word})), to_b()))
    assert ("bills-0", 1, OffsetRole.NEXT) in positions(again)
    assert ("b.orders-0", 137, OffsetRole.NEXT) in positions(again)


def test_sources_are_named_by_name_and_stored_uid_since_flink_2() -> None:
    """Both are in the file there."""
    operator = replace(kafka_operator("hidden", ORDERS), name="Source: kafka", uid="shown")
    for word in ("Source: kafka", "shown"):
        assert done(opened(operator, version=6).rewrite(RewriteSpec(sources=frozenset({word})), to_b()))


def test_a_word_that_means_no_source_or_two_is_refused() -> None:
    """So is a topic that two sources read when none of them is named, and a job without Kafka."""
    two = opened(kafka_operator("one", ORDERS), kafka_operator("two", ORDERS))
    assert reasons(two.rewrite(RewriteSpec(), to_b())) == {ReasonKind.AMBIGUOUS}
    assert reasons(two.rewrite(RewriteSpec(sources=frozenset({"topic:orders"})), to_b())) == {ReasonKind.AMBIGUOUS}
    assert reasons(two.rewrite(RewriteSpec(sources=frozenset({"three"})), to_b())) == {ReasonKind.UNKNOWN}
    both = RewriteSpec(sources=frozenset({"one"}), drop=frozenset({"one"}))
    assert ReasonKind.AMBIGUOUS in reasons(two.rewrite(both, to_b()))
    assert done(two.rewrite(RewriteSpec(sources=frozenset({"one", "two"})), to_b()))
    assert reasons(opened().rewrite(RewriteSpec(), to_b())) == {ReasonKind.UNKNOWN}
    assert ReasonKind.UNSUPPORTED in reasons(two.rewrite(RewriteSpec(split=(Split("one", ()),)), to_b()))


def test_a_dropped_source_leaves_no_entry() -> None:
    """The operator goes; where it holds other state it stays without its splits and its enumerator."""
    other = kafka_operator("other", [[split("bills", 0, 1)]])
    source = kafka_operator("src", ORDERS)
    again = done(opened(source, other).rewrite(RewriteSpec(sources=frozenset(), drop=frozenset({"src"})), to_b()))
    assert again.metadata.operators == (other,)
    more = replace(source, subtasks=tuple(replace(one, keyed=(_keyed(), _keyed())) for one in source.subtasks or ()))
    left = done(opened(more, other).rewrite(RewriteSpec(sources=frozenset(), drop=frozenset({"src"})), to_b()))
    assert left.metadata.operators[0].coordinator is None
    assert [source.label for source in left.sources] == [other.hex]
    assert [one.keyed for one in left.metadata.operators[0].subtasks or ()] == [(_keyed(), _keyed())] * 2


def test_a_dropped_source_that_has_finished_in_part_keeps_that_mark() -> None:
    """Operators of a chain must have finished together: the entry stays, without splits and enumerator."""
    source = kafka_operator("src", ORDERS)
    partly = replace(source, subtasks=(*(source.subtasks or ())[:1], Subtask(1, finished=True)))
    again = done(opened(partly).rewrite(RewriteSpec(sources=frozenset(), drop=frozenset({"src"})), to_b()))
    (left,) = again.metadata.operators
    assert left.coordinator is None and [one.finished for one in left.subtasks or ()] == [False, True]
    assert again.sources == ()


def test_the_old_consumer_keeps_counting_what_it_has_done() -> None:
    """It stores the last record that it has read, with a hash of the name that is made anew."""
    operator = _old({("orders", 0): 100, ("orders", 1): 0})
    assert bytes.fromhex("5701899998ff0800016f72646572f30000000000000063") in operator.emit(4)
    checkpoint = opened(operator)
    assert positions(checkpoint) == {("orders-0", 100, OffsetRole.NEXT), ("orders-1", 0, OffsetRole.NEXT)}
    again = done(checkpoint.rewrite(RewriteSpec(), to_b()))
    assert positions(again) == {("b.orders-0", 137, OffsetRole.NEXT), ("b.orders-1", 37, OffsetRole.NEXT)}
    assert (
        done(again.rewrite(RewriteSpec(), Arithmetic(by=-37, rename=lambda t: t[2:]))).metadata == checkpoint.metadata
    )
    dropped = RewriteSpec(sources=frozenset(), drop=frozenset({"old"}))
    assert reasons(checkpoint.rewrite(dropped, to_b())) == {ReasonKind.UNSUPPORTED}


@pytest.mark.parametrize("start", [-1, -2, -3, NOTHING])
def test_the_old_consumer_s_sentinels_are_markers(start: int) -> None:
    """They are refused as the new source's are."""
    checkpoint = opened(_old({("orders", 0): start}))
    assert reasons(checkpoint.rewrite(RewriteSpec(), to_b())) == {ReasonKind.MARKER}
    found = checkpoint.positions()[0].offset
    assert found is None if start == NOTHING else isinstance(found, SymbolicOffset)


def test_an_old_consumer_that_stored_nothing_is_refused() -> None:
    """A restart would read everything from the beginning."""
    empty = replace(_old({}), subtasks=(Subtask(0, managed=reader_state([], old_consumer.STATE)),))
    refused = opened(empty).rewrite(RewriteSpec(), to_b())
    assert reasons(refused) == {ReasonKind.UNKNOWN}
    assert "retained checkpoint" in refused.refusals[0].fix


def test_an_old_consumer_s_positions_in_a_stop_s_savepoint_are_refused() -> None:
    """They are of the checkpoint before it, while all other state is of the stop."""
    made = replace(metadata(_old({("orders", 0): 100})), properties=stopped_properties())
    refused = reopened(made.emit()).rewrite(RewriteSpec(), to_b())
    assert reasons(refused) == {ReasonKind.UNKNOWN} and not refused.writes
    assert "repeats what was read between" in refused.refusals[0].what
    assert "retained checkpoint" in refused.refusals[0].fix and "--stop-savepoint" in refused.refusals[0].fix
    taken = reopened(made.emit()).rewrite(RewriteSpec(stop_savepoint=StopSavepoint.TRANSLATE), to_b())
    assert any("repeats what was read between" in note for note in taken.notes)
    assert positions(done(taken)) == {("b.orders-0", 137, OffsetRole.NEXT)}
    empty = replace(_old({}), subtasks=(Subtask(0, managed=reader_state([], old_consumer.STATE)),))
    nothing = reopened(replace(metadata(empty), properties=stopped_properties()).emit())
    assert nothing.rewrite(RewriteSpec(stop_savepoint=StopSavepoint.TRANSLATE), to_b()).refusals
    assert done(reopened(replace(made, properties=PROPERTIES).emit()).rewrite(RewriteSpec(), to_b()))


def test_an_old_consumer_is_not_dropped_and_the_way_out_says_where_another_source_begins() -> None:
    """A new uid alone would have it read everything again."""
    dropped = RewriteSpec(sources=frozenset(), drop=frozenset({"old"}))
    (refusal,) = opened(_old({("orders", 0): 100})).rewrite(dropped, to_b()).refusals
    assert "with another uid" in refusal.what and "from its beginning" in refusal.what
    assert "rewrite its positions" in refusal.fix and "begins as the program says" in refusal.fix


@pytest.mark.parametrize("version", [1, 2])
def test_a_cluster_of_a_dynamic_source_moves(version: int) -> None:
    """Its id, servers, topics and offsets; the other cluster stays as it is."""
    checkpoint = opened(_dynamic(version))
    assert ReasonKind.AMBIGUOUS in reasons(checkpoint.rewrite(RewriteSpec(), to_b()))
    rewrite_spec = RewriteSpec(renamed_clusters={"east": ("north", "north:9092")})
    again = done(checkpoint.rewrite(rewrite_spec, to_b()))
    assert positions(again) == {("b.orders-0", 42, OffsetRole.NEXT), ("bills-0", 7, OffsetRole.NEXT)}
    state = again.sources[0].enumerator
    assert isinstance(state, DynamicState)
    assert [(one.id, one.topics, one.bootstrap) for one in state.streams[0].clusters] == [
        ("north", ("b.orders",), "north:9092"),
        ("west", ("bills",), "west:9092"),
    ]
    assert list(state.enumerators) == ["north", "west"]
    back = RewriteSpec(renamed_clusters={"north": ("east", "east:9092")})
    assert again.rewrite(back, Arithmetic(by=-37, rename=lambda t: t[2:])).writes["_metadata"] == (
        metadata(_dynamic(version)).emit()
    )


def test_clusters_of_a_dynamic_source_are_not_mixed_up() -> None:
    """An id that is taken, one that there is not, and a topic that both clusters have are refused."""
    checkpoint = opened(_dynamic(1))
    assert reasons(checkpoint.rewrite(RewriteSpec(renamed_clusters={"east": ("west", "x:1")}), to_b())) == {
        ReasonKind.COLLISION
    }
    assert ReasonKind.UNKNOWN in reasons(
        checkpoint.rewrite(RewriteSpec(renamed_clusters={"south": ("n", "x:1")}), to_b())
    )
    both = opened(_dynamic(1, west="orders"))
    rewrite_spec = RewriteSpec(renamed_clusters={"east": ("e", "x:1"), "west": ("w", "x:1")})
    assert reasons(both.rewrite(rewrite_spec, to_b())) == {ReasonKind.AMBIGUOUS}


def test_a_hybrid_source_is_seen_and_refused() -> None:
    """Its splits wrap those of a KafkaSource."""
    inner = split("orders", 0, 5).emit()
    wrapped = b"\x00\x00\x00\x01" + b"\x00\x08orders-0" + bytes(4) + len(inner).to_bytes(4, "big") + inner
    operator = replace(
        kafka_operator("src", [[]]),
        coordinator=Inline("c", Coordinator(0, b"\x00\x00\x00\x01" + bytes(8)).emit()),
        subtasks=(Subtask(0, managed=reader_state([wrap(0, wrapped)])),),
    )
    assert reasons(opened(operator).rewrite(RewriteSpec(), to_b())) == {ReasonKind.UNSUPPORTED}


def hybrid_enumerator(version: int, inner: bytes, *, coordinator: int = 0) -> Operator:
    """A hybrid source whose readers have nothing yet; ``inner`` is the state of the enumerator that it wraps."""
    state = b"\x00\x00\x00\x01" + version.to_bytes(4) + len(inner).to_bytes(4) + inner
    operator = kafka_operator("src", [[]])
    return replace(operator, coordinator=Inline("c", Coordinator(coordinator, state).emit()))


@pytest.mark.parametrize("version", [1, 2])
def test_a_hybrid_source_is_seen_by_its_enumerator_alone(version: int) -> None:
    """Its readers have no split yet: what it wraps has partitions of Kafka."""
    inner = EnumeratorState(version, (_assigned("orders", 0),), None if version < 2 else True).emit()
    result = opened(hybrid_enumerator(version, inner)).rewrite(RewriteSpec(), to_b())
    assert reasons(result) == {ReasonKind.UNSUPPORTED}


def test_pending_transactions_are_refused_discarded_or_kept() -> None:
    """Only the committer is emptied; a committer of another kind of sink is left as it is."""
    pending = bytes.fromhex("b91f252c00000001") + (10 + 2 + 4).to_bytes(4, "big") + bytes(10) + b"\x00\x04tx-1"
    sink = _with_state("Sink Committer: s", COMMITTER_STATE, [wrap(2, pending)])
    files = _with_state("Sink Committer: f", COMMITTER_STATE, [wrap(2, b"part-0-0.inprogress")])
    checkpoint = opened(kafka_operator("src", ORDERS), sink, files)
    assert reasons(checkpoint.rewrite(RewriteSpec(), to_b())) == {ReasonKind.PENDING_TRANSACTIONS}
    assert "tx-1" in checkpoint.page().sinks[0]
    kept = done(checkpoint.rewrite(RewriteSpec(transactions=PendingTransactions.KEEP), to_b()))
    assert kept.metadata.operators[1:] == (sink, files)
    result = checkpoint.rewrite(RewriteSpec(transactions=PendingTransactions.DISCARD), to_b())
    again = done(result)
    assert again.metadata.operators[2] == files
    handle = (again.metadata.operators[1].subtasks or ())[0].managed
    assert handle is not None and handle.states == (StateEntry(COMMITTER_STATE, Mode.SPLIT, ()),)
    assert any("tx-1" in note for note in result.notes)
    stays = checkpoint.rewrite(RewriteSpec(), Arithmetic(stay=frozenset({"orders"})))
    assert (stays.refusals, stays.writes) == ((), {})
    assert "(" not in "".join(sink.text for sink in again.sinks if sink.pending)


def test_a_committer_that_cannot_be_read_may_hold_transactions() -> None:
    """It is neither passed over nor emptied unread."""
    unread = reader_state([b"x"], COMMITTER_STATE, header=b"\x00\x00\x00\x09" + bytes(8))
    sink = Operator("", "", operator_id("sink"), 1, 1, None, (Subtask(0, managed=unread),))
    checkpoint = opened(kafka_operator("src", ORDERS), sink)
    assert reasons(checkpoint.rewrite(RewriteSpec(), to_b())) == {ReasonKind.PENDING_TRANSACTIONS}
    assert reasons(checkpoint.rewrite(RewriteSpec(transactions=PendingTransactions.DISCARD), to_b())) == {
        ReasonKind.UNKNOWN
    }
    assert (
        done(checkpoint.rewrite(RewriteSpec(transactions=PendingTransactions.KEEP), to_b())).metadata.operators[1]
        == sink
    )


def test_an_old_producer_s_transactions_are_refused_always_but_when_kept() -> None:
    """Its state cannot be emptied alone."""
    sink = _with_state("sink", "next-transactional-id-hint-v2", [b"hint"])
    checkpoint = opened(kafka_operator("src", ORDERS), sink)
    assert reasons(checkpoint.rewrite(RewriteSpec(), to_b())) == {ReasonKind.PENDING_TRANSACTIONS}
    assert reasons(checkpoint.rewrite(RewriteSpec(transactions=PendingTransactions.DISCARD), to_b())) == {
        ReasonKind.UNSUPPORTED
    }
    assert done(checkpoint.rewrite(RewriteSpec(transactions=PendingTransactions.KEEP), to_b()))


def _assigned(topic: str, partition: int) -> Assignment:
    return Assignment(TopicPartition(topic, partition))


def _keyed() -> Span:
    body = b"\x07" + bytes(8) + b"\x01\x00\x01k\x00\x00\x00\x02ab"
    return Span(body, 2)


def _with_state(uid: str, state: str, elements: list[bytes]) -> Operator:
    return Operator("", "", operator_id(uid), 1, 1, None, (Subtask(0, managed=reader_state(elements, state)),))


def _old(offsets: dict[tuple[str, int], int]) -> Operator:
    elements = [
        old_consumer.OldElement(0x57, KafkaSplit(TopicPartition(*key), start)).emit() for key, start in offsets.items()
    ]
    return Operator(
        "",
        "",
        operator_id("old"),
        1,
        1,
        None,
        (Subtask(0, managed=reader_state(elements, old_consumer.STATE, mode=Mode.UNION)),),
    )


def _dynamic(version: int, west: str = "bills") -> Operator:
    initializers = (None, b"java") if version == 2 else ()
    clusters = (
        DynamicCluster("east", ("orders",), "east:9092", initializers),
        DynamicCluster("west", (west,), "west:9092", initializers),
    )
    enumerators = {
        "east": EnumeratorState(2, (_assigned("orders", 0),), True),
        "west": EnumeratorState(2, (_assigned(west, 0),), True),
    }
    state = DynamicState(version, (Stream("s", clusters),), 2, enumerators)
    elements = [DynamicElement("east", split("orders", 0, 5)).emit(), DynamicElement("west", split(west, 0, 7)).emit()]
    return Operator(
        "",
        "",
        operator_id("dynamic"),
        1,
        1,
        Inline("c", Coordinator(version, state.emit()).emit()),
        (Subtask(0, managed=reader_state(elements)),),
    )


def test_state_files_that_are_absent_may_be_elsewhere() -> None:
    """The volume is named that this machine does not have: another savepoint would be no better here."""
    operator = moved_stream(kafka_operator("src", ORDERS), File("file:/mnt/states/7/op", 40))
    refused = opened(operator).rewrite(RewriteSpec(), to_b())
    fixes = {one.fix for one in refused.refusals}
    assert len(fixes) == 1 and "where file:/mnt/states/7 is mounted" in fixes.pop()
    beside = moved_stream(kafka_operator("src", ORDERS), RelativeFile("op", 40))
    assert "where memory is mounted" in opened(beside).rewrite(RewriteSpec(), to_b()).refusals[0].fix
