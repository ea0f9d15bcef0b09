"""What is sent and what is read of an answer, by the bytes: kafka-python is the other reader and writer."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any, cast

import pytest
from kafka.protocol.consumer import FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.producer import ProduceRequest, ProduceResponse

from anabranch.kafka import fetch, listoffsets, produce
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import UnsupportedApiError
from anabranch.kafka.frames import Frame, FramePool
from anabranch.records.encode import encode
from anabranch.records.record import Record, TimestampType
from tests.unit.kafka.scripted import frame_of

pytestmark = pytest.mark.unit

BATCH = encode([Record(0, 1, TimestampType.CREATE_TIME, b"k", b"v")])


class Wire:
    """A connection that keeps what is sent."""

    def __init__(self, newest: int) -> None:
        self.newest = newest
        self.version = -1
        self.sent = b""

    def offers(self, _: int) -> int:
        return self.newest

    def submit(self, _: int, version: int, flexible: bool, parts: Sequence[bytes], timeout: float) -> None:
        assert flexible
        assert timeout > 0
        self.version, self.sent = version, b"".join(bytes(part) for part in parts)


@pytest.mark.parametrize(("newest", "version"), [(9, 9), (13, 13)])
def test_a_batch_is_asked_to_be_on_all_replicas_that_are_in_sync(newest: int, version: int) -> None:
    """acks=all, no transactional id, the batch as it is."""
    wire = Wire(newest)
    produce.submit(cast(Connection, wire), [produce.Outgoing("t", uuid.UUID(int=5), 3, BATCH)])
    assert wire.version == version
    request = ProduceRequest.decode(wire.sent, version=version)
    assert (request.acks, request.transactional_id, request.timeout_ms) == (-1, None, 30_000)
    (topic,) = request.topic_data
    (part,) = topic.partition_data
    assert (part.index, bytes(part.records)) == (3, BATCH)


def test_an_answer_that_names_refused_records_is_read_to_its_end() -> None:
    """Each partition keeps its own code, offset and words, also behind one with errors of single records."""
    row = ProduceResponse.TopicProduceResponse
    part = row.PartitionProduceResponse
    wrong = part.BatchIndexAndErrorMessage(batch_index=0, batch_index_error_message="no key")
    bad = part(
        index=0,
        error_code=87,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1,
        record_errors=[wrong],
        error_message="one record was refused",
    )
    good = part(
        index=1,
        error_code=0,
        base_offset=42,
        log_append_time_ms=-1,
        log_start_offset=7,
        record_errors=[],
        error_message=None,
    )
    answer = ProduceResponse(responses=[row(name="t", partition_responses=[bad, good])], throttle_time_ms=1500)
    acknowledged = [
        produce.Produced("t", 0, 87, -1, -1, "one record was refused"),
        produce.Produced("t", 1, 0, 42, 7, ""),
    ]
    assert produce.parse(frame_of(answer, 9), 9) == acknowledged
    assert produce.parse_with_throttle(frame_of(answer, 9), 9) == (1.5, acknowledged)


@pytest.mark.parametrize(("newest", "version"), [(12, 12), (13, 13)])
def test_a_fetch_says_up_to_which_epoch_was_read_and_reads_uncommitted(newest: int, version: int) -> None:
    """Without the last epoch a broker cannot tell that its log was truncated since."""
    wire = Wire(newest)
    wanted = fetch.PartitionFetch("t", uuid.UUID(int=5), 3, 8, 100, 7, 1000)
    fetch.submit(cast(Connection, wire), [wanted], max_wait_ms=0, max_bytes=1000)
    request = FetchRequest.decode(wire.sent, version=version)
    assert (request.isolation_level, request.session_id, request.session_epoch) == (0, 0, -1)
    (part,) = request.topics[0].partitions
    assert (part.partition, part.current_leader_epoch, part.fetch_offset) == (3, 8, 100)
    assert (part.last_fetched_epoch, part.partition_max_bytes) == (7, 1000)


def test_a_diverging_epoch_is_read() -> None:
    """With the ends, and with the records of the next partition at their place."""
    row = FetchResponse.FetchableTopicResponse
    part = row.PartitionData
    lost = part(
        partition_index=0,
        error_code=0,
        high_watermark=90,
        last_stable_offset=80,
        log_start_offset=5,
        diverging_epoch=part.EpochEndOffset(epoch=6, end_offset=77),
        aborted_transactions=None,
        preferred_read_replica=-1,
        records=None,
    )
    read = part(
        partition_index=1,
        error_code=0,
        high_watermark=9,
        last_stable_offset=8,
        log_start_offset=0,
        aborted_transactions=[part.AbortedTransaction(producer_id=4, first_offset=2)],
        preferred_read_replica=-1,
        records=BATCH,
    )
    answer = FetchResponse(
        throttle_time_ms=0, error_code=0, session_id=0, responses=[row(topic="t", partitions=[lost, read])]
    )
    frame = frame_of(answer, 12)
    code, (first, second) = fetch.parse(frame, 12)
    assert (code, first.diverging, first.high_watermark, first.last_stable) == (0, (6, 77), 90, 80)
    assert (first.log_start, bytes(first.records)) == (5, b"")
    assert (second.diverging, second.aborted, bytes(second.records)) == (None, ((4, 2),), BATCH)


class Asked(Wire):
    """A connection that answers the one request with these bytes."""

    security = Transport("there", "nobody")

    def __init__(self, newest: int, answer: Frame) -> None:
        super().__init__(newest)
        self.answer = answer

    async def submit(  # type: ignore[override]
        self, _: int, version: int, flexible: bool, parts: Sequence[bytes], timeout: float
    ) -> Frame:
        super().submit(_, version, flexible, parts, timeout)
        return self.answer


def ends(*told: tuple[str, int, int, int]) -> Any:
    """ListOffsets' answer: (topic, partition, code, offset) each."""
    row = ListOffsetsResponse.ListOffsetsTopicResponse
    return ListOffsetsResponse(
        throttle_time_ms=0,
        topics=[
            row(
                name=topic,
                partitions=[
                    row.ListOffsetsPartitionResponse(
                        partition_index=index, error_code=code, timestamp=77, offset=offset, leader_epoch=3
                    )
                ],
            )
            for topic, index, code, offset in told
        ],
    )


