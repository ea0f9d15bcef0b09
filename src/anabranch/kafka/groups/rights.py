"""What we may do with groups, as their coordinators tell it; a group that is not there is told of as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka.protocol.admin import DescribeGroupsRequest

from anabranch.kafka.acl_numbers import operations_of
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.groups.coordinators import AGAIN, ask_groups
from anabranch.kafka.groups.errors import check_group
from anabranch.model.acls import AclOperation

_CHUNK = 100
_ALSO_ABSENT = 5
"""Up to this version the answer for a group that is not there is no error, and has what may be done with it."""


async def group_operations(cluster: Cluster, names: Iterable[str]) -> dict[str, frozenset[AclOperation] | None]:
    """The operations that we may do with each group: none where not even looking is, None where it is not told.

    Raises ClusterError.
    """
    wanted = sorted(set(names))
    try:
        return await _asked(cluster, wanted)
    except PermissionDeniedError:
        if len(wanted) == 1:
            return {wanted[0]: frozenset()}
    found: dict[str, frozenset[AclOperation] | None] = {}
    for name in wanted:
        found |= await group_operations(cluster, [name])
    return found


async def _asked(cluster: Cluster, names: Iterable[str]) -> dict[str, frozenset[AclOperation] | None]:
    found: dict[str, frozenset[AclOperation] | None] = {}

    async def ask(node: int, chunk: Sequence[str]) -> Mapping[str, int]:
        request = DescribeGroupsRequest(groups=list(chunk), include_authorized_operations=True)
        response = await cluster.call(request, node, cap=_ALSO_ABSENT)
        again = {}
        for group in response.groups:
            if group.error_code in AGAIN:
                again[group.group_id] = group.error_code
                continue
            check_group(cluster, group.error_code, "Describe", group.group_id, group.error_message)
            told = group.authorized_operations
            found[group.group_id] = None if told is None else operations_of(told)
        return again

    await ask_groups(cluster, names, _CHUNK, ask, "Describe")
    return found
