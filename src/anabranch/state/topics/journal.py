"""The journals of all lanes, claims and jumps, read and appended for many lanes at once.

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
from anabranch.kafka.log import Entry
from anabranch.model.clock import now_ms
from anabranch.protocol.claims import Claim, ClaimKey, ClaimLog, KillKey
from anabranch.protocol.holes import Jump, JumpKey, JumpLog
from anabranch.state.codecs import claims as codec
from anabranch.state.codecs import jumps as jump_codec
from anabranch.state.codecs.topics import CLAIMS, JUMPS
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

    async def note_kills(self, lane: str, markers: Sequence[tuple[int, int]]) -> None:
        """Note where the markers of kills lie; a note that is lost only costs the next owner a marker."""
        entries: list[tuple[bytes, bytes | None]] = [
            (codec.encode_kill_key(KillKey(lane, producer_id)), codec.encode_kill(at)) for producer_id, at in markers
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
                    keys.append(codec.encode_kill_key(KillKey(lane, one)))
        await write(self._log, [(key, None) for key in keys])

    async def read(self) -> ClaimLog:
        """Everything that was in the journal when this was called, folded; raises ClusterError."""
        await self._sync()
        return self.claims

    def _take(self, entry: Entry) -> None:
        key = codec.decode_key(entry.key)
        if isinstance(key, KillKey):
            marker = None if entry.value is None else codec.decode_kill(entry.key, entry.value)
            self.claims.apply_kill(entry.offset, key, marker)
        else:
            value = None if entry.value is None else codec.decode(entry.key, entry.value)
            self.claims.apply(entry.offset, key, value)


class Jumps(MaterializedTopic):
    """The jumps topic of one target cluster, as one worker sees it."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, JUMPS)
        self.jumps = JumpLog()

    async def append(self, jumps: Sequence[Jump]) -> bool:
        """Append jumps in one batch, once; False where it is not known whether they are there.

        Raises ClusterError where they are not.
        """
        entries: list[tuple[bytes, bytes | None]] = [
            (jump_codec.encode_key(jump.key), jump_codec.encode(jump)) for jump in jumps
        ]
        return await self._log.append(entries, now_ms()) is not None

    async def forget(self, keys: Iterable[JumpKey]) -> None:
        """Forget jumps that filed runs have made superfluous; raises ControlLostError."""
        await write(self._log, [(jump_codec.encode_key(key), None) for key in keys])

    async def read(self) -> JumpLog:
        """Everything that was in the journal when this was called, folded; raises ClusterError."""
        await self._sync()
        return self.jumps

    def _take(self, entry: Entry) -> None:
        key = jump_codec.decode_key(entry.key)
        jump = None if entry.value is None else jump_codec.decode(entry.key, entry.value)
        self.jumps.apply(entry.offset, key, jump)
