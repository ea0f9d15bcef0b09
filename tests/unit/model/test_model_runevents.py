"""What a run's owner is told, from one look at its lanes to the next."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.reports import LinkPlan, LinkStatus
from anabranch.model.runevents import MOST_LANES, WAIT_TOLD_MS, CopiedByRun, LaneSnapshot, next_snapshot
from anabranch.model.topics import TopicId, TopicPartition

pytestmark = pytest.mark.unit

ID = TopicId(UUID(int=7))
RUN, OWNER, NOW = "run-1", "run-1/host-1-a", 100_000
WANTED = WantedState(LinkSpec("old-new", ClusterRef("old", "A"), ClusterRef("new", "B")))
FOLLOWS, COPIES = LaneState.FOLLOWING, LaneState.COPYING


def lane(partition: int, state: LaneState = FOLLOWS, owner: str = OWNER, why: str | None = None) -> LaneProgress:
    """A lane as it was persisted just now."""
    at = TopicPartition("orders", partition)
    key = LaneKey("old-new", ID, partition)
    stand = 1234 if state is LaneState.STOPPED else None
    seen = None if state is LaneState.UNREACHABLE else NOW
    return LaneProgress(
        key, at, at, state, LaneMode.MAPPED, "", 5, 0, 5, 5, 5, 5, 5, 0.0, 0.0, 0, 0.0, owner, NOW, why, stand,
        source_seen_ms=seen,
    )  # fmt: skip


class Told:
    """A run that is looked at again and again."""

    def __init__(self, planned: int) -> None:
        self.planned = planned
        self.seen = LaneSnapshot()

    def __call__(self, *lanes: LaneProgress, paused: bool = False, after_ms: int = 0) -> list[str]:
        """What is told where the lanes stand so, so long after the beginning."""
        record = LinkRecord(replace(WANTED, paused=paused), ("A",), 0)
        plan = LinkPlan("old-new", RUN, 1, NOW, self.planned)
        self.seen, events = next_snapshot(self.seen, LinkStatus(record, lanes, plan, NOW + after_ms), RUN)
        return [event.message for event in events]


def test_lanes_are_counted_as_they_are_taken_over_and_caught_up_once() -> None:
    """A lane that copies for a moment is no event; what stays as it is is told once."""
    told = Told(2)
    assert told(lane(0, LaneState.WAITING), lane(1, LaneState.WAITING)) == []
    assert told(lane(0, COPIES)) == ["1 lane was taken over; 1 of 2 run here"]
    assert told(lane(0, COPIES), lane(1, COPIES)) == ["1 lane was taken over; 2 of 2 run here"]
    assert told(lane(0), lane(1, COPIES)) == []
    assert told(lane(0), lane(1)) == ["caught up: 2 lanes follow the source's end"]
    assert told(lane(0), lane(1)) == told(lane(0, COPIES), lane(1)) == told(lane(0), lane(1)) == []
    other = replace(lane(1), owner="run-1/host-2-b")
    again = ["1 lane was taken over; 2 of 2 run here", "caught up: 2 lanes follow the source's end"]
    assert told(lane(0), other) == again


def test_a_link_has_not_caught_up_while_a_lane_is_behind() -> None:
    """Whatever the lane's state is called; what it copies within a second is on its way, an unknown lag is no end."""
    told = Told(1)
    assert told(replace(lane(0), stable=5_000_000)) == ["1 lane was taken over; 1 of 1 run here"]
    assert told(replace(lane(0), stable=5_000, records_per_s=100.0)) == []
    assert told(replace(lane(0), source_seen_ms=None)) == []
    assert told(replace(lane(0), stable=80, records_per_s=100.0)) == ["caught up: 1 lane follows the source's end"]


def test_a_source_that_is_away_is_told_once_and_so_is_its_return() -> None:
    """A worker that is silent meanwhile is no return."""
    told = Told(2)
    told(lane(0), lane(1))
    assert told(lane(0), lane(1, LaneState.UNREACHABLE)) == ["the source is away: 1 lane does not reach it"]
    assert told(lane(0, LaneState.UNREACHABLE), lane(1, LaneState.UNREACHABLE)) == []
    silent = [replace(lane(number, LaneState.WAITING), is_old=True) for number in (0, 1)]
    assert told(*silent) == []
    assert told(lane(0, COPIES), lane(1, LaneState.UNREACHABLE)) == ["2 lanes were taken over; 2 of 2 run here"]
    back = told(lane(0), lane(1))
    assert back[-2:] == ["the source is back", "caught up: 2 lanes follow the source's end"]


def test_a_lane_that_waits_for_a_transaction_is_not_taken_over_when_it_goes_on() -> None:
    """It waits as one does that has no owner yet."""
    told = Told(1)
    told(lane(0))
    assert told(lane(0, LaneState.WAITING)) == told(lane(0, COPIES)) == told(lane(0)) == []


def test_a_lane_that_stops_is_named_with_its_reason_and_again_when_that_changes() -> None:
    """And when it goes on; the others may have caught up."""
    told = Told(2)
    told(lane(0, COPIES), lane(1))
    stopped = lane(0, LaneState.STOPPED, why="too large")
    assert told(stopped, lane(1)) == [
        "orders-0 stopped at offset 1,234: too large",
        "caught up: 1 lane follows the source's end, 1 stopped",
    ]
    assert told(stopped, lane(1)) == []
    assert told(replace(stopped, stop_reason="gone"), lane(1)) == ["orders-0 stopped at offset 1,234: gone"]
    assert told(lane(0, COPIES), lane(1)) == ["orders-0 goes on"]


