"""The links of waves: which are the waves' own, and when one has copied enough, or stands still."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.migration.legs import Leg
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneState
from anabranch.model.link import UnknownLinkError
from anabranch.model.reports import LinkPlan
from anabranch.operations.links.create import LinkExistsError
from anabranch.operations.migrations import linking, lost
from anabranch.operations.migrations.engine import NotYetError
from anabranch.state.topics.control import Progress
from qa import links
from tests.unit.link_lab import BLANK, LINK, OTHER, SOURCE_END, TARGET_END, A, B, Lab, lab
from tests.unit.migration_lab import LEG, scene_done

pytestmark = pytest.mark.unit


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


def told(both: Lab, *states: LaneState) -> None:
    """Workers tell just now that the lanes are in these states."""
    lanes = [replace(lane, state=one, updated_at_ms=now_ms()) for lane, one in zip(both.lanes, states, strict=True)]

    async def file(cluster: Cluster) -> None:
        await Progress(cluster).persist(lanes)

    both.on(both.target, file)


def planned(both: Lab, lanes: int, before_ms: int) -> None:
    """A run has planned so many lanes, so long ago."""

    async def file(cluster: Cluster) -> None:
        await Progress(cluster).plan(LinkPlan(LINK, "run", 1, now_ms() - before_ms, lanes))

    both.on(both.target, file)


def test_a_switch_waits_for_lanes_that_have_not_begun_and_names_those_that_have_stopped(both: Lab) -> None:
    """However little a partition holds: what no lane copies is not copied by waiting less."""
    with pytest.raises(NotYetError, match=f"link {LINK}: {SOURCE_END} records are left to copy"):
        scene_done(both, linking.catch_up, subject=LINK)
    told(both, LaneState.STOPPED, LaneState.FOLLOWING)
    with pytest.raises(NotYetError, match=f"link {LINK}: lanes have stopped: {A}$"):
        scene_done(both, linking.catch_up, subject=LINK)


def test_a_link_of_the_same_name_that_is_another_one_is_neither_taken_nor_deleted(both: Lab) -> None:
    """The wave's own may be made again, and is deleted once."""

    def leg(topic: str) -> Leg:
        wave = replace(LEG.wave, name="more", topics=(topic,))
        return Leg(replace(LEG.migration, waves=(wave,)), wave)

    ours, another = leg(OTHER.topic), leg(A.topic)
    for _ in range(2):
        scene_done(both, linking.create_link, leg=ours)
    with pytest.raises(LinkExistsError):
        scene_done(both, linking.create_link, leg=another)
    scene_done(both, linking.delete_link, leg=another)
    assert links.show(both.target, ours.link).spec.filter == ours.spec().filter
    for _ in range(2):
        scene_done(both, linking.delete_link, leg=ours)
    with pytest.raises(UnknownLinkError):
        links.show(both.target, ours.link)


def test_the_way_back_runs_once_no_run_of_the_other_link_is_there(both: Lab) -> None:
    """One that has not heard yet that it is paused would copy what the way back brings, round and round."""
    asked: list[tuple[str, str, str]] = []

    class Desk:
        is_there = True

        async def stop_link(self, target: str, link: str) -> None:
            asked.append(("stop", target, link))
            if self.is_there:
                raise NotYetError("it has not ended")

        async def run_link(self, target: str, link: str) -> None:
            asked.append(("run", target, link))

    desk, back = Desk(), LEG.next.link
    with pytest.raises(NotYetError):
        scene_done(both, linking.run_reverse, subject=back, desk=desk)
    assert asked == [("stop", "new", LINK)]
    desk.is_there = False
    scene_done(both, linking.run_reverse, subject=back, desk=desk)
    assert asked[1:] == [("stop", "new", LINK), ("run", "old", back)]


def test_what_was_not_copied_is_written_down_once_every_lane_stands_still(both: Lab) -> None:
    """A link that was paused may copy a moment longer, and one that has just begun has not told of its lanes yet."""
    links.pause(both.target, LINK)
    told(both, LaneState.PAUSED, LaneState.FOLLOWING)
    with pytest.raises(NotYetError, match=f"link {LINK}: {B} is not paused yet"):
        scene_done(both, lost.lost_tail)
    told(both, LaneState.PAUSED, LaneState.PAUSED)
    planned(both, 3, 0)
    with pytest.raises(NotYetError, match=f"link {LINK}: where 1 lane stood is not told yet$"):
        scene_done(both, lost.lost_tail)
    planned(both, 3, 20_000)
    found = scene_done(both, lost.lost_tail)
    assert found is not None
    copied = {str(A): [SOURCE_END, TARGET_END], str(B): [SOURCE_END, TARGET_END]}
    assert {lane[0]: lane[1:3] for lane in found["lanes"]} == copied, f"{BLANK} has no copy that could tell of it"
