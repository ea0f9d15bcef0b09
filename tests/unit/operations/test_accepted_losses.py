"""What ``link accept`` says of lost topics and logs: where lanes go on, what is gone, and what may be there twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from anabranch.kafka.admin import delete_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.partitions import delete_records
from anabranch.model.decisions import Cause, PendingDecision
from anabranch.model.lane import LaneMode, LaneState
from anabranch.model.topics import TopicPartition
from anabranch.operations.links.accept import NothingToAcceptError
from anabranch.operations.links.pending_decisions import HistoryLostError
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.endings import Stop
from anabranch.state.codecs import topics
from anabranch.state.topics.control import Links, MappedRanges, Progress, ensure_topics
from anabranch.state.topics.journal import Journal
from anabranch.state.topics.recreated import topic_ids
from qa import links
from tests.unit.link_lab import LINK, RUNS, SOURCE_END, TARGET_END, TO_A, A, B, Lab, append, lab

pytestmark = pytest.mark.unit

BEGUN = 10
"""The source offset at which the lanes of these tests once began, as their claims tell."""


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        made.on(made.target, remember)
        yield made


async def remember(target: Cluster) -> None:
    """Store the ids of the control topics in the link, as its first plan does."""
    stored = Links(target)
    await stored.sync()
    await stored.put(replace(stored.links[LINK], control_topics=await topic_ids(target)))


def pending(made: Lab) -> PendingDecision:
    """What waits about the first lane."""
    return next(one for one in links.plan_accept(made.source, made.target, LINK).pending if one.source == A)


def lose(made: Lab, name: str, *, made_again: bool) -> None:
    """A control topic is deleted, and perhaps made again without a record."""

    async def ask(target: Cluster) -> None:
        await delete_topic(target, name)
        if made_again:
            await ensure_topics(target)

    made.on(made.target, ask)


def begin_again(made: Lab, start: int) -> None:
    """The first lane has a second generation, which began at a source offset and has claimed that."""
    lane = replace(made.lanes[0].lane, generation=1)
    claim = Claim(str(lane), 7_900, LaneMode.MAPPED, "run-2", None, 3_000, ClaimState.CLAIMED, start, 15)
    made.on(made.target, lambda cluster: Journal(cluster).append(claim))


async def retain(cluster: Cluster, at: TopicPartition, first: int) -> None:
    """A partition's records below an offset are deleted."""
    _, part = await cluster.partition(at.topic, at.partition)
    assert await delete_records(await cluster.connection(part.leader), at.topic, at.partition, first) == 0


@pytest.mark.parametrize(("first", "start", "given_up"), [(0, BEGUN, None), (15, 15, (BEGUN, 15))])
def test_a_lost_target_is_filled_from_where_the_first_generation_began(
    both: Lab, first: int, start: int, given_up: tuple[int, int] | None
) -> None:
    """Not from where a later one did: what was copied before that went with the topic.  What is gone is named."""
    lose(both, topics.GAP_RECORDS, made_again=False)
    links.accept(both.source, both.target, LINK)
    begin_again(both, 30)
    both.on(both.target, lambda cluster: delete_topic(cluster, TO_A.topic))
    both.on(both.source, lambda cluster: retain(cluster, A, first))
    choice = pending(both)
    assert (choice.cause, choice.lane.generation) == (Cause.TARGET_DELETED, 2)
    assert (choice.decision.start, choice.given_up) == (start, given_up)
    assert "forgotten" not in choice.means


def test_a_lost_target_is_filled_from_the_links_start_where_the_first_generations_claims_are_gone(both: Lab) -> None:
    """A later generation's claims tell where that one began, and nothing of the first."""
    lose(both, topics.CLAIMS, made_again=True)
    links.accept(both.source, both.target, LINK)
    begin_again(both, 30)
    both.on(both.target, lambda cluster: delete_topic(cluster, TO_A.topic))
    choice = pending(both)
    assert (choice.decision.start, choice.given_up, "is forgotten" in choice.means) == (0, None, True)


@pytest.mark.parametrize("made_again", [True, False])
def test_lost_gap_records_are_a_decision_about_each_lane_also_where_they_were_made_again(
    both: Lab, made_again: bool
) -> None:
    """What sequences alone tell is too low behind a gap.  Without its map the lane goes on where progress says."""
    lose(both, topics.GAP_RECORDS, made_again=made_again)
    choice = pending(both)
    assert (choice.cause, choice.decision.start) == (Cause.GAP_RECORDS_LOST, RUNS[-1].source_end)
    lose(both, topics.RUNS, made_again=made_again)
    choice = pending(both)
    assert (choice.cause, choice.decision.start, choice.keeps) == (Cause.GAP_RECORDS_LOST, SOURCE_END, None)