def test_lanes_that_wait_for_long_are_told_once_by_reason_and_when_they_go_on() -> None:
    """As where their target topic is gone; what is tried again once or twice is no event, nor what others wait for."""
    told = Told(3)
    told(lane(0), lane(1), lane(2))
    gone = [lane(number, LaneState.WAITING, why="there is no topic orders") for number in (0, 1)]
    assert told(*gone, lane(2)) == told(*gone, lane(2), after_ms=WAIT_TOLD_MS - 1) == []
    assert told(*gone, lane(2), after_ms=WAIT_TOLD_MS) == ["2 lanes wait: there is no topic orders"]
    other = [replace(one, stop_reason="no leader") for one in gone]
    assert told(*other, lane(2), after_ms=WAIT_TOLD_MS + 1) == []
    assert told(lane(0), other[1], lane(2), after_ms=WAIT_TOLD_MS + 2) == ["1 lane that waited goes on"]
    still = replace(lane(1, LaneState.STOPPED, why="gone"), owner=OWNER)
    assert told(lane(0), still, lane(2), after_ms=2 * WAIT_TOLD_MS) == ["orders-1 stopped at offset 1,234: gone"]


@pytest.mark.parametrize(
    "one",
    [
        lane(0, LaneState.WAITING),
        lane(0, LaneState.WAITING, "run-2/host-1-a", "no topic"),
        replace(lane(0, LaneState.WAITING, why="no topic"), is_old=True),
        lane(0, LaneState.COPYING, why="no topic"),
    ],
    ids=["for an owner", "in another run", "long ago", "no more"],
)
def test_what_waits_for_nothing_that_this_run_knows_of_is_no_event(one: LaneProgress) -> None:
    """However long it lasts."""
    told = Told(1)
    told(one)
    assert told(one, after_ms=WAIT_TOLD_MS) == told(one, after_ms=9 * WAIT_TOLD_MS) == []


def test_many_lanes_that_stop_at_once_are_some_lines_and_a_number() -> None:
    """Thousands would hide everything else."""
    stopped = [lane(number, LaneState.STOPPED, why="no right") for number in range(MOST_LANES + 7)]
    said = [one for one in Told(len(stopped))(*stopped) if "stopped" in one]
    assert len(said) == MOST_LANES + 1 and said[-1] == "7 lanes have stopped too: anabranch link show old-new"


def test_another_run_that_takes_lanes_is_named() -> None:
    """Lanes that it never had are none of its business."""
    told = Told(2)
    told(lane(0), lane(1, owner="run-2/host-1-a"))
    lost = told(lane(0, owner="run-2/host-1-a"), lane(1, owner="run-2/host-1-a"))
    assert lost == ["1 lane was taken by another run of this link: run-2"]
    assert told(lane(0, owner="run-2/host-1-a"), lane(1, owner="run-2/host-1-a")) == []
    assert told(lane(0), lane(1, owner="run-2/host-1-a")) == ["1 lane was taken over; 1 of 2 run here"]


def test_a_pause_and_its_end_are_told() -> None:
    """Then it catches up anew."""
    told = Told(1)
    told(lane(0))
    assert told(lane(0, LaneState.PAUSED), paused=True) == ["the link is paused: nothing is read"]
    assert told(lane(0, LaneState.PAUSED)) == ["the link is resumed"]
    assert told(lane(0)) == ["caught up: 1 lane follows the source's end"]


def test_nothing_has_caught_up_while_the_link_is_paused() -> None:
    """A lane that its worker has not reported as paused yet follows still; once resumed and at the end it is told."""
    told = Told(1)
    assert told(lane(0))[-1] == "caught up: 1 lane follows the source's end"
    assert told(lane(0), paused=True) == ["the link is paused: nothing is read"]
    assert told(lane(0), paused=True) == told(lane(0, LaneState.PAUSED), paused=True) == []
    assert told(lane(0, COPIES)) == ["the link is resumed"]
    assert told(lane(0)) == ["caught up: 1 lane follows the source's end"]


def test_no_more_lanes_run_than_there_are() -> None:
    """A plan that counts fewer may be older than the lanes that were read, or newer."""
    assert Told(1)(lane(0, COPIES), lane(1, COPIES)) == ["2 lanes were taken over; 2 of 2 run here"]


def test_what_a_run_has_copied_is_what_its_lanes_were_persisted_to_have_copied() -> None:
    """Also by a worker that was killed, as the next owner counts it; not before the run, and not by another one."""

    def with_records(partition: int, records: int, owner: str = OWNER) -> LaneProgress:
        return replace(lane(partition, owner=owner), records=records, bytes=10 * records)

    copied = CopiedByRun.begun([with_records(0, 100, "run-0/host-1-a")])
    copied = copied.after([with_records(0, 100, "run-0/host-1-a"), with_records(1, 40)], RUN)
    assert (copied.records, copied.bytes) == (40, 400)
    copied = copied.after([with_records(0, 160), with_records(1, 40)], RUN)
    copied = copied.after([with_records(0, 250, "run-1/host-2-b"), with_records(1, 70, "run-2/host-1-a")], RUN)
    assert copied.records == 40 + 60 + 90
    copied = copied.after([with_records(0, 20), with_records(1, 75)], RUN)  # progress that was lost is counted again
    assert copied.after([with_records(0, 25), with_records(1, 75)], RUN).records == 40 + 60 + 90 + 5 + 5
