"""A link that goes on where another tool's copy ends: which lanes are filed, and from where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from anabranch.config.maps_file import StoredMap
from anabranch.kafka.cluster import Cluster
from anabranch.model.lane import LaneKey
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.operations.links import adopting
from anabranch.protocol.claims import ClaimState, PlacedClaim
from anabranch.state.topics.control import MappedRanges
from anabranch.state.topics.journal import Journal
from tests.unit.link_lab import RUNS, TO_A, TO_B, A, B, Lab, lab

pytestmark = pytest.mark.unit
BACK = "new-old"


def maps_of(made: Lab) -> tuple[StoredMap, StoredMap]:
    """Of one lane some runs are known; of the other where it began, and none."""
    some = OffsetMap.of(RUNS)
    first, second = (one.lane for one in made.lanes)
    return StoredMap(first, A, TO_A, some.advance(32, 15)), StoredMap(second, B, TO_B, OffsetMap(4, 7))


def filed(
    made: Lab, maps: Sequence[StoredMap], back_of: str | None = None
) -> dict[int, tuple[tuple[MappedRange, ...], tuple[PlacedClaim, ...]]]:
    """What stands of each source partition afterwards: its runs and its claims."""
    made.on(made.target, lambda cluster: adopting.apply(cluster, BACK, maps, back_of))

    async def read(cluster: Cluster) -> dict[int, tuple[tuple[MappedRange, ...], tuple[PlacedClaim, ...]]]:
        ranges, claims = MappedRanges(cluster), await Journal(cluster).read()
        await ranges.sync()
        keys = [LaneKey(BACK, made.lanes[0].lane.topic_id, number) for number in (0, 1)]
        return {
            key.partition: (
                tuple(run for runs in ranges.segments.get(key, {}).values() for run in runs),
                claims.claims(str(key)),
            )
            for key in keys
        }

    return made.on(made.target, read)


def test_only_a_lane_that_the_other_tool_has_filled_is_adopted() -> None:
    """Where it goes on: the source's end of its map, and nothing of the target below the map's end is its own."""
    with lab() as made:
        found = filed(made, maps_of(made))
        runs, (claim,) = found[0]
        assert runs == RUNS
        assert (claim.claim.state, claim.claim.start, claim.claim.floor) == (ClaimState.RELEASED, 32, 15)
        assert found[1] == ((), ())


def test_on_the_way_back_a_lane_of_which_nothing_was_copied_begins_where_the_way_there_began() -> None:
    """Else it would copy home what came from there."""
    with lab() as made:
        runs, (claim,) = filed(made, maps_of(made), "old-new")[1]
        assert (runs, claim.claim.start, claim.claim.floor) == ((), 4, 7)


def test_what_an_attempt_that_broke_off_has_left_is_forgotten() -> None:
    """Of two claims the lane would begin at the smaller start."""
    with lab() as made:
        whole, _ = maps_of(made)
        assert filed(made, [replace(whole, ranges=OffsetMap.of([MappedRange(1, 1, 2)]))])
        runs, claims = filed(made, [whole])[0]
        assert runs == RUNS and [(one.claim.start, one.claim.floor) for one in claims] == [(32, 15)]
