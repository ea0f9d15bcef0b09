"""Who may do what: users with passwords, and the rules of an authorizer.

Source: ``StandardAuthorizer``, KIP-11, KIP-290.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from anabranch.model.acls import Acl, AclOperation, AclPermission, ResourceType
from anabranch.model.cluster import SaslMechanism

# Short, for what is asked at every request.
READ, WRITE, CREATE, DELETE = AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DELETE
ALTER, DESCRIBE = AclOperation.ALTER, AclOperation.DESCRIBE
ALTER_CONFIGS, DESCRIBE_CONFIGS = AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE_CONFIGS
CLUSTER_ACTION, IDEMPOTENT_WRITE = AclOperation.CLUSTER_ACTION, AclOperation.IDEMPOTENT_WRITE
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
CLUSTER, TRANSACTIONAL_ID = ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID

SUPER = frozenset({"User:admin", "User:ANONYMOUS"})
"""Who may do everything; on a cluster with users nobody is anonymous but the brokers' own tools."""
CLUSTER_NAME = "kafka-cluster"
REFUSED: Mapping[ResourceType, int] = {TOPIC: 29, GROUP: 30, CLUSTER: 31, TRANSACTIONAL_ID: 53}
_IMPLIED = {DESCRIBE: {READ, WRITE, DELETE, ALTER}, DESCRIBE_CONFIGS: {ALTER_CONFIGS}}
_OF_KIND = {
    TOPIC: (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (READ, DELETE, DESCRIBE),
    CLUSTER: (CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE),
    TRANSACTIONAL_ID: (WRITE, DESCRIBE),
}


class Authorizer:
    """Users and rules; without an authorizer everything is allowed.

    ``scram`` are the mechanisms for which the cluster keeps credentials of its users.
    """

    def __init__(self, users: Mapping[str, str], authorizer: bool, scram: Sequence[SaslMechanism] = ()) -> None:
        self.users = dict(users)
        self.authorizer = authorizer
        self.scram = tuple(scram)
        self.rules: list[Acl] = []

    def allows(self, principal: str, host: str, operation: AclOperation, kind: ResourceType, name: str) -> bool:
        """Whether somebody may do something; a rule that denies wins."""
        if not self.authorizer or principal in SUPER:
            return True
        mine = [rule for rule in self._of(principal, host) if rule.is_about(kind, name)]
        named = {operation, AclOperation.ALL}
        if any(one.permission is AclPermission.DENY and one.operation in named for one in mine):
            return False
        wanted = named | _IMPLIED.get(operation, set())
        return any(one.permission is AclPermission.ALLOW and one.operation in wanted for one in mine)

    def anywhere(self, principal: str, host: str, operation: AclOperation, kind: ResourceType) -> bool:
        """Whether somebody may do something on at least one resource of a kind."""
        if not self.authorizer or principal in SUPER:
            return True
        return any(
            rule.permission is AclPermission.ALLOW
            and rule.resource_type is kind
            and rule.operation in {operation, AclOperation.ALL}
            for rule in self._of(principal, host)
        )

    def operations(self, principal: str, host: str, kind: ResourceType, name: str) -> set[AclOperation]:
        """The allowed operations on a resource."""
        return {one for one in _OF_KIND[kind] if self.allows(principal, host, one, kind, name)}

    def _of(self, principal: str, host: str) -> Iterator[Acl]:
        return (one for one in self.rules if one.principal in {principal, "User:*"} and one.host in {host, "*"})
