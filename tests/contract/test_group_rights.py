"""What coordinators tell and take from those who may not, brokers before batched requests, and share groups."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.compact import uvarint
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.groups import (
    OtherKindError,
    PartitionsRefusedError,
    commit,
    committed,
    delete_group,
    delete_offsets,
    describe,
    list_groups,
)
from anabranch.kafka.groups.rights import group_operations
from anabranch.kafka.security import open_cluster
from anabranch.model import acls
from anabranch.model.groups import Commit, GroupKind, GroupState
from anabranch.model.topics import TopicPartition
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.brokers import STEADY, await_coordinators, create_topics
from tests.contract.conftest import running
from tests.contract.lab import TIMEOUT_S, connect
from tests.integration.kafka.security import context_of

pytestmark = pytest.mark.test

TOPIC_AUTHORIZATION_FAILED = 29
SHARE_GROUP_HEARTBEAT = 76
OPEN, CLOSED = TopicPartition("open", 0), TopicPartition("closed", 0)
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def guarded(guarded: SandboxCluster) -> SandboxCluster:
    """A cluster that asks who one is, with two topics."""
    create_topics(guarded, [NewTopic(one.topic, 1, 1) for one in (OPEN, CLOSED)])
    return guarded


def allow(cluster: SandboxCluster, kind: ResourceType, name: str, operation: AclOperation) -> None:
    """Let alice do something."""
    rule = AclBinding(kind, name, ResourcePatternType.LITERAL, "User:alice", "*", operation, AclPermissionType.ALLOW)
    admin = AdminClient(cluster.client_config())
    for future in admin.create_acls([rule]).values():
        future.result(TIMEOUT_S)


async def until_allowed(client: Client, group: str) -> None:
    """Rules reach a broker a moment after they are accepted, in their order: the group's must be the last."""
    async with asyncio.timeout(TIMEOUT_S):
        while group not in {one.name for one in await list_groups(client)}:
            await asyncio.sleep(0.05)


def test_what_may_be_done_with_a_group_is_told_before_it_is_there(guarded: SandboxCluster) -> None:
    """Of one with commits, too; where not even looking is permitted it is nothing."""
    allow(guarded, ResourceType.GROUP, "seen", AclOperation.DESCRIBE)
    allow(guarded, ResourceType.GROUP, "unmade", AclOperation.READ)

    async def go() -> None:
        async with open_cluster(context_of(guarded)) as admin, open_cluster(context_of(guarded, "alice")) as alice:
            await commit(admin, "seen", {OPEN: Commit(3)})
            await until_allowed(alice, "seen")
            describe_, read = acls.AclOperation.DESCRIBE, acls.AclOperation.READ
            async with asyncio.timeout(TIMEOUT_S):
                while not (found := await group_operations(alice, ["seen", "unmade", "hidden"]))["unmade"]:
                    await asyncio.sleep(0.05)
            assert found["seen"] == {describe_}
            assert found["unmade"] == {describe_, read}
            assert found["hidden"] == set()
            mine = (await group_operations(admin, ["seen"]))["seen"]
            assert mine is not None and {describe_, read} <= mine

    asyncio.run(go())


def test_a_group_that_we_may_not_describe_is_not_listed_and_refused_by_name(guarded: SandboxCluster) -> None:
    """Listing is silent about it; reading, describing, committing and deleting name the group and who we are."""

    async def go() -> None:
        async with open_cluster(context_of(guarded)) as admin, open_cluster(context_of(guarded, "alice")) as alice:
            await commit(admin, "secret", {OPEN: Commit(3)})
            assert "secret" in {one.name for one in await list_groups(admin)}
            assert "secret" not in {one.name for one in await list_groups(alice)}
            for refused in (
                committed(alice, ["secret"]),
                describe(alice, ["secret"]),
                commit(alice, "secret", {OPEN: Commit(4)}),
                delete_offsets(alice, "secret", [OPEN]),
                delete_group(alice, "secret"),
            ):
                with pytest.raises(PermissionDeniedError, match=r"User:alice .* group secret"):
                    await refused
            assert (await committed(admin, ["secret"]))["secret"] == {OPEN: Commit(3)}

    asyncio.run(go())


