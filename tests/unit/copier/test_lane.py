"""What a lane sends, tells and keeps between its phases."""

import uuid
from typing import cast

import pytest

from anabranch.copier.lane.active import ActiveOwnership
from anabranch.copier.lane.copied import CopiedRecords
from anabranch.copier.lane.fetched import FetchedBatch, PendingGapRecord
from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.reporting.report import state_of
from anabranch.kafka.connection import Connection
from anabranch.model.clock import monotonic, now_ms
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode, LaneState
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.endings import Ending, OwnershipEnded, Stop
from anabranch.protocol.gap_records import OffsetSpan
from anabranch.protocol.ownership import Ownership
from anabranch.protocol.pipeline import Pipeline
from anabranch.records.encode import encode
from anabranch.records.header import read_header
from anabranch.records.record import Record, TimestampType

pytestmark = pytest.mark.unit

TOPIC, PLACE = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)


def won(lane: Lane, position: int) -> ActiveOwnership:
    """The lane's next ownership, from a source offset on."""
    claim = Claim(lane.key, 1, LaneMode.MAPPED, "me", None, now_ms(), ClaimState.CLAIMED, 0, 0)
    ownership = Ownership(
        lane.key, LaneMode.MAPPED, claim, 1, 1, 86_400_000, position, position, 0, 0, None, frozenset(), ""
    )
    return lane.begin(ownership, Pipeline(ownership, sole_writer=False), cast(Connection, None))


def running(position: int = 0) -> Lane:
    """A lane that copies from there on."""
    lane = Lane(LaneAssignment(LaneKey("l", TOPIC, 0), PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.AUTO))
    won(lane, position)
    return lane


def queue(lane: Lane, offset: int, pending: PendingGapRecord | None = None) -> None:
    """A batch of one record for the lane."""
    batch = memoryview(bytearray(encode([Record(offset, 1, TimestampType.CREATE_TIME, b"k", b"v")])))
    lane.fetched.put(FetchedBatch(batch, 0, read_header(batch, 0), None, (OffsetSpan(offset, 1),), pending))


def test_what_waits_for_a_gap_record_leaves_once_the_journal_has_it() -> None:
    """A record whose sequence does not tell its offset could never be placed where the gap record was lost."""
    lane, pending = running(), PendingGapRecord()
    queue(lane, 5, pending)
    assert not lane.may_send
    pending.good = True
    assert lane.may_send


def test_an_ownership_begins_with_nothing_queued() -> None:
    """What an earlier one has fetched belongs to its position; the next one's may be another."""
    lane = running()
    queue(lane, 0)
    lane.phase = LanePhase.TAKING  # ended where its queue was not looked at
    won(lane, 40)
    assert (lane.fetched.end, lane.fetched.bytes, list(lane.fetched.batches), lane.fetched.fetch_offset) == (
        40,
        0,
        [],
        40,
    )


def test_what_is_fetched_and_not_copied_is_not_told_as_copied() -> None:
    """Behind the last record there may be none to copy: that counts once all before it was acknowledged."""
    lane = running(10)
    queue(lane, 10)
    lane.fetched.passed(25, 0)
    assert lane.reached == 10
    active = lane.active
    assert active is not None
    pipeline = active.pipeline
    lane.fetched.take()
    pipeline.send((OffsetSpan(10, 1),), 1)
    assert lane.reached == 10
    lane.copied.add(pipeline.acknowledge(0, 0), 1)
    assert lane.reached == 25
    lane.end_ownership(active, OwnershipEnded(lane.key, Ending.DISCONNECTED))
    assert lane.reached == 11


def test_a_connection_that_ends_leaves_an_ownership_whole_only_where_nothing_is_in_doubt() -> None:
    """A batch in flight, a question under way or a claim that is being renewed: then the lane is taken over."""
    lane = running()
    active = lane.active
    assert active is not None
    pipeline = active.pipeline
    pipeline.send((OffsetSpan(0, 1),), 1)
    assert not lane.disconnected()
    pipeline.acknowledge(0, 0)
    for doubt in ("is_checking", "is_renewing"):
        setattr(active, doubt, True)
        assert not lane.disconnected()
        setattr(active, doubt, False)
    assert lane.disconnected()
    assert active.connection is None and lane.active is active and lane.phase is LanePhase.RUNNING


