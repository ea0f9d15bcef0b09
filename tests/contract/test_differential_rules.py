"""The simulated Kafka beside the real one where something is refused: by rights on a cluster, or by a setting's rules.

Each request is sent to both, and what both say of it is the same: the codes, what the client may do, and of settings
the words too, which commands show.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    CreateAclsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteAclsRequest,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    DescribeClientQuotasRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    DescribeUserScramCredentialsRequest,
    IncrementalAlterConfigsRequest,
    ListGroupsRequest,
    ListTransactionsRequest,
)
from kafka.protocol.metadata import MetadataRequest

from anabranch.kafka.acls import create_acls, delete_acls, describe_acls
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.security import open_cluster
from anabranch.kafka.simulated.settings import TOPIC_DEFAULTS
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.sandbox import SandboxCluster
from tests.chance import is_full, seed
from tests.contract.conftest import VERSIONS
from tests.contract.lab import TIMEOUT_S, until_known
from tests.integration.kafka.security import context_of
from tests.simulated import Simulated

pytestmark = [
    pytest.mark.test,
    pytest.mark.parametrize(
        "guarded",
        [pytest.param(one, marks=[pytest.mark.full] if one == "4.0.0" else []) for one in VERSIONS],
        indirect=True,
    ),
]

ALICE, CLUSTER_NAME = "User:alice", "kafka-cluster"
FEW, MANY = 200, 1000
OF_TOPIC, OF_BROKER, OF_LOGGER, OF_NOTHING = 2, 4, 8, 99
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
Ask = Callable[[Client], Awaitable[Any]]


@asynccontextmanager
async def both(real: SandboxCluster, user: str) -> AsyncIterator[tuple[tuple[Client, Client], tuple[Client, Client]]]:
    """(admin, user) on the real cluster, and on its simulated twin."""
    with Simulated(real.spec) as twin:
        async with (
            open_cluster(context_of(real)) as admin,
            open_cluster(context_of(real, user)) as asking,
        ):
            contexts = [context_of(twin), context_of(twin, user)]  # type: ignore[arg-type]
            async with open_cluster(contexts[0]) as twin_admin, open_cluster(contexts[1]) as twin_asking:
                yield (admin, asking), (twin_admin, twin_asking)


def words(message: str | None) -> str | None:
    """What is said of a refusal, without what versions word differently: objects that they print, and asides."""
    if not message:
        return None
    said = re.sub(r"Request Request\(.*\) (is not authorized|needs [A-Z]+ permission)", "Request is refused", message)
    said = re.sub(r"dynamically: Set\((.*)\)$", r"dynamically: [\1]", said)
    return said.replace(" or some brokers have all their log directories cordoned", "")


async def differences(pair: Sequence[Client], asks: Iterable[tuple[str, Ask]]) -> list[str]:
    """What is answered differently by both."""
    found = []
    for what, ask in asks:
        real, simulated = [await ask(client) for client in pair]
        if real != simulated:
            found.append(f"{what}: {real!r}, simulated {simulated!r}")
    return found


async def set_rules(admins: Sequence[Client], rules: Sequence[Acl]) -> None:
    """Let alice do exactly this, and wait until the brokers know it."""
    for admin in admins:
        before = [rule for rule in await describe_acls(admin) if rule.principal == ALICE]
        await delete_acls(admin, before)
        await create_acls(admin, rules)
        async with asyncio.timeout(TIMEOUT_S):
            while {rule for rule in await describe_acls(admin) if rule.principal == ALICE} != set(rules):
                await asyncio.sleep(0.02)


def on_cluster(operation: AclOperation, permission: AclPermission = AclPermission.ALLOW) -> Acl:
    """A rule about the cluster."""
    return Acl(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL, ALICE, "*", operation, permission)


def on_topic(name: str, operation: AclOperation) -> Acl:
    """A rule about a topic."""
    return Acl(ResourceType.TOPIC, name, PatternType.LITERAL, ALICE, "*", operation, AclPermission.ALLOW)


# -- what the cluster's operations ask for -------------------------------------------------------------


def operations(found: Any) -> Any:
    """What a client may do, as it is told."""
    return None if found is None else sorted(int(one) for one in found) if isinstance(found, set | frozenset) else found


def of_cluster(existing: str) -> list[tuple[str, Ask]]:
    """Every operation on the cluster that this project asks for, without an effect."""

    async def metadata(client: Client, everything: bool, may: bool) -> Any:
        topic = MetadataRequest.MetadataRequestTopic(topic_id=uuid.UUID(int=0), name=existing)
        request = MetadataRequest(
            topics=None if everything else [topic],
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=may,
            include_topic_authorized_operations=may,
        )
        answer = await client.call(request, cap=10)
        told = [(one.name, one.error_code, operations(one.authorized_operations)) for one in answer.topics]
        told = [one for one in told if one[0] == existing]
        return len(answer.brokers), operations(answer.authorized_operations), told

    async def described(client: Client, may: bool) -> Any:
        answer = await client.call(DescribeClusterRequest(include_cluster_authorized_operations=may), cap=0)
        return (
            answer.error_code,
            words(answer.error_message),
            len(answer.brokers),
            operations(answer.authorized_operations),
        )

    async def quorum(client: Client) -> Any:
        topic = DescribeQuorumRequest.TopicData
        asked = topic(topic_name="__cluster_metadata", partitions=[topic.PartitionData(partition_index=0)])
        answer = await client.call(DescribeQuorumRequest(topics=[asked]), cap=0)
        parts = [(one.topic_name, [part.error_code for part in one.partitions]) for one in answer.topics]
        return answer.error_code, parts

    async def disks(client: Client, version: int) -> Any:
        answer = await client.call(DescribeLogDirsRequest(topics=None), cap=version)
        return getattr(answer, "error_code", 0), [one.error_code for one in answer.results]

    async def users(client: Client) -> Any:
        user = DescribeUserScramCredentialsRequest.UserName
        answer = await client.call(DescribeUserScramCredentialsRequest(users=[user(name="admin"), user(name="who")]))
        return answer.error_code, words(answer.error_message), [(one.user, one.error_code) for one in answer.results]

    async def rules(client: Client) -> Any:
        request = DescribeAclsRequest(
            resource_type_filter=1,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter="User:nobody",
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        answer = await client.call(request)
        return answer.error_code, words(answer.error_message), len(answer.resources)

    async def new_rule(client: Client) -> Any:
        creation = CreateAclsRequest.AclCreation(
            resource_type=4,
            resource_name="not-the-cluster",
            resource_pattern_type=3,
            principal="User:nobody",
            host="*",
            operation=3,
            permission_type=3,
        )
        answer = await client.call_controller(CreateAclsRequest(creations=[creation]))
        return [(one.error_code, words(one.error_message)) for one in answer.results]

    async def no_rule(client: Client) -> Any:
        wanted = DeleteAclsRequest.DeleteAclsFilter(
            resource_type_filter=2,
            resource_name_filter="nothing",
            pattern_type_filter=3,
            principal_filter="User:nobody",
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        answer = await client.call_controller(DeleteAclsRequest(filters=[wanted]))
        return [(one.error_code, words(one.error_message), len(one.matching_acls)) for one in answer.filter_results]

    async def quotas(client: Client) -> Any:
        component = DescribeClientQuotasRequest.ComponentData(entity_type="client-id", match_type=0, match="nobody")
        answer = await client.call(DescribeClientQuotasRequest(components=[component], strict=True))
        return answer.error_code, words(answer.error_message), answer.entries

    async def new_quota(client: Client) -> Any:
        entry = AlterClientQuotasRequest.EntryData
        asked = entry(
            entity=[entry.EntityData(entity_type="client-id", entity_name="nobody")],
            ops=[entry.OpData(key="producer_byte_rate", value=5.0, remove=False)],
        )
        answer = await client.call_controller(AlterClientQuotasRequest(entries=[asked], validate_only=True))
        return [(one.error_code, words(one.error_message)) for one in answer.entries]

    async def groups(client: Client) -> Any:
        answer = await client.call(ListGroupsRequest(states_filter=[], types_filter=[]))
        return answer.error_code, [one.group_id for one in answer.groups]

    async def transactions(client: Client) -> Any:
        answer = await client.call(ListTransactionsRequest(state_filters=[], producer_id_filters=[]), cap=0)
        return answer.error_code, [one.transactional_id for one in answer.transaction_states]

    async def new_topic(client: Client) -> Any:
        return await created(client, [("new-topic", 1, 1, {})])

    async def more_partitions(client: Client, name: str) -> Any:
        topic = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=5, assignments=None)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=20_000, validate_only=True)
        answer = await client.call_controller(request)
        return [(one.name, one.error_code, words(one.error_message)) for one in answer.results]

    async def deleted(client: Client, name: str) -> Any:
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=20_000)
        answer = await client.call_controller(request, cap=5)
        return [(one.name, one.error_code, words(one.error_message)) for one in answer.responses]

    return [
        ("metadata of all", lambda client: metadata(client, everything=True, may=False)),
        ("metadata of all, and what one may", lambda client: metadata(client, everything=True, may=True)),
        ("metadata of one, and what one may", lambda client: metadata(client, everything=False, may=True)),
        ("the cluster", lambda client: described(client, may=False)),
        ("the cluster, and what one may", lambda client: described(client, may=True)),
        ("quorum", quorum),
        ("disks, old", lambda client: disks(client, 1)),
        ("disks", lambda client: disks(client, 4)),
        ("users", users),
        ("rules", rules),
        ("a new rule", new_rule),
        ("a rule less", no_rule),
        ("quotas", quotas),
        ("a new quota", new_quota),
        ("groups", groups),
        ("transactions", transactions),
        ("a new topic", new_topic),
        ("more partitions", lambda client: more_partitions(client, existing)),
        ("more partitions of nothing", lambda client: more_partitions(client, "nothing")),
        ("deleting nothing", lambda client: deleted(client, "nothing")),
        ("a broker's settings", lambda client: settings_of(client, OF_BROKER, "1", ["message.max.bytes"])),
        ("a topic's settings", lambda client: settings_of(client, OF_TOPIC, existing, ["retention.ms"])),
        (
            "a new setting of a broker",
            lambda client: altered(client, [(OF_BROKER, "1", [("message.max.bytes", "2000000", SET)])]),
        ),
        (
            "a new setting of a topic",
            lambda client: altered(client, [(OF_TOPIC, existing, [("retention.ms", "2000000", SET)])]),
        ),
    ]


async def test_rights_on_the_cluster_are_asked_for_alike(guarded: SandboxCluster) -> None:
    """Who has none, each of them, all, and all but one: the same is told and the same is refused."""
    name = f"rights-{uuid.uuid4().hex}"
    one_each = [[on_cluster(operation)] for operation in AclOperation if operation is not AclOperation.TWO_PHASE_COMMIT]
    denied = [
        [on_cluster(AclOperation.ALL), on_cluster(operation, AclPermission.DENY)]
        for operation in (AclOperation.DESCRIBE, AclOperation.ALTER, AclOperation.DESCRIBE_CONFIGS)
    ]
    async with both(guarded, "alice") as ((admin, alice), (twin_admin, twin_alice)):
        for one in (admin, twin_admin):
            await create_topic(one, name, 1, 1, {})
            await until_known(one, name)
        found = []
        try:
            for rules in [[], *one_each, *denied]:
                await set_rules((admin, twin_admin), rules)
                held = [f"{rule.permission} {rule.operation}" for rule in rules]
                found += [f"with {held} {one}" for one in await differences((alice, twin_alice), of_cluster(name))]
        finally:
            await set_rules((admin, twin_admin), [])
    assert not found, "\n".join(found)


# -- which refusal is told -----------------------------------------------------------------------------

Change = tuple[str, str | None, int]
Wanted = tuple[str, int, int, dict[str, str]]


async def settings_of(client: Client, kind: int, name: str, keys: Sequence[str] | None) -> Any:
    """(code, message, settings) of a resource."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None if keys is None else list(keys)
    )
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=False, include_documentation=False)
    answer = await (client.call(request) if kind != OF_BROKER or name != "1" else client.call(request, 1))
    return [
        (
            one.error_code,
            words(one.error_message),
            # Before 4.0 there are two more of topics, which have no effect.
            sorted(
                (config.name, config.value)
                for config in one.configs
                if kind != OF_TOPIC or config.name in TOPIC_DEFAULTS
            ),
        )
        for one in answer.results
    ]


