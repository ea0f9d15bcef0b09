"""Names lie: a topic that was deleted and made again takes a producer of the old one, unless it is asked for by id."""

import pytest

from anabranch.kafka import fetch, produce
from tests.contract.lab import Log, a_producer, batch

pytestmark = pytest.mark.test

UNKNOWN_TOPIC_ID = 100


async def test_produce_by_id_is_offered_by_4_3_and_not_by_4_0(log: Log, version: tuple[int, ...]) -> None:
    """Fetch takes topic ids everywhere here, Produce (v13) only on newer brokers."""
    assert fetch.version_for(log.connection) == fetch.BY_ID
    assert produce.version_for(log.connection) == (produce.BY_ID if version >= (4, 3) else produce.BY_NAME)


async def test_by_name_a_topic_made_again_takes_the_old_producer_at_offset_0(log: Log) -> None:
    """Nothing but the topic id and the base offset tells that the log is another one."""
    p = a_producer()
    before = log.meta.id
    await log.offset_of(batch(p, 1000))
    await log.delete()
    await log.create()
    assert log.meta.id != before
    log.connection.versions[produce.API_KEY] = (3, produce.BY_NAME)
    assert await log.offset_of(batch(p, 1010)) == 0


async def test_by_id_a_topic_made_again_is_unknown(log: Log) -> None:
    """Where the broker takes ids, a request with the old topic's id is refused and nothing is appended."""
    p = a_producer()
    old = log.meta
    await log.offset_of(batch(p, 1000))
    await log.delete()
    await log.create()
    wanted = fetch.PartitionFetch(log.topic, old.id, 0, -1, 0, -1, 1000)
    frame = await fetch.submit(log.connection, [wanted], max_wait_ms=0, max_bytes=1000)
    code, (answer,) = fetch.parse(frame, fetch.version_for(log.connection))
    frame.release()
    assert (code, answer.code) == (0, UNKNOWN_TOPIC_ID)
    log.meta = old
    if produce.version_for(log.connection) == produce.BY_ID:
        assert await log.refusal_of(batch(p, 1010)) == UNKNOWN_TOPIC_ID
    else:
        assert await log.offset_of(batch(p, 1010)) == 0
