"""Who reads in a group: members and state, by the group's coordinator.

Classic groups answer DescribeGroups, KIP-848 ones ConsumerGroupDescribe (API 69, v0), which kafka-python lacks; each
says of the other's groups that there are none.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

from kafka.protocol.admin import DescribeGroupsRequest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.compact import read_string, read_uvarint, skip_tags, uvarint
from anabranch.kafka.groups.coordinators import AGAIN, ask_groups
from anabranch.kafka.groups.errors import check_group
from anabranch.kafka.groups.kinds import is_streams, kind_of, state_of
from anabranch.model.groups import Group, GroupKind, GroupState, Member

CONSUMER_GROUP_DESCRIBE = 69
GROUP_ID_NOT_FOUND = 69
_UNSUPPORTED = 35  # what 3.9 says of each group while its KIP-848 preview is off
_CHUNK = 100
_EPOCHS = 8


async def classic(cluster: Cluster, names: Iterable[str]) -> dict[str, Group]:
    """The classic and simple groups among ``names``; others are absent."""
    found: dict[str, Group] = {}

    async def ask(node: int, chunk: Sequence[str]) -> Mapping[str, int]:
        request = DescribeGroupsRequest(groups=list(chunk), include_authorized_operations=False)
        response = await cluster.call(request, node, cap=6)
        again = {}
        for group in response.groups:
            if group.error_code in AGAIN:
                again[group.group_id] = group.error_code
                continue
            if group.error_code == GROUP_ID_NOT_FOUND:
                continue
            check_group(cluster, group.error_code, "Describe", group.group_id, group.error_message)
            members = tuple(Member(each.member_id, each.client_id, each.client_host) for each in group.members)
            state = state_of(group.group_state)
            if state is GroupState.DEAD:  # the answer before v6 for a group that is not there, or is no classic one
                continue
            kind = kind_of("", group.protocol_type)
            if kind is GroupKind.CLASSIC and is_streams(group.protocol_data, members):
                kind = GroupKind.STREAMS
            found[group.group_id] = Group(group.group_id, kind, state, members)
        return again

    await ask_groups(cluster, names, _CHUNK, ask, "Describe")
    return found


async def consumer(cluster: Cluster, names: Iterable[str]) -> dict[str, Group]:
    """The KIP-848 consumer groups among ``names``; others are absent, and all where brokers don't know any."""
    found: dict[str, Group] = {}

    async def ask(node: int, chunk: Sequence[str]) -> Mapping[str, int]:
        connection = await cluster.connection(node)
        if connection.offers(CONSUMER_GROUP_DESCRIBE) < 0:
            return {}
        texts = [name.encode() for name in chunk]
        body = uvarint(len(texts) + 1) + b"".join(uvarint(len(text) + 1) + text for text in texts) + b"\0\0"
        frame = await connection.submit(CONSUMER_GROUP_DESCRIBE, 0, True, [body], 30.0)
        try:
            answers = _parse(memoryview(bytes(frame.view[5:])))
        finally:
            frame.release()
        again = {}
        for code, detail, group in answers:
            if code in AGAIN:
                again[group.name] = code
            elif code not in {GROUP_ID_NOT_FOUND, _UNSUPPORTED}:
                check_group(cluster, code, "Describe", group.name, detail)
                found[group.name] = group
        return again

    await ask_groups(cluster, names, _CHUNK, ask, "Describe")
    return found


def _parse(view: memoryview) -> list[tuple[int, str, Group]]:
    """(code, detail, group) of each group in an answer of version 0."""
    count, at = read_uvarint(view, 4)  # after the throttle time
    answers = []
    for _ in range(count - 1):
        (code,) = struct.unpack_from(">h", view, at)
        detail, at = read_string(view, at + 2)
        name, at = read_string(view, at)
        state, at = read_string(view, at)
        _assignor, at = read_string(view, at + _EPOCHS)
        size, at = read_uvarint(view, at)
        members = []
        for _ in range(size - 1):
            member, at = _member(view, at)
            members.append(member)
        at = skip_tags(view, at + 4)  # after the authorized operations
        answers.append((code, detail, Group(name, GroupKind.CONSUMER, state_of(state), tuple(members))))
    return answers


def _member(view: memoryview, at: int) -> tuple[Member, int]:
    identity, at = read_string(view, at)
    _instance, at = read_string(view, at)
    _rack, at = read_string(view, at)
    client, at = read_string(view, at + 4)  # after the member epoch
    host, at = read_string(view, at)
    topics, at = read_uvarint(view, at)
    for _ in range(topics - 1):
        _topic, at = read_string(view, at)
    _regex, at = read_string(view, at)
    for _assignment in ("now", "target"):
        topics, at = read_uvarint(view, at)
        for _ in range(topics - 1):
            _topic, at = read_string(view, at + 16)  # after the topic's id
            partitions, at = read_uvarint(view, at)
            at = skip_tags(view, at + 4 * (partitions - 1))
        at = skip_tags(view, at)
    return Member(identity, client, host), skip_tags(view, at)
