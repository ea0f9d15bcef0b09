"""What is there before a wave's engine is killed: logs, groups, queries, access rules, a quota and a route table."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Producer

from anabranch.config.routes_file import table_fields, table_of
from anabranch.kafka.acls import create_acls, describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.quotas import alter_quotas, describe_quotas
from anabranch.migration.access.values import QuotaKey, quota_values
from anabranch.migration.spec import (
    AccessCarryOver,
    CopyRules,
    FenceKind,
    Hooks,
    JobKind,
    Limits,
    Migration,
    Readers,
    StreamJob,
    Wave,
    WaveOrder,
)
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.clock import now_ms
from anabranch.model.link import ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.model.quotas import PRODUCER_BYTE_RATE, USER, quota_entity
from anabranch.routes.table import Code, Destination, RouteTable
from anabranch.sandbox import SandboxCluster
from anabranch.store.database import open_database
from anabranch.store.routes import RouteVersions
from qa.blocking import on
from qa.brokers import await_markers
from qa.timeouts import TIMEOUT_S
from tests.integration.kafka.security import context_of
from tests.integration.kills.stand import Helper, KillStand, partitions_of
from tests.integration.links.groups import commit
from tests.integration.links.topics import TRANSACTIONS, create
from tests.unit.operations.checkpoints.world import copy, settle

PAID = (b"paid 1", b"paid 2", b"paid 3")
"""A transaction at the beginning of each log, whose marker has no copy: so positions differ on both clusters."""
HERE = {0: 8, 1: 9, 2: 10}
"""Where the queries are in each partition of ``flights``."""
GROUPS = ("shop", "audit")
READ = {"shop": 12, "audit": 5}
"""What the groups have committed of each partition."""
RATE = 4096.0
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two clusters with access rules, and where engines and their links find them."""

    old: SandboxCluster
    new: SandboxCluster
    environment: dict[str, str]


@contextmanager
def scene(pair: Pair, store: str, order: WaveOrder = WaveOrder.TOGETHER) -> Iterator[KillStand]:
    """A wave that has all that a wave can have; nothing of it is started."""
    name = f"mv{next(_numbers)}"
    with tempfile.TemporaryDirectory(prefix="kills-") as made:
        directory = Path(made)
        contexts = directory / "contexts.yaml"
        entries = {"old": pair.old.context(), "new": pair.new.context()}
        contexts.write_text(yaml.safe_dump({"version": 1, "contexts": entries}), encoding="utf-8")
        helper = Helper(directory, pair.environment)
        migration = migration_of(name, directory, order)
        stand = KillStand(pair.old, pair.new, store, directory, contexts, helper, migration, pair.environment)
        try:
            fill(stand)
            yield stand
        finally:
            helper.close()


def migration_of(name: str, directory: Path, order: WaveOrder) -> Migration:
    """Its file."""
    jobs = (
        StreamJob("sums", JobKind.SPARK, f"{directory}/sums"),
        StreamJob("totals", JobKind.SPARK, f"{directory}/totals", f"{directory}/totals-new"),
    )
    wave = Wave(
        "all",
        (f"{name}.flights", f"{name}.paid"),
        tuple(f"{name}-{group}" for group in GROUPS),
        jobs,
        codes=(name,),
        order=order,
        fences=(FenceKind.ROUTES, FenceKind.ACL, FenceKind.HOOK),
        hooks=Hooks("fence", "release"),
        readers=Readers.WAIT if order is WaveOrder.PRODUCERS_FIRST else Readers.DENY,
    )
    copying = CopyRules(PluginSpec("prefix"), mode=ModePolicy.MAPPED)
    limits = Limits(longest_pause_ms=3_600_000, quiet_ms=100)
    access = AccessCarryOver(True, quotas=True)
    return Migration(name, "old", "new", (wave,), copy=copying, limits=limits, access=access)


def fill(stand: KillStand) -> None:
    """Make it all; the directory has the queries' checkpoints."""
    old, wave = stand.old, stand.wave
    for topic in wave.topics:
        create(old, topic, partitions_of(topic))
        for partition in range(partitions_of(topic)):
            _pay(stand, topic, partition)
    stand.write(old, 30)
    for group in wave.groups:
        offset = READ[group.rpartition("-")[2]]
        commit(old, group, {(one, at): (offset, "noted") for one in wave.topics for at in range(partitions_of(one))})
    flights = wave.topics[0]
    for job in wave.jobs:
        about(copy("rocksdb", Path(job.checkpoint)), flights)
    changed(old, rules_of(stand))
    on(context_of(old), lambda client: _limit(client, rate_of(stand)))
    route(stand)


