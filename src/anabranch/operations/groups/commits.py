"""Commit offsets for groups: store the undo record, commit once a group, read back, undo if that failed.

A broker does not commit all or nothing: it leaves out the partitions that it refuses.  So what was written is read
back and compared, and a group with other commits than those that were written gets its former commits back at once.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from anabranch.errors import AnabranchError
from anabranch.groups.snapshot import Commits
from anabranch.groups.undo import GroupUndo, UndoRecord, same, undo, without_shared
from anabranch.kafka import groups as kafka_groups
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import ConnectionLostError
from anabranch.model.clock import now_ms
from anabranch.model.groups import Group
from anabranch.model.topics import TopicPartition
from anabranch.state.topics.positions import Positions

_AT_ONCE = 16
_GONE = 3  # UNKNOWN_TOPIC_OR_PARTITION


def new_id(at_ms: int) -> str:
    """An undo record's id: its time, and four hexadecimal digits that tell records of one second apart."""
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


async def read_groups(cluster: Cluster, names: Sequence[str]) -> dict[str, Group]:
    """Groups as they are now, with their commits; one that does not exist is DEAD and has none."""
    described = await kafka_groups.describe(cluster, names)
    commits = await kafka_groups.committed(cluster, names)
    return {name: replace(described[name], commits=commits[name]) for name in names}


async def move(cluster: Cluster, store: Positions, records: Sequence[UndoRecord]) -> dict[str, str]:
    """Write what the records say, each group wholly or not at all; returns why groups failed.

    The records are stored, all of them, before anything is written.  Of a group that failed what another move at the
    same time wrote too stays.  Raises AnabranchError where nothing was done.
    """
    if not records:
        return {}
    await store.put_undo(records)
    failed: dict[str, str] = {}
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def commit_one(record: UndoRecord) -> None:
        async with at_once:
            try:
                await _commit(cluster, record.group, record.wrote)
            except AnabranchError as error:
                failed[record.group] = error.message

    await asyncio.gather(*(commit_one(record) for record in records))
    try:
        now = await kafka_groups.committed(cluster, [record.group for record in records])
    except AnabranchError as error:  # not raised: that would say that nothing was done, and hide what to undo
        unread = f"what was written could not be read back: {error.message}"
        return {record.group: f"{failed.get(record.group, unread)}; {_undo_command(record)}" for record in records}
    for record in records:
        found = now[record.group]
        wrong = [at for at, wrote in record.wrote.items() if not same(found.get(at), wrote)]
        if wrong and record.group not in failed:
            failed[record.group] = (
                f"it reads back otherwise than it was written: {wrong[0]} and {len(wrong) - 1:,} more"
            )
        if record.group in failed:
            failed[record.group] += "; " + await _undo(cluster, store, record)
    return failed


async def _commit(cluster: Cluster, group: str, commits: Commits) -> None:
    try:
        await kafka_groups.commit(cluster, group, commits)
    except ConnectionLostError:
        await kafka_groups.commit(cluster, group, commits)  # the same once more does no harm


async def _undo(cluster: Cluster, store: Positions, record: UndoRecord) -> str:
    """Undo a move that failed, but for what another move at the same time has written too; what came of it.

    A move is recorded before it writes, so who reads the group first and the records then knows whose the commits may
    be.  The race that remains: a move that is recorded after that, and that has planned before this one wrote.
    """
    try:
        now = (await read_groups(cluster, [record.group]))[record.group]
        await store.sync()
        others = [groups[record.group] for groups in store.undo.values() if record.group in groups]
        mine, shared = without_shared(record, others)
        planned = undo(mine, now)
        if planned.refusals:
            return "it cannot be undone: " + planned.refusals[0].what
        await apply_undo(cluster, planned)
        if shared:
            return f"what {', '.join(shared)} wrote too at the same time was left; {_undo_command(record)}"
        await store.put_undo([replace(record, undone_at_ms=now_ms())])
    except AnabranchError as error:
        return f"undoing it failed too: {error.message}; {_undo_command(record)}"
    return "it was undone"


def _undo_command(record: UndoRecord) -> str:
    return f"anabranch groups undo {record.id} --execute"


async def apply_undo(cluster: Cluster, planned: GroupUndo) -> None:
    """Restore a group's former commits; raises AnabranchError if that failed, or if they read back otherwise."""
    name = planned.record.group
    if planned.restore:
        await _commit(cluster, name, planned.restore)
    if planned.delete_group:
        await kafka_groups.delete_group(cluster, name)
    elif planned.delete:
        try:
            await kafka_groups.delete_offsets(cluster, name, planned.delete)
        except kafka_groups.PartitionsRefusedError as error:
            if set(error.refused.values()) != {_GONE}:  # the commits of a topic that is gone went with it
                raise
    now = (await kafka_groups.committed(cluster, [name]))[name]
    wanted: Mapping[TopicPartition, object] = planned.record.former
    wrong = [at for at in wanted if not same(now.get(at), planned.record.former[at])]
    if wrong:
        raise kafka_groups.PartitionsRefusedError(cluster.name, name, "undoing", dict.fromkeys(wrong, -1), ())
