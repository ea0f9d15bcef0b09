"""A source topic that is deleted for good: its lanes say so and how to go on, until a person leaves the topic out."""

from __future__ import annotations

import pytest

from anabranch.model.lane import LaneState
from anabranch.model.plugins import PluginSpec
from anabranch.model.reports import LinkStatus
from anabranch.model.totals import totals
from anabranch.protocol.endings import Stop
from anabranch.protocol.ways import ways_out
from anabranch.state.codecs import topics
from qa import links
from qa.simulation.life import LINK
from tests.chance import seed
from tests.simulation.watched import TOPIC, Watched, lanes, watched

pytestmark = pytest.mark.test

EXCLUDED = PluginSpec("regex", {"include": [".*"], "exclude": [TOPIC]})


def status(link: Watched) -> LinkStatus:
    """The link as ``link show`` tells of it."""
    return link.world.ask(lambda: links.show(link.life.context("target"), LINK))


def is_told(found: LinkStatus) -> bool:
    """Whether its one lane stands, with the reason and the way out; of one that has just begun nothing is told yet."""
    if not found.lanes:
        return False
    (lane,) = found.lanes
    ways = ways_out(lane.stop_reason, LINK, lane.source.topic, lane.source.partition)
    return lane.state is LaneState.STOPPED and Stop.SOURCE_GONE.value in (lane.stop_reason or "") and len(ways) == 2


def test_a_deleted_topic_stops_its_lane_until_it_is_excluded() -> None:
    """Over the ends of leases, and in the next run, whose planner never saw the topic."""
    with watched(seed(11)) as link:
        run = link.run(lease_seconds=10.0)
        link.until(lambda: link.end_of("target") > 50)
        link.life.load.stop()
        link.world.clusters["source"].delete(TOPIC)
        link.until(lambda: is_told(status(link)), 60.0)
        link.pass_(1.0)
        before = len(lanes(link.persisted(topics.PROGRESS)))
        link.pass_(70.0)
        since = lanes(link.persisted(topics.PROGRESS))[before:]
        assert {one.state for one in since} == {LaneState.STOPPED}, {one.stop_reason for one in since}
        assert is_told(status(link))
        link.end(run)
        assert is_told(status(link))
        run = link.run(lease_seconds=10.0)
        link.pass_(45.0)
        assert is_told(status(link))
        link.change(filter=EXCLUDED)
        link.pass_(20.0)
        found = status(link)
        assert (found.lanes, [at.topic for at in found.left_out], totals(found).missing) == ((), [TOPIC], 0)
        link.end(run)
        assert status(link).lanes == ()


def test_what_stopped_a_lane_is_told_after_its_worker_left_it() -> None:
    """A topic that was made again is in no plan any more: the lane still says why it stands."""
    with watched(seed(12)) as link:
        run = link.run(lease_seconds=10.0)
        link.until(lambda: link.end_of("target") > 50)
        link.life.load.stop()
        source = link.world.clusters["source"]
        source.delete(TOPIC)
        source.create(TOPIC, 1, 1, {})
        link.pass_(60.0)
        (lane,) = status(link).lanes
        assert (lane.state, lane.stop_reason and Stop.SOURCE_MADE_AGAIN.value in lane.stop_reason) == (
            LaneState.STOPPED,
            True,
        )
        link.end(run)