async def altered(client: Client, resources: Sequence[tuple[int, str, Sequence[Change]]], dry: bool = True) -> Any:
    """(code, message) of each resource of a change of settings."""
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    request = IncrementalAlterConfigsRequest(
        resources=[
            resource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    resource.AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, value, operation in changes
                ],
            )
            for kind, name, changes in resources
        ],
        validate_only=dry,
    )
    answer = await client.call_controller(request)
    return sorted(
        (one.resource_type, one.resource_name, one.error_code, words(one.error_message)) for one in answer.responses
    )


async def created(client: Client, topics: Sequence[Wanted]) -> Any:
    """(name, code, message) of topics that are made, but not really."""
    topic = CreateTopicsRequest.CreatableTopic
    request = CreateTopicsRequest(
        topics=[
            topic(
                name=name,
                num_partitions=partitions,
                replication_factor=replicas,
                assignments=[],
                configs=[topic.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
            )
            for name, partitions, replicas, configs in topics
        ],
        timeout_ms=20_000,
        validate_only=True,
    )
    answer = await client.call_controller(request)
    return sorted((one.name, one.error_code, words(one.error_message)) for one in answer.topics)


OF_TOPICS = (
    ("retention.ms", "100000"),
    ("retention.ms", "-7"),
    ("retention.ms", "soon"),
    ("retention.ms", None),
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "shred"),
    ("max.message.bytes", "2000"),
    ("max.message.bytes", "-1"),
    ("no.such.setting", "1"),
)
OF_BROKERS_WRONG = (
    ("message.max.bytes", "-1"),
    ("message.max.bytes", "much"),
    ("min.insync.replicas", "0"),
)
OF_BROKERS = (
    *OF_BROKERS_WRONG,
    ("message.max.bytes", "2000000"),
    ("min.insync.replicas", "2"),
    ("log.cleaner.backoff.ms", "20000"),
    ("num.partitions", "3"),
)


