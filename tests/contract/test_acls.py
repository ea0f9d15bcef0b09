"""Access rules: what brokers take and tell of them, and what they let somebody do by them."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Iterable

import pytest

from anabranch.kafka.acls import AclsRefusedError, NoAuthorizerError, create_acls, delete_acls, describe_acls
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.security import open_cluster
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.sandbox import SandboxCluster
from tests.contract.lab import TIMEOUT_S, connect, until_known
from tests.integration.kafka.security import context_of

pytestmark = pytest.mark.test

CLUSTER_NAME = "kafka-cluster"
WITH_TWO_PHASES = (4, 1)
"""The version from which on brokers know TWO_PHASE_COMMIT (KIP-939)."""


def somebody() -> str:
    """A principal whom no other test gives rules."""
    return f"User:{uuid.uuid4().hex}"


def rule(
    who: str,
    name: str = "orders",
    *,
    kind: ResourceType = ResourceType.TOPIC,
    pattern: PatternType = PatternType.LITERAL,
    host: str = "*",
    operation: AclOperation = AclOperation.READ,
    permission: AclPermission = AclPermission.ALLOW,
) -> Acl:
    """A rule that lets somebody read a topic, unless it is told otherwise."""
    return Acl(kind, name, pattern, who, host, operation, permission)


async def until_told(client: Client, before: Iterable[Acl], acls: Iterable[Acl]) -> None:
    """Wait until the rules are exactly those of before and these: a broker follows the controller a moment later."""
    wanted = tuple(sorted({*before, *acls}))
    async with asyncio.timeout(TIMEOUT_S):
        while await describe_acls(client) != wanted:
            await asyncio.sleep(0.02)


async def test_every_kind_of_rule_is_told_as_it_was_made(guarded: SandboxCluster) -> None:
    """Resource types, patterns, operations and permissions in all their combinations; what is taken away is told once.

    Brokers check no operation against its resource type.  One that they do not know they refuse, and take the others.
    """
    who = somebody()
    kinds = itertools.product(ResourceType, PatternType, AclOperation, AclPermission)
    every = [
        rule(
            who,
            CLUSTER_NAME if kind is ResourceType.CLUSTER else f"some-{kind}",
            kind=kind,
            pattern=pattern,
            operation=operation,
            permission=permission,
        )
        for kind, pattern, operation, permission in kinds
    ]
    is_new = tuple(map(int, guarded.spec.version.split("."))) >= WITH_TWO_PHASES
    unknown = [] if is_new else [acl for acl in every if acl.operation is AclOperation.TWO_PHASE_COMMIT]
    known = [acl for acl in every if acl not in unknown]
    async with open_cluster(context_of(guarded)) as admin:
        before = await describe_acls(admin)
        if unknown:
            with pytest.raises(AclsRefusedError, match="Invalid operation UNKNOWN") as raised:
                await create_acls(admin, every)
            assert raised.value.refused.keys() == set(unknown)
            assert set(raised.value.done) == set(known)
        else:
            await create_acls(admin, every)
        await until_told(admin, before, known)
        await create_acls(admin, known)  # again
        await until_told(admin, before, known)
        assert await delete_acls(admin, known) == tuple(sorted(known))
        await until_told(admin, before, ())
        assert await delete_acls(admin, known) == ()
        if unknown:
            with pytest.raises(AclsRefusedError, match="INVALID_REQUEST") as raised:
                await delete_acls(admin, unknown)
            assert raised.value.refused.keys() == set(unknown)


async def test_principals_hosts_and_names_are_taken_as_they_are(guarded: SandboxCluster) -> None:
    """Any principal with a colon, any host, any name of a resource but the cluster's: nothing checks them any further.

    The others are refused, each with its reason.
    """
    who = somebody()
    taken = [
        *(rule(one) for one in (f"Group:{who}", f"{who} CN=a,OU=ü", f"user:{who}", f"{who}:x", f":{who}")),
        *(rule(who, host=host) for host in ("10.0.0.0/8", "::1", "host.example", "no host", "")),
        *(rule(who, name) for name in ("*", "a b/ü", "x" * 300)),
        rule(who, "*", pattern=PatternType.PREFIXED),
        rule(who, CLUSTER_NAME, kind=ResourceType.CLUSTER, pattern=PatternType.PREFIXED),
        rule(who, "User:x", kind=ResourceType.USER, operation=AclOperation.CREATE_TOKENS),
    ]
    no_colon = who.replace(":", "-")
    refused = {
        rule(no_colon): f"Could not parse principal from `{no_colon}`",
        rule(""): "Could not parse principal from ``",
        rule(who, ""): "Invalid empty resource name",
        rule(who, "other", kind=ResourceType.CLUSTER): "The only valid name for the CLUSTER resource",
        rule(who, "kafka", kind=ResourceType.CLUSTER, pattern=PatternType.PREFIXED): "The only valid name",
    }
    async with open_cluster(context_of(guarded)) as admin:
        before = await describe_acls(admin)
        with pytest.raises(AclsRefusedError) as raised:
            await create_acls(admin, [*taken, *refused])
        assert raised.value.refused.keys() == refused.keys()
        for acl, why in refused.items():
            assert raised.value.refused[acl].startswith(f"INVALID_REQUEST (42): {why}")
            assert str(acl) in str(raised.value)
        assert set(raised.value.done) == set(taken)
        await until_told(admin, before, taken)
        assert await delete_acls(admin, [*taken, *refused]) == tuple(sorted(taken))
        await until_told(admin, before, ())


async def test_deleting_a_rule_deletes_no_other(guarded: SandboxCluster) -> None:
    """Not the one for the name ``*``, for the prefix, from another host, that denies, of another operation or user."""
    who, other = somebody(), somebody()
    gone = rule(who)
    kept = [
        rule(who, "*"),
        rule(who, pattern=PatternType.PREFIXED),
        rule(who, "orders-2"),
        rule(who, host="127.0.0.1"),
        rule(who, permission=AclPermission.DENY),
        rule(who, operation=AclOperation.ALL),
        rule(other),
    ]
    async with open_cluster(context_of(guarded)) as admin:
        before = await describe_acls(admin)
        await create_acls(admin, [gone, *kept])
        await until_told(admin, before, [gone, *kept])
        assert await delete_acls(admin, [rule(who, host="127.0.0.2"), gone, gone]) == (gone,)
        await until_told(admin, before, kept)
        assert set(await delete_acls(admin, kept)) == set(kept)


async def test_a_rule_holds_for_its_host_and_one_that_denies_wins(guarded: SandboxCluster) -> None:
    """Alice sees a topic by a rule for her address, not by one for another's, and not while a rule denies it."""
    topic = f"hosts-{uuid.uuid4().hex}"
    elsewhere, here = (rule("User:alice", topic, host=host) for host in ("10.9.9.9", "127.0.0.1"))
    denied = rule("User:alice", topic, operation=AclOperation.ALL, permission=AclPermission.DENY)
    marker = rule("User:alice", f"{topic}-marker")
    async with open_cluster(context_of(guarded)) as admin, open_cluster(context_of(guarded, "alice")) as alice:
        for name in (topic, marker.resource_name):
            await create_topic(admin, name, 1, 1, {})
            await until_known(admin, name)

        async def sees(name: str) -> bool:
            return name in (await alice.metadata(None)).topics

        async def until(wanted: bool, name: str) -> None:
            async with asyncio.timeout(TIMEOUT_S):
                while await sees(name) != wanted:
                    await asyncio.sleep(0.02)

        await create_acls(admin, [elsewhere])
        await create_acls(admin, [marker])  # rules reach a broker in their order
        await until(True, marker.resource_name)
        assert not await sees(topic)
        await create_acls(admin, [here])
        await until(True, topic)
        await create_acls(admin, [denied])
        await until(False, topic)
        assert set(await delete_acls(admin, [elsewhere, here, denied, marker])) == {elsewhere, here, denied, marker}


async def test_who_may_not_is_told_which_permission_is_missing(guarded: SandboxCluster) -> None:
    """DESCRIBE to be told the rules, ALTER to change them; nothing was changed."""
    mine = rule("User:alice", somebody())
    async with open_cluster(context_of(guarded)) as admin, open_cluster(context_of(guarded, "alice")) as alice:
        before = await describe_acls(admin)
        with pytest.raises(PermissionDeniedError, match="User:alice may not Describe on cluster"):
            await describe_acls(alice)
        for change in (create_acls(alice, [mine, rule("alice")]), delete_acls(alice, [mine])):
            with pytest.raises(PermissionDeniedError, match="User:alice may not Alter on cluster"):
                await change
        assert await describe_acls(admin) == before


async def test_a_cluster_without_an_authorizer_has_no_rules(cluster: SandboxCluster) -> None:
    """That is a refusal, and not an empty list: there nobody is kept from anything."""
    async with connect(cluster) as client:
        for asked in (describe_acls(client), create_acls(client, [rule("User:a")]), delete_acls(client, [rule("a")])):
            with pytest.raises(NoAuthorizerError) as raised:
                await asked
            assert raised.value.cluster == cluster.spec.name
