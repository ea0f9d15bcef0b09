"""What a lane's queue keeps in memory."""

import uuid

import pytest

from anabranch.copier.lane.fetched import FetchedBatch
from anabranch.copier.lane.lane import Lane
from anabranch.kafka.frames import FramePool
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.protocol.gap_records import OffsetSpan
from anabranch.records.encode import encode
from anabranch.records.header import read_header
from anabranch.records.record import Record, TimestampType

pytestmark = pytest.mark.unit


def test_a_lane_that_leaves_its_frames_keeps_its_batches() -> None:
    """One small batch must not keep a large answer alive; its bytes are the same in a buffer of its own."""
    topic, place = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)
    lane = Lane(LaneAssignment(LaneKey("l", topic, 0), place, place, topic, LaneStart(), ModePolicy.AUTO))
    pool = FramePool()
    frame = pool.take(1 << 20)
    batch = bytes(encode([Record(0, 1, TimestampType.CREATE_TIME, b"k", b"v")]))
    for at in (100, 5000):
        frame.view[at : at + len(batch)] = batch
        lane.fetched.put(FetchedBatch(frame.view, at, read_header(frame.view, at), frame, (OffsetSpan(at, 1),)))
    frame.release()
    assert (pool.lent, lane.fetched.owned_bytes) == (1 << 20, 0)
    lane.fetched.leave_frames()
    lane.fetched.leave_frames()
    assert (pool.lent, lane.fetched.owned_bytes, lane.fetched.bytes) == (0, 2 * len(batch), 2 * len(batch))
    frame.view[:] = bytes(1 << 20)
    first = lane.fetched.take()
    assert bytes(first.view[first.at : first.at + first.header.size]) == batch
    assert first.spans == (OffsetSpan(100, 1),)
    assert (lane.fetched.owned_bytes, lane.fetched.bytes) == (len(batch), len(batch))
    lane.fetched.drop()
    assert (lane.fetched.owned_bytes, lane.fetched.bytes) == (0, 0)
