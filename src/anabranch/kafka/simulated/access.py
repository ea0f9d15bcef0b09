"""Who may do what: users with passwords, and the rules of an authorizer.

Operations and resource types have the protocol's numbers.  Source: ``StandardAuthorizer``, KIP-11, KIP-290.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 2, 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 2, 3, 4, 5
LITERAL, PREFIXED = 3, 4
ALLOW, DENY = 3, 2
SUPER = frozenset({"User:admin", "User:ANONYMOUS"})
"""Who may do everything; on a cluster with users nobody is anonymous but the brokers' own tools."""
CLUSTER_NAME = "kafka-cluster"
REFUSED = {TOPIC: 29, GROUP: 30, CLUSTER: 31, TRANSACTIONAL_ID: 53}
_IMPLIED = {DESCRIBE: {READ, WRITE, DELETE, ALTER}, DESCRIBE_CONFIGS: {ALTER_CONFIGS}}
_OF_KIND = {
    TOPIC: (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (READ, DELETE, DESCRIBE),
    CLUSTER: (CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE),
    TRANSACTIONAL_ID: (WRITE, DESCRIBE),
}


@dataclass(frozen=True, slots=True)
class AclRule:
    """One ACL binding."""

    kind: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int

    def fits(self, kind: int, name: str) -> bool:
        """Whether it is about a resource."""
        if self.kind != kind:
            return False
        return self.name in {"*", name} if self.pattern == LITERAL else name.startswith(self.name)


class Authorizer:
    """Users and rules; without an authorizer everything is allowed."""

    def __init__(self, users: Mapping[str, str], authorizer: bool) -> None:
        self.users = dict(users)
        self.authorizer = authorizer
        self.rules: list[AclRule] = []

    def allows(self, principal: str, operation: int, kind: int, name: str) -> bool:
        """Whether somebody may do something; a rule that denies wins."""
        if not self.authorizer or principal in SUPER:
            return True
        mine = [rule for rule in self.rules if rule.principal in {principal, "User:*"} and rule.fits(kind, name)]
        if any(one.permission == DENY and one.operation in {operation, ALL} for one in mine):
            return False
        wanted = {operation, ALL} | _IMPLIED.get(operation, set())
        return any(one.permission == ALLOW and one.operation in wanted for one in mine)

    def anywhere(self, principal: str, operation: int, kind: int) -> bool:
        """Whether somebody may do something on at least one resource of a kind."""
        if not self.authorizer or principal in SUPER:
            return True
        wanted = {operation, ALL}
        return any(
            rule.permission == ALLOW
            and rule.kind == kind
            and rule.operation in wanted
            and rule.principal in {principal, "User:*"}
            for rule in self.rules
        )

    def operations(self, principal: str, kind: int, name: str) -> set[int]:
        """The allowed operations on a resource."""
        return {one for one in _OF_KIND[kind] if self.allows(principal, one, kind, name)}
