"""What is read of answers about access rules, quotas and users: what is unknown, refused, or of many requests."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.admin import (
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ACLResourceType,
    DescribeAclsResponse,
    DescribeUserScramCredentialsResponse,
)

from anabranch.kafka import acl_numbers, acls, quotas
from anabranch.kafka.acls import AclsRefusedError, UnknownAclsError, create_acls, delete_acls, describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import BrokerRefusedError, PermissionDeniedError, UnsupportedApiError
from anabranch.kafka.quotas import QuotasRefusedError, alter_quotas, describe_quotas
from anabranch.kafka.scram import ScramUsersUnknownError, scram_users
from anabranch.kafka.security import open_cluster
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.quotas import CLIENT_ID, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE, Quota, quota_entity
from anabranch.sandbox import ClusterSpec
from tests.integration.kafka.security import context_of
from tests.simulated import Simulated

pytestmark = pytest.mark.unit


class Answering(Cluster):
    """A cluster of which every broker gives one answer."""

    def __init__(self, answer: Any) -> None:
        super().__init__(Transport("old", "User:me"), [])
        self.answer = answer

    async def call(self, request: Any, node: int | None = None, timeout: float = 30.0, cap: int | None = None) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture(scope="module")
def guarded() -> Iterator[Simulated]:
    """A cluster with an authorizer."""
    with Simulated(ClusterSpec("guarded", security="SCRAM-SHA-512", authorizer=True)) as cluster:
        yield cluster


def rules(count: int) -> tuple[Acl, ...]:
    """Some rules of one user, sorted."""
    return tuple(
        Acl(
            ResourceType.TOPIC,
            f"t-{number:04}",
            PatternType.LITERAL,
            "User:a",
            "*",
            AclOperation.READ,
            AclPermission.ALLOW,
        )
        for number in range(count)
    )


# -- numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "theirs"),
    [
        (acl_numbers.RESOURCE_TYPES, ACLResourceType),
        (acl_numbers.PATTERNS, ACLResourcePatternType),
        (acl_numbers.OPERATIONS, ACLOperation),
        (acl_numbers.PERMISSIONS, ACLPermissionType),
    ],
)
def test_every_number_has_the_name_that_kafka_gives_it(table: dict[int, Any], theirs: Any) -> None:
    """As another client knows them; those that are only for filters are no kinds of rules."""
    known = {one.value: one.name for one in theirs if one.name not in {"UNKNOWN", "ANY", "MATCH"}}
    assert {number: kind.name for number, kind in table.items() if number in known} == known
    assert len(set(table.values())) == len(table)


def test_every_kind_has_a_number() -> None:
    """None is left out of the tables."""
    assert set(acl_numbers.NUMBER_OF_TYPE) == set(ResourceType)
    assert set(acl_numbers.NUMBER_OF_PATTERN) == set(PatternType)
    assert set(acl_numbers.NUMBER_OF_OPERATION) == set(AclOperation)
    assert set(acl_numbers.NUMBER_OF_PERMISSION) == set(AclPermission)


def test_operations_of_newer_brokers_are_none_that_we_do() -> None:
    """What a principal may do beyond what is known is left out."""
    assert acl_numbers.operations_of([3, 7, 31]) == {AclOperation.READ, AclOperation.ALTER}


async def test_rules_of_unknown_kinds_are_refused_and_all_told() -> None:
    """A list without them would be taken for the whole: each is named by what is unknown of it."""
    row = DescribeAclsResponse.DescribeAclsResource
    allowed = {"host": "*", "permission_type": 3}
    answer = DescribeAclsResponse(
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        resources=[
            row(
                resource_type=2,
                resource_name="orders",
                pattern_type=3,
                acls=[
                    row.AclDescription(principal="User:a", operation=3, **allowed),
                    row.AclDescription(principal="User:b", operation=16, **allowed),
                ],
            ),
            row(
                resource_type=8,
                resource_name="new",
                pattern_type=5,
                acls=[row.AclDescription(principal="User:c", host="*", operation=3, permission_type=4)],
            ),
        ],
    )
    with pytest.raises(UnknownAclsError) as raised:
        await describe_acls(Answering(answer))
    assert raised.value.unknown == (
        "operation 16 on orders for User:b",
        "resource type 8 and pattern 5 and permission 4 on new for User:c",
    )
    assert all(one in str(raised.value) for one in raised.value.unknown)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


# -- many ----------------------------------------------------------------------------------------------


async def test_many_rules_go_in_several_requests(guarded: Simulated, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller takes 10,000 changes at most at once; what is refused in one request does not end the others."""
    monkeypatch.setattr(acls, "_CHUNK", 7)
    wanted = rules(40)
    bad = Acl(
        ResourceType.GROUP, "g", PatternType.LITERAL, "a", "*", AclOperation.READ, AclPermission.ALLOW
    )  # sorted before the others
    async with open_cluster(context_of(guarded)) as client:
        with pytest.raises(AclsRefusedError) as raised:
            await create_acls(client, [*wanted, bad])
        assert (tuple(raised.value.refused), raised.value.done) == ((bad,), wanted)
        assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
        assert await describe_acls(client) == wanted
        assert await delete_acls(client, [*wanted[30:], *wanted[:15]]) == (*wanted[:15], *wanted[30:])
        assert await delete_acls(client, wanted) == wanted[15:30]


