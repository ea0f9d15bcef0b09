"""Static members that are taken out of a group (KIP-345).

A consumer with a ``group.instance.id`` does not leave its group as it is closed: the group waits for it until its
session is over, and is not empty as long.
"""

from __future__ import annotations

from collections.abc import Collection

from kafka.protocol.consumer import LeaveGroupRequest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.coordinators import ask_group
from anabranch.kafka.groups.describing import GROUP_ID_NOT_FOUND
from anabranch.kafka.groups.errors import check_group

_UNKNOWN_MEMBER_ID = 25


async def remove_static(cluster: Cluster, group: str, instances: Collection[str]) -> None:
    """Have static members leave a group, as if their sessions were over; one that is not there is no error.

    One that still runs joins again.  Needs READ on the group; raises PermissionDeniedError, ClusterError.
    """
    if not instances:
        return
    request = LeaveGroupRequest(
        group_id=group,
        members=[
            LeaveGroupRequest.MemberIdentity(member_id="", group_instance_id=one, reason="moved to another cluster")
            for one in sorted(instances)
        ],
    )
    response = await ask_group(cluster, group, request, lambda answer: int(answer.error_code))
    codes = [response.error_code, *(member.error_code for member in response.members or ())]
    for code in codes:
        if code not in (0, GROUP_ID_NOT_FOUND, _UNKNOWN_MEMBER_ID):
            check_group(cluster, code, "Read", group)
