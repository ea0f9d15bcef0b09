"""Reading the control topics on, all the time: what is wanted of the link, and who has claimed its lanes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from anabranch.copier.leases.control_topics import ControlTopics
from anabranch.errors import AnabranchError
from anabranch.kafka.errors import passing

TICK_S = 0.5
HURRY_S = 0.1
"""Between two looks at what is wanted while lanes may be asked for."""


class ControlWatch:
    """Reads links, progress and claims; ``on_read`` acts on them, and is given the instant at which reading began."""

    def __init__(self, topics: ControlTopics, on_read: Callable[[float], None], is_urgent: Callable[[], bool]) -> None:
        self._topics = topics
        self._on_read = on_read
        self._is_urgent = is_urgent
        self._reading = asyncio.Lock()

    async def run(self) -> None:
        """Read twice a second until cancelled; more often while that is urgent."""
        while True:
            await asyncio.sleep(HURRY_S if self._is_urgent() else TICK_S)
            try:
                await self.read()
            except AnabranchError as error:
                if not passing(error):
                    raise

    async def read(self) -> None:
        """Read once, and act on it; raises ClusterError."""
        async with self._reading:
            started = time.monotonic()
            await self._topics.links.sync()
            await self._topics.progress.sync()
            await self._topics.journal.read()
            self._on_read(started)
            # Read by takeovers and where gaps are written, which may be never while a lease lasts.
            await self._topics.gap_records.check()
            await self._topics.ranges.check()
