"""Consumer groups: members, commits, and what is told of them.

What KIP-848 and KIP-932 have added is read and written by hand, as the library lacks it (``modern``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kafka.protocol.consumer import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

from anabranch.kafka.simulated.access import DELETE, DESCRIBE, GROUP, READ, TOPIC
from anabranch.kafka.simulated.apis.common import may, operations_of
from anabranch.kafka.simulated.broker import ClientSession, Handler
from anabranch.kafka.simulated.groups import (
    NON_EMPTY,
    NOT_FOUND,
    SUBSCRIBED,
    UNKNOWN_TOPIC,
    UNSTABLE,
    ClassicMember,
    CommittedOffset,
    JoinResult,
    Place,
    SimulatedGroup,
)
from anabranch.model.acls import AclOperation

NOT_COORDINATOR = 16
_Reply = Callable[[Any], None]


def refused(session: ClientSession, operation: AclOperation, group: str) -> int:
    """The code for a group that the client may not use so, or that another broker coordinates; 0 for none."""
    code = may(session, operation, GROUP, group)
    if code:
        return code
    return 0 if session.broker.cluster.coordinator(group) == session.broker.node else NOT_COORDINATOR


# -- members -------------------------------------------------------------------------------------------


def join(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """JoinGroup."""

    def told(joined: JoinResult) -> None:
        row = JoinGroupResponse.JoinGroupResponseMember
        reply(
            JoinGroupResponse(
                throttle_time_ms=0,
                error_code=joined.code,
                generation_id=joined.generation,
                protocol_type=joined.protocol_type or None,
                protocol_name=joined.protocol if joined.protocol or version < 7 else None,
                leader=joined.leader,
                skip_assignment=False,
                member_id=joined.member,
                members=[
                    row(member_id=number, group_instance_id=instance, metadata=metadata)
                    for number, instance, metadata in joined.members
                ],
            )
        )

    code = refused(session, READ, request.group_id)
    if code:
        told(JoinResult(code))
        return
    longest = request.rebalance_timeout_ms if version >= 1 else request.session_timeout_ms
    member = ClassicMember(
        request.member_id,
        getattr(request, "group_instance_id", None),
        session.client_id,
        f"/{session.host}",
        request.session_timeout_ms,
        longest,
        tuple((protocol.name, bytes(protocol.metadata)) for protocol in request.protocols),
    )
    session.broker.cluster.groups.join(request.group_id, member, request.protocol_type, version >= 4, told)


def sync(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """SyncGroup."""

    def told(code: int, protocol_type: str, protocol: str, assignment: bytes) -> None:
        reply(
            SyncGroupResponse(
                throttle_time_ms=0,
                error_code=code,
                protocol_type=protocol_type or None,
                protocol_name=protocol or None,
                assignment=assignment,
            )
        )

    code = refused(session, READ, request.group_id)
    if code:
        told(code, "", "", b"")
        return
    assignments = {one.member_id: bytes(one.assignment) for one in request.assignments}
    session.broker.cluster.groups.sync(request.group_id, request.generation_id, request.member_id, assignments, told)


def heartbeat(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """Heartbeat."""
    code = refused(session, READ, request.group_id)
    code = code or session.broker.cluster.groups.heartbeat(request.group_id, request.generation_id, request.member_id)
    reply(HeartbeatResponse(throttle_time_ms=0, error_code=code))


def leave(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """LeaveGroup, of one member or several."""
    groups = session.broker.cluster.groups
    code = refused(session, READ, request.group_id)
    if version < 3:
        code = code or groups.leave(request.group_id, request.member_id)
        reply(LeaveGroupResponse(throttle_time_ms=0, error_code=code))
        return
    rows = [
        LeaveGroupResponse.MemberResponse(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            error_code=code or groups.leave(request.group_id, member.member_id),
        )
        for member in request.members
    ]
    reply(LeaveGroupResponse(throttle_time_ms=0, error_code=code, members=rows))


# -- commits -------------------------------------------------------------------------------------------


def commit(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """OffsetCommit: what can be committed is, whatever else the request holds."""
    groups = session.broker.cluster.groups
    code = refused(session, READ, request.group_id) or groups.commit_refusal(
        request.group_id, request.generation_id_or_member_epoch, request.member_id
    )
    codes: dict[Place, int] = {}
    wanted: dict[Place, CommittedOffset] = {}
    for topic in request.topics:
        for part in topic.partitions:
            place = (topic.name, part.partition_index)
            codes[place] = code or may(session, READ, TOPIC, topic.name)
            if not codes[place]:
                epoch = getattr(part, "committed_leader_epoch", -1)
                wanted[place] = CommittedOffset(
                    part.committed_offset, part.committed_metadata or "", -1 if epoch is None else epoch
                )
    codes |= groups.commit(request.group_id, wanted)
    row = OffsetCommitResponse.OffsetCommitResponseTopic
    reply(
        OffsetCommitResponse(
            throttle_time_ms=0,
            topics=[
                row(
                    name=topic.name,
                    partitions=[
                        row.OffsetCommitResponsePartition(
                            partition_index=part.partition_index, error_code=codes[topic.name, part.partition_index]
                        )
                        for part in topic.partitions
                    ],
                )
                for topic in request.topics
            ],
        )
    )


def committed(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """OffsetFetch, of one group or many."""
    if version >= 8:
        rows = []
        for wanted in request.groups:
            code, topics = _commits(session, wanted.group_id, wanted.topics, request.require_stable, version)
            rows.append(
                OffsetFetchResponse.OffsetFetchResponseGroup(group_id=wanted.group_id, topics=topics, error_code=code)
            )
        reply(OffsetFetchResponse(throttle_time_ms=0, groups=rows))
        return
    stable = bool(getattr(request, "require_stable", False))
    code, topics = _commits(session, request.group_id, request.topics, stable, version)
    reply(OffsetFetchResponse(throttle_time_ms=0, topics=topics, error_code=code))


def _commits(session: ClientSession, name: str, wanted: Any, stable: bool, version: int) -> tuple[int, list[Any]]:
    code = refused(session, DESCRIBE, name)
    if code:
        return code, []
    groups = session.broker.cluster.groups
    group = groups.known.get(name)
    commits = {} if group is None else group.commits
    if wanted is None:
        places = [place for place in commits if not may(session, DESCRIBE, TOPIC, place[0])]
    else:
        places = [(topic.name, index) for topic in wanted for index in topic.partition_indexes]
    message = OffsetFetchResponse
    row = (
        message.OffsetFetchResponseGroup.OffsetFetchResponseTopics if version >= 8 else message.OffsetFetchResponseTopic
    )
    part = row.OffsetFetchResponsePartitions if version >= 8 else row.OffsetFetchResponsePartition
    topics: dict[str, list[Any]] = {}
    for topic, index in places:
        denied = may(session, DESCRIBE, TOPIC, topic)
        pending = stable and groups.is_pending(name, (topic, index))
        found = commits.get((topic, index)) if not (denied or pending) else None
        topics.setdefault(topic, []).append(
            part(
                partition_index=index,
                committed_offset=-1 if found is None else found.offset,
                committed_leader_epoch=-1 if found is None else found.leader_epoch,
                metadata="" if found is None else found.metadata,
                error_code=denied or (UNSTABLE if pending else 0),
            )
        )
    return 0, [row(name=topic, partitions=parts) for topic, parts in topics.items()]


def uncommit(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """OffsetDelete."""
    cluster = session.broker.cluster
    group = cluster.groups.known.get(request.group_id)
    code = refused(session, DELETE, request.group_id)
    if not code and group is None:
        code = NOT_FOUND
    row = OffsetDeleteResponse.OffsetDeleteResponseTopic
    topics = []
    if not code and group is not None:
        if not group.is_empty and group.protocol_type != "consumer":
            code = NON_EMPTY
        else:
            for topic in request.topics:
                parts = []
                for part in topic.partitions:
                    found = cluster.topics.get(topic.name)
                    one = may(session, READ, TOPIC, topic.name)
                    if not one and (found is None or part.partition_index >= len(found.partitions)):
                        one = UNKNOWN_TOPIC
                    if not one and not group.is_empty:
                        one = SUBSCRIBED
                    if not one:
                        group.commits.pop((topic.name, part.partition_index), None)
                    parts.append(
                        row.OffsetDeleteResponsePartition(partition_index=part.partition_index, error_code=one)
                    )
                topics.append(row(name=topic.name, partitions=parts))
            if group.is_empty and not group.commits and not group.pending and not cluster.version.keeps_groups:
                del cluster.groups.known[group.name]
    reply(OffsetDeleteResponse(error_code=code, throttle_time_ms=0, topics=topics))


# -- what is told --------------------------------------------------------------------------------------


def listed(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """ListGroups of this broker, of the groups that the client may see."""
    cluster = session.broker.cluster
    mine = [
        one
        for one in cluster.groups.known.values()
        if cluster.coordinator(one.name) == session.broker.node and not may(session, DESCRIBE, GROUP, one.name)
    ]
    wanted = set(getattr(request, "states_filter", None) or ())
    kinds = {one.lower() for one in getattr(request, "types_filter", None) or ()}
    reply(
        ListGroupsResponse(
            throttle_time_ms=0,
            error_code=0,
            groups=[
                ListGroupsResponse.ListedGroup(
                    group_id=one.name,
                    protocol_type=one.protocol_type,
                    group_state=one.state,
                    group_type=one.kind,
                )
                for one in mine
                if (not wanted or one.state in wanted) and (not kinds or one.kind in kinds)
            ],
        )
    )


def described(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DescribeGroups."""
    rows = []
    for name in request.groups:
        code = refused(session, DESCRIBE, name)
        group = session.broker.cluster.groups.known.get(name)
        gone = not code and (group is None or group.kind != "classic")
        group = None if gone else group
        row = _described(name, (NOT_FOUND if version >= 6 else 0) if gone else code, group, code)
        if row.error_code == 0 and request.include_authorized_operations:
            row.authorized_operations = operations_of(session, GROUP, name)
        rows.append(row)
    reply(DescribeGroupsResponse(throttle_time_ms=0, groups=rows))


