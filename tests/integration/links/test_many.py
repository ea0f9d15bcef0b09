"""Two hundred lanes on two workers."""

from __future__ import annotations

import pytest

from anabranch.model.lane import LaneMode
from anabranch.sandbox import SandboxCluster
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.links.lab import link
from tests.integration.links.topics import OLD_MS, create, fresh, numbered, produce

pytestmark = pytest.mark.test

LANES = 200


@pytest.mark.real
@pytest.mark.full
def test_two_hundred_lanes_are_claimed_copied_and_handed_on(old: SandboxCluster, new: SandboxCluster) -> None:
    """All are taken over by claims, copied, given back and taken again by the next run, and none is left behind."""
    topic = create(old, fresh("many"), LANES)

    def fill(first: int) -> None:
        records = [r for p in range(LANES) for r in numbered(5, first=first, partition=p, timestamp=OLD_MS)]
        produce(old, topic, records, batch=len(records), settings={"batch.num.messages": 5})

    fill(0)
    with link(old, new, topic) as made:
        for turn in (1, 2):
            with made.running(slots=2):
                made.await_(
                    lambda s, turn=turn: len([lane for lane in s.lanes if lane.position == 5 * turn]) == LANES,
                    seconds=LONG_TIMEOUT_S,
                )
                status = made.status()
                assert len({lane.owner for lane in status.lanes}) == 2
                assert {lane.mode for lane in status.lanes} == {LaneMode.MAPPED}
                assert sum(lane.records for lane in status.lanes) == 5 * turn * LANES
                assert sum(lane.lag_records for lane in status.lanes) == 0
            if turn == 1:
                fill(5)
        for partition in (0, 99, 199):
            assert made.assert_copied(topic, partition=partition) == 10
