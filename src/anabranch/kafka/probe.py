"""What a cluster offers and allows: its version, the APIs that a link needs, and permissions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from kafka.protocol.admin import DeleteRecordsRequest
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.producer import EndTxnRequest

from anabranch.kafka import admin, listoffsets
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.model.acls import AclOperation
from anabranch.model.reports import ApiSupport, ClusterFacts, Permission


class ClusterRole(Enum):
    """Which end of a link the cluster is."""

    SOURCE = "source"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class _Api:
    name: str
    key: int
    oldest: int
    newest: int


#: Names, keys and versions of what the copier sends; see kafka/fetch.py, listoffsets.py, produce.py and partitions.py.
_BOTH = (
    _Api("Metadata", 3, 10, 12),
    _Api("ListOffsets", listoffsets.API_KEY, listoffsets.OLDEST, listoffsets.NEWEST),
    _Api("DescribeConfigs", 32, 1, 4),
)
_NEEDED = {
    ClusterRole.SOURCE: (_Api("Fetch", 1, 12, 13), *_BOTH),
    ClusterRole.TARGET: (
        _Api("Produce", 0, 9, 13),
        _Api("Fetch", 1, 12, 13),
        _Api("OffsetForLeaderEpoch", 23, 3, 4),
        _Api("InitProducerId", 22, 0, 4),
        _Api("WriteTxnMarkers", 27, 1, 1),
        _Api("DescribeProducers", 61, 0, 0),
        _Api("CreateTopics", 19, 2, 7),
        _Api("CreatePartitions", 37, 0, 3),
        _Api("IncrementalAlterConfigs", 44, 0, 1),
        *_BOTH,
    ),
}
_TOPIC_OPERATIONS = {
    ClusterRole.SOURCE: (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS),
    ClusterRole.TARGET: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
}
_TOPIC_DENIED, _TRANSACTIONAL_ID_DENIED = 29, 53
_CHUNK = 500


async def facts(cluster: Cluster, role: ClusterRole, topics: Iterable[str]) -> ClusterFacts:
    """Probe one cluster for one role; ``topics`` are those whose permissions matter.  Raises ClusterError."""
    metadata = await cluster.metadata(sorted(topics), operations=True)
    connections = [await cluster.connection(node) for node in sorted(metadata.brokers)]
    principal = cluster.transport.principal
    permissions: list[Permission] = []
    for name, topic in sorted(metadata.topics.items()):
        if topic.error == 29:
            permissions.append(Permission("DESCRIBE", f"topic {name}", principal, False))
        elif topic.error == 0:
            permissions += [
                Permission(operation.name, f"topic {name}", principal, operation.allowed_by(topic.operations))
                for operation in _TOPIC_OPERATIONS[role]
            ]
    if role is ClusterRole.TARGET:
        permissions += await _cluster_permissions(cluster, principal)
    return ClusterFacts(
        cluster.name,
        metadata.cluster_id,
        _version(connections),
        len(metadata.brokers),
        tuple(_support(api, connections) for api in _NEEDED[role]),
        tuple(permissions),
    )


async def _cluster_permissions(cluster: Cluster, principal: str) -> list[Permission]:
    try:
        allowed = await admin.cluster_operations(cluster)
    except PermissionDeniedError:
        return [Permission("DESCRIBE", "cluster", principal, False)]
    markers = any(one.allowed_by(allowed) for one in (AclOperation.ALTER, AclOperation.CLUSTER_ACTION))
    return [
        Permission("ALTER", "cluster", principal, markers),
        Permission("DESCRIBE_CONFIGS", "cluster", principal, AclOperation.DESCRIBE_CONFIGS.allowed_by(allowed)),
    ]


async def may_use(cluster: Cluster, transactional_id: str) -> Permission:
    """Whether we may WRITE on a transactional id, asked by ending a transaction of a producer that does not exist.

    Every broker looks at the permission first, whoever coordinates the id; then no producer has the id -1, so nothing
    is ended and nothing is kept (KafkaApis.handleEndTxnRequest, TransactionCoordinator.endTransaction).
    """
    request = EndTxnRequest(transactional_id=transactional_id, producer_id=-1, producer_epoch=-1, committed=False)
    code = (await cluster.call(request, cap=3)).error_code
    where = f"transactional id {transactional_id}"
    return Permission("WRITE", where, cluster.transport.principal, code != _TRANSACTIONAL_ID_DENIED)


async def may_delete(cluster: Cluster, topics: Iterable[str]) -> list[Permission]:
    """Whether we may DELETE on topics, by name.

    An existing one's metadata tells.  Of one that does not exist a broker tells by how it refuses to delete records:
    for lack of permission before lack of the topic (KafkaApis.handleDeleteRecordsRequest).  Made meanwhile, it would
    lose nothing: offset 0 is asked for.
    """
    metadata = await cluster.metadata(sorted(topics), operations=True)
    granted: dict[str, bool] = {}
    unmade: list[str] = []
    for name, topic in metadata.topics.items():
        if topic.error == 0:
            granted[name] = AclOperation.DELETE.allowed_by(topic.operations)
        else:
            unmade.append(name)
    for at in range(0, len(unmade), _CHUNK):
        granted |= await _may_delete_unmade(cluster, unmade[at : at + _CHUNK])
    principal = cluster.transport.principal
    return [Permission("DELETE", f"topic {name}", principal, granted[name]) for name in sorted(granted)]


async def _may_delete_unmade(cluster: Cluster, names: list[str]) -> dict[str, bool]:
    topic = DeleteRecordsRequest.DeleteRecordsTopic
    first = [topic.DeleteRecordsPartition(partition_index=0, offset=0)]
    request = DeleteRecordsRequest(topics=[topic(name=name, partitions=first) for name in names], timeout_ms=30_000)
    response = await cluster.call(request, timeout=35.0, cap=2)
    return {one.name: one.partitions[0].error_code != _TOPIC_DENIED for one in response.topics}


def _support(api: _Api, connections: list[Connection]) -> ApiSupport:
    offered = [connection.versions.get(api.key) for connection in connections]
    ranges = [one for one in offered if one is not None]
    if len(ranges) != len(offered):
        return ApiSupport(api.name, (api.oldest, api.newest), None)
    common = (max(low for low, _ in ranges), min(high for _, high in ranges))
    return ApiSupport(api.name, (api.oldest, api.newest), common)


def _version(connections: list[Connection]) -> str:
    """The oldest broker's version, as its APIs tell it."""

    def number(connection: Connection) -> Any:
        return BrokerVersionData(api_versions=connection.versions).broker_version

    return ".".join(str(part) for part in min(number(connection) for connection in connections))
