"""A link that does not run, for longer than its source keeps tombstones."""

from __future__ import annotations

from uuid import UUID

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, MirroredTopic, WantedState
from anabranch.model.reasons import Severity
from anabranch.model.reports import LinkPlan, LinkStatus
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.state.codecs import progress as codec
from anabranch.state.topics.control import Links, Progress
from anabranch.state.topics.status import status_of

pytestmark = pytest.mark.unit

LINK, HOUR_MS = "old-new", 3_600_000
NOW = 1_760_000_000_000
ORDERS = TopicPartition("orders", 0)
ID = TopicId(UUID(int=7))
COMPACTED = {"cleanup.policy": "compact"}


def status(configs: dict[str, str], hours: float, plan: LinkPlan | None = None) -> LinkStatus:
    """A link whose only lane had caught up, and was persisted last so many hours ago."""
    cluster = Cluster(Transport("new", "User:me"), [])
    links, progress = Links(cluster), Progress(cluster)
    spec = LinkSpec(LINK, ClusterRef("old", "A"), ClusterRef("new", "B"))
    links.links[LINK] = LinkRecord(WantedState(spec), ("A",), 0)
    links.mirrored[(LINK, ID)] = MirroredTopic(LINK, ORDERS.topic, ID, ORDERS.topic, ID, configs)
    then = NOW - round(hours * HOUR_MS)
    lane = LaneProgress(
        LaneKey(LINK, ID, 0), ORDERS, ORDERS, LaneState.FOLLOWING, LaneMode.MAPPED, "", 5, 0, 5, 5, 5, 5, 5, 0.0, 0.0,
        0, 0.0, "run-1/w", then, source_seen_ms=then,
    )  # fmt: skip
    progress.lanes.keep(lane.lane, codec.lane_key(lane.lane), codec.encode_lane(lane))
    if plan is not None:
        progress.plans[LINK] = plan
    return status_of(links, progress, LINK, NOW)


@pytest.mark.parametrize(
    ("configs", "hours", "told"),
    [
        (COMPACTED, 23.0, False),
        (COMPACTED, 25.0, True),
        (COMPACTED | {"delete.retention.ms": str(50 * HOUR_MS)}, 49.0, False),
        (COMPACTED | {"delete.retention.ms": str(50 * HOUR_MS)}, 51.0, True),
        ({"cleanup.policy": "compact,delete"}, 25.0, True),
        ({"cleanup.policy": "delete"}, 1_000.0, False),
        ({}, 1_000.0, False),
    ],
)
def test_a_link_that_stood_still_for_longer_than_tombstones_stay_is_told_before_it_runs(
    configs: dict[str, str], hours: float, told: bool
) -> None:
    """By the configs of the source's topic that are stored on the target: the source need not be there."""
    found = status(configs, hours)
    assert not found.running
    assert [(one.severity, "orders-0" in one.what) for one in found.findings] == [(Severity.WARNING, True)] * told


def test_what_the_plan_of_a_killed_run_tells_is_told_once() -> None:
    """It found the same."""
    found = status(COMPACTED, 25.0)
    plan = LinkPlan(LINK, "run-1", 1, NOW - 25 * HOUR_MS, 1, found.findings)
    assert status(COMPACTED, 25.0, plan).findings == ()


def test_what_a_run_remembered_is_told_after_it() -> None:
    """Also where the link stands still for a moment only."""
    key = str(LaneKey(LINK, ID, 0))
    assert status(COMPACTED, 0.1).findings == ()
    ended = LinkPlan(LINK, "run-1", 1, NOW - HOUR_MS, 1, ends=True, outlived={key: 5})
    (found,) = status(COMPACTED, 0.1, ended).findings
    assert "orders-0 has been behind" in found.what


def test_of_a_link_that_runs_the_plan_tells_it() -> None:
    """Else it would be told twice, and by older configs."""
    found = status(COMPACTED, 25.0, LinkPlan(LINK, "run-2", 1, NOW, 1))
    assert found.running
    assert found.findings == ()
