"""``__anabranch_positions`` on a cluster: baselines, undo records, and how fresh groups in continuous sync are."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.groups.baseline import Baseline
from anabranch.groups.freshness import Freshness, GroupSyncStatus, SyncRound
from anabranch.groups.undo import UndoRecord
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.state.codecs import positions as codec
from anabranch.state.codecs import topics
from anabranch.state.codecs.positions import BaselineKey, RoundKey, SyncKey, UndoKey
from anabranch.state.topics.control import ensure_topics, present, write


class Positions:
    """The topic as one reader and writer sees it; it is made when something is first written."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._log = KeyedLog(cluster, topics.POSITIONS)
        self._exists = False
        self.baselines: dict[str, dict[str, Baseline]] = {}
        self.undo: dict[str, dict[str, UndoRecord]] = {}
        self.rounds: dict[str, SyncRound] = {}
        self.since: dict[str, dict[str, GroupSyncStatus]] = {}

    async def sync(self) -> None:
        """Read what changed; nothing where the topic is not there."""
        if not await self._is_there():
            return
        for entry in await self._log.read():
            key = codec.decode_key(entry.key)
            if isinstance(key, BaselineKey):
                baselines = self.baselines.setdefault(key.link, {})
                baselines.pop(key.group, None)
                if entry.value is not None:
                    baselines[key.group] = codec.decode_baseline(entry.key, entry.value)
            elif isinstance(key, RoundKey):
                self.rounds.pop(key.link, None)
                if entry.value is not None:
                    self.rounds[key.link] = codec.decode_round(entry.key, entry.value)
            elif isinstance(key, SyncKey):
                since = self.since.setdefault(key.link, {})
                since.pop(key.group, None)
                if entry.value is not None:
                    since[key.group] = codec.decode_since(entry.key, entry.value)
            else:
                undo = self.undo.setdefault(key.id, {})
                undo.pop(key.group, None)
                if entry.value is not None:
                    undo[key.group] = codec.decode_undo(entry.key, entry.value)

    def freshness(self, link: str) -> Freshness:
        """What is persisted of a link's continuous sync."""
        return Freshness(self.rounds.get(link), dict(self.since.get(link, {})))

    async def put_baselines(self, baselines: Iterable[Baseline]) -> None:
        """Store baselines; raises ControlLostError."""
        await self._write((BaselineKey(one.link, one.group), codec.encode_baseline(one)) for one in baselines)

    async def put_undo(self, records: Iterable[UndoRecord]) -> None:
        """Store undo records, all acknowledged when this returns; raises ControlLostError."""
        await self._write((UndoKey(one.id, one.group), codec.encode_undo(one)) for one in records)

    async def put_round(self, done: SyncRound, changed: Iterable[GroupSyncStatus], gone: Iterable[str]) -> None:
        """Store a round, the groups that stand otherwise than before, and forget those that are no longer followed."""
        entries: list[tuple[codec.Key, bytes | None]] = [
            (SyncKey(one.link, one.group), codec.encode_since(one)) for one in changed
        ]
        entries += [(SyncKey(done.link, group), None) for group in gone]
        await self._write([*entries, (RoundKey(done.link), codec.encode_round(done))])

    def number(self, link: str) -> int:
        """How many records ``forget`` forgets."""
        return len(self._keys(link))

    async def forget(self, link: str) -> None:
        """Forget a link's baselines and freshness; undo records stay.  Raises ControlLostError."""
        if keys := self._keys(link):
            await self._write((key, None) for key in keys)

    def _keys(self, link: str) -> list[codec.Key]:
        keys: list[codec.Key] = [BaselineKey(link, group) for group in self.baselines.get(link, {})]
        keys += [SyncKey(link, group) for group in self.since.get(link, {})]
        keys += [RoundKey(link)] if link in self.rounds else []
        return keys

    async def _write(self, entries: Iterable[tuple[codec.Key, bytes | None]]) -> None:
        await self._make()
        await write(self._log, [(codec.encode_key(key), value) for key, value in entries])

    async def _is_there(self) -> bool:
        if not self._exists:
            self._exists = bool(await present(self._cluster, [topics.POSITIONS]))
        return self._exists

    async def _make(self) -> None:
        if await self._is_there():
            return
        await ensure_topics(self._cluster, [topics.POSITIONS])
        self._exists = True
