"""Topics, configurations and permissions of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)

from anabranch.kafka.acl_numbers import operations_of
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import UNKNOWN_TOPIC, BrokerRefusedError, ConnectionLostError
from anabranch.model.acls import AclOperation

TOPIC_ALREADY_EXISTS = 36
TOPIC_AUTHORIZATION_FAILED = 29
_TOPIC, _BROKER = 2, 4
_TOPIC_SET = 1  # ConfigSource.DYNAMIC_TOPIC_CONFIG
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Config:
    """One setting: its value (None where sensitive) and whether it was set on this very topic."""

    value: str | None
    own: bool


def own_configs(read: Mapping[str, Config]) -> dict[str, str]:
    """What was set of a topic's configs for itself."""
    return {name: config.value for name, config in read.items() if config.own and config.value is not None}


async def cluster_operations(cluster: Cluster) -> frozenset[AclOperation] | None:
    """The operations that we may do on the cluster; None where the broker does not tell."""
    response = await cluster.call(DescribeClusterRequest(include_cluster_authorized_operations=True), cap=0)
    cluster.check(response.error_code, "Describe", "cluster", response.error_message)
    allowed = response.authorized_operations
    return None if allowed is None else operations_of(allowed)


async def topic_configs(cluster: Cluster, topics: Iterable[str]) -> dict[str, dict[str, Config]]:
    """The settings of topics, by topic and name; topics that we may not ask about are absent.

    A broker whose metadata is old may not know a topic that others know: they are asked then.
    """
    names = list(topics)
    found: dict[str, dict[str, Config]] = {}
    for at in range(0, len(names), _CHUNK):
        found |= await _topic_configs(cluster, names[at : at + _CHUNK])
    return found


async def _topic_configs(cluster: Cluster, names: list[str]) -> dict[str, dict[str, Config]]:
    try:
        return await _configs(cluster, _TOPIC, names, None)
    except BrokerRefusedError as error:
        if error.code != UNKNOWN_TOPIC:
            raise
        unknown = error
    for node in sorted((await cluster.metadata([])).brokers):
        try:
            return await _configs(cluster, _TOPIC, names, node)
        except (BrokerRefusedError, ConnectionLostError):
            continue
    raise unknown


async def broker_configs(cluster: Cluster, node: int) -> dict[str, Config]:
    """One broker's settings; needs DESCRIBE_CONFIGS on the cluster."""
    return (await _configs(cluster, _BROKER, [str(node)], node))[str(node)]


async def _configs(cluster: Cluster, kind: int, names: list[str], node: int | None) -> dict[str, dict[str, Config]]:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=None
            )
            for name in names
        ]
    )
    response = await cluster.call(request, node, cap=4)
    found = {}
    for result in response.results:
        if kind == _TOPIC and result.error_code == TOPIC_AUTHORIZATION_FAILED:
            continue
        where = f"topic {result.resource_name}" if kind == _TOPIC else "cluster"
        cluster.check(result.error_code, "DescribeConfigs", where, result.error_message)
        found[result.resource_name] = {
            entry.name: Config(entry.value, entry.config_source == _TOPIC_SET) for entry in result.configs
        }
    return found


async def create_topic(
    cluster: Cluster,
    name: str,
    partitions: int,
    replication_factor: int,
    configs: Mapping[str, str],
    *,
    only_ask: bool = False,
) -> bool:
    """Create a topic; False where it exists already, however it looks.  ``only_ask`` creates none, but raises alike."""
    topic = CreateTopicsRequest.CreatableTopic
    request = CreateTopicsRequest(
        topics=[
            topic(
                name=name,
                num_partitions=partitions,
                replication_factor=replication_factor,
                assignments=[],
                configs=[topic.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
            )
        ],
        timeout_ms=30_000,
        validate_only=only_ask,
    )
    response = await cluster.call_controller(request, cap=7)
    answer = response.topics[0]
    if answer.error_code == TOPIC_ALREADY_EXISTS:
        return False
    cluster.check(answer.error_code, "Create", f"topic {name}", answer.error_message)
    return True


async def delete_topic(cluster: Cluster, name: str) -> None:
    """Delete a topic for good."""
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=30_000)
    response = await cluster.call_controller(request, cap=5)
    answer = response.responses[0]
    cluster.check(answer.error_code, "Delete", f"topic {name}")


async def grow_topic(cluster: Cluster, name: str, partitions: int) -> None:
    """Raise a topic's partition count."""
    topic = CreatePartitionsRequest.CreatePartitionsTopic
    request = CreatePartitionsRequest(
        topics=[topic(name=name, count=partitions, assignments=None)], timeout_ms=30_000, validate_only=False
    )
    response = await cluster.call_controller(request, cap=3)
    answer = response.results[0]
    cluster.check(answer.error_code, "Alter", f"topic {name}", answer.error_message)


async def alter_topic_configs(cluster: Cluster, name: str, changes: Mapping[str, str | None]) -> None:
    """Set some settings of a topic; None takes a setting back to the default."""
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    request = IncrementalAlterConfigsRequest(
        resources=[
            resource(
                resource_type=_TOPIC,
                resource_name=name,
                configs=[
                    resource.AlterableConfig(name=key, config_operation=1 if value is None else 0, value=value)
                    for key, value in changes.items()
                ],
            )
        ],
        validate_only=False,
    )
    response = await cluster.call_controller(request, cap=1)
    answer = response.responses[0]
    cluster.check(answer.error_code, "AlterConfigs", f"topic {name}", answer.error_message)