def some_changes(
    chance: random.Random, count: int, choices: Sequence[tuple[str, str | None]] = OF_TOPICS
) -> list[Change]:
    """Settings that are set, or not: known or not, valid or not.

    One of them at most is appended to: of several that are no lists a real broker tells any.
    """
    operations = [chance.choice([SET] * 5 + [DELETE, DELETE, APPEND, SUBTRACT])]
    operations += [chance.choice([SET, SET, SET, DELETE]) for _ in range(count - 1)]
    return [(*chance.choice(choices), operation) for operation in operations[:count]]


def with_one_fault(changes: Sequence[Change]) -> list[Change]:
    """The changes to the first value that a broker cannot have: of several, a real one tells any."""
    is_wrong = [change[:2] in OF_BROKERS_WRONG for change in changes]
    return [change for at, change in enumerate(changes) if not (is_wrong[at] and any(is_wrong[:at]))]


def a_change_of_settings(chance: random.Random, places: Sequence[str]) -> tuple[str, Ask]:
    """One resource or two, with one setting or more, of which several may be refused for several reasons."""
    resources = []
    for _ in range(chance.choice([1, 1, 1, 2])):
        kind, name = chance.choice(
            [(OF_TOPIC, place) for place in places] * 3
            + [(OF_BROKER, "1"), (OF_BROKER, "7"), (OF_BROKER, "x"), (OF_LOGGER, "x"), (OF_NOTHING, "x")]
        )
        of_what = OF_BROKERS if kind == OF_BROKER else OF_TOPICS
        changes = some_changes(chance, chance.choice([1, 1, 2, 3]), of_what)
        resources.append((kind, name, with_one_fault(changes) if kind == OF_BROKER else changes))
    dry = chance.random() < 0.5 or (OF_BROKER, "1") in {(kind, name) for kind, name, _ in resources}
    return f"change {resources}{' only looked at' * dry}", lambda client: altered(client, resources, dry)


