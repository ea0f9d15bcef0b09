"""A fetch of one partition outside of sessions, repeated until a broker says something of the partition.

A client whose quota is exceeded (``consumer_byte_rate``, ``request_percentage``) is answered without an error and
without any partition (KIP-219).  That tells nothing of the log; least of all that it ends there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anabranch.kafka import fetch
from anabranch.kafka.connection import Connection


@asynccontextmanager
async def fetched(
    connection: Connection, wanted: fetch.PartitionFetch, *, max_wait_ms: int, max_bytes: int, isolation: int = 0
) -> AsyncIterator[fetch.Fetched]:
    """The partition's answer, whose ``code`` is that of the whole answer where it has one.

    Its records may be looked at within the block and no longer.  Raises ConnectionLostError, FetchResponseError.
    """
    while True:
        frame = await fetch.submit(
            connection, [wanted], max_wait_ms=max_wait_ms, max_bytes=max_bytes, isolation=isolation
        )
        try:
            code, answers = fetch.parse(frame, fetch.version_for(connection))
            connection.throttled(fetch.throttle_of(frame))
            if code:
                yield fetch.Fetched(wanted.topic, wanted.partition, code, -1, -1, -1, (), frame.view[:0], None)
                return
            if answers:
                yield answers[0]
                return
            pause = fetch.pause_of(frame)
        finally:
            frame.release()
        await asyncio.sleep(pause)
