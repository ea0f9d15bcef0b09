"""The protocol's numbers of the parts of an access rule (org.apache.kafka.common.acl and .resource, of 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anabranch.model.acls import AclOperation, AclPermission, PatternType, ResourceType

RESOURCE_TYPES: Mapping[int, ResourceType] = {
    2: ResourceType.TOPIC,
    3: ResourceType.GROUP,
    4: ResourceType.CLUSTER,
    5: ResourceType.TRANSACTIONAL_ID,
    6: ResourceType.DELEGATION_TOKEN,
    7: ResourceType.USER,
}
PATTERNS: Mapping[int, PatternType] = {3: PatternType.LITERAL, 4: PatternType.PREFIXED}
OPERATIONS: Mapping[int, AclOperation] = {
    2: AclOperation.ALL,
    3: AclOperation.READ,
    4: AclOperation.WRITE,
    5: AclOperation.CREATE,
    6: AclOperation.DELETE,
    7: AclOperation.ALTER,
    8: AclOperation.DESCRIBE,
    9: AclOperation.CLUSTER_ACTION,
    10: AclOperation.DESCRIBE_CONFIGS,
    11: AclOperation.ALTER_CONFIGS,
    12: AclOperation.IDEMPOTENT_WRITE,
    13: AclOperation.CREATE_TOKENS,
    14: AclOperation.DESCRIBE_TOKENS,
    15: AclOperation.TWO_PHASE_COMMIT,
}
PERMISSIONS: Mapping[int, AclPermission] = {2: AclPermission.DENY, 3: AclPermission.ALLOW}
NUMBER_OF_TYPE = {kind: number for number, kind in RESOURCE_TYPES.items()}
NUMBER_OF_PATTERN = {pattern: number for number, pattern in PATTERNS.items()}
NUMBER_OF_OPERATION = {operation: number for number, operation in OPERATIONS.items()}
NUMBER_OF_PERMISSION = {permission: number for number, permission in PERMISSIONS.items()}


def operations_of(numbers: Iterable[int]) -> frozenset[AclOperation]:
    """The operations of an authorized-operations answer; what a newer broker allows beyond is nothing that we do."""
    return frozenset(OPERATIONS[number] for number in numbers if number in OPERATIONS)