def test_topics_that_we_may_not_see_are_left_out_of_what_a_group_committed(guarded: SandboxCluster) -> None:
    """A whole group's commits come without them and without a word; asked for by name, and committed, they are refused.

    The partition that we may read is committed all the same.
    """
    allow(guarded, ResourceType.TOPIC, OPEN.topic, AclOperation.READ)
    allow(guarded, ResourceType.GROUP, "shared", AclOperation.READ)

    async def go() -> None:
        async with open_cluster(context_of(guarded)) as admin, open_cluster(context_of(guarded, "alice")) as alice:
            await commit(admin, "shared", {OPEN: Commit(3), CLOSED: Commit(5)})
            await until_allowed(alice, "shared")
            assert (await committed(alice, ["shared"]))["shared"] == {OPEN: Commit(3)}
            with pytest.raises(PermissionDeniedError):
                await committed(alice, ["shared"], partitions=[OPEN, CLOSED])
            with pytest.raises(PartitionsRefusedError) as raised:
                await commit(alice, "shared", {OPEN: Commit(4), CLOSED: Commit(6)})
            assert dict(raised.value.refused) == {CLOSED: TOPIC_AUTHORIZATION_FAILED}
            assert raised.value.done == (OPEN,)
            assert (await committed(admin, ["shared"]))["shared"] == {OPEN: Commit(4), CLOSED: Commit(5)}

    asyncio.run(go())


@pytest.mark.parametrize("simulated", [False, True], ids=["real", "simulated"])
def test_brokers_from_before_batched_requests_tell_the_same(simulated: bool) -> None:
    """2.8 is asked for one group at a time, many on the way at once; commits and metadata are the same."""
    with running(ClusterSpec("before", version="2.8.2"), simulated=simulated) as old:
        create_topics(old, [NewTopic(OPEN.topic, 1, 1)])
        await_coordinators(old)

        async def go() -> None:
            names = [f"old-{number}" for number in range(120)]
            async with connect(old) as client:
                for number, name in enumerate(names):
                    await commit(client, name, {OPEN: Commit(number, f"noted {number}")})
                found = await committed(client, [*names, "nobody"])
                assert found == {
                    name: {OPEN: Commit(number, f"noted {number}")} for number, name in enumerate(names)
                } | {"nobody": {}}
                listed = {one.name: one for one in await list_groups(client)}
                assert {(listed[name].kind, listed[name].state) for name in names} == {
                    (GroupKind.SIMPLE, GroupState.EMPTY)
                }
                described = await describe(client, [*names, "nobody"])
                assert described["nobody"].state is GroupState.DEAD
                await delete_offsets(client, names[0], [OPEN])
                assert await delete_group(client, names[1])
                assert await committed(client, names[:2]) == {names[0]: {}, names[1]: {}}

        asyncio.run(go())


@pytest.mark.parametrize("simulated", [False, True], ids=["real", "simulated"])
def test_a_share_group_is_listed_as_one_and_has_no_commits(simulated: bool) -> None:
    """KIP-932: its state is in another topic; it can be described, and a commit for it is refused."""
    with running(ClusterSpec("sharing", overrides=STEADY), simulated=simulated) as new:
        create_topics(new, [NewTopic(OPEN.topic, 1, 1)])
        await_coordinators(new)

        async def go() -> None:
            async with connect(new) as client:
                await _share(client, "sharers")
                listed = {one.name: one for one in await list_groups(client)}["sharers"]
                assert (listed.kind, listed.protocol) == (GroupKind.SHARE, "share")
                assert not listed.kind.is_movable
                assert (await describe(client, ["sharers"]))["sharers"].kind is GroupKind.SHARE
                assert await committed(client, ["sharers"]) == {"sharers": {}}
                with pytest.raises(OtherKindError):
                    await commit(client, "sharers", {OPEN: Commit(1)})

        asyncio.run(go())


async def _share(client: Client, group: str) -> None:
    """Join a share group: ShareGroupHeartbeat v1 with epoch 0."""
    connection = await client.connection(await client.coordinator(group, 0))

    def text(value: str) -> bytes:
        return uvarint(len(value.encode()) + 1) + value.encode()

    member = "9Hkk4mWCRVqyu9zFrsKLKg"
    body = text(group) + text(member) + (0).to_bytes(4) + b"\0" + uvarint(2) + text(OPEN.topic) + b"\0"
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            frame = await connection.submit(SHARE_GROUP_HEARTBEAT, 1, True, [body], 20.0)
            code = int.from_bytes(frame.view[9:11], signed=True)
            frame.release()
            if code == 0:
                return
            assert code in {14, 15, 16}, code
            await asyncio.sleep(0.1)
