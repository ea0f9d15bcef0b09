"""What an earlier owner read behind its last record counts only while that record is still the last."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.copier.lane.lane import Lane
from anabranch.copier.ownership.source_history import SourceHistory
from anabranch.kafka.cluster import Cluster
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.ownership import Ownership

pytestmark = pytest.mark.unit

TOPIC, PLACE = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)
KEY = LaneKey("l", TOPIC, 0)


def passed(*, told: tuple[int, int, int], copied: MappedRange | None, won: int, mode: LaneMode) -> tuple[int, int]:
    """What is known after a takeover at ``won``, of a lane that was told of as (position, target end, records)."""
    lane = Lane(LaneAssignment(KEY, PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.AUTO))
    if copied is not None:
        lane.copied.book.append(copied)
    claim = Claim(lane.key, 1, mode, "me", None, 0, ClaimState.CLAIMED, 0, 0)
    ownership = Ownership(lane.key, mode, claim, 1, 1, 86_400_000, won, won, won, won, None, frozenset(), "")
    lane.copied.begin(ownership)
    position, end, records = told
    ends = (0, 200, 200)
    one = LaneProgress(
        KEY, PLACE, PLACE, LaneState.FOLLOWING, mode, "", position, *ends, end, records, 0, 0, 0, None, None, "me", 1
    )
    progress = cast(Any, SimpleNamespace(lanes={KEY: one}))
    SourceHistory(cast(Cluster, None), progress).note_passed(lane, ownership)
    return lane.copied.passed


@pytest.mark.parametrize(
    ("told", "copied", "won", "mode", "known"),
    [
        pytest.param((90, 80, 80), MappedRange(0, 0, 80), 80, LaneMode.MAPPED, (80, 90), id="as it was"),
        pytest.param((90, 80, 80), MappedRange(0, 0, 60), 60, LaneMode.MAPPED, (0, 0), id="the target lost records"),
        pytest.param((90, 80, 80), MappedRange(0, 0, 80), 70, LaneMode.MAPPED, (0, 0), id="its map is not its tail"),
        pytest.param((80, 80, 80), MappedRange(0, 0, 80), 80, LaneMode.MAPPED, (0, 0), id="nothing was read behind"),
        pytest.param((90, 80, 80), MappedRange(0, 0, 80), 80, LaneMode.IDENTITY, (80, 90), id="identity"),
        pytest.param((90, 80, 80), MappedRange(0, 0, 80), 70, LaneMode.IDENTITY, (0, 0), id="identity, shortened"),
        pytest.param((90, 0, 0), None, 0, LaneMode.MAPPED, (0, 90), id="no record yet"),
        pytest.param((90, 80, 80), None, 0, LaneMode.MAPPED, (0, 0), id="its map is gone"),
    ],
)
def test_what_was_persisted_counts_behind_the_same_last_record(
    told: tuple[int, int, int], copied: MappedRange | None, won: int, mode: LaneMode, known: tuple[int, int]
) -> None:
    """Else records that the source no longer has would be taken for offsets that never held one."""
    assert passed(told=told, copied=copied, won=won, mode=mode) == known
