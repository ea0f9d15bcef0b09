"""Access rules and quotas as values: their order, their words, what they are about."""

from __future__ import annotations

import pytest

from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.quotas import CLIENT_ID, IP, USER, entity_text, quota_entity

pytestmark = pytest.mark.unit


def rule(kind: ResourceType, name: str, pattern: PatternType = PatternType.LITERAL) -> Acl:
    """One that keeps alice from reading."""
    return Acl(kind, name, pattern, "User:alice", "10.0.0.1", AclOperation.READ, AclPermission.DENY)


@pytest.mark.parametrize(
    ("acl", "topics"),
    [
        (rule(ResourceType.TOPIC, "orders"), {"orders"}),
        (rule(ResourceType.TOPIC, "*"), {"orders", "orders-eu", "*x"}),
        (rule(ResourceType.TOPIC, "orders", PatternType.PREFIXED), {"orders", "orders-eu"}),
        (rule(ResourceType.TOPIC, "*", PatternType.PREFIXED), {"*x"}),
        (rule(ResourceType.GROUP, "*"), set()),
    ],
)
def test_a_rule_is_about_its_name_its_prefix_or_everything(acl: Acl, topics: set[str]) -> None:
    """A star is everything in a literal rule alone; a rule of one resource type is about no other."""
    assert {name for name in ("orders", "orders-eu", "*x") if acl.is_about(ResourceType.TOPIC, name)} == topics


def test_a_rule_is_told_in_one_sentence() -> None:
    """Every part of it, since every part tells two rules apart."""
    assert str(rule(ResourceType.TOPIC, "orders", PatternType.PREFIXED)) == (
        "DENY READ on PREFIXED TOPIC orders to User:alice from 10.0.0.1"
    )


def test_rules_are_sorted_by_what_they_are_about() -> None:
    """Resource first, whoever it is for."""
    a, b, c = rule(ResourceType.GROUP, "z"), rule(ResourceType.TOPIC, "a"), rule(ResourceType.TOPIC, "b")
    assert sorted([c, b, a]) == [a, b, c]


def test_an_operation_is_allowed_where_a_broker_told_nothing() -> None:
    """Unknown is not forbidden."""
    assert AclOperation.ALTER.allowed_by(None)
    assert AclOperation.ALTER.allowed_by(frozenset({AclOperation.ALTER}))
    assert not AclOperation.ALTER.allowed_by(frozenset({AclOperation.DESCRIBE}))


def test_an_entity_is_the_same_in_whichever_order_it_is_named() -> None:
    """And tells a default from a client of that name."""
    both = quota_entity({USER: "default", CLIENT_ID: None})
    assert both == quota_entity({CLIENT_ID: None, USER: "default"}) == ((CLIENT_ID, None), (USER, "default"))
    assert entity_text(both) == "client-id default, user 'default'"
    assert entity_text(quota_entity({IP: None})) == "ip default"