async def test_many_entities_go_in_several_requests(guarded: Simulated, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is refused in one of them does not end the others."""
    monkeypatch.setattr(quotas, "_CHUNK", 3)
    wanted = {quota_entity({CLIENT_ID: f"c-{number:02}"}): {PRODUCER_BYTE_RATE: 1.0 + number} for number in range(10)}
    bad = quota_entity({CLIENT_ID: ""})
    async with open_cluster(context_of(guarded)) as client:
        with pytest.raises(QuotasRefusedError) as raised:
            await alter_quotas(client, {bad: {PRODUCER_BYTE_RATE: 1.0}, **wanted})
        assert (tuple(raised.value.refused), raised.value.done) == ((bad,), tuple(wanted))
        assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
        await alter_quotas(client, {entity: {REQUEST_PERCENTAGE: 5.0} for entity in wanted})
        found = await describe_quotas(client)
        assert found == tuple(Quota(one, {**values, REQUEST_PERCENTAGE: 5.0}) for one, values in wanted.items())
        assert [list(quota.values) for quota in found] == [[PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE]] * 10


# -- users ---------------------------------------------------------------------------------------------


def told(code: int = 0, *users: tuple[str, int, int], message: str | None = None) -> Any:
    """An answer with these users: a name, a code, a mechanism's number."""
    row = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
    results = [
        row(
            user=name,
            error_code=refused,
            error_message=None,
            credential_infos=[row.CredentialInfo(mechanism=mechanism, iterations=4096)],
        )
        for name, refused, mechanism in users
    ]
    return DescribeUserScramCredentialsResponse(
        throttle_time_ms=0, error_code=code, error_message=message, results=results
    )


async def test_a_cluster_that_does_not_tell_its_users_is_refused_with_why() -> None:
    """Old brokers without the request, those that answer that they have it not, and mechanisms that nobody knows."""
    for answer, why in (
        (UnsupportedApiError("old", "DescribeUserScramCredentials", "v0 to v0", "not"), "Anabranch needs v0 to v0"),
        (told(35, message="not with this one"), "not with this one"),
        (told(35), "do not know the request"),
        (told(0, ("a", 0, 2), ("b", 0, 3)), "mechanism 3 of user b is not known"),
    ):
        with pytest.raises(ScramUsersUnknownError) as raised:
            await scram_users(Answering(answer))
        assert why in str(raised.value)
        assert raised.value.cluster == "old"


async def test_a_user_that_cannot_be_told_is_an_error_that_names_it() -> None:
    """Nor is who may not ask one without users."""
    with pytest.raises(BrokerRefusedError, match="for user b with"):
        await scram_users(Answering(told(0, ("a", 0, 1), ("b", 91, 1))))
    with pytest.raises(PermissionDeniedError, match="User:me may not Describe on cluster"):
        await scram_users(Answering(told(31)))
