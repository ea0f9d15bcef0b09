"""A control topic that many read at once, materialized as what it says."""

from __future__ import annotations

import asyncio

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog, LogEntry


class MaterializedTopic:
    """A control topic of which ``_take`` folds one entry in; readings follow each other, and are shared.

    Of two readings at once the one that began first could end last, with what is older.  While a long one is under
    way, what is folded in is what the topic said some records earlier.
    """

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._log = KeyedLog(cluster, topic)
        self._reading = asyncio.Lock()
        self._reads = 0

    @property
    def is_shortened(self) -> bool:
        """Whether the topic's first records had been deleted when it was last read."""
        return self._log.start > 0

    def _take(self, entry: LogEntry) -> None:
        raise NotImplementedError

    async def check(self) -> None:
        """Look from time to time whether the topic still is there, where it is seldom read; raises ClusterError."""
        await self._log.check()

    async def _sync(self) -> None:
        """Fold in everything that was in the topic when this was called; raises ClusterError."""
        asked = self._reads
        async with self._reading:
            # A read that began after this call has seen all that was there when it was made.
            if self._reads < asked + 2:
                await self._log.fold(self._take)
                self._reads += 1