@pytest.mark.parametrize("at", [20, RUNS[-1].source_end])
def test_where_the_target_holds_what_no_map_tells_all_up_to_the_sources_end_may_be_there_twice(
    both: Lab, at: int
) -> None:
    """One record behind the map may be a copy of any offset: there may be gaps before it, and they are in no map."""
    both.on(both.target, lambda cluster: append(cluster, TO_A, 1))
    stopped = replace(both.lanes[0], state=LaneState.STOPPED, stop_reason=Stop.POSITION_LOST.value, stop_offset=at)
    both.on(both.target, lambda cluster: Progress(cluster).persist([stopped]))
    choice = pending(both)
    assert (choice.decision.start, choice.twice) == (at, (at, SOURCE_END))
    assert f"of the source offsets {at} to 31 may be there twice" in choice.means


def test_without_a_map_a_lane_that_goes_on_where_its_progress_ends_has_nothing_twice(both: Lab) -> None:
    """What lies below its reported target end was copied from below its reported position."""
    stopped = replace(
        both.lanes[0], state=LaneState.STOPPED, stop_reason=Stop.POSITION_LOST.value, stop_offset=SOURCE_END - 1
    )
    lose(both, topics.RUNS, made_again=True)
    for position, twice in ((SOURCE_END - 1, None), (SOURCE_END, (SOURCE_END - 1, SOURCE_END))):
        report = replace(stopped, position=position)
        both.on(both.target, lambda cluster, report=report: Progress(cluster).persist([report]))
        assert pending(both).twice == twice


@pytest.mark.parametrize("made_again", [True, False])
def test_a_lane_without_claims_and_progress_whose_target_holds_records_waits_for_a_decision(
    both: Lab, made_again: bool
) -> None:
    """Its worker may have ended before it reported: by itself it would begin again.  A map tells more."""
    for name in (topics.CLAIMS, topics.PROGRESS):
        lose(both, name, made_again=made_again)
    choice = pending(both)
    assert (choice.cause, choice.decision.start, choice.twice) == (Cause.CLAIMS_LOST, RUNS[-1].source_end, None)
    lane = both.lanes[0].lane
    both.on(both.target, lambda cluster: MappedRanges(cluster).persist({(lane, 0): ()}))
    choice = pending(both)
    assert (choice.lane.generation, choice.decision.start, choice.twice) == (1, 0, (0, SOURCE_END))
    chosen = links.plan_accept(both.source, both.target, LINK, "orders:0", at=TARGET_END).pending
    assert {one.source: (one.decision.start, one.given_up) for one in chosen} == {
        A: (TARGET_END, (0, TARGET_END)),
        B: (RUNS[-1].source_end, None),
    }, "whatever is asked about: once the claims that are there now are accepted, the other lane would begin again"
    links.accept(both.source, both.target, LINK, "orders:0", at=TARGET_END)
    with pytest.raises(NothingToAcceptError):
        links.plan_accept(both.source, both.target, LINK)


def test_a_lane_without_claims_and_progress_begins_where_its_target_holds_nothing(both: Lab) -> None:
    """There is nothing that it could repeat; the third partition is not on the target yet."""
    for name in (topics.CLAIMS, topics.PROGRESS):
        lose(both, name, made_again=True)
    both.on(both.target, lambda cluster: retain(cluster, TO_A, TARGET_END))
    assert {one.source for one in links.plan_accept(both.source, both.target, LINK).pending} == {B}


@pytest.mark.parametrize("also", [topics.CLAIMS, topics.GAP_RECORDS])
@pytest.mark.parametrize("made_again", [True, False])
def test_where_only_the_records_tell_how_far_lanes_came_nothing_can_be_accepted(
    both: Lab, also: str, made_again: bool
) -> None:
    """Without progress and runs: claims tell who wrote, and not what lies behind gaps; gap records not who wrote."""
    for name in (topics.PROGRESS, topics.RUNS, also):
        lose(both, name, made_again=made_again)
    with pytest.raises(HistoryLostError) as lost:
        links.plan_accept(both.source, both.target, LINK)
    assert "offsets rebuild" in lost.value.hint
