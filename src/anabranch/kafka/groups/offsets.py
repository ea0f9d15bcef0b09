"""What groups committed: read, written and taken back through their coordinators.

Requests stay below version 10, which names topics by id: a commit outlives its topic, and an undo must find it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kafka.protocol.consumer import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.coordinators import AGAIN, answers, ask_group, ask_groups
from anabranch.kafka.groups.errors import (
    GroupActiveError,
    MetadataTooLargeError,
    OtherKindError,
    PartitionsRefusedError,
    UnstableCommitsError,
    check_group,
)
from anabranch.model.groups import Commit
from anabranch.model.topics import TopicPartition

UNSTABLE_TIMEOUT_S = 10.0
_CHUNK = 100
_BY_NAME = 9
_ONE_GROUP = 7
_MANY_GROUPS = 8  # OffsetFetch from here on names many groups (KIP-709)
_UNSTABLE = 88  # UNSTABLE_OFFSET_COMMIT
_GROUP_ID_NOT_FOUND = 69
_NON_EMPTY = 68
_METADATA_TOO_LARGE = 12
_SUBSCRIBED = 86  # GROUP_SUBSCRIBED_TO_TOPIC
_OF_MEMBERS = frozenset({22, 25, 27, 110, 113})  # generation, member id, rebalance, fenced and stale member epochs
_OF_GROUP = AGAIN | _OF_MEMBERS | {24, 30, _GROUP_ID_NOT_FOUND}


async def committed(
    cluster: Cluster,
    names: Iterable[str],
    *,
    partitions: Collection[TopicPartition] | None = None,
    timeout: float = UNSTABLE_TIMEOUT_S,
) -> dict[str, dict[TopicPartition, Commit]]:
    """Every commit of each group; an empty mapping for a group that has none, or that is not there.

    Topics that we may not DESCRIBE are left out by the broker without a word, where no ``partitions`` are named.
    Commits in open transactions are waited for, ``timeout`` seconds in all, and then raise UnstableCommitsError,
    which holds the other groups' commits.  A broker that is asked for all partitions looks for such commits only
    where an older commit exists; to learn of a *first* commit that is pending, name the ``partitions``.
    """
    wanted = list(dict.fromkeys(names))
    read: dict[str, dict[TopicPartition, Commit]] = {}
    deadline = time.monotonic() + timeout
    while True:
        pending: dict[str, tuple[TopicPartition, ...]] = {}

        async def ask(
            node: int, chunk: Sequence[str], pending: dict[str, tuple[TopicPartition, ...]] = pending
        ) -> Mapping[str, int]:
            again = {}
            for name, code, topics in await _fetch(cluster, node, chunk, partitions):
                if code in AGAIN:
                    again[name] = code
                    continue
                if code != _GROUP_ID_NOT_FOUND:
                    check_group(cluster, code, "Describe", name)
                commits, unstable = _commits(cluster, topics)
                if unstable:
                    pending[name] = unstable
                else:
                    read[name] = commits
            return again

        await ask_groups(cluster, wanted, _CHUNK, ask, "Describe")
        if not pending:
            return read
        if time.monotonic() > deadline:
            raise UnstableCommitsError(cluster.name, pending, read)
        wanted = list(pending)
        await asyncio.sleep(0.2)


async def _fetch(
    cluster: Cluster, node: int, names: Sequence[str], partitions: Collection[TopicPartition] | None
) -> list[tuple[str, int, Any]]:
    """(group, code, topics) of each group."""
    connection = await cluster.connection(node)
    message = OffsetFetchRequest
    if connection.version(message, _BY_NAME) >= _MANY_GROUPS:
        topics = _topics(message.OffsetFetchRequestGroup.OffsetFetchRequestTopics, partitions)
        groups = [
            message.OffsetFetchRequestGroup(group_id=name, member_id=None, member_epoch=-1, topics=topics)
            for name in names
        ]
        response = await connection.call(message(groups=groups, require_stable=True), cap=_BY_NAME)
        return [(group.group_id, group.error_code, group.topics) for group in response.groups]
    topics = _topics(message.OffsetFetchRequestTopic, partitions)
    requests = [message(group_id=name, topics=topics, require_stable=True) for name in names]
    found = await answers(cluster, requests, _ONE_GROUP, node)
    return [(name, one.error_code, one.topics) for name, one in zip(names, found, strict=True)]


def _topics(row: Any, partitions: Collection[TopicPartition] | None) -> list[Any] | None:
    if partitions is None:
        return None
    return [row(name=topic, partition_indexes=indexes) for topic, indexes in _by_topic(partitions).items()]


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for partition in partitions:
        found.setdefault(partition.topic, []).append(partition.partition)
    return found


def _commits(cluster: Cluster, topics: Any) -> tuple[dict[TopicPartition, Commit], tuple[TopicPartition, ...]]:
    """(commits, partitions with a commit in an open transaction)."""
    commits: dict[TopicPartition, Commit] = {}
    unstable = []
    for topic in topics:
        for part in topic.partitions:
            at = TopicPartition(topic.name, part.partition_index)
            if part.error_code == _UNSTABLE:
                unstable.append(at)
                continue
            cluster.check(part.error_code, "Describe", f"partition {at}")
            if part.committed_offset >= 0:
                commits[at] = Commit(part.committed_offset, part.metadata or "", part.committed_leader_epoch)
    return commits, tuple(unstable)


async def commit(cluster: Cluster, group: str, commits: Mapping[TopicPartition, Commit]) -> None:
    """Commit for a group without members, all partitions in one request; makes the group where there is none.

    The leader epoch written is always -1: one of another cluster would fence or truncate the reader.  A request is
    *not* all or nothing: a broker leaves out partitions that do not exist, that we may not READ or whose metadata is
    too large, and commits the rest (PartitionsRefusedError.done); only what it takes is one append.  Raises
    GroupActiveError, OtherKindError, MetadataTooLargeError, PartitionsRefusedError and PermissionDeniedError.  After a
    lost connection the outcome is unknown; the same commit again does no harm.
    """
    if not commits:
        return
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        group_instance_id=None,
        retention_time_ms=-1,
        topics=[
            topic(
                name=name,
                partitions=[
                    topic.OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=commits[TopicPartition(name, index)].offset,
                        committed_leader_epoch=-1,
                        commit_timestamp=-1,
                        committed_metadata=commits[TopicPartition(name, index)].metadata,
                    )
                    for index in indexes
                ],
            )
            for name, indexes in _by_topic(commits).items()
        ],
    )
    response = await ask_group(cluster, group, request, _code_of_all, cap=_BY_NAME)
    _check(cluster, group, "commit", response.topics)


async def delete_offsets(cluster: Cluster, group: str, partitions: Collection[TopicPartition]) -> None:
    """Take commits back, as if the group had never read those partitions; what is not there is no error.

    Raises GroupActiveError where a member subscribes to a topic, and PartitionsRefusedError; partitions of a topic
    that is gone are refused (UNKNOWN_TOPIC_OR_PARTITION), and the rest is done.  Needs DELETE on the group.
    """
    if not partitions:
        return
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            topic(
                name=name,
                partitions=[topic.OffsetDeleteRequestPartition(partition_index=index) for index in indexes],
            )
            for name, indexes in _by_topic(partitions).items()
        ],
    )
    response = await ask_group(cluster, group, request, lambda answer: int(answer.error_code))
    if response.error_code == _GROUP_ID_NOT_FOUND:
        return
    if response.error_code == _NON_EMPTY:
        raise GroupActiveError(cluster.name, group, "deletion of offsets")
    check_group(cluster, response.error_code, "Delete", group)
    _check(cluster, group, "deletion of offsets", response.topics)


def _code_of_all(response: Any) -> int:
    """A code about the group as a whole, which is said of each partition; 0 where there is none."""
    for topic in response.topics:
        for part in topic.partitions:
            if part.error_code in _OF_GROUP:
                return int(part.error_code)
    return 0


def _check(cluster: Cluster, group: str, wanted: str, topics: Any) -> None:
    codes = {
        TopicPartition(topic.name, part.partition_index): part.error_code
        for topic in topics
        for part in topic.partitions
    }
    refused = {at: code for at, code in codes.items() if code != 0}
    if not refused:
        return
    for code in refused.values():
        if code in _OF_MEMBERS or code == _SUBSCRIBED:
            raise GroupActiveError(cluster.name, group, wanted)
        if code == _GROUP_ID_NOT_FOUND:  # a group that is not there would have been made
            raise OtherKindError(cluster.name, group)
        if code in _OF_GROUP:
            check_group(cluster, code, "Read", group)
    done = tuple(at for at, code in codes.items() if code == 0)
    error = MetadataTooLargeError if set(refused.values()) == {_METADATA_TOO_LARGE} else PartitionsRefusedError
    raise error(cluster.name, group, wanted, refused, done)
