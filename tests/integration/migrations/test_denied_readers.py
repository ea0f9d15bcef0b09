"""Consumers that never stop are denied reading in their groups as they are switched (readers deny)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, KafkaException

from anabranch.kafka.acls import create_acls, describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.migration.fences import READING
from anabranch.migration.run import WaveRunState
from anabranch.migration.spec import FenceKind, Readers
from anabranch.migration.standing import WaveState, WaveVerb
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.operations.migrations.fencing import denials
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.blocking import on
from qa.brokers import STEADY
from qa.service import until
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.kafka.security import context_of
from tests.integration.links.groups import committed
from tests.integration.links.topics import newest_offset, numbered, produce
from tests.integration.migrations.conftest import Clusters
from tests.integration.migrations.members import reading_on
from tests.integration.migrations.test_source_lost import LostStand, stand
from tests.simulated import Simulated

pytestmark = pytest.mark.test

READ_UP_TO = 30
"""What a member has done with lies before this offset."""


@pytest.fixture(scope="module", params=["simulated", pytest.param("real", marks=pytest.mark.real)])
def fenced(request: pytest.FixtureRequest) -> Iterator[Clusters]:
    """Both with access rules; the shop is a user of each."""
    users = {"shop": "shop-secret", "till": "till-secret"}
    specs = [
        ClusterSpec(name, security="PLAIN", authorizer=True, overrides=STEADY, users=users) for name in ("old", "new")
    ]
    with ExitStack() as stack:
        if request.param == "real":
            old, new = (stack.enter_context(one) for one in start_clusters(specs))
            yield old, new
        else:
            yield cast(Clusters, tuple(stack.enter_context(Simulated(spec)) for spec in specs))


@contextmanager
def denying(pair: Clusters, store: str, fences: tuple[FenceKind, ...]) -> Iterator[LostStand]:
    """A wave whose readers are denied, by users of whom rules allow it."""
    with stand(pair, store, fences=fences) as stood:
        wave = replace(stood.wave, readers=Readers.DENY)
        limits = replace(stood.migration.limits, longest_pause_ms=round(LONG_TIMEOUT_S * 1000))
        migration = replace(stood.migration, waves=(wave,), limits=limits)
        (topic,), (group,) = wave.topics, wave.groups
        for cluster in pair:
            allowed(cluster, [(ResourceType.TOPIC, topic), (ResourceType.GROUP, group)], wave.principals)
        yield LostStand(stood.old, stood.new, migration, stood.store, stood.stack, stood.runs)


def allowed(cluster: SandboxCluster, names: list[tuple[ResourceType, str]], principals: tuple[str, ...]) -> None:
    """They may read, and the cluster tells so."""
    plain, literal, allow = AclOperation.READ, PatternType.LITERAL, AclPermission.ALLOW
    rules = {Acl(kind, name, literal, who, "*", plain, allow) for kind, name in names for who in principals}

    async def go(client: Cluster) -> None:
        await create_acls(client, rules)

    on(context_of(cluster), go)
    until(lambda: rules <= rules_of(cluster))


def rules_of(cluster: SandboxCluster) -> set[Acl]:
    """All that it has."""
    return set(on(context_of(cluster), describe_acls))


@dataclass
class Member:
    """What a consumer has read, and what went wrong for it: it never stops by itself."""

    read: list[bytes] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


@contextmanager
def member(cluster: SandboxCluster, made: LostStand, user: str) -> Iterator[Member]:
    """It reads on and commits each record but for the last ones, whatever it is told."""
    found = Member()
    quick = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 500, "log_level": 0}

    def take(consumer: Consumer, message: Any) -> None:
        if message.error() is not None:
            found.wrong.append(message.error().name())
            return
        found.read.append(message.value())
        if message.offset() < READ_UP_TO:
            try:
                consumer.commit(message, asynchronous=False)
            except KafkaException as error:
                found.wrong.append(error.args[0].name())

    with reading_on(made, f"{user}-7", {**cluster.client_config(user), **quick}, take):
        yield found


@pytest.mark.parametrize("fences", [(FenceKind.OBSERVE,), (FenceKind.ACL,)])
def test_a_consumer_that_never_stops_is_denied_and_let_in_again_by_a_reverse(
    fenced: Clusters, store: str, fences: tuple[FenceKind, ...]
) -> None:
    """Its group goes on at exactly what it has committed, there and back; a rule of somebody else's stays."""
    with denying(fenced, store, fences) as made:
        (topic,), (group,) = made.wave.topics, made.wave.groups
        ours, theirs = sorted(denials(made.wave, [group], (), "", READING), key=lambda rule: rule.principal)
        on(context_of(made.old), lambda client: create_acls(client, [theirs]))
        until(lambda: theirs in rules_of(made.old))
        user = ours.principal.removeprefix("User:")
        places = [(topic, 0), (topic, 1)]
        done = {(topic, 0): (READ_UP_TO, ""), (topic, 1): (10, "")}
        with member(made.old, made, user) as reader:
            until(lambda: committed(made.old, group, places) == done)
            run = made.ended(WaveVerb.SWITCH)
            assert (run.state, run.why) == (WaveRunState.DONE, "")
            assert {theirs, ours} <= rules_of(made.old)
            assert committed(made.new, group, places) == committed(made.old, group, places) == done
            until(lambda: "GROUP_AUTHORIZATION_FAILED" in reader.wrong)
            before = len(reader.read)
            produce(made.new, topic, numbered(5, first=700))
            made.link(made.leg(1).link).await_position(topic, newest_offset(made.new, topic))
            assert len(reader.read) == before, "it reads on where it was denied it"
            back = made.ended(WaveVerb.REVERSE)
            assert (back.state, back.why) == (WaveRunState.DONE, "")
            rules = rules_of(made.old)
            assert theirs in rules and ours not in rules
            assert {ours, theirs} <= rules_of(made.new), "so that no member goes on there"
            produce(made.old, topic, numbered(5, first=900))
            until(lambda: b"904" in b" ".join(reader.read[before:]))
        again = made.ended(WaveVerb.SWITCH)
        assert (again.state, again.why) == (WaveRunState.DONE, "")
        assert not {ours, theirs} & rules_of(made.new)


def test_one_that_cannot_be_denied_turns_the_switch_back_and_lets_the_others_in(fenced: Clusters, store: str) -> None:
    """A super user reads on: it is named, and no rule of ours is left."""
    with denying(fenced, store, (FenceKind.OBSERVE,)) as made:
        (topic,), (group,) = made.wave.topics, made.wave.groups
        before = rules_of(made.old)
        with member(made.old, made, "shop") as reader, member(made.old, made, "admin") as other:

            def reads(*members: Member, seen: int = 0) -> bool:
                """Whether each has read more than that by now; another record for whoever has which partition."""
                for at in (0, 1):
                    produce(made.old, topic, numbered(1, partition=at))
                return all(len(one.read) > seen for one in members)

            until(lambda: reads(reader, other))
            run = made.carry_out(made.switch(20_000))
            assert run.state is WaveRunState.CANCELLED
            assert run.why.startswith("it would hold applications up for longer than 20 s: wait until nobody reads in")
            assert "admin-7 at " in run.why
            assert (made.stands.state, rules_of(made.old)) == (WaveState.COPYING, before)
            assert committed(made.new, group, [(topic, 0)]) == {(topic, 0): None}
            assert "GROUP_AUTHORIZATION_FAILED" in reader.wrong
            seen = len(reader.read)
            until(lambda: reads(reader, seen=seen))
