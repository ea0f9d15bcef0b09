"""Topics and configurations: making, deleting, changing, telling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

from anabranch.kafka.simulated.access import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CLUSTER_NAME,
    CREATE,
    DELETE,
    DESCRIBE_CONFIGS,
    TOPIC,
)
from anabranch.kafka.simulated.apis.common import UNKNOWN, encoded, may
from anabranch.kafka.simulated.broker import ClientSession, Handler
from anabranch.kafka.simulated.settings import DYNAMIC, INTEGERS, TOPIC_DEFAULTS, refusal

EXISTS, INVALID_NAME, INVALID_PARTITIONS, INVALID_REPLICAS, INVALID_CONFIG, INVALID_REQUEST = 36, 17, 37, 38, 40, 42
OF_TOPIC, OF_BROKER, OF_LOGGER = 2, 4, 8
_SET, _DELETE = 0, 1
_TOPIC_SET, _BROKER_SET, _STATIC, _DEFAULT = 1, 2, 4, 5
_BOOLEAN, _STRING, _INT, _LONG, _DOUBLE, _LIST = 1, 2, 3, 5, 6, 7
_Reply = Callable[[Any], None]
_Config = tuple[str, str, int, bool]
"""A setting: its name, its value, where that is from, and whether nobody may change it."""


def create(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """CreateTopics: the controller answers before the brokers know."""
    rows = []
    for wanted in request.topics:
        code, message = _create(session, request, wanted)
        topic = session.broker.cluster.topics.get(wanted.name) if not code else None
        extra: dict[str, Any] = {} if topic is None else {"topic_id": topic.id}
        rows.append(
            CreateTopicsResponse.CreatableTopicResult(
                name=wanted.name,
                error_code=code,
                error_message=message,
                num_partitions=-1 if topic is None else len(topic.partitions),
                replication_factor=-1 if topic is None else len(topic.partitions[0].assigned),
                configs=[],
                **extra,
            )
        )
    reply(CreateTopicsResponse(throttle_time_ms=0, topics=rows))


def _create(session: ClientSession, request: Any, wanted: Any) -> tuple[int, str | None]:
    cluster = session.broker.cluster
    allowed = not may(session, CREATE, CLUSTER, CLUSTER_NAME) or not may(session, CREATE, TOPIC, wanted.name)
    if not allowed:
        return 29, "Authorization failed."
    if not wanted.name or len(wanted.name) > 249 or not all(one.isalnum() or one in "._-" for one in wanted.name):
        return INVALID_NAME, f"Topic name is invalid: {wanted.name!r}"
    if wanted.name in cluster.topics:
        return EXISTS, f"Topic '{wanted.name}' already exists."
    configs = {config.name: config.value for config in wanted.configs if config.value is not None}
    for name, value in configs.items():
        why = refusal(name, value)
        if why is not None:
            return INVALID_CONFIG, why
    places: Any = wanted.num_partitions if wanted.num_partitions != -1 else cluster.number("num.partitions")
    replicas = wanted.replication_factor
    if replicas == -1:
        replicas = cluster.number("default.replication.factor")
    if wanted.assignments:
        places = [list(one.broker_ids) for one in sorted(wanted.assignments, key=lambda one: one.partition_index)]
        replicas = len(places[0])
    elif places < 1:
        return INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
    alive = sum(not broker.is_fenced for broker in cluster.brokers.values())
    if replicas > alive or replicas < 1:
        return (
            INVALID_REPLICAS,
            f"Unable to replicate the partition {replicas} time(s): The target replication factor of {replicas} cannot "
            f"be reached because only {alive} broker(s) are registered.",
        )
    if not request.validate_only:
        cluster.create(wanted.name, places, replicas, configs)
    return 0, None


def delete(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DeleteTopics, by name or by id."""
    cluster = session.broker.cluster
    rows = []
    if version >= 6:
        wanted = [(topic.name, topic.topic_id) for topic in request.topics]
    else:
        wanted = [(name, None) for name in request.topic_names]
    for name, topic_id in wanted:
        found = name
        if found is None and topic_id in cluster.by_id:
            found = cluster.by_id[topic_id].name
        code = may(session, DELETE, TOPIC, found or "")
        if not code and found not in cluster.topics:
            code = UNKNOWN if name is not None else 100
        if not code:
            cluster.delete(found)
        extra = {"topic_id": topic_id} if topic_id is not None else {}
        rows.append(DeleteTopicsResponse.DeletableTopicResult(name=found, error_code=code, error_message=None, **extra))
    reply(DeleteTopicsResponse(throttle_time_ms=0, responses=rows))