def _described(name: str, code: int, group: SimulatedGroup | None, denied: int) -> Any:
    row = DescribeGroupsResponse.DescribedGroup
    if denied or group is None:
        return row(
            error_code=code,
            error_message=None,
            group_id=name,
            group_state="" if denied else "Dead",
            protocol_type="",
            protocol_data="",
            members=[],
            authorized_operations=None,
        )
    return row(
        error_code=0,
        error_message=None,
        group_id=name,
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol,
        members=[
            row.DescribedGroupMember(
                member_id=member.id,
                group_instance_id=member.instance,
                client_id=member.client_id,
                client_host=member.host,
                member_metadata=dict(member.protocols).get(group.protocol, b""),
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ],
        authorized_operations=None,
    )


def deleted(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DeleteGroups."""
    reply(
        DeleteGroupsResponse(
            throttle_time_ms=0,
            results=[
                DeleteGroupsResponse.DeletableGroupResult(
                    group_id=name,
                    error_code=refused(session, DELETE, name) or session.broker.cluster.groups.delete(name),
                )
                for name in request.groups_names
            ],
        )
    )


APIS = (
    Handler(JoinGroupRequest, join),
    Handler(SyncGroupRequest, sync),
    Handler(HeartbeatRequest, heartbeat),
    Handler(LeaveGroupRequest, leave),
    Handler(OffsetCommitRequest, commit),
    Handler(OffsetFetchRequest, committed),
    Handler(OffsetDeleteRequest, uncommit),
    Handler(ListGroupsRequest, listed),
    Handler(DescribeGroupsRequest, described),
    Handler(DeleteGroupsRequest, deleted),
)
