"""Who is fenced of a target partition before a lane's first claim."""

import uuid
from dataclasses import replace

import pytest

from anabranch.copier.ownership.earlier_owners import fence_earlier_owners
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.protocol.claims import Claim, ClaimLog, ClaimState
from anabranch.protocol.effects import FORGOTTEN, Fence, Fences, LogEnd, ReadEnd
from anabranch.protocol.endings import LaneStopped
from anabranch.state.codecs.progress import encode_lane, lane_key
from anabranch.state.topics.storedlanes import StoredLanes

pytestmark = pytest.mark.unit

TOPIC, REMADE = TopicId(uuid.UUID(int=1)), TopicId(uuid.UUID(int=2))
PLACE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
FIRST, SECOND, MINE = LaneKey("l", TOPIC, 0), LaneKey("l", TOPIC, 0, 1), LaneKey("l", REMADE, 0)
WRITTEN = LogEnd(0, 9, 9)
DAY_MS, NOW = 86_400_000, 1_700_000_000_000


def persisted(lane: LaneKey, target: TopicPartition = PLACE) -> LaneProgress:
    """A lane as its last owner left it."""
    return LaneProgress(
        lane=lane,
        source=target,
        target=target,
        state=LaneState.STOPPED,
        mode=LaneMode.MAPPED,
        mode_reason="",
        position=9,
        log_start=0,
        stable=9,
        high_watermark=9,
        target_end=9,
        records=9,
        bytes=90,
        records_per_s=0.0,
        bytes_per_s=0.0,
        lag_bytes=0,
        lag_seconds=None,
        owner="old",
        updated_at_ms=0,
    )


def claim(lane: LaneKey, producer_id: int, state: ClaimState = ClaimState.CLAIMED) -> Claim:
    """A claim on a lane."""
    return Claim(str(lane), producer_id, LaneMode.MAPPED, "old", None, 0, state, 0, 0)


def journal(*claims: Claim) -> ClaimLog:
    """Claims in the order in which they were made."""
    return ClaimLog((offset, one.key, one) for offset, one in enumerate(claims))


def assigned() -> LaneAssignment:
    """The lane of the topic that was made again."""
    return LaneAssignment(MINE, PLACE, PLACE, REMADE, LaneStart(), ModePolicy.AUTO)


def test_every_earlier_history_is_shut_out_while_other_lanes_are_persisted() -> None:
    """The progress and the claims grow while the broker is waited for; each earlier owner is fenced once."""
    lanes = [FIRST, SECOND]
    claims = journal(claim(FIRST, 11), claim(FIRST, 12), claim(SECOND, 13))
    steps = fence_earlier_owners(assigned(), 0, claims, lanes, NOW)
    assert isinstance(next(steps), ReadEnd)
    asked = [steps.send(WRITTEN)]
    for partition in range(1, 100):  # a colleague of this worker reads on meanwhile
        key = LaneKey("l", REMADE, partition)
        claims.apply(claims.end, claim(key, 100 + partition).key, claim(key, 100 + partition))
        try:
            asked.append(steps.send((0, 0, 0)))
        except StopIteration:
            break
    assert asked == [Fences((Fence(11, None), Fence(12, None), Fence(13, None)))]


def test_nobody_else_is_shut_out() -> None:
    """Owners that gave back, other partitions, other links and the lane itself."""
    elsewhere, foreign = LaneKey("l", TOPIC, 1), LaneKey("m", TOPIC, 0)
    stored = StoredLanes()
    for one in (persisted(FIRST), persisted(elsewhere, OTHER), persisted(foreign), persisted(MINE)):
        stored.keep(one.lane, lane_key(one.lane), encode_lane(one))
    lanes = stored.into(PLACE)
    assert set(lanes) == {FIRST, foreign, MINE}
    claims = journal(claim(FIRST, 11, ClaimState.RELEASED), claim(elsewhere, 12), claim(foreign, 13))
    steps = fence_earlier_owners(assigned(), 0, claims, lanes, NOW)
    next(steps)
    with pytest.raises(StopIteration):
        steps.send(WRITTEN)


def test_an_empty_log_and_a_lane_claimed_before_need_nothing() -> None:
    """A marker would cost a new topic its first offset; who has claimed before has done it."""
    lanes = [FIRST]
    steps = fence_earlier_owners(assigned(), 0, journal(claim(FIRST, 11)), lanes, NOW)
    next(steps)
    with pytest.raises(StopIteration):
        steps.send(LogEnd(0, 0, 0))
    with pytest.raises(StopIteration):
        next(fence_earlier_owners(assigned(), 0, journal(claim(FIRST, 11), claim(MINE, 12)), lanes, NOW))


def test_a_refused_fence_keeps_the_lane_from_beginning() -> None:
    """Nothing may be sent while an earlier history can still write."""
    steps = fence_earlier_owners(assigned(), 7, journal(claim(FIRST, 11)), [FIRST], NOW)
    next(steps)
    steps.send(WRITTEN)
    with pytest.raises(LaneStopped) as stopped:
        steps.send((31,))  # CLUSTER_AUTHORIZATION_FAILED
    assert stopped.value.offset == 7


@pytest.mark.parametrize(("claimed_at", "stops"), [(NOW - 2 * DAY_MS, False), (NOW - 2 * DAY_MS + 1, True)])
def test_an_id_that_its_coordinator_has_forgotten_is_waited_out(claimed_at: int, stops: bool) -> None:
    """It cannot be fenced: the lane begins once nobody can have sent under it for a day."""
    old = replace(claim(FIRST, 11), transactional_id="t", claimed_at_ms=claimed_at)
    steps = fence_earlier_owners(assigned(), 7, journal(old), [FIRST], NOW)
    next(steps)
    steps.send(WRITTEN)
    with pytest.raises(LaneStopped if stops else StopIteration):
        steps.send((FORGOTTEN,))
