"""Continuous sync: the driver of a running link keeps inactive groups of the target in sync with the source's.

Rounds are cheap where nothing moves: what was committed on the source is read each time, maps and the target only
where something changed or waits, and every half minute.  What a round finds is persisted, so that how old the positions
on the target are is known to everybody.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace

from anabranch.errors import AnabranchError
from anabranch.groups.continuous_sync import GroupSyncPlan, SyncState, WaitingCommits, plan_round
from anabranch.groups.freshness import GroupSyncStatus, SyncRound
from anabranch.groups.snapshot import Commits, GroupsSnapshot, PartitionMapping
from anabranch.groups.translation import translate_commit
from anabranch.kafka import groups as kafka_groups
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.snapshot import ReadMaps, list_kinds, metadata_limit, read_commits, take_snapshot
from anabranch.mirrormaker.wire import MirrorCheckpoint
from anabranch.model.clock import now_ms
from anabranch.model.groups import Commit, Group
from anabranch.model.link import GroupRules, LinkSpec
from anabranch.model.topics import TopicPartition
from anabranch.state.topics.control import Links
from anabranch.state.topics.positions import Positions

IDLE_S = 2.0
_LISTED_FOR_S = 10.0
_LOOK_AT_LEAST_S = 30.0
_AT_ONCE = 16

Publish = Callable[[Cluster, str, Iterable[MirrorCheckpoint]], Awaitable[object]]


class GroupSync:
    """The groups that one link follows; one instance, in one event loop, for a run of the link.

    ``publish`` writes checkpoints for clients that know the source by an alias (``anabranch.operations.mirrormaker``).
    """

    def __init__(
        self, source: Cluster, target: Cluster, link: str, owner: str, read_maps: ReadMaps, publish: Publish
    ) -> None:
        self._source = source
        self._target = target
        self._link = link
        self._owner = owner
        self._read_maps = read_maps
        self._publish = publish
        self._links = Links(target)
        self._store = Positions(target)
        self._limit: int | None = None
        self._kinds: Mapping[str, Group] = {}
        self._listed = self._looked = float("-inf")
        self._seen: tuple[str, ...] = ()
        self._waiting: WaitingCommits = {}
        self._commits: Mapping[str, Commits] = {}
        self._states: dict[str, GroupSyncPlan] = {}
        self._published: dict[tuple[str, TopicPartition], Commit] = {}
        self._read_at: int | None = None

    async def once(self) -> float:
        """Do one round, if the link follows groups; returns after how many seconds the next is due.

        An error that a cluster answers is persisted with the round and raised.
        """
        begun = time.monotonic()
        await self._links.sync()
        record = self._links.links.get(self._link)
        rules = None if record is None else record.wanted.spec.groups
        if record is None or rules is None:
            self._states = {}
            return IDLE_S
        read_at = now_ms()
        try:
            moved = await self._round(rules, record.wanted.spec)
        except AnabranchError as error:
            await self._persist(rules, begun, 0, error.message)
            raise
        self._read_at = read_at
        await self._persist(rules, begun, moved, "")
        return max(0.0, rules.interval_ms / 1000 - (time.monotonic() - begun))

    async def _round(self, rules: GroupRules, spec: LinkSpec) -> int:
        """Move what is to be moved; returns how many groups that were."""
        now = time.monotonic()
        if now - self._listed > _LISTED_FOR_S:
            self._kinds, self._limit = await asyncio.gather(list_kinds(self._source), metadata_limit(self._target))
            self._listed = now
        names = [name for name, group in self._kinds.items() if rules.selects(name)]
        movable = [name for name in names if self._kinds[name].kind.is_movable]
        if set(names) == set(self._seen) and now - self._looked < _LOOK_AT_LEAST_S and not self._unsettled:
            commits, pending = await read_commits(self._source, movable, 0.0)
            if not pending and commits == self._commits:
                return 0
        snapshot = await take_snapshot(
            self._source,
            self._target,
            self._link,
            names,
            self._kinds,
            self._read_maps,
            still=False,
            metadata_limit=self._limit,
        )
        self._looked, self._seen = now, tuple(names)
        self._commits = {name: snapshot.source[name].commits for name in movable}
        concerned = [name for name in names if _concerns(snapshot, name) or not self._kinds[name].kind.is_movable]
        done = plan_round(snapshot, concerned, self._waiting)
        self._waiting = done.waiting
        self._states = {one.group: one for one in done.groups}
        moved = await self._write([one for one in done.groups if one.writes])
        if rules.checkpoints:
            await self._checkpoint(snapshot, concerned, spec.source.context)
        return moved

    @property
    def _unsettled(self) -> bool:
        """Whether a group waits for something that only another look can tell of."""
        return any(one.state is not SyncState.IN_SYNC for one in self._states.values())

    async def _write(self, groups: list[GroupSyncPlan]) -> int:
        at_once = asyncio.Semaphore(_AT_ONCE)
        failed: set[str] = set()

        async def one(group: GroupSyncPlan) -> None:
            async with at_once:
                try:
                    await kafka_groups.commit(self._target, group.group, group.writes)
                except kafka_groups.GroupActiveError as error:
                    self._states[group.group] = replace(group, state=SyncState.ACTIVE, why=error.message)
                except AnabranchError as error:
                    self._states[group.group] = replace(group, state=SyncState.BLOCKED, why=error.message)
                else:
                    return
                failed.add(group.group)

        await asyncio.gather(*(one(group) for group in groups))
        return len(groups) - len(failed)

    async def _checkpoint(self, snapshot: GroupsSnapshot, names: Iterable[str], alias: str) -> None:
        """Publish the exact answers that changed, also those of groups that are not moved because they are active."""
        changed: dict[tuple[str, TopicPartition], tuple[Commit, MirrorCheckpoint]] = {}
        for name in names:
            for at, commit in snapshot.source[name].commits.items():
                mapping = snapshot.mappings.get(at)
                found = (
                    translate_commit(mapping, commit, snapshot.link) if isinstance(mapping, PartitionMapping) else None
                )
                if not isinstance(mapping, PartitionMapping) or not isinstance(found, int):
                    continue
                if self._published.get((name, at)) != commit:
                    told = MirrorCheckpoint(name, mapping.target, commit.offset, found, commit.metadata)
                    changed[(name, at)] = (commit, told)
        if changed:
            await self._publish(self._target, alias, [told for _, told in changed.values()])
            self._published |= {key: commit for key, (commit, _) in changed.items()}

    async def _persist(self, rules: GroupRules, begun: float, moved: int, error: str) -> None:
        await self._store.sync()
        before = self._store.freshness(self._link).groups
        at = now_ms()
        changed = [
            GroupSyncStatus(self._link, name, one.state, at, one.why)
            for name, one in self._states.items()
            if name not in before or before[name].state is not one.state
        ]
        gone = [name for name in before if name not in self._states] if not error else []
        counts = Counter(one.state for one in self._states.values())
        done = SyncRound(
            self._link,
            self._owner,
            at,
            self._read_at,
            round((time.monotonic() - begun) * 1000),
            rules.interval_ms,
            moved,
            {state: counts[state] for state in SyncState if counts[state]},
            error,
        )
        await self._store.put_round(done, changed, gone)


def _concerns(snapshot: GroupsSnapshot, name: str) -> bool:
    return name in snapshot.pending or any(at in snapshot.mappings for at in snapshot.source[name].commits)
