"""Topics and configurations: making, deleting, changing, telling."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
from anabranch.kafka.simulated.apis.common import INVALID_NAME, UNKNOWN, WORDS, encoded, may, why_no_name
from anabranch.kafka.simulated.broker import ClientSession, Handler
from anabranch.kafka.simulated.setting_rules import LISTS, SettingRefusedError, checked
from anabranch.kafka.simulated.settings import BROKER_DEFAULTS, DYNAMIC, INTEGERS, TOPIC_DEFAULTS

if TYPE_CHECKING:
    from anabranch.kafka.simulated.cluster import SimulatedCluster

EXISTS, INVALID_PARTITIONS, INVALID_REPLICAS, INVALID_CONFIG, INVALID_REQUEST = 36, 37, 38, 40, 42
OF_TOPIC, OF_BROKER, OF_LOGGER = 2, 4, 8
_SET, _DELETE, _APPEND, _SUBTRACT = 0, 1, 2, 3
_TOPIC_SET, _BROKER_SET, _STATIC, _DEFAULT = 1, 2, 4, 5
_BOOLEAN, _STRING, _INT, _LONG, _DOUBLE, _LIST = 1, 2, 3, 5, 6, 7
_OPERATIONS = {_APPEND: "APPEND", _SUBTRACT: "SUBTRACT"}
_NODE = re.compile("[+-]?[0-9]+")
_Reply = Callable[[Any], None]
_Config = tuple[str, str, int, bool]
"""A setting: its name, its value, where that is from, and whether nobody may change it."""


def create(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """CreateTopics: the controller answers before the brokers know; what is wanted twice is refused, once."""
    times = Counter(topic.name for topic in request.topics)
    rows = []
    for wanted in {topic.name: topic for topic in request.topics}.values():
        twice = times[wanted.name] > 1
        code, message = (INVALID_REQUEST, "Duplicate topic name.") if twice else _create(session, request, wanted)
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
    why = why_no_name(wanted.name)
    if why is not None:
        return INVALID_NAME, why
    if wanted.name in cluster.topics:
        return EXISTS, f"Topic '{wanted.name}' already exists."
    configs = {config.name: config.value for config in wanted.configs if config.value is not None}
    try:
        configs = checked(cluster.version, configs)
    except SettingRefusedError as error:
        return INVALID_CONFIG, str(error)
    if wanted.replication_factor < -1 or wanted.replication_factor == 0:
        return INVALID_REPLICAS, "Replication factor must be larger than 0, or -1 to use the default value."
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
        code = may(session, DELETE, CLUSTER, CLUSTER_NAME) and may(session, DELETE, TOPIC, found or "")
        if not code and found not in cluster.topics:
            code = UNKNOWN if name is not None else 100
        if not code:
            cluster.delete(found)
        extra = {"topic_id": topic_id} if topic_id is not None else {}
        row = DeleteTopicsResponse.DeletableTopicResult
        rows.append(row(name=found, error_code=code, error_message=WORDS.get(code), **extra))
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
    rows = []
    for wanted in request.resources:
        code, why, configs = _told(session, wanted.resource_type, wanted.resource_name)
        keys = wanted.configuration_keys
        told = tuple(config for config in configs if not keys or config[0] in keys)
        rows.append(
            (code, WORDS.get(code, "") if why is None else why, wanted.resource_type, wanted.resource_name, told)
        )
    reply(encoded(_described, version, tuple(rows)))


def _told(session: ClientSession, kind: int, name: str) -> tuple[int, str | None, list[_Config]]:
    """(code, why, settings) of a resource."""
    cluster = session.broker.cluster
    if kind == OF_TOPIC:
        code, topic = may(session, DESCRIBE_CONFIGS, TOPIC, name), cluster.topics.get(name)
        why = why_no_name(name)
        if code or why is not None:
            return code or INVALID_NAME, None if code else why, []
        if topic is None:
            return UNKNOWN, "", []
        own = topic.settings
        return 0, "", [(one, own.value(one), _source(session, own.own, one), False) for one in TOPIC_DEFAULTS]
    if kind not in {OF_BROKER, OF_LOGGER}:
        return INVALID_REQUEST, None, []
    code = may(session, DESCRIBE_CONFIGS, CLUSTER, CLUSTER_NAME)
    if code:
        return code, None, []
    if name or kind == OF_LOGGER:
        why = _why_no_node(session, name, "Broker", " or empty string" if kind == OF_BROKER else "")
        if why is not None:
            return INVALID_REQUEST, why, []
    if kind == OF_LOGGER or not name:
        return 0, "", []
    plan = cluster.plan.overrides
    return (
        0,
        "",
        [
            (one, value, _STATIC if one in plan else _DEFAULT, one not in DYNAMIC)
            for one, value in cluster.settings.items()
        ],
    )


def _why_no_node(session: ClientSession, name: str, what: str, more: str = "") -> str | None:
    """Why a broker does not answer for one of this name; None where it is meant."""
    if not _NODE.fullmatch(name):
        return f"{what} id must be an integer, but it is: {name}"
    if int(name) != session.broker.node:
        return f"Unexpected broker id, expected {session.broker.node}{more}, but received {name}"
    return None


def _described(rows: Sequence[tuple[int, str, int, str, Sequence[_Config]]]) -> Any:
    results = [
        DescribeConfigsResponse.DescribeConfigsResult(
            error_code=code,
            error_message=why,
            resource_type=kind,
            resource_name=name,
            configs=[_config(*config) for config in configs],
        )
        for code, why, kind, name, configs in rows
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
    """IncrementalAlterConfigs: each resource whole or not at all.

    What the broker finds malformed it does not send to the controller, which asks for rights.
    """
    times = Counter((one.resource_type, one.resource_name) for one in request.resources)
    rows = []
    for wanted in request.resources:
        twice = times[wanted.resource_type, wanted.resource_name] > 1
        once = "Each resource must appear at most once."
        code, message = (INVALID_REQUEST, once) if twice else _malformed(session, wanted)
        if not code:
            code, message = _alter(session, wanted, request.validate_only)
        rows.append(
            IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
                error_code=code,
                error_message=WORDS.get(code) if message is None else message,
                resource_type=wanted.resource_type,
                resource_name=wanted.resource_name,
            )
        )
    reply(IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=rows))


def _malformed(session: ClientSession, wanted: Any) -> tuple[int, str | None]:
    """What a broker refuses before anybody is asked whether the client may do it."""
    if max(Counter(one.name for one in wanted.configs).values(), default=1) > 1:
        return INVALID_REQUEST, "Error due to duplicate config keys"
    nulls = [one.name for one in wanted.configs if one.config_operation != _DELETE and one.value is None]
    if nulls:
        return INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}"
    kind, name = wanted.resource_type, wanted.resource_name
    if kind == OF_TOPIC:
        return 0, None
    if kind not in {OF_BROKER, OF_LOGGER}:
        return INVALID_REQUEST, f"Unknown resource type {kind}"
    if kind == OF_LOGGER:
        code = may(session, ALTER_CONFIGS, CLUSTER, CLUSTER_NAME)
        if code:
            return code, ""
    if name or kind == OF_LOGGER:
        why = _why_no_node(session, name, "Node")
        if why is not None:
            return INVALID_REQUEST, why
    for one in wanted.configs:
        if one.config_operation not in {_SET, _DELETE}:
            operation = _OPERATIONS[one.config_operation].lower()
            return INVALID_CONFIG, f"Config value {operation} is not allowed for config key: {one.name}"
    values = {one.name: one.value for one in wanted.configs if one.config_operation == _SET}
    fixed = [key for key in values if key not in DYNAMIC]
    if fixed:
        return INVALID_REQUEST, f"Cannot update these configs dynamically: [{', '.join(fixed)}]"
    for key, value in values.items():
        if not _NODE.fullmatch(value) or int(value) >= 1 << (31 if key in INTEGERS else 63):
            kind = "INT" if key in INTEGERS else "LONG"
            return INVALID_REQUEST, f"Invalid value {value} for configuration {key}: Not a number of type {kind}"
    for key, value in values.items():
        if int(value) < DYNAMIC[key]:
            why = f"Value must be at least {DYNAMIC[key]}"
            return INVALID_REQUEST, f"Invalid value {int(value)} for configuration {key}: {why}"
    return 0, None


def _alter(session: ClientSession, wanted: Any, validate_only: bool) -> tuple[int, str | None]:
    cluster = session.broker.cluster
    if wanted.resource_type == OF_BROKER:
        code = may(session, ALTER_CONFIGS, CLUSTER, CLUSTER_NAME)
        if code:
            return code, None
        of_node = wanted.resource_name and any(one.name == "min.insync.replicas" for one in wanted.configs)
        if of_node and cluster.version.keeps_eligible:
            return INVALID_CONFIG, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
        for one in () if validate_only else wanted.configs:
            if one.config_operation == _SET:
                cluster.settings[one.name] = one.value
            else:
                _reset(cluster, one.name)
        return 0, None
    topic = cluster.topics.get(wanted.resource_name)
    code = may(session, ALTER_CONFIGS, TOPIC, wanted.resource_name)
    if code:
        return code, None
    own = {} if topic is None else dict(topic.settings.own)
    for one in wanted.configs:
        if one.config_operation == _SET:
            own[one.name] = one.value
        elif one.config_operation == _DELETE:
            own.pop(one.name, None)
        elif one.name not in LISTS:
            return (
                INVALID_CONFIG,
                f"Can't {_OPERATIONS[one.config_operation]} to key {one.name} because its type is not LIST.",
            )
        else:
            before = [part for part in own.get(one.name, TOPIC_DEFAULTS[one.name]).split(",") if part]
            told = one.value.split(",")
            if one.config_operation == _APPEND:
                before += [part for part in told if part not in before]
            else:
                before = [part for part in before if part not in told]
            own[one.name] = ",".join(before)
    try:
        own = checked(cluster.version, own)
    except SettingRefusedError as error:
        return INVALID_CONFIG, str(error)
    if topic is None:
        return UNKNOWN, f"The topic '{wanted.resource_name}' does not exist."
    if not validate_only:
        topic.settings.own.clear()
        topic.settings.own.update(own)
    return 0, None


def _reset(cluster: SimulatedCluster, name: str) -> None:
    """Have a setting of brokers be what it was when they began; of one that cannot be changed nothing was."""
    if name in DYNAMIC:
        cluster.settings[name] = cluster.plan.overrides.get(name, BROKER_DEFAULTS[name])


APIS = (
    Handler(CreateTopicsRequest, create),
    Handler(DeleteTopicsRequest, delete),
    Handler(CreatePartitionsRequest, extend),
    Handler(DescribeConfigsRequest, describe, is_repeated=True),
    Handler(IncrementalAlterConfigsRequest, alter),
)