def a_new_topic(chance: random.Random, places: Sequence[str]) -> tuple[str, Ask]:
    """One topic or two of the same name, with faults of every kind at once."""
    wanted: list[Wanted] = []
    for _ in range(chance.choice([1, 1, 1, 2])):
        name = chance.choice([*places, "", ".", "a b", "x" * 250])
        configs = {key: value for key, value, _ in some_changes(chance, chance.choice([0, 1, 2])) if value}
        wanted.append((name, chance.choice([1, 1, 1, 0, -1, -2]), chance.choice([1, 1, 1, 0, 2, -1, -2]), configs))
    return f"new {wanted}", lambda client: created(client, wanted)


def a_question_about_settings(chance: random.Random, places: Sequence[str]) -> tuple[str, Ask]:
    """Of a topic that is there, not there or not ours, and of what has no settings."""
    kind, name = chance.choice(
        [(OF_TOPIC, one) for one in [*places, "", "a b"]] + [(OF_BROKER, "x"), (OF_LOGGER, "x"), (OF_NOTHING, "x")]
    )
    keys = chance.choice([["retention.ms"], ["no.such.setting"], ["retention.ms", "max.message.bytes"], []])
    return f"settings {keys} of {kind} {name!r}", lambda client: settings_of(client, kind, name, keys)


