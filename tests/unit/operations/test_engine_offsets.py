"""Answers about offsets from maps: held against a dictionary of single records, and each refusal with its reason."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.lane import LaneKey, LaneMode, LaneState
from anabranch.model.link import ClusterRef, LinkSpec
from anabranch.model.positions import AnswerKind, OffsetPair
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.operations.offsets.export import NotBegunError, exported
from anabranch.operations.offsets.ranges import lane_ranges
from anabranch.operations.offsets.translate import translated
from anabranch.state.maps.backwards import backwards
from anabranch.state.maps.reading import LaneInDoubtError, LaneMap, LinkMaps
from tests.unit.offsets.strategies import offset_maps, pairs

pytestmark = pytest.mark.unit

SPEC = LinkSpec("old-new", ClusterRef("old", "A"), ClusterRef("new", "B"))
HERE, THERE = TopicPartition("orders", 0), TopicPartition("old.orders", 0)
PICTURE = OffsetMap.of([MappedRange(100, 7, 4), MappedRange(105, 12, 2)], 98, 7).advance(110, 16)


def maps(ranges: OffsetMap) -> LinkMaps:
    """A link with one lane, one in doubt, and a topic of which nothing was copied yet."""
    lane = LaneMap(LaneKey("old-new", TopicId.ZERO, 0), HERE, THERE, LaneMode.MAPPED, ranges, LaneState.FOLLOWING, 5)
    doubted = TopicPartition("orders", 1), TopicPartition("old.orders", 1)
    doubts = {doubted[0]: LaneInDoubtError("old-new", *doubted, "the log is shorter")}
    return LinkMaps(SPEC, {"orders": "old.orders", "later": "old.later"}, {HERE: lane}, doubts)


def test_a_link_that_has_not_begun_has_no_maps_to_export() -> None:
    """A file without lanes would answer nothing, and look as if all was well."""
    with pytest.raises(NotBegunError, match="none of its lanes has begun") as caught:
        exported(LinkMaps(SPEC, {"orders": "old.orders"}, {}))
    assert caught.value.hint.endswith("anabranch link run old-new")
    assert pickle.loads(pickle.dumps(caught.value)).link == "old-new"


def test_an_export_is_of_every_lane_or_of_none() -> None:
    """A lane in doubt is not left out of the file in silence."""
    with pytest.raises(LaneInDoubtError):
        exported(maps(PICTURE))


@given(offset_maps(), st.lists(st.integers(0, 200), max_size=20))
def test_maps_that_are_read_backwards_answer_as_the_way_back_does(ranges: OffsetMap, offsets: list[int]) -> None:
    """Where a reader of copies goes on; what is in doubt stays so, and twice backwards is as before."""
    forward, back = maps(ranges), backwards(maps(ranges))
    asked = [(THERE, offset) for offset in offsets]
    reverse = translated(forward, asked, reverse=True)
    found = translated(back, asked)
    assert (found.link, found.cluster) == (reverse.link, reverse.cluster) == ("old-new", "old")
    assert [(one.kind, one.to, one.answer) for one in found.answers] == [
        (one.kind, one.to, one.answer) for one in reverse.answers
    ]
    assert back.topics == {"old.orders": "orders", "old.later": "later"}
    with pytest.raises(LaneInDoubtError, match="the log is shorter"):
        back.of_source(TopicPartition("old.orders", 1))
    assert list(backwards(back)) == list(forward)


@given(offset_maps(), st.lists(st.integers(0, 200), max_size=20), st.booleans())
def test_exact_answers_are_those_of_a_dictionary(ranges: OffsetMap, offsets: list[int], reverse: bool) -> None:
    """In both directions: the next copied record that is left, or the end; and outside of the map a refusal."""
    known = pairs(ranges) if not reverse else {there: here for here, there in pairs(ranges).items()}
    asked, told = (THERE, HERE) if reverse else (HERE, THERE)
    start, end = (ranges.target_start, ranges.target_end) if reverse else (ranges.source_start, ranges.source_end)
    other_end = ranges.source_end if reverse else ranges.target_end
    found = translated(maps(ranges), [(asked, offset) for offset in offsets], reverse=reverse)
    assert found.cluster == ("old" if reverse else "new")
    for offset, one in zip(offsets, found.answers, strict=True):
        assert (one.partition, one.offset, one.to) == (asked, offset, told)
        if start <= offset <= end:
            following = [known[at] for at in sorted(known) if at >= offset]
            assert (one.kind, one.answer) == (AnswerKind.EXACT, following[0] if following else other_end)
            assert bool(one.why) == (offset not in known)
        else:
            assert one.kind is (AnswerKind.BEFORE if offset < start else AnswerKind.AFTER)
            assert one.answer is None
            assert one.why
    assert found.refused == sum(not start <= offset <= end for offset in offsets)


@given(offset_maps(), st.integers(0, 200))
def test_a_record_has_its_counterpart_or_its_neighbours(ranges: OffsetMap, offset: int) -> None:
    """Asked for records, a gap is no answer."""
    known = pairs(ranges)
    (one,) = translated(maps(ranges), [(HERE, offset)], records=True).answers
    assert one.answer == known.get(offset)
    if one.kind is AnswerKind.UNMAPPED:
        below, above = [at for at in known if at < offset], [at for at in known if at > offset]
        assert one.below == (OffsetPair(max(below), known[max(below)]) if below else None)
        assert one.above == (OffsetPair(min(above), known[min(above)]) if above else None)


def test_what_no_lane_tells_is_unknown() -> None:
    """A partition in doubt, one that has not begun, and a topic that the link does not copy: each with its reason."""
    asked = [(TopicPartition("orders", 1), 5), (TopicPartition("later", 0), 5), (TopicPartition("other", 0), 5)]
    found = translated(maps(PICTURE), asked)
    assert [one.kind for one in found.answers] == [AnswerKind.UNKNOWN] * 3
    assert [one.why for one in found.answers] == [
        "the log is shorter",
        "no lane has begun to copy it",
        "the link does not copy this topic",
    ]
    assert (found.refused, found.offsets) == (3, {})


@pytest.mark.parametrize(("topic", "reverse"), [("later", False), ("old.later", True)])
def test_a_partition_that_the_target_does_not_have_is_told_as_that(topic: str, reverse: bool) -> None:
    """Where it is known how many there are; one that there is may be copied later."""
    asked = [(TopicPartition(topic, 9), 1), (TopicPartition(topic, 2), 1)]
    found = translated(maps(PICTURE), asked, reverse=reverse, partitions={"old.later": 3})
    what = "there is no partition 9" if reverse else "no lane has begun to copy it"
    absent = f"{what}: target topic old.later has 3 partitions"
    assert [one.why for one in found.answers] == [absent, "no lane has begun to copy it"]
    unknown = translated(maps(PICTURE), asked, reverse=reverse)
    assert {one.why for one in unknown.answers} == {"no lane has begun to copy it"}


def test_a_lane_in_doubt_is_refused_by_whoever_asks() -> None:
    """By source and by target partition; others of the link are answered, and its topics are known by name."""
    link = maps(PICTURE)
    for ask in (
        lambda: link.of_source(TopicPartition("orders", 1)),
        lambda: link.of_target(TopicPartition("old.orders", 1)),
    ):
        with pytest.raises(LaneInDoubtError) as caught:
            ask()
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
        assert caught.value.hint
    found = link.of_target(THERE)
    assert found is not None
    assert list(link) == [found]
    assert link.of_source(HERE) is found
    assert (link.of_source(TopicPartition("orders", 2)), link.of_target(TopicPartition("orders", 0))) == (None, None)
    assert (link.source_of("old.later"), link.source_of("later"), len(link), link.link) == ("later", None, 1, "old-new")


def test_a_map_is_told_whole() -> None:
    """With both ends of both sides."""
    (lane,) = maps(PICTURE)
    told = lane_ranges(lane)
    assert (told.source_start, told.source_end, told.target_start, told.target_end) == (98, 110, 7, 16)
    assert (told.records, [(run.source, run.target, run.length) for run in told.ranges]) == (
        6,
        [(100, 7, 4), (105, 12, 2)],
    )