def _pay(stand: KillStand, topic: str, partition: int) -> None:
    address = {"bootstrap.servers": stand.old.internal_bootstrap}
    writer = Producer({**TRANSACTIONS, **address, "transactional.id": f"{topic}-{partition}"})
    writer.init_transactions(TIMEOUT_S)
    writer.begin_transaction()
    for value in PAID:
        writer.produce(topic, value, partition=partition)
    writer.commit_transaction(TIMEOUT_S)
    await_markers(address, [(topic, partition)])
    stand.written.add(topic, partition, PAID)


def about(place: Path, topic: str) -> None:
    """Have a golden checkpoint be about a topic, and at ``HERE``."""
    for path in (*place.glob("offsets/[0-9]"), *place.glob("sources/0/[0-9]")):
        lines = path.read_text().splitlines()
        at = {str(number): offset for number, offset in HERE.items()}
        if path.parent.name == "offsets":
            lines[-1] = json.dumps({topic: at}, separators=(",", ":"))
        else:
            lines[-1] = lines[-1].replace('"flights"', json.dumps(topic))
        path.write_text("\n".join(lines))
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    settle(place)


# -- access rules and quotas -----------------------------------------------------------------------------------


def alice(stand: KillStand) -> str:
    """Whose producers write to the topics."""
    return f"{stand.migration.name}-alice"


def rules_of(stand: KillStand) -> tuple[Acl, ...]:
    """The source's: alice may write and read; bob may, too, and somebody has denied it to him before."""
    wave = stand.wave
    return (
        *(_rule(topic, AclOperation.WRITE, alice(stand)) for topic in wave.topics),
        *(_rule(topic, AclOperation.READ, alice(stand)) for topic in wave.topics),
        *(_rule(group, AclOperation.READ, alice(stand), ResourceType.GROUP) for group in wave.groups),
        _rule(wave.topics[0], AclOperation.WRITE, "bob"),
        foreign_denial(stand),
    )


def foreign_denial(stand: KillStand) -> Acl:
    """Somebody else's, which looks as those of a fence do."""
    return _rule(stand.wave.topics[0], AclOperation.WRITE, "bob", permission=AclPermission.DENY)


def fence_of(stand: KillStand, number: int) -> set[Acl]:
    """What the fences of a leg deny, on the cluster that is left."""
    topics = list(stand.leg(number).topics)
    groups = stand.wave.groups if stand.wave.readers is Readers.DENY else ()
    denied = AclPermission.DENY
    return {
        *(_rule(group, AclOperation.READ, alice(stand), ResourceType.GROUP, denied) for group in groups),
        *(_rule(topic, AclOperation.WRITE, alice(stand), permission=denied) for topic in topics),
        _rule(topics[0], AclOperation.WRITE, "bob", permission=denied),
    }


def _rule(
    name: str,
    operation: AclOperation,
    user: str,
    kind: ResourceType = ResourceType.TOPIC,
    permission: AclPermission = AclPermission.ALLOW,
) -> Acl:
    return Acl(kind, name, PatternType.LITERAL, f"User:{user}", "*", operation, permission)


def rate_of(stand: KillStand) -> QuotaKey:
    """Alice's rate of bytes."""
    return QuotaKey(quota_entity({USER: alice(stand)}), PRODUCER_BYTE_RATE)


async def _limit(client: Cluster, key: QuotaKey) -> None:
    await alter_quotas(client, {key.entity: {key.name: RATE}})
    async with asyncio.timeout(TIMEOUT_S):
        while quota_values(await describe_quotas(client)).get(key) != RATE:
            await asyncio.sleep(0.02)


def changed(cluster: SandboxCluster, add: tuple[Acl, ...]) -> None:
    """Add rules, and return when the cluster tells them."""

    async def go(client: Cluster) -> None:
        await create_acls(client, add)
        async with asyncio.timeout(TIMEOUT_S):
            while not {*add} <= set(await describe_acls(client)):
                await asyncio.sleep(0.02)

    on(context_of(cluster), go)


# -- routes ----------------------------------------------------------------------------------------------------


def table_in(stand: KillStand) -> tuple[RouteTable, int]:
    """The newest table of its store, and its version."""
    database = open_database(stand.store)
    try:
        versions = RouteVersions(database)
        number = versions.newest_number()
        if not number:
            return RouteTable(), 0
        fields: Any = versions.get(number).table
        return table_of(fields, "the store"), number
    finally:
        database.close()


def route(stand: KillStand) -> None:
    """Have its code lead to the source."""
    table, base = table_in(stand)
    codes = {**table.codes, stand.migration.name: Code(stand.migration.name, Destination("old"))}
    database = open_database(stand.store)
    try:
        made = RouteTable(codes, table.rules, table.clusters)
        RouteVersions(database).publish(table_fields(made), base, "mei", "a test", now_ms())
    finally:
        database.close()