def extend(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """CreatePartitions."""
    cluster = session.broker.cluster
    rows = []
    for wanted in request.topics:
        topic = cluster.topics.get(wanted.name)
        code = may(session, ALTER, TOPIC, wanted.name)
        message = None
        if not code and topic is None:
            code = UNKNOWN
        elif not code and topic is not None and wanted.count <= len(topic.partitions):
            code, message = INVALID_PARTITIONS, f"Topic currently has {len(topic.partitions)} partitions."
        elif not code and topic is not None and not request.validate_only:
            more = wanted.count - len(topic.partitions)
            nodes = sorted(cluster.brokers)
            size = len(topic.partitions[0].assigned)
            if wanted.assignments:
                places = [list(assignment.broker_ids) for assignment in wanted.assignments]
            else:
                first = cluster.chance.randrange(len(nodes))
                places = [[nodes[(first + number + at) % len(nodes)] for at in range(size)] for number in range(more)]
            cluster.extend(topic, places)
        rows.append(
            CreatePartitionsResponse.CreatePartitionsTopicResult(
                name=wanted.name, error_code=code, error_message=message
            )
        )
    reply(CreatePartitionsResponse(throttle_time_ms=0, results=rows))


def describe(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DescribeConfigs of topics and brokers."""
    cluster = session.broker.cluster
    rows = []
    for wanted in request.resources:
        code, configs = 0, list[_Config]()
        if wanted.resource_type == OF_TOPIC:
            topic = cluster.topics.get(wanted.resource_name)
            code = may(session, DESCRIBE_CONFIGS, TOPIC, wanted.resource_name)
            if not code and topic is None:
                code = UNKNOWN
            elif not code and topic is not None:
                configs = [
                    (name, topic.settings.value(name), _source(session, topic.settings.own, name), False)
                    for name in TOPIC_DEFAULTS
                ]
        elif wanted.resource_type == OF_BROKER:
            code = may(session, DESCRIBE_CONFIGS, CLUSTER, CLUSTER_NAME)
            if not code:
                plan = cluster.plan.overrides
                configs = [
                    (name, value, _STATIC if name in plan else _DEFAULT, name not in DYNAMIC)
                    for name, value in cluster.settings.items()
                ]
        else:
            code = INVALID_REQUEST
        keys = wanted.configuration_keys
        told = tuple(config for config in configs if keys is None or config[0] in keys)
        rows.append((code, wanted.resource_type, wanted.resource_name, told))
    reply(encoded(_described, version, tuple(rows)))


def _described(rows: Sequence[tuple[int, int, str, Sequence[_Config]]]) -> Any:
    results = [
        DescribeConfigsResponse.DescribeConfigsResult(
            error_code=code,
            error_message=None,
            resource_type=kind,
            resource_name=name,
            configs=[_config(*config) for config in configs],
        )
        for code, kind, name, configs in rows
    ]
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


def _source(session: ClientSession, own: Mapping[str, str], name: str) -> int:
    if name in own:
        return _TOPIC_SET
    return _STATIC if name in session.broker.cluster.plan.overrides else _DEFAULT


def _config(name: str, value: str, source: int, read_only: bool) -> Any:
    kind = _BOOLEAN if value in {"true", "false"} else _LONG if value.lstrip("-").isdigit() else _STRING
    return DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult(
        name=name,
        value=value,
        read_only=read_only,
        is_default=source == _DEFAULT,
        config_source=source,
        is_sensitive=False,
        synonyms=[],
        config_type=kind,
        documentation=None,
    )


def alter(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """IncrementalAlterConfigs: each resource whole or not at all."""
    rows = []
    for wanted in request.resources:
        code, message = _alter(session, wanted, request.validate_only)
        rows.append(
            IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
                error_code=code,
                error_message=message,
                resource_type=wanted.resource_type,
                resource_name=wanted.resource_name,
            )
        )
    reply(IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=rows))


def _alter(session: ClientSession, wanted: Any, validate_only: bool) -> tuple[int, str | None]:
    cluster = session.broker.cluster
    if wanted.resource_type == OF_TOPIC:
        topic = cluster.topics.get(wanted.resource_name)
        code = may(session, ALTER_CONFIGS, TOPIC, wanted.resource_name)
        if code or topic is None:
            return code or UNKNOWN, None
        for one in wanted.configs:
            why = refusal(one.name, one.value or "") if one.config_operation == _SET else None
            if why is not None:
                return INVALID_CONFIG, why
        if not validate_only:
            for one in wanted.configs:
                if one.config_operation == _SET:
                    topic.settings.own[one.name] = one.value
                elif one.config_operation == _DELETE:
                    topic.settings.own.pop(one.name, None)
        return 0, None
    if wanted.resource_type == OF_BROKER:
        code = may(session, ALTER_CONFIGS, CLUSTER, CLUSTER_NAME)
        if code:
            return code, None
        for one in wanted.configs:
            if one.name not in DYNAMIC:
                return INVALID_REQUEST, f"Cannot update these configs dynamically: {{{one.name}}}"
            if one.name in INTEGERS and not ((one.value or "").isdigit() and int(one.value) < 1 << 31):
                return (
                    INVALID_CONFIG,
                    f"Invalid value {one.value} for configuration {one.name}: Not a number of type INT",
                )
        if not validate_only:
            for config in wanted.configs:
                cluster.settings[config.name] = config.value
        return 0, None
    return INVALID_REQUEST, None


APIS = (
    Handler(CreateTopicsRequest, create),
    Handler(DeleteTopicsRequest, delete),
    Handler(CreatePartitionsRequest, extend),
    Handler(DescribeConfigsRequest, describe, is_repeated=True),
    Handler(IncrementalAlterConfigsRequest, alter),
)
