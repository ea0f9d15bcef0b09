"""Each reason for which a lane stops has a way out that is named, does something, and stands in the docs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.errors import InvalidFieldError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.model.decisions import Cause, SourcePartition
from anabranch.model.lane import LaneAssignment, LaneKey, LaneState
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId
from anabranch.offsets.offset_map import MappedRange
from anabranch.operations.links.map_recovery import CAUSES, SKIPPABLE
from anabranch.protocol.endings import LaneStopped, Stop
from anabranch.protocol.ways import WAYS, ways_out
from anabranch.state.codecs import links as codec
from anabranch.state.codecs import topics
from anabranch.state.topics.control import Links, MappedRanges, Progress
from qa import links
from tests.unit.link_lab import LINK, RUNS, SOURCE_END, A, Lab, lab

pytestmark = pytest.mark.unit

TOPIC = TopicId(UUID(int=7))
DOCS = Path(__file__).parents[3] / "docs"
AT = 22
"""A source offset behind the one at which the lane of these tests stops."""


@pytest.mark.parametrize("stop", list(Stop))
def test_every_stop_names_a_command_that_the_docs_list(stop: Stop) -> None:
    """Below its reason, and in the how-to, with the same verb."""
    assert WAYS[stop]
    reason = LaneStopped("l/t/0/0", stop, 7, None, "detail").message
    named = ways_out(reason, "old-new", "orders", 3)
    assert len(named) == len(WAYS[stop]) and all("{" not in way for way in named)
    page = (DOCS / "how-to" / "when-a-lane-stops.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| {stop.value} |"))
    for verb in set(re.findall(r"anabranch (link \w+|verify)", " ".join(named))):
        assert verb.partition(" ")[2] in row or verb in row, f"{verb} is not in the row of {stop.name}"
    assert ("--at" in row) == any("--at" in way for way in named)


def test_what_is_no_stop_has_no_way_out() -> None:
    """A lane that waits goes on by itself."""
    assert ways_out(None, "l", "t", 0) == ways_out("open transaction of producer id 7", "l", "t", 0) == ()


@pytest.mark.parametrize("stop", list(Stop))
def test_a_resumed_link_tries_every_stop_again(stop: Stop) -> None:
    """What was corrected goes on; what was not stops again."""
    lane = Lane(LaneAssignment(LaneKey(LINK, TOPIC, 0), A, A, TOPIC, LaneStart(), ModePolicy.AUTO))
    lane.stop_at(stop, 7)
    lane.retry()
    assert (lane.phase, lane.stopped) == (LanePhase.TAKING, None)


def stop(made: Lab, reason: Stop, offset: int) -> None:
    """Have the first lane's owner file that it stopped."""
    message = LaneStopped("x", reason, offset).message
    persisted = replace(
        made.lanes[0], state=LaneState.STOPPED, stop_reason=message, stop_offset=offset, position=offset
    )
    made.on(made.target, lambda cluster: Progress(cluster).persist([persisted]))


def test_a_lane_that_stopped_goes_on_as_was_accepted() -> None:
    """In doubt: behind its persisted map, which the next generation keeps.  At bad records: behind them."""
    with lab() as both:
        place = SourcePartition(both.lanes[0].lane.topic_id, 0)

        async def decided(cluster: Cluster) -> list[MappedRange]:
            stored, ranges = Links(cluster), MappedRanges(cluster)
            await stored.sync()
            await ranges.sync()
            one = stored.decisions[LINK][place]
            return [run for ranges in ranges.segments.get(one.lane, {}).values() for run in ranges]

        for reason, cause in CAUSES.items():
            stop(both, reason, 30)
            with pytest.raises(InvalidFieldError):
                links.plan_accept(both.source, both.target, LINK, "orders:0", at=SOURCE_END + 1)
            (choice,) = links.accept(both.source, both.target, LINK, "orders:0").pending
            assert (choice.cause, choice.decision.generation, choice.decision.start) == (cause, 1, 30)
            assert both.on(both.target, decided) == list(RUNS)
            undo(both, place)
        for reason in SKIPPABLE:
            stop(both, reason, 20)
            with pytest.raises(InvalidFieldError):
                links.plan_accept(both.source, both.target, LINK, "orders:0", at=20)
            done = links.accept(both.source, both.target, LINK, "orders:0", at=AT)
            assert (done.pending[0].cause, done.pending[0].given_up) == (Cause.GIVEN_UP, (20, AT))
            assert done.pending[0].decision.skip == (20, AT)
        with pytest.raises(InvalidFieldError):
            links.plan_accept(both.source, both.target, LINK, "orders", at=AT)
        assert links.show(both.target, LINK).wanted.revision > len(CAUSES) + len(SKIPPABLE)


def test_a_lane_whose_target_was_cut_below_what_was_retired_goes_on_where_it_stands() -> None:
    """What is persisted lies above, so that the next generation keeps none of it."""
    with lab() as both:
        lane = both.lanes[0].lane

        async def retire(cluster: Cluster) -> None:
            await MappedRanges(cluster).persist({(lane, 0): (), (lane, 2): RUNS[1:]})

        both.on(both.target, retire)
        stop(both, Stop.POSITION_LOST, 20)
        (choice,) = links.accept(both.source, both.target, LINK, "orders:0").pending
        assert (choice.decision.generation, choice.decision.start, choice.keeps) == (1, 20, None)


def undo(both: Lab, place: SourcePartition) -> None:
    """Forget what was decided, for the next reason."""
    key = codec.decision_key(LINK, place)
    both.on(both.target, lambda cluster: KeyedLog(cluster, topics.LINKS).append([(key, None)], 1_000))
