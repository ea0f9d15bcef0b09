"""Fetch sessions (KIP-227) on real brokers: what is told once, what must be told again, and what ends them."""

from __future__ import annotations

import pytest

from anabranch.kafka import fetch
from anabranch.kafka.session import FetchSession, Key, SessionRequest
from tests.contract.lab import Log, a_producer, batch

pytestmark = pytest.mark.test


class Reader:
    """A session on the connection of a log, at some offsets."""

    def __init__(self, log: Log, by: int | None = None) -> None:
        self.log = log
        if by is not None:
            log.connection.versions[fetch.API_KEY] = (4, by)
        self.session = FetchSession()
        self.asked: SessionRequest | None = None

    def at(self, offset: int, *, partition: int = 0) -> dict[Key, fetch.PartitionFetch]:
        """What to read."""
        log = self.log
        topic = log.meta.id if fetch.version_for(log.connection) >= fetch.BY_ID else log.topic
        one = fetch.PartitionFetch(log.topic, log.meta.id, partition, log.leader_epoch, offset, -1, 1 << 20)
        return {(topic, partition): one}

    async def read(
        self, wanted: dict[Key, fetch.PartitionFetch], wait_ms: int = 0
    ) -> tuple[int, dict[int, tuple[int, int]]]:
        """The whole answer's code, and (high watermark, bytes of records) of each partition in the answer."""
        self.asked = asked = self.session.next_request(wanted)
        code, found = await self.tell(asked, wait_ms)
        return code, found

    async def tell(self, asked: SessionRequest, wait_ms: int = 0) -> tuple[int, dict[int, tuple[int, int]]]:
        """Send exactly this."""
        connection = self.log.connection
        frame = await fetch.submit(
            connection,
            asked.wanted,
            max_wait_ms=wait_ms,
            max_bytes=1 << 20,
            isolation=1,
            session=(asked.session, asked.epoch),
            forgotten=asked.forgotten,
        )
        try:
            code, answers = fetch.parse(frame, fetch.version_for(connection))
            self.session.answered(code, fetch.session_of(frame))
            return code, {one.partition: (one.high_watermark, len(one.records)) for one in answers}
        finally:
            frame.release()


@pytest.mark.parametrize("by", [fetch.BY_NAME, fetch.BY_ID])
async def test_a_session_tells_only_what_changed(log: Log, by: int) -> None:
    """An idle partition is neither in the request nor in the answer; new records are, without being asked for anew."""
    reader = Reader(log, by)
    code, found = await reader.read(reader.at(0))
    assert (code, found) == (0, {0: (0, 0)})
    assert reader.session.id > 0
    assert await reader.read(reader.at(0)) == (0, {})
    assert reader.asked == SessionRequest(reader.session.id, 1, [], [])
    await log.offset_of(batch(a_producer(), 0))
    code, found = await reader.read(reader.at(0), 1000)
    assert (reader.asked.wanted, code, found[0][0]) == ([], 0, 10)
    assert found[0][1] > 0
    again = await reader.read(reader.at(0))
    assert again == (0, found), "records that were not taken come again"
    assert await reader.read(reader.at(10)) == (0, {}), "and the high watermark is told once"


async def test_what_is_forgotten_and_read_again_is_told_whole(log: Log) -> None:
    """A partition that comes back into a session brings its ends, though nothing changed meanwhile."""
    reader = Reader(log)
    await log.offset_of(batch(a_producer(), 0))
    await reader.read(reader.at(10))
    assert await reader.read({}) == (0, {})
    assert len(reader.asked.forgotten if reader.asked else ()) == 1
    assert await reader.read(reader.at(10)) == (0, {0: (10, 0)})


async def test_a_wrong_epoch_and_an_unknown_session_are_refused_and_asked_in_full_next(log: Log) -> None:
    """What a lost answer, or an evicted session, looks like to the next request."""
    reader = Reader(log)
    await reader.read(reader.at(0))
    first = reader.session.id
    assert (await reader.tell(SessionRequest(first, 7, [], [])))[0] == 71
    assert await reader.read(reader.at(0)) == (0, {0: (0, 0)})
    assert reader.session.id not in {0, first}
    assert (await reader.tell(SessionRequest(first, 1, [], [])))[0] == 70, "a full request with its id has ended it"
    assert await reader.read(reader.at(0)) == (0, {0: (0, 0)})


async def test_a_session_that_was_closed_is_gone(log: Log) -> None:
    """Its place in the broker's cache is free at once."""
    reader = Reader(log)
    await reader.read(reader.at(0))
    old = reader.session.id
    last = reader.session.close()
    assert last is not None
    assert (await reader.tell(last))[0] == 0
    assert (await reader.tell(SessionRequest(old, 1, [], [])))[0] == 70


async def test_a_topic_made_again_is_another_partition_of_the_session(log: Log) -> None:
    """By its id the old one is refused, in each answer, until it is forgotten."""
    reader = Reader(log)
    await reader.read(reader.at(0))
    before = reader.at(0)
    await log.delete()
    await log.create()
    for _ in range(2):
        asked = reader.session.next_request(before)
        frame = await fetch.submit(
            log.connection, asked.wanted, max_wait_ms=0, max_bytes=1000, session=(asked.session, asked.epoch)
        )
        code, answers = fetch.parse(frame, fetch.version_for(log.connection))
        reader.session.answered(code, fetch.session_of(frame))
        frame.release()
        assert code in {0, 106}
        if code == 0:
            assert [one.code for one in answers] in ([100], [103], [3])