@pytest.mark.parametrize(("newest", "version"), [(6, 6), (11, 7)])
def test_offsets_are_asked_for_in_the_leader_epoch_that_is_known(newest: int, version: int) -> None:
    """Each partition with its own time and epoch, and each answer at its partition."""
    wire = Asked(newest, frame_of(ends(("t", 3, 0, 42), ("u", 0, 74, -1)), version))
    wanted = {("t", 3): (-1, 8), ("u", 0): (1234, -1)}
    answers = asyncio.run(listoffsets.ask(cast(Connection, wire), wanted, 1))
    assert wire.version == version
    request = ListOffsetsRequest.decode(wire.sent, version=version)
    assert (request.replica_id, request.isolation_level) == (-1, 1)
    assert {
        (topic.name, part.partition_index): (part.timestamp, part.current_leader_epoch)
        for topic in request.topics
        for part in topic.partitions
    } == wanted
    assert answers == {
        ("t", 3): listoffsets.OffsetAnswer(0, 42, 77),
        ("u", 0): listoffsets.OffsetAnswer(74, -1, 77),
    }


def test_an_answer_about_offsets_that_is_cut_off_is_said_to_be_wrong() -> None:
    """Never read as fewer partitions."""
    whole = frame_of(ends(("t", 3, 0, 42)), 7)
    cut = FramePool().take(len(whole.view) - 10)
    cut.view[:] = whole.view[:-10]
    with pytest.raises(listoffsets.ListOffsetsResponseError):
        asyncio.run(listoffsets.ask(cast(Connection, Asked(7, cut)), {("t", 3): (-1, -1)}, 0))


def test_a_broker_that_is_too_old_to_be_asked_is_named() -> None:
    """Before anything is sent."""
    wire = Asked(5, frame_of(ends(), 7))
    with pytest.raises(UnsupportedApiError, match="ListOffsets"):
        asyncio.run(listoffsets.ask(cast(Connection, wire), {("t", 3): (-1, -1)}, 0))
    assert not wire.sent
