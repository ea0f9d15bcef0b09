"""Clusters that ask who comes, users that may do little, and what they are granted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from anabranch.sandbox import SandboxCluster
from qa.timeouts import TIMEOUT_S
from tests.integration.links.topics import admin

Grant = tuple[ResourceType, str, AclOperation]
CLUSTER = "kafka-cluster"


def source_needs(topics: str) -> tuple[Grant, ...]:
    """What docs/reference/permissions.md says a link needs on its source, for topics with a prefix."""
    return (
        (ResourceType.TOPIC, topics, AclOperation.READ),
        (ResourceType.TOPIC, topics, AclOperation.DESCRIBE_CONFIGS),
        (ResourceType.TOPIC, "__anabranch_", AclOperation.READ),
    )


def target_needs(topics: str) -> tuple[Grant, ...]:
    """What it says a link needs on its target, for topics with a prefix, without rights on the cluster."""
    return (
        *((ResourceType.TOPIC, topics, getattr(AclOperation, name)) for name in TOPIC_OPERATIONS),
        *((ResourceType.TOPIC, "__anabranch_", getattr(AclOperation, name)) for name in CONTROL_OPERATIONS),
        (ResourceType.TRANSACTIONAL_ID, "anabranch.", AclOperation.WRITE),
    )


#: ALTER_CONFIGS implies DESCRIBE_CONFIGS; READ, WRITE and ALTER imply DESCRIBE.
CONTROL_OPERATIONS = ("CREATE", "READ", "WRITE", "DESCRIBE_CONFIGS")
TOPIC_OPERATIONS = ("CREATE", "READ", "WRITE", "ALTER", "ALTER_CONFIGS")


def identity_needs(topics: str) -> tuple[Grant, ...]:
    """What it says equal offsets need besides, for topics with a prefix."""
    return (
        (ResourceType.BROKER, CLUSTER, AclOperation.ALTER),
        (ResourceType.BROKER, CLUSTER, AclOperation.DESCRIBE_CONFIGS),
        (ResourceType.TOPIC, topics, AclOperation.DELETE),
    )


def grant(cluster: SandboxCluster, user: str, grants: tuple[Grant, ...]) -> None:
    """Allow a user something, and wait until the brokers know it."""
    bindings = [_binding(user, one) for one in grants]
    for future in admin(cluster).create_acls(bindings).values():
        future.result(TIMEOUT_S)
    _await(lambda: set(grants) <= granted(cluster, user))


def revoke(cluster: SandboxCluster, user: str, grants: tuple[Grant, ...]) -> None:
    """Take something back, and wait until the brokers know it."""
    filters = [
        AclBindingFilter(kind, name, _pattern(kind), f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        for kind, name, operation in grants
    ]
    for future in admin(cluster).delete_acls(filters).values():
        future.result(TIMEOUT_S)
    _await(lambda: not set(grants) & granted(cluster, user))


def granted(cluster: SandboxCluster, user: str) -> set[Grant]:
    """All that a user may do."""
    every = AclBindingFilter(
        ResourceType.ANY,
        None,
        ResourcePatternType.ANY,
        f"User:{user}",
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    found = admin(cluster).describe_acls(every).result(TIMEOUT_S)
    return {(ResourceType(one.restype.value), one.name, AclOperation(one.operation.value)) for one in found}


@contextmanager
def without(cluster: SandboxCluster, user: str, one: Grant) -> Iterator[None]:
    """Everything that the user has but one grant, while the block lasts."""
    revoke(cluster, user, (one,))
    try:
        yield
    finally:
        grant(cluster, user, (one,))


def _pattern(kind: ResourceType) -> ResourcePatternType:
    return ResourcePatternType.LITERAL if kind is ResourceType.BROKER else ResourcePatternType.PREFIXED


def _binding(user: str, one: Grant) -> AclBinding:
    kind, name, operation = one
    return AclBinding(kind, name, _pattern(kind), f"User:{user}", "*", operation, AclPermissionType.ALLOW)


def _await(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "the access rules did not change"
        time.sleep(0.05)
