"""What brokers tell of their users' credentials and of their disks, and to whom."""

from __future__ import annotations

import asyncio

import pytest
from confluent_kafka.admin import NewTopic

from anabranch.kafka.acls import AclsRefusedError, create_acls
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.log_dirs import free_space, partition_sizes
from anabranch.kafka.quotas import alter_quotas, describe_quotas
from anabranch.kafka.scram import ScramCredential, scram_users
from anabranch.kafka.security import open_cluster
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.cluster import SaslMechanism
from anabranch.model.quotas import CLIENT_ID, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE, Quota, quota_entity
from anabranch.model.topics import TopicPartition
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.brokers import create_topics
from tests.contract.conftest import running
from tests.contract.lab import Log, a_producer, batch, connect
from tests.integration.kafka.security import context_of

pytestmark = pytest.mark.test

KNOWN = (ScramCredential(SaslMechanism.SCRAM_SHA_512, 4096),)


async def test_scram_users_are_told_with_their_mechanisms(guarded: SandboxCluster) -> None:
    """Who has a credential, and how many rounds it takes; who may not DESCRIBE the cluster is told so."""
    async with open_cluster(context_of(guarded)) as admin, open_cluster(context_of(guarded, "alice")) as alice:
        assert await scram_users(admin) == {"admin": KNOWN, "alice": KNOWN}
        with pytest.raises(PermissionDeniedError, match="User:alice may not Describe on cluster"):
            await scram_users(alice)


async def test_a_cluster_without_scram_users_tells_none(cluster: SandboxCluster) -> None:
    """That needs no listener with SASL."""
    async with connect(cluster) as client:
        assert await scram_users(client) == {}


async def test_a_partition_has_as_many_bytes_on_disk_as_its_batches(log: Log) -> None:
    """Nothing for an empty one; then what was appended, batch by batch, to the byte."""
    place, producer = TopicPartition(log.topic, 0), a_producer()
    assert (await partition_sizes(log.client))[place] == 0
    first, second = batch(producer, 0), batch(producer, 10, 200)
    await log.offset_of(first)
    assert (await partition_sizes(log.client))[place] == len(first)
    await log.offset_of(second)
    assert (await partition_sizes(log.client))[place] == len(first) + len(second)
    assert list(await partition_sizes(log.client)) == sorted(await partition_sizes(log.client))


async def test_brokers_tell_the_space_of_their_volumes(cluster: SandboxCluster) -> None:
    """From 3.3 on (KIP-827)."""
    async with connect(cluster) as client:
        (space,) = (await free_space(client)).values()
    assert space is not None
    assert 0 < space.usable < space.total


async def test_who_may_not_describe_the_cluster_is_told_so_by_its_disks(guarded: SandboxCluster) -> None:
    """Not that there are no partitions."""
    async with open_cluster(context_of(guarded, "alice")) as alice:
        for asked in (partition_sizes(alice), free_space(alice)):
            with pytest.raises(PermissionDeniedError, match="User:alice may not Describe on cluster"):
                await asked


@pytest.mark.parametrize("simulated", [False, True], ids=["real", "simulated"])
def test_brokers_from_before_tell_less_and_take_more(simulated: bool) -> None:
    """2.8 with ZooKeeper: no free space, no reason where it tells nothing of disks, no rules about users or tokens.

    It takes quotas of 0, which newer ones refuse.
    """
    spec = ClusterSpec("before-rules", version="2.8.2", security="SCRAM-SHA-512", authorizer=True)
    rules = [
        Acl(kind, "x", PatternType.LITERAL, "User:old", "*", operation, AclPermission.ALLOW)
        for kind, operation in (
            (ResourceType.TOPIC, AclOperation.READ),
            (ResourceType.USER, AclOperation.DESCRIBE),
            (ResourceType.GROUP, AclOperation.CREATE_TOKENS),
        )
    ]
    quotas = (Quota(quota_entity({CLIENT_ID: "old"}), {PRODUCER_BYTE_RATE: 0.0, REQUEST_PERCENTAGE: 0.0}),)

    async def go(old: SandboxCluster) -> None:
        async with open_cluster(context_of(old)) as admin, open_cluster(context_of(old, "alice")) as alice:
            with pytest.raises(AclsRefusedError) as raised:
                await create_acls(admin, rules)
            assert (raised.value.done, raised.value.refused.keys()) == ((rules[0],), set(rules[1:]))
            await alter_quotas(admin, {quota.entity: quota.values for quota in quotas})
            assert await describe_quotas(admin) == quotas
            assert await scram_users(admin) == {"admin": KNOWN, "alice": KNOWN}
            assert await free_space(admin) == {1: None}
            assert (await partition_sizes(admin))[TopicPartition("t", 0)] == 0
            for asked in (partition_sizes(alice), free_space(alice), scram_users(alice)):
                with pytest.raises(PermissionDeniedError, match="User:alice may not Describe on cluster"):
                    await asked

    with running(spec, simulated=simulated) as old:
        create_topics(old, [NewTopic("t", 1, 1)])
        asyncio.run(go(old))
