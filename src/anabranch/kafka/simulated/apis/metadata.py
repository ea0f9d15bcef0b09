"""What a client asks first: versions, brokers, topics, coordinators."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from kafka.protocol.admin import DescribeClusterRequest, DescribeClusterResponse
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)

from anabranch.kafka.simulated.access import CLUSTER, CLUSTER_NAME, DESCRIBE, GROUP, TOPIC, TRANSACTIONAL_ID
from anabranch.kafka.simulated.apis.common import INVALID_NAME, UNKNOWN, encoded, may, operations_of, why_no_name
from anabranch.kafka.simulated.broker import ClientSession, Handler, SimulatedBroker
from anabranch.kafka.simulated.partition import NO_LEADER, SimulatedTopic
from anabranch.kafka.simulated.versions import Range

UNKNOWN_TOPIC_ID, NO_LEADER_CODE, NOT_AVAILABLE, REPLICA_GONE = 100, 5, 15, 9
_Reply = Callable[[Any], None]


def versions(session: ClientSession, _: Any, version: int, reply: _Reply) -> None:
    """What this broker offers."""
    reply(encoded(_versions, version, tuple(session.broker.cluster.version.apis.items())))


def _versions(apis: Sequence[tuple[int, Range]]) -> Any:
    keys = [ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in apis]
    return ApiVersionsResponse(error_code=0, api_keys=keys, throttle_time_ms=0)


def metadata(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """Brokers that are there, and topics as this broker knows them."""
    broker, cluster = session.broker, session.broker.cluster
    now = cluster.timers.monotonic()
    known = {name: one for name, one in cluster.topics.items() if one.known[broker.node] <= now}
    topics = []
    everything = request.topics is None or (version == 0 and not request.topics)
    if everything:
        topics = [
            _topic(session, request, name, one)
            for name, one in known.items()
            if not may(session, DESCRIBE, TOPIC, name)
        ]
    else:
        by_id = {one.id: one for one in known.values()}
        for wanted in request.topics:
            if wanted.name is None:
                found = by_id.get(wanted.topic_id)
                if found is None or may(session, DESCRIBE, TOPIC, found.name):
                    topics.append(_refused(None, wanted.topic_id, UNKNOWN_TOPIC_ID))
                else:
                    topics.append(_topic(session, request, found.name, found))
                continue
            code = may(session, DESCRIBE, TOPIC, wanted.name)
            if not code and why_no_name(wanted.name):
                code = INVALID_NAME
            if not code and wanted.name not in known:
                code = UNKNOWN
            if code:
                topics.append(_refused(wanted.name, uuid.UUID(int=0), code))
            else:
                topics.append(_topic(session, request, wanted.name, known[wanted.name]))
    alive = [one for one in cluster.brokers.values() if not one.is_fenced]
    operations: set[int] | None = None
    if getattr(request, "include_cluster_authorized_operations", False):
        operations = operations_of(session, CLUSTER, CLUSTER_NAME)
    reply(
        MetadataResponse(
            throttle_time_ms=0,
            brokers=[
                MetadataResponse.MetadataResponseBroker(
                    node_id=one.node, host=one.host, port=_port(session, one), rack=None
                )
                for one in alive
            ],
            cluster_id=cluster.id,
            controller_id=min((one.node for one in alive), default=-1),
            topics=topics,
            authorized_operations=operations,
        )
    )


def _port(session: ClientSession, broker: SimulatedBroker) -> int:
    """Where a broker is found on the listener that the client uses."""
    return broker.internal_port if session.internal else broker.port


def _refused(name: str | None, topic_id: uuid.UUID, code: int) -> Any:
    return MetadataResponse.MetadataResponseTopic(
        error_code=code,
        name=name,
        topic_id=topic_id,
        is_internal=False,
        partitions=[],
        authorized_operations=None,
    )


def _topic(session: ClientSession, request: Any, name: str, topic: SimulatedTopic) -> Any:
    broker, cluster = session.broker, session.broker.cluster
    rows = []
    for partition in topic.partitions:
        leader, epoch = broker.leads(partition)
        rows.append(
            MetadataResponse.MetadataResponseTopic.MetadataResponsePartition(
                error_code=NO_LEADER_CODE if leader == NO_LEADER else 0,
                partition_index=partition.index,
                leader_id=leader,
                leader_epoch=epoch,
                replica_nodes=list(partition.assigned),
                isr_nodes=sorted(partition.isr),
                offline_replicas=[node for node in partition.assigned if not cluster.is_alive(node)],
            )
        )
    operations: set[int] | None = None
    if getattr(request, "include_topic_authorized_operations", False):
        operations = operations_of(session, TOPIC, name)
    return MetadataResponse.MetadataResponseTopic(
        error_code=0,
        name=name,
        topic_id=topic.id,
        is_internal=False,
        partitions=rows,
        authorized_operations=operations,
    )


def coordinator(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """Who coordinates groups (0) or transactional ids (1)."""
    cluster = session.broker.cluster
    kind = {0: GROUP, 1: TRANSACTIONAL_ID}.get(request.key_type, GROUP)

    def found(key: str) -> tuple[int, int, str, int]:
        code = may(session, DESCRIBE, kind, key)
        if code:
            return code, -1, "", -1
        node = cluster.coordinator(key)
        if not node:
            return NOT_AVAILABLE, -1, "", -1
        return 0, node, cluster.brokers[node].host, _port(session, cluster.brokers[node])

    if version >= 4:
        rows = []
        for key in request.coordinator_keys:
            code, node, host, port = found(key)
            rows.append(
                FindCoordinatorResponse.Coordinator(
                    key=key, node_id=node, host=host, port=port, error_code=code, error_message=None
                )
            )
        reply(FindCoordinatorResponse(throttle_time_ms=0, coordinators=rows))
        return
    code, node, host, port = found(request.key)
    reply(
        FindCoordinatorResponse(
            throttle_time_ms=0, error_code=code, error_message=None, node_id=node, host=host, port=port
        )
    )


def cluster_described(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """The cluster's brokers, and what the client may do on the cluster."""
    cluster = session.broker.cluster
    alive = [one for one in cluster.brokers.values() if not one.is_fenced]
    operations: set[int] | None = None
    if request.include_cluster_authorized_operations:
        operations = operations_of(session, CLUSTER, CLUSTER_NAME)
    reply(
        DescribeClusterResponse(
            throttle_time_ms=0,
            error_code=0,
            error_message=None,
            endpoint_type=1,
            cluster_id=cluster.id,
            controller_id=min((one.node for one in alive), default=-1),
            brokers=[
                DescribeClusterResponse.DescribeClusterBroker(
                    broker_id=one.node, host=one.host, port=_port(session, one), rack=None, is_fenced=False
                )
                for one in alive
            ],
            authorized_operations=operations,
        )
    )


APIS = (
    Handler(ApiVersionsRequest, versions, is_repeated=True),
    Handler(MetadataRequest, metadata, is_repeated=True),
    Handler(FindCoordinatorRequest, coordinator),
    Handler(DescribeClusterRequest, cluster_described),
)
