"""Who may do what on a cluster: access rules, with the names that Kafka gives their parts (KIP-11, KIP-290)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ResourceType(StrEnum):
    """What a rule is about."""

    TOPIC = "TOPIC"
    GROUP = "GROUP"
    CLUSTER = "CLUSTER"
    TRANSACTIONAL_ID = "TRANSACTIONAL_ID"
    DELEGATION_TOKEN = "DELEGATION_TOKEN"
    USER = "USER"


class PatternType(StrEnum):
    """Whether a rule is about one name (``*``: about all) or about those that begin with it."""

    LITERAL = "LITERAL"
    PREFIXED = "PREFIXED"


class AclOperation(StrEnum):
    """What a rule lets somebody do, or keeps from them."""

    ALL = "ALL"
    READ = "READ"
    WRITE = "WRITE"
    CREATE = "CREATE"
    DELETE = "DELETE"
    ALTER = "ALTER"
    DESCRIBE = "DESCRIBE"
    CLUSTER_ACTION = "CLUSTER_ACTION"
    DESCRIBE_CONFIGS = "DESCRIBE_CONFIGS"
    ALTER_CONFIGS = "ALTER_CONFIGS"
    IDEMPOTENT_WRITE = "IDEMPOTENT_WRITE"
    CREATE_TOKENS = "CREATE_TOKENS"
    DESCRIBE_TOKENS = "DESCRIBE_TOKENS"
    TWO_PHASE_COMMIT = "TWO_PHASE_COMMIT"

    def allowed_by(self, operations: frozenset[AclOperation] | None) -> bool:
        """Whether this operation is among those that a broker told; where it told nothing, nothing forbids it."""
        return operations is None or self in operations


class AclPermission(StrEnum):
    """Whether a rule allows or denies; one that denies wins."""

    ALLOW = "ALLOW"
    DENY = "DENY"


@dataclass(frozen=True, slots=True, order=True)
class Acl:
    """One access rule of a cluster (Kafka's ACL binding).

    ``principal`` is a kind and a name (``User:alice``; ``User:*``: everybody), ``host`` an address or ``*``.
    """

    resource_type: ResourceType
    resource_name: str
    pattern: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission: AclPermission

    def __str__(self) -> str:
        return (
            f"{self.permission} {self.operation} on {self.pattern} {self.resource_type} {self.resource_name} "
            f"to {self.principal} from {self.host}"
        )

    def is_about(self, resource_type: ResourceType, name: str) -> bool:
        """Whether it concerns a resource."""
        if self.resource_type is not resource_type:
            return False
        if self.pattern is PatternType.PREFIXED:
            return name.startswith(self.resource_name)
        return self.resource_name in {"*", name}
