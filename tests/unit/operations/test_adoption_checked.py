"""What forbids a link to go on where another tool's copy ends, and what is said of a copy that it adopts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import uuid4

import pytest

from anabranch.config.maps_file import StoredMap
from anabranch.kafka.cluster import Cluster, ClusterMetadata
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import TopicPlan
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.align.gaps import Unclear, Why
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.operations.links import adopting
from qa.blocking import between
from tests.unit.link_lab import RUNS, TO_A, TO_B, A, B, Lab, lab

pytestmark = pytest.mark.unit
WHY = Why.SEVERAL
PLANNED = TopicPlan("orders", "old.orders", 3, True)
REBUILD = "make the maps again: anabranch offsets rebuild"
RESUME = "have it copy what is left: link resume there; link wait there --caught-up; link pause there"
DO_NOT = (
    "do not resume there, others have written to {} since: keep what matters of those records, and copy the topic by a "
    "link of its own (docs/how-to/route-disaster-recovery.md#3-back)"
)
NAMING = "give the naming that the other tool used, such as --naming '{source}.{topic}' or --naming prefix"


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """The clusters; nothing is changed on them."""
    with lab() as made:
        yield made


def metadata(both: Lab, *, target: bool) -> ClusterMetadata:
    """Everything of a cluster."""
    return both.on(both.target if target else both.source, lambda cluster: cluster.metadata(None))


def whole(both: Lab, at: TopicPartition = A) -> StoredMap:
    """The map of a partition that is right."""
    number = at.partition
    to = TO_A if at == A else TO_B
    id_ = TopicId(metadata(both, target=True).topics[to.topic].id)
    made = OffsetMap.of(RUNS).advance(32, 15)
    return StoredMap(both.lanes[number].lane, at, to, made, target_id=id_)


def checked(
    both: Lab, maps: Sequence[StoredMap], topics: Sequence[TopicPlan] = (PLANNED,), back_of: str | None = None
) -> list[Reason]:
    """What is found; of a way back with the cluster where the link has copied to."""
    here, there = metadata(both, target=False), metadata(both, target=True)

    async def ask(source: Cluster, target: Cluster) -> list[Reason]:
        return await adopting.check(target, here, there, topics, maps, back_of, source)

    return between(both.source, both.target, ask)


def errors(found: Sequence[Reason]) -> list[tuple[str, str]]:
    """What forbids it, with its fix."""
    return [(one.what, one.fix) for one in found if one.severity is Severity.ERROR]


def test_a_copy_that_is_whole_is_adopted_with_its_records(both: Lab) -> None:
    """Offsets of it that hold no copy are counted apart."""
    [told] = checked(both, [whole(both), whole(both, B)])
    assert (told.severity, told.what) == (
        Severity.INFO,
        "topic old.orders is adopted with 30 records; 0 offsets in it are not copies to keep",
    )
    with_gap = OffsetMap.of([MappedRange(10, 0, 10), MappedRange(25, 12, 3)]).advance(32, 15)
    [told] = checked(both, [replace(whole(both), ranges=with_gap), whole(both, B)])
    assert told.what == "topic old.orders is adopted with 28 records; 2 offsets in it are not copies to keep"
    assert checked(both, [], [replace(PLANNED, exists=False)]) == []


def test_a_map_of_what_the_link_does_not_copy_or_that_is_not_there_is_refused(both: Lab) -> None:
    """With the options that would change that."""
    found = errors(checked(both, [whole(both), whole(both, B)], []))
    assert found == [
        ("topic orders has a map, but the link does not copy it", "widen --include, or rebuild without it")
    ]
    gone = checked(both, [whole(both)], [replace(PLANNED, exists=False)])
    assert errors(gone) == [("topic old.orders, the copy of orders, is not there", NAMING)]


def test_records_that_no_map_tells_of_are_refused(both: Lab) -> None:
    """The link would append a copy of all of it; on a way back it would come behind what others have written."""
    [first] = errors(checked(both, [whole(both)]))
    assert first == (
        "partition old.orders-1 holds 15 records that no map tells of",
        "add the topic to the maps, or exclude it: the link would append a copy of all of it",
    )
    assert len(errors(checked(both, []))) == 2
    [back] = errors(checked(both, [whole(both)], back_of="there"))
    assert back[1] == DO_NOT.format("orders-1")


def test_a_map_to_elsewhere_or_of_a_topic_that_was_made_again_is_refused(both: Lab) -> None:
    """Each with what it names."""
    elsewhere = replace(whole(both), target=TopicPartition("old.orders", 1))
    assert errors(checked(both, [elsewhere, whole(both, B)])) == [
        ("orders-0 was mapped to old.orders-1; the link would copy it to old.orders-0", NAMING)
    ]
    lane = replace(whole(both).lane, topic_id=TopicId(uuid4()))
    again = checked(both, [replace(whole(both), lane=lane), whole(both, B)])
    assert errors(again) == [("topic orders was made again since its map was", REBUILD)]
    other = replace(whole(both), target_id=TopicId(uuid4()))
    assert errors(checked(both, [other, whole(both, B)])) == [
        ("topic old.orders was made again since its map was", REBUILD)
    ]
    assert errors(checked(both, [replace(whole(both), target_id=None), whole(both, B)])) == []


@pytest.mark.parametrize("end", [14, 16])
def test_a_copy_that_somebody_still_writes_is_refused(both: Lab, end: int) -> None:
    """One record more or less than the map knows."""
    ranges = OffsetMap.of([MappedRange(10, 0, 10)]).advance(32, end)
    what = f"partition old.orders-0 ends at 15, its map at {end}: somebody still writes there"
    found = errors(checked(both, [replace(whole(both), ranges=ranges), whole(both, B)]))
    assert found == [(what, f"stop the other tool for good, then {REBUILD}")]
    back = errors(checked(both, [replace(whole(both), ranges=ranges), whole(both, B)], back_of="there"))
    assert [one.partition(", and")[0] for one, _ in back] == [f"link there has copied old.orders-0 up to {end}"]


def test_what_is_left_for_a_way_back_is_not_copied_behind_records_of_others(both: Lab) -> None:
    """The link is resumed where nobody has written there since, and not where somebody has."""
    for copied, fix in ((32, RESUME), (31, DO_NOT.format("orders-0"))):
        ranges = OffsetMap.of([MappedRange(10, 0, 10)]).advance(copied, 14)
        [(_, told)] = errors(checked(both, [replace(whole(both), ranges=ranges), whole(both, B)], back_of="there"))
        assert told == fix


def test_a_map_that_is_unclear_at_its_end_or_without_a_record_is_refused(both: Lab) -> None:
    """Before it only older positions are not taken over."""

    def with_span(span: Unclear, ranges: OffsetMap | None = None) -> list[Reason]:
        one = whole(both)
        changed = replace(one, unclear=(span,), ranges=one.ranges if ranges is None else ranges)
        return checked(both, [changed, whole(both, B)])

    early = with_span(Unclear(0, 10, 0, 0, WHY))
    assert errors(early) == []
    assert [one.what for one in early if one.severity is Severity.WARNING] == [
        "orders-0 is unclear up to offset 10: older positions are not taken over"
    ]
    assert errors(with_span(Unclear(20, 30, 10, 15, WHY))) == []  # its last record is behind none of it
    late = errors(with_span(Unclear(20, 31, 10, 15, WHY)))
    assert late == [
        (
            "the map of orders-0 is unclear at its end: it is not known which of the source offsets 20 to 31 were "
            "copied to 10 to 15",
            "exclude the topic, or copy it again into a new one",
        )
    ]
    none = OffsetMap(32, 0).advance(32, 15)
    assert [one for one, _ in errors(checked(both, [replace(whole(both), ranges=none), whole(both, B)]))] == [
        "no record of old.orders-0 comes from orders-0"
    ]
