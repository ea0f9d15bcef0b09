"""The journals of all lanes, claims and gap records, read and appended for many lanes at once.

Two hundred lanes that begin together cost one append and one read, not two hundred: callers that arrive while a
request is under way share the next one.  Nothing is appended twice: a batch whose outcome is unknown is unknown
to each of its callers.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence

from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import LogEntry
from anabranch.model.clock import now_ms
from anabranch.protocol.claims import Claim, ClaimKey, ClaimLog, FenceKey
from anabranch.protocol.gap_records import GapRecord, GapRecordKey, GapRecordLog
from anabranch.state.codecs import claims as codec
from anabranch.state.codecs import gap_records as gap_record_codec
from anabranch.state.codecs.topics import CLAIMS, GAP_RECORDS
from anabranch.state.topics.control import write
from anabranch.state.topics.materialized_topic import MaterializedTopic

MAX_BATCH = 500


class Journal(MaterializedTopic):
    """The claims topic of one target cluster, as one worker sees it."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, CLAIMS)
        self._pending: list[tuple[Claim, asyncio.Future[int | None]]] = []
        self._appending = asyncio.Lock()
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
            base = await self._log.append(entries, now_ms())
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

    async def note_fences(self, lane: str, markers: Sequence[tuple[int, int]]) -> None:
        """Note where the markers of fences lie; a note that is lost only costs the next owner a marker."""
        entries: list[tuple[bytes, bytes | None]] = [
            (codec.encode_fence_key(FenceKey(lane, producer_id)), codec.encode_fence(at)) for producer_id, at in markers
        ]
        with contextlib.suppress(AnabranchError):
            await write(self._log, entries)

    async def forget_some(self, lane: str, producer_ids: Iterable[int]) -> None:
        """Forget claims of a lane of which nothing is left; what cannot be written now is forgotten another time."""
        with contextlib.suppress(AnabranchError):
            await self.forget({lane: producer_ids})

    async def forget(self, lanes: Mapping[str, Iterable[int]]) -> None:
        """Forget the claims of lanes that nobody will ever write again; raises ControlLostError."""
        keys: list[bytes] = []
        for lane, ids in lanes.items():
            for one in sorted(ids):
                keys.append(codec.encode_key(ClaimKey(lane, one)))
                if self.claims.marker(lane, one) is not None:
                    keys.append(codec.encode_fence_key(FenceKey(lane, one)))
        await write(self._log, [(key, None) for key in keys])

    async def read(self) -> ClaimLog:
        """Everything that was in the journal when this was called, folded; raises ClusterError."""
        await self._sync()
        return self.claims

    def _take(self, entry: LogEntry) -> None:
        key = codec.decode_key(entry.key)
        if isinstance(key, FenceKey):
            marker = None if entry.value is None else codec.decode_fence(entry.key, entry.value)
            self.claims.apply_fence(entry.offset, key, marker)
        else:
            value = None if entry.value is None else codec.decode(entry.key, entry.value)
            self.claims.apply(entry.offset, key, value)


class GapRecords(MaterializedTopic):
    """The gap records topic of one target cluster, as one worker sees it."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, GAP_RECORDS)
        self.gap_records = GapRecordLog()

    async def append(self, gap_records: Sequence[GapRecord]) -> bool:
        """Append gap records in one batch, once; False where it is not known whether they are there.

        Raises ClusterError where they are not.
        """
        entries: list[tuple[bytes, bytes | None]] = [
            (gap_record_codec.encode_key(gap_record.key), gap_record_codec.encode(gap_record))
            for gap_record in gap_records
        ]
        return await self._log.append(entries, now_ms()) is not None

    async def forget(self, keys: Iterable[GapRecordKey]) -> None:
        """Forget gap records that persisted runs have made superfluous; raises ControlLostError."""
        await write(self._log, [(gap_record_codec.encode_key(key), None) for key in keys])

    async def read(self) -> GapRecordLog:
        """Everything that was in the journal when this was called, folded; raises ClusterError."""
        await self._sync()
        return self.gap_records

    def _take(self, entry: LogEntry) -> None:
        key = gap_record_codec.decode_key(entry.key)
        gap_record = None if entry.value is None else gap_record_codec.decode(entry.key, entry.value)
        self.gap_records.apply(entry.offset, key, gap_record)
