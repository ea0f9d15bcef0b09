"""Where the way back of a wave begins, and why none is made: by maps of clusters that are asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from anabranch.kafka.admin import create_topic, delete_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.settling import until_led
from anabranch.migration.lost import DOUBTS
from anabranch.migration.options import TailChoice
from anabranch.migration.steps import StepKind
from anabranch.model.lane import LaneKey
from anabranch.model.topics import TopicId
from anabranch.offsets.offset_map import MappedRange
from anabranch.operations.migrations import found, linking
from anabranch.operations.migrations.found import PartedError, SourceShorterError
from anabranch.state.topics.control import MappedRanges, Progress
from anabranch.state.topics.journal import Journal
from qa import links
from tests.unit.link_lab import LINK, RUNS, SOURCE_END, TARGET_END, TO_A, A, B, Lab, append, lab
from tests.unit.migration_lab import LEG, scene_done

pytestmark = pytest.mark.unit


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


def copied_on(both: Lab, foreign: int = 0) -> None:
    """The link has copied one record more, behind some that somebody else wrote to the target."""
    at = TARGET_END + foreign

    async def write(cluster: Cluster) -> None:
        runs, progress = MappedRanges(cluster), Progress(cluster)
        await append(cluster, TO_A, foreign + 1)
        lane = both.lanes[0]
        await runs.persist({(lane.lane, 0): (*RUNS, MappedRange(SOURCE_END, at, 1))})
        await progress.persist([replace(lane, position=SOURCE_END + 1, target_end=at + 1, updated_at_ms=3_000)])

    both.on(both.source, lambda cluster: append(cluster, A, 1))
    both.on(both.target, write)


def begins(both: Lab) -> int:
    """Where on the target the way back begins in the first partition."""

    async def ids(cluster: Cluster) -> TopicId:
        return TopicId((await cluster.metadata([TO_A.topic])).topics[TO_A.topic].id)

    lane = LaneKey(LEG.next.link, both.on(both.target, ids), A.partition)

    async def last(cluster: Cluster) -> int:
        return (await Journal(cluster).read()).claims(str(lane))[-1].claim.start

    return both.on(both.source, last)


def test_a_way_back_that_an_earlier_switch_has_left_is_made_again_where_the_copies_end_now(both: Lab) -> None:
    """It would copy back what was copied since; one that begins there already stays as it is."""
    links.pause(both.target, LINK)
    for _ in range(2):
        scene_done(both, linking.prepare_reverse)
        assert begins(both) == TARGET_END
    copied_on(both)
    scene_done(both, linking.prepare_reverse)
    assert begins(both) == TARGET_END + 1


def test_a_way_back_is_refused_where_somebody_wrote_between_two_copies(both: Lab) -> None:
    """It has no place among the records of the cluster that is back; whoever keeps those there is not refused."""
    ends = {str(A): SOURCE_END, str(B): SOURCE_END}
    refuse, keep = TailChoice.REFUSE.value, TailChoice.KEEP.value
    exact = scene_done(both, found.find_tail, {StepKind.PIN: {"ends": ends}}, subject=refuse)
    assert exact == {"lanes": [], DOUBTS: []}
    copied_on(both, foreign=1)
    pinned = {StepKind.PIN: {"ends": {**ends, str(A): SOURCE_END + 1}}}
    with pytest.raises(PartedError, match=f"between the copies of {A}"):
        scene_done(both, found.find_tail, pinned, subject=refuse)
    assert scene_done(both, found.find_tail, pinned, subject=keep) == exact


def test_a_cluster_that_is_back_with_less_or_with_another_topic_has_no_way_back(both: Lab) -> None:
    """By one record, or by its id: what was copied of it is not what it has; it is left as it is by choice."""
    whole = {str(A): SOURCE_END, str(B): SOURCE_END}
    refuse, keep = TailChoice.REFUSE.value, TailChoice.KEEP.value
    pinned = {StepKind.PIN: {"ends": {**whole, str(A): SOURCE_END - 1}}}
    with pytest.raises(SourceShorterError, match=f"{A} ends at {SOURCE_END - 1}, and was copied up to {SOURCE_END}"):
        scene_done(both, found.find_tail, pinned, subject=refuse)
    assert scene_done(both, found.find_tail, pinned, subject=keep) is not None

    async def make_again(cluster: Cluster) -> None:
        await delete_topic(cluster, A.topic)
        await create_topic(cluster, A.topic, 3, 1, {})
        await until_led(cluster, [A.topic])

    both.on(both.source, make_again)
    with pytest.raises(SourceShorterError, match=f"topic {A.topic} was deleted and made again"):
        scene_done(both, found.find_tail, {StepKind.PIN: {"ends": whole}}, subject=refuse)
