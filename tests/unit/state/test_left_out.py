"""Which lanes of a link stand, and which it leaves out on purpose, as far as the control topics tell."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.reports import LinkPlan, LinkStatus
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.model.totals import totals
from anabranch.operations.links.metrics import metrics
from anabranch.state.codecs import progress as codec
from anabranch.state.topics.control import Links, Progress
from anabranch.state.topics.status import status_of

pytestmark = pytest.mark.unit

LINK, NOW = "old-new", 1_000_000
ORDERS, BILLS = TopicPartition("orders", 0), TopicPartition("bills", 0)
IDS = {ORDERS: TopicId(UUID(int=7)), BILLS: TopicId(UUID(int=8))}
ALL = PluginSpec("regex", {"include": [".*"]})
NO_BILLS = PluginSpec("regex", {"include": [".*"], "exclude": ["bills"]})


def lane(at: TopicPartition, updated_ms: int, state: LaneState = LaneState.FOLLOWING) -> LaneProgress:
    """A lane that was persisted then, at the source's end."""
    why = "the source topic does not exist" if state is LaneState.STOPPED else None
    return LaneProgress(
        LaneKey(LINK, IDS[at], 0), at, at, state, LaneMode.MAPPED, "", 5, 0, 5, 5, 5, 5, 5, 0.0, 0.0, 0, 0.0,
        f"run-1/{at.topic}", updated_ms, why, source_seen_ms=updated_ms,
    )  # fmt: skip


def status(wanted: PluginSpec, plan: LinkPlan | None, *lanes: LaneProgress) -> LinkStatus:
    """The link with this filter, as its control topics tell of it."""
    cluster = Cluster(Transport("new", "User:me"), [])
    links, progress = Links(cluster), Progress(cluster)
    spec = LinkSpec(LINK, ClusterRef("old", "A"), ClusterRef("new", "B"), filter=wanted)
    links.links[LINK] = LinkRecord(WantedState(spec), ("A",), 0)
    for one in lanes:
        progress.lanes.keep(one.lane, codec.lane_key(one.lane), codec.encode_lane(one))
    if plan is not None:
        progress.plans[LINK] = plan
    return status_of(links, progress, LINK, NOW)


def plan(lanes: int, planned_ms: int = NOW, left_out: tuple[str, ...] = ()) -> LinkPlan:
    """What the running link planned."""
    return LinkPlan(LINK, "run-1", 1, planned_ms, lanes, looked_at_ms=planned_ms, left_out=left_out)


@pytest.mark.parametrize("state", [LaneState.FOLLOWING, LaneState.WAITING, LaneState.STOPPED])
@pytest.mark.parametrize(("wanted", "planned"), [(NO_BILLS, plan(1)), (ALL, plan(1, left_out=("bills",)))])
def test_a_lane_that_is_left_out_on_purpose_counts_for_nothing(
    wanted: PluginSpec, planned: LinkPlan, state: LaneState
) -> None:
    """By the filter, or by the plan: however its worker left it, nobody takes it, and nothing is wrong with that."""
    found = status(wanted, planned, lane(ORDERS, NOW), lane(BILLS, NOW - 67_000, state))
    assert [one.source for one in found.lanes] == [ORDERS]
    assert found.left_out == (BILLS,)
    sums = totals(found)
    assert (sums.complete, sums.unknown, sums.missing, sums.lag_records, sums.eta_seconds) == (True, 0, 0, 0, 0.0)
    told = [sample for family in metrics([found]) for sample in family.samples]
    assert not [sample for sample in told if sample.labels.get("topic") == "bills"]
    assert [sample.value for sample in told if sample.name == "anabranch_lane_lag_known"] == [1.0]


def test_a_lane_that_nobody_takes_and_that_is_not_left_out_is_not_known() -> None:
    """Nothing but the filter and the plan's own word lets a lane off: not that the plan has fewer lanes."""
    found = status(ALL, plan(1), lane(ORDERS, NOW), lane(BILLS, NOW - 67_000))
    assert found.left_out == ()
    assert (totals(found).unknown, totals(found).complete) == (1, False)
    unknown_plugin = status(PluginSpec("another", {}), plan(1), lane(ORDERS, NOW), lane(BILLS, NOW - 67_000))
    assert unknown_plugin.lanes == found.lanes


def test_an_older_plan_counts_a_lane_that_was_left_out_since() -> None:
    """A running link plans again within seconds, and what has not begun is told; one that does not run cannot."""
    assert status(NO_BILLS, plan(2), lane(ORDERS, NOW), lane(BILLS, NOW)).missing == 1
    old = replace(plan(2), planned_at_ms=1)
    assert status(NO_BILLS, old, lane(ORDERS, 1), lane(BILLS, 1)).missing == 0
    assert status(NO_BILLS, replace(old, lanes=3), lane(ORDERS, 1), lane(BILLS, 1)).missing == 1
