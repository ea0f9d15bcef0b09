"""Consumer groups of a cluster: which there are, who reads in them, what they committed, and moving that."""

from __future__ import annotations

from collections.abc import Iterable

from kafka.protocol.admin import DeleteGroupsRequest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.coordinators import ask_group
from anabranch.kafka.groups.describing import GROUP_ID_NOT_FOUND, classic, consumer
from anabranch.kafka.groups.errors import (
    GroupActiveError,
    IllegalGroupNameError,
    MetadataTooLargeError,
    OtherKindError,
    PartitionsRefusedError,
    UnstableCommitsError,
    check_group,
)
from anabranch.kafka.groups.leaving import remove_static
from anabranch.kafka.groups.listing import ListedGroup, list_groups, listing
from anabranch.kafka.groups.offsets import commit, committed, delete_offsets
from anabranch.model.groups import Group, GroupKind, GroupState

__all__ = [
    "GroupActiveError",
    "IllegalGroupNameError",
    "ListedGroup",
    "MetadataTooLargeError",
    "OtherKindError",
    "PartitionsRefusedError",
    "UnstableCommitsError",
    "commit",
    "committed",
    "delete_group",
    "delete_offsets",
    "describe",
    "list_groups",
    "remove_static",
]

_NON_EMPTY = 68


async def describe(cluster: Cluster, names: Iterable[str]) -> dict[str, Group]:
    """Each group's kind, state and members, without commits; DEAD is one that is not there.

    Share groups and KIP-1071 streams groups come as their coordinator lists them, without members.  Raises
    IllegalGroupNameError: the empty name is refused here, for brokers before 4.3 take it for a group's.
    """
    wanted = list(dict.fromkeys(names))
    if "" in wanted:
        raise IllegalGroupNameError(cluster.name, "")
    found = await classic(cluster, wanted)
    rest = [name for name in wanted if name not in found]
    found |= await consumer(cluster, rest)
    rest = [name for name in rest if name not in found]
    listed = {one.name: one for one in await listing(cluster)} if rest else {}
    for name in rest:
        one = listed.get(name)
        found[name] = Group(name, one.kind, one.state) if one else Group(name, GroupKind.SIMPLE, GroupState.DEAD)
    return {name: found[name] for name in wanted}


async def delete_group(cluster: Cluster, name: str) -> bool:
    """Delete a group and all that it committed; False where there is none.  Raises GroupActiveError."""
    request = DeleteGroupsRequest(groups_names=[name])
    response = await ask_group(cluster, name, request, lambda answer: int(answer.results[0].error_code), cap=2)
    code = response.results[0].error_code
    if code == GROUP_ID_NOT_FOUND:
        return False
    if code == _NON_EMPTY:
        raise GroupActiveError(cluster.name, name, "deletion")
    check_group(cluster, code, "Delete", name)
    return True