def test_what_holds_nothing_to_copy_is_known_behind_the_last_record_alone() -> None:
    """Neither behind another position, nor further than was read; a target that lost records has it forgotten."""
    copied = CopiedRecords(position=80)
    copied.note_passed(80, 90)
    copied.note_passed(70, 95)
    assert (copied.has_passed(90), copied.has_passed(91)) == (True, False)
    copied.position = 81
    assert not copied.has_passed(85)
    lane = running(80)
    lane.copied.note_passed(80, 90)
    won(lane, 60)
    assert not lane.copied.has_passed(61)
    won(lane, 80)
    assert not lane.copied.has_passed(85)


def test_what_was_read_behind_the_last_record_outlives_the_ownership() -> None:
    """The next one begins at the last record; where something is still on its way, what lies behind is not known."""
    lane = running(80)
    lane.fetched.passed(84, 1)
    assert lane.active is not None
    assert lane.end_ownership(lane.active, OwnershipEnded(lane.key, Ending.DISCONNECTED))
    won(lane, 80)
    assert lane.copied.has_passed(84)
    lane.fetched.passed(90, 1)
    queue(lane, 90)
    assert lane.active is not None
    assert lane.end_ownership(lane.active, OwnershipEnded(lane.key, Ending.DISCONNECTED))
    assert not lane.copied.has_passed(90)


def test_what_stops_an_ownership_is_in_doubt_until_claims_are_read_again() -> None:
    """Under a later owner's copy the source may have deleted what this one wanted to read."""
    lane = running()
    lane.stop_at(Stop.SOURCE_EXPIRED, 3)
    assert lane.is_doubted
    lane.claims_read(monotonic() - 60, None)
    assert lane.is_doubted, "they were read before it stopped"
    lane.claims_read(monotonic(), None)
    assert (lane.is_doubted, lane.phase) == (False, LanePhase.STOPPED)


def test_an_owner_whose_lane_is_anothers_by_then_has_not_stopped() -> None:
    """It takes the lane over again once nobody else has it."""
    lane = running()
    lane.stop_at(Stop.SOURCE_EXPIRED, 3)
    lane.claims_read(monotonic(), "other")
    assert (lane.phase, lane.stopped, lane.active) == (LanePhase.TAKING, None, None)
    assert lane.ended is not None and lane.ended.reason is Ending.SUPERSEDED


def test_a_stop_that_is_in_doubt_is_not_told_by_who_leaves_the_lane() -> None:
    """The next owner finds out."""
    lane = running()
    lane.stop_at(Stop.SOURCE_EXPIRED, 3)
    lane.leave()
    assert state_of(lane, paused=False) is LaneState.WAITING
    lane.claims_read(monotonic(), None)
    assert state_of(lane, paused=False) is LaneState.STOPPED


@pytest.mark.parametrize(("ahead", "stays"), [(-1, True), (7, True), (6, False), (8, False)])
def test_an_identity_lane_goes_on_as_one_only_where_the_source_is_what_an_earlier_owner_saw(
    ahead: int, stays: bool
) -> None:
    """Else that one filled up to another offset than the record's, which would lie beside it."""
    lane = Lane(LaneAssignment(LaneKey("l", TOPIC, 0), PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.AUTO))
    claim = Claim(lane.key, 1, LaneMode.IDENTITY, "me", None, now_ms(), ClaimState.CLAIMED, 0, 0)
    numbers = (0, 1, 86_400_000, 5, 5, 0, 0)
    ownership = Ownership(lane.key, LaneMode.IDENTITY, claim, *numbers, None, frozenset(), "", ahead=ahead)
    active = lane.begin(ownership, Pipeline(ownership, sole_writer=False), cast(Connection, None))
    record = Record(7, now_ms(), TimestampType.CREATE_TIME, b"k", b"v")
    batch = memoryview(bytearray(encode([record])))
    lane.fetched.put(FetchedBatch(batch, 0, read_header(batch, 0), None, (OffsetSpan(7, 1),), None))
    gap = lane.gap
    assert gap is not None
    if stays:
        lane.keep_identity(active, gap)
        return
    with pytest.raises(OwnershipEnded) as ended:
        lane.keep_identity(active, gap)
    assert ended.value.reason is Ending.NOT_IDENTITY
