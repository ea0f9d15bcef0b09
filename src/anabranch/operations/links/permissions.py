"""Which permissions a link lacks on its target for equal offsets and for takeovers, and what happens without each.

Probed before the link is stored, so that no lane turns mapped as a surprise.
"""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.probe import may_delete, may_use
from anabranch.model.lane import LaneKey
from anabranch.model.link import LinkSpec, ModePolicy
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import ClusterFacts, Permission
from anabranch.model.topics import TopicId
from anabranch.protocol.gap_padding import padding_id


async def probe_permissions(
    target: Cluster, spec: LinkSpec, found: ClusterFacts, source_ids: Sequence[TopicId], topics: Sequence[str]
) -> tuple[list[Permission], list[Reason]]:
    """Probe DELETE on the target topics and WRITE on a lane's transactional ids, where something hangs on them.

    ``source_ids`` are those of the topics to copy, ``topics`` the target's names for them.  Raises ClusterError.
    """
    if not topics:
        return [], []
    denied = {one.operation for one in found.permissions if one.resource == "cluster" and one.granted is False}
    markers = not denied & {"ALTER", "DESCRIBE"}
    equal = markers and "DESCRIBE_CONFIGS" not in denied and spec.mode is not ModePolicy.MAPPED
    permissions: list[Permission] = []
    if equal:
        permissions += await may_delete(target, topics)
    if equal or not markers:
        permissions.append(await may_use(target, padding_id(str(LaneKey(spec.id, source_ids[0], 0)))))
    return permissions, [_finding(one, found.context, markers) for one in permissions if one.granted is False]


def _finding(lacking: Permission, context: str, markers: bool) -> Reason:
    what = f"{lacking.principal} may not {lacking.operation} on {lacking.resource} of {context}: "
    severity = Severity.WARNING
    allow = f"kafka-acls --add --allow-principal {lacking.principal} --operation {lacking.operation} "
    if lacking.operation == "DELETE":
        what += "where the source log starts above offset 0, its lanes are mapped: their head's padding must be deleted"
        return Reason.found(severity, what, allow + lacking.resource.replace("topic ", "--topic="))
    if markers:
        what += "lanes are mapped from their first gap on (transaction markers, aborted records): it cannot be filled"
    else:
        severity = Severity.ERROR
        what += "without ALTER on the cluster, nothing else can fence earlier owners"
    return Reason.found(severity, what, allow + "--transactional-id=anabranch. --resource-pattern-type=prefixed")