async def test_of_several_faults_the_same_is_told(guarded: SandboxCluster, request: pytest.FixtureRequest) -> None:
    """Rights, topics that are not there, keys and values: which is told, of admin's requests and of alice's."""
    chance = random.Random(seed(20130401))
    mark = uuid.uuid4().hex
    places = [f"{name}-{mark}" for name in ("mine", "theirs", "mine-not-there", "theirs-not-there")]
    rights = (AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE_CONFIGS, AclOperation.CREATE)
    rules = [on_topic(place, operation) for place in (places[0], places[2]) for operation in rights]
    count = (MANY if is_full(request.config) else FEW) // 2
    async with both(guarded, "alice") as ((admin, alice), (twin_admin, twin_alice)):
        for one, place in itertools.product((admin, twin_admin), places[:2]):
            await create_topic(one, place, 1, 1, {})
            await until_known(one, place)
        await set_rules((admin, twin_admin), rules)
        found = []
        try:
            for pair in ((admin, twin_admin), (alice, twin_alice)):
                kinds = [a_change_of_settings] * 2 + [a_new_topic, a_question_about_settings]
                asks = [chance.choice(kinds)(chance, places) for _ in range(count)]
                found += await differences(pair, asks)
            for place in places[:2]:
                asks = [("in the end", lambda client, one=place: settings_of(client, OF_TOPIC, one, OWN))]
                found += await differences((admin, twin_admin), asks)
        finally:
            await set_rules((admin, twin_admin), [])
    assert not found, "\n".join(found)


# -- what a setting may be -----------------------------------------------------------------------------

OWN = ("retention.ms", "cleanup.policy", "max.message.bytes")
_EDGES = (-131_072, -3, -2, -1, 0, 1, 3, 4, 8, 9, 10, 13, 14, 17, 18, 22, 23, 1 << 20, 1 << 31, 1 << 63)
VALUES = (
    *sorted({str(edge + more) for edge in _EDGES for more in (-1, 0)}),
    *(
        "",
        " 5 ",
        "+5",
        "1.0",
        "0.5",
        "-0.1",
        "1.5",
        "1e3",
        "0x10",
        "007",
        "abc",
        "true",
        "TRUE",
        "yes",
        "false",
        "False",
    ),
    *("compact", "delete", "compact,delete", "compact, delete", "delete,delete", "Compact", "none"),
    *("CreateTime", "LogAppendTime", "createtime", "gzip", "GZIP", "uncompressed", "producer", "zstd"),
    *("*", "0:1", "0:1,1:2", "0:1, 1:2", "0-1", "0:1,*", "1:2:3"),
)
PAIRS = (
    {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"},
    {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "10"},
    {"local.retention.ms": "10", "retention.ms": "9"},
    {"local.retention.ms": "-1", "retention.ms": "9"},
    {"local.retention.bytes": "10", "retention.bytes": "9"},
    {"retention.ms": "soon", "min.insync.replicas": "0"},
    {"retention.ms": "5", "no.such.setting": "0"},
)


async def test_a_setting_may_be_the_same(guarded: SandboxCluster) -> None:
    """Each setting of a topic with values at every edge, pairs of which one limits the other, and several faults."""
    chance, names = random.Random(seed(20130501)), sorted(TOPIC_DEFAULTS)
    wanted = [{name: value} for name in (*names, "no.such.setting") for value in VALUES] + list(PAIRS)
    wanted += [{name: chance.choice(VALUES) for name in chance.sample(names, 3)} for _ in range(200)]
    found = []
    async with both(guarded, "admin") as ((admin, _), (twin, _)):
        for at in range(0, len(wanted), 500):
            part = wanted[at : at + 500]
            topics = [(f"new-{number:03}", 1, 1, configs) for number, configs in enumerate(part)]
            pairs = zip(await created(admin, topics), await created(twin, topics), part, strict=True)
            found += [f"{configs}: {real}, simulated {other}" for real, other, configs in pairs if real != other]
    assert not found, "\n".join(found)
