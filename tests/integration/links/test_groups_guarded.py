"""Moving groups where not all of it is allowed: all or nothing for each group, and nothing of the source's epochs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AclOperation, ResourceType

from anabranch.groups.plan import GroupStep
from anabranch.groups.select import GroupSelection
from anabranch.model.reasons import ReasonKind
from anabranch.model.start import StartPosition
from anabranch.operations.groups.create import GroupNotMadeError
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa import groups as engine
from qa.brokers import STEADY
from tests.integration.kafka.security import context_of
from tests.integration.links.groups import asked, commit, committed, read_values, reader, store
from tests.integration.links.guarded import grant
from tests.integration.links.lab import link
from tests.integration.links.topics import create, fresh, numbered, produce
from tests.simulated import clusters

pytestmark = pytest.mark.test


@pytest.fixture(scope="module")
def guarded(request: pytest.FixtureRequest) -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two clusters with the standard authorizer; ``mover`` may move groups, and READ topics that begin with open."""
    users = {"admin": "admin-secret", "mover": "m"}
    specs = [
        ClusterSpec(name, security="PLAIN", authorizer=True, users=users, overrides=STEADY)
        for name in ("guard-old", "guard-new")
    ]
    with clusters(request.config, *specs) as (here, there):
        group = [(ResourceType.GROUP, "g", one) for one in (AclOperation.DESCRIBE, AclOperation.READ)]
        grant(here, "mover", (group[0], (ResourceType.TOPIC, "open", AclOperation.DESCRIBE)))
        grant(here, "mover", ((ResourceType.TOPIC, "shut", AclOperation.DESCRIBE),))
        grant(
            there,
            "mover",
            (
                *group,
                (ResourceType.GROUP, "g", AclOperation.DELETE),
                (ResourceType.TOPIC, "open", AclOperation.READ),
                (ResourceType.TOPIC, "shut", AclOperation.DESCRIBE),
                *((ResourceType.TOPIC, "__anabranch_", getattr(AclOperation, n)) for n in ("CREATE", "READ", "WRITE")),
            ),
        )
        yield here, there


def test_a_group_moves_wholly_or_not_at_all(guarded: tuple[SandboxCluster, SandboxCluster]) -> None:
    """One topic may not be read there: the broker commits the others, and all of that is taken back."""
    here, there = guarded
    free, shut = create(here, fresh("open")), create(here, fresh("shut"))
    both, one = f"g-{free}-both", f"g-{free}-one"
    for topic in (free, shut):
        produce(here, topic, numbered(20))
    commit(here, both, {(free, 0): (7, "x"), (shut, 0): (8, "y")})
    commit(here, one, {(free, 0): (9, "z")})
    places = [(free, 0), (shut, 0)]
    source, target = context_of(here, "mover"), context_of(there, "mover")
    with link(here, there, [free, shut]) as made, made.running():
        for topic in (free, shut):
            made.await_position(topic, 20)
        commit(there, both, {(free, 0): (3, "before")})
        chosen = GroupSelection((both, one))
        seen = engine.plan_sync(source, target, made.id, chosen)
        assert {group.step for group in seen.groups} == {GroupStep.MOVE}, [group.reasons for group in seen.groups]
        done = engine.sync(source, target, made.id, chosen, seen)
        steps = {group.group: group.step for group in done.groups}
        assert steps == {both: GroupStep.FAILED, one: GroupStep.MOVED}
        failure = next(group.failure for group in done.groups if group.step is GroupStep.FAILED)
        assert "TOPIC_AUTHORIZATION_FAILED" in failure
        assert "it was undone" in failure
        assert not done.ok
        assert committed(there, both, places) == {(free, 0): (3, "before"), (shut, 0): None}
        assert committed(there, one, [(free, 0)]) == {(free, 0): (9, "z")}
        taken = engine.undo(target, done.undo)
        assert {group.record.group: group.done for group in taken.groups} == {both: False, one: True}
        assert committed(there, one, [(free, 0)]) == {(free, 0): None}
        with pytest.raises(GroupNotMadeError):
            engine.create(target, f"g-{free}-new", [free, shut], StartPosition())
        assert committed(there, f"g-{free}-new", places) == dict.fromkeys(places)


def test_a_source_that_is_fifty_epochs_ahead_leaves_no_epoch_behind(
    guarded: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """Commits carry the source's leader epoch; on the target none is written, and the reader goes on."""
    here, there = guarded
    topic = create(here, fresh("open"))
    group = f"g-{topic}"
    produce(here, topic, numbered(20))
    consumer = reader(here, group)
    store(consumer, [TopicPartition(topic, 0, 12, leader_epoch=50)])
    (before,) = asked(consumer, [TopicPartition(topic, 0)])
    assert before.leader_epoch == 50
    consumer.close()
    with link(here, there, topic) as made, made.running():
        made.await_position(topic, 20)
        assert engine.sync(made.source, made.target, made.id, GroupSelection((group,))).ok
        consumer = reader(there, group)
        (after,) = asked(consumer, [TopicPartition(topic, 0)])
        consumer.close()
        assert (after.offset, after.leader_epoch) == (12, None)
        assert read_values(there, group, (topic, 0), 8) == [f"record {n}" for n in range(12, 20)]


def test_a_group_begins_where_one_likes_and_only_where_there_was_nothing(
    guarded: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """Five kinds of positions; what the group has committed already forbids it; it is taken back by its id."""
    _, there = guarded
    topic = create(there, fresh("open"), 2)
    for partition in (0, 1):
        produce(there, topic, numbered(20, partition=partition, timestamp=1_600_000_000_000))
    target = context_of(there, "mover")
    places = [(topic, 0), (topic, 1)]
    commit(there, f"g-{topic}-other", {(topic, 0): (4, "")})
    cases = {
        "earliest": (0, 0),
        "latest": (20, 20),
        "1600000000010": (10, 10),
        f"group:g-{topic}-other": (4, 0),
        f"{topic}-0:7,{topic}-1:8": (7, 8),
    }
    for number, (text, wanted) in enumerate(cases.items()):
        group, start = f"g-{topic}-{number}", StartPosition.parse(text)
        assert engine.plan_create(target, group, [topic], start).ok
        assert committed(there, group, places) == dict.fromkeys(places)
        done = engine.create(target, group, [topic], start)
        assert committed(there, group, places) == {at: (o, "") for at, o in zip(places, wanted, strict=True)}
        again = engine.plan_create(target, group, [topic], start)
        assert {refusal.why for refusal in again.refusals} == {ReasonKind.EXISTS}
        with pytest.raises(GroupNotMadeError):
            engine.create(target, group, [topic], start)
        assert engine.undo(target, done.undo).ok
        assert committed(there, group, places) == dict.fromkeys(places)
