"""The claims of all lanes, read and appended for many lanes at once.

Two hundred lanes that begin together cost one append and one read, not two hundred: callers that arrive while a
request is under way share the next one.  Nothing is appended twice: a batch whose outcome is unknown is unknown
to each of its callers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping

from anabranch.control import claims as codec
from anabranch.control.topics import CLAIMS
from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.lanes.claims import Claim, ClaimKey, ClaimLog
from anabranch.replicate.control import write

MAX_BATCH = 500


class Journal:
    """The claims topic of one target cluster, as one worker sees it."""

    def __init__(self, cluster: Cluster) -> None:
        self._log = KeyedLog(cluster, CLAIMS)
        self._pending: list[tuple[Claim, asyncio.Future[int | None]]] = []
        self._appending = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._reads = 0
        self.claims = ClaimLog()

    async def append(self, claim: Claim) -> int | None:
        """Append one claim, once; its journal offset, or None where the outcome is unknown."""
        future: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._pending.append((claim, future))
        try:
            while not future.done():
                async with self._appending:
                    if future.done():
                        break
                    batch, self._pending = self._pending[:MAX_BATCH], self._pending[MAX_BATCH:]
                    await self._append(batch)
        except asyncio.CancelledError:
            # A claim that nobody waits for must not be appended later: it would look like a successor's.
            self._pending = [one for one in self._pending if one[1] is not future]
            raise
        return future.result()

    async def _append(self, batch: list[tuple[Claim, asyncio.Future[int | None]]]) -> None:
        entries: list[tuple[bytes, bytes | None]] = [
            (codec.encode_key(claim.key), codec.encode(claim)) for claim, _ in batch
        ]
        try:
            base = await self._log.append(entries, time.time_ns() // 1_000_000)
        except Exception as error:  # to each of the callers, who know what it means for their lane
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
                    future.exception()
            return
        except BaseException:
            for _, future in batch:
                if not future.done():
                    future.set_result(None)  # whoever was cancelled, the others do not know whether it was appended
            raise
        for at, (_, future) in enumerate(batch):
            if not future.done():
                future.set_result(None if base is None else base + at)

    async def forget(self, lanes: Mapping[str, Iterable[int]]) -> None:
        """Forget the claims of lanes that nobody will ever write again; raises ControlLostError."""
        keys = [codec.encode_key(ClaimKey(lane, one)) for lane, ids in lanes.items() for one in sorted(ids)]
        await write(self._log, [(key, None) for key in keys])

    async def read(self) -> ClaimLog:
        """Everything that was in the journal when this was called, folded; raises ClusterError."""
        asked = self._reads
        async with self._reading:
            # A read that began after this call has seen all that was there when it was made.
            if self._reads < asked + 2:
                before = self._log.position
                for entry in await self._log.read():
                    try:
                        key = codec.decode_key(entry.key)
                        value = None if entry.value is None else codec.decode(entry.key, entry.value)
                    except AnabranchError:
                        self._log.position = before  # or the next read would pass over the claims behind it
                        raise
                    self.claims.apply(entry.offset, key, value)
                self._reads += 1
        return self.claims
