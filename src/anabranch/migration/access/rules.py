"""What becomes of each access rule of the source on the target.

Invariants
    A4  a rule that looks like one of a fence is never carried over, nor made of another one.
    A5  no rule is made about a topic or a group that is not the wave's, but under a prefix that the source has, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from anabranch.migration.access.scope import ALL, AccessScope
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType

_FENCE = "it denies writing to a topic as a fence does, and would hold its producers up on the target"
_GROUP_FENCE = "it denies reading in a group as a switch does (readers deny), and would hold its consumers up there"
_FENCES = "it denies writing to all topics: on each by itself it would look like a fence"
_PREFIX = "the naming policy does not make one prefix of what begins with it"
_GROUPS = "its groups are in no wave"
_IDS = "it is about all transactional ids, also those of others"
_CLUSTER = "it is about the whole cluster"
_TOKENS = "tokens and users are not carried over"


@dataclass(frozen=True, slots=True, order=True)
class RuleNotCarried:
    """A rule of the source's that a person should look at."""

    why: str
    rule: Acl


@dataclass(frozen=True, slots=True)
class RulesFound:
    """The rules that the target is to have, those of the source that it is not, and those that are not the wave's."""

    wanted: frozenset[Acl]
    refused: tuple[RuleNotCarried, ...] = ()
    left: tuple[Acl, ...] = ()


def is_fence(rule: Acl) -> bool:
    """Whether it is as a fence makes them: it denies writing to one topic, from anywhere."""
    return _denies(rule, ResourceType.TOPIC, AclOperation.WRITE)


def is_group_fence(rule: Acl) -> bool:
    """Whether it is as a fence of groups makes them: it denies reading in one group, from anywhere."""
    return _denies(rule, ResourceType.GROUP, AclOperation.READ)


def _denies(rule: Acl, kind: ResourceType, operation: AclOperation) -> bool:
    shape = (rule.resource_type, rule.pattern, rule.host, rule.operation, rule.permission)
    fences = (kind, PatternType.LITERAL, ALL, operation, AclPermission.DENY)
    return shape == fences and rule.resource_name != ALL


def carried(rules: Iterable[Acl], scope: AccessScope) -> RulesFound:
    """What becomes of a source's rules."""
    every = sorted(set(rules))
    users = scope.users(every)
    wanted: set[Acl] = set()
    refused, left = [], []
    for rule in every:
        found = () if scope.is_own(rule.principal) else _fate(rule, scope, users)
        if isinstance(found, str):
            refused.append(RuleNotCarried(found, rule))
        elif found:
            wanted |= {replace(one, principal=scope.principal(one.principal)) for one in found}
        else:
            left.append(rule)
    return RulesFound(frozenset(wanted), tuple(sorted(refused)), tuple(left))


def proposed(scope: AccessScope, ids: Iterable[str] = ()) -> frozenset[Acl]:
    """What the principals that a wave names need: writing its topics, and reading them in its groups or jobs.

    ``ids`` are transactional ids that its topics were seen to be written to by.
    """
    found = set()
    for principal in map(scope.principal, scope.named):
        for topic in scope.topics.values():
            found |= {_allowed(ResourceType.TOPIC, topic, principal, one) for one in _WRITES}
            found |= {_allowed(ResourceType.TOPIC, topic, principal, one) for one in _READS if scope.has_readers}
        for group in scope.groups:
            found |= {_allowed(ResourceType.GROUP, group, principal, one) for one in _READS}
        for name in ids:
            found |= {_allowed(ResourceType.TRANSACTIONAL_ID, name, principal, one) for one in _WRITES}
    return frozenset(found)


_WRITES = (AclOperation.WRITE, AclOperation.DESCRIBE)
_READS = (AclOperation.READ, AclOperation.DESCRIBE)


def _allowed(kind: ResourceType, name: str, principal: str, operation: AclOperation) -> Acl:
    return Acl(kind, name, PatternType.LITERAL, principal, ALL, operation, AclPermission.ALLOW)


def _fate(rule: Acl, scope: AccessScope, users: frozenset[str]) -> tuple[Acl, ...] | str:
    """The rules that the target has for one, none where it is not the wave's; or why it is not carried over."""
    if rule.resource_type is ResourceType.TOPIC:
        return _topics(rule, scope)
    if rule.resource_type is ResourceType.GROUP:
        return _groups(rule, scope, users)
    if rule.principal not in users:
        return ()
    if rule.resource_type is ResourceType.TRANSACTIONAL_ID:
        return _IDS if _is_about_all(rule) else (rule,)
    if rule.resource_type is ResourceType.CLUSTER:
        is_harmless = rule.operation is AclOperation.IDEMPOTENT_WRITE and rule.permission is AclPermission.ALLOW
        return (rule,) if is_harmless else _CLUSTER
    return _TOKENS


def _is_about_all(rule: Acl) -> bool:
    return rule.pattern is PatternType.LITERAL and rule.resource_name == ALL


def _topics(rule: Acl, scope: AccessScope) -> tuple[Acl, ...] | str:
    touched = scope.touched(rule)
    if not touched:
        return ()
    if is_fence(rule):
        return _FENCE
    if rule.pattern is PatternType.PREFIXED:
        return _prefix(rule, scope)
    found = tuple(replace(rule, resource_name=scope.topics[topic]) for topic in touched)
    return _FENCES if any(map(is_fence, found)) else found


def _prefix(rule: Acl, scope: AccessScope) -> tuple[Acl, ...] | str:
    """The rule about what the policy makes of the prefix, if that is about the same topics and no others."""
    prefix = rule.resource_name
    new = scope.renamed(prefix)
    for topic, renamed in scope.topics.items():
        begins = topic.startswith(prefix)
        if begins is not renamed.startswith(new) or (begins and renamed != new + topic.removeprefix(prefix)):
            return _PREFIX
    return (replace(rule, resource_name=new),)


def _groups(rule: Acl, scope: AccessScope, users: frozenset[str]) -> tuple[Acl, ...] | str:
    about = [group for group in sorted(scope.groups) if rule.is_about(ResourceType.GROUP, group)]
    if not about:
        elsewhere = any(rule.is_about(ResourceType.GROUP, group) for group in scope.elsewhere)
        return () if elsewhere or rule.principal not in users else _GROUPS
    if scope.fences_groups and is_group_fence(rule):
        return _GROUP_FENCE
    return tuple(replace(rule, resource_name=group) for group in about) if _is_about_all(rule) else (rule,)
