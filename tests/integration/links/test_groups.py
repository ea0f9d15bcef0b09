"""Consumer groups of a link are moved exactly, or not at all with every reason, and taken back as they were."""

from __future__ import annotations

import itertools

import pytest
from confluent_kafka import Producer, TopicPartition

from anabranch.groups.baseline import Coverage
from anabranch.groups.plan import GroupsMoved, GroupsPlan, GroupStep
from anabranch.groups.select import GroupSelection, NoSuchGroupError
from anabranch.kafka.groups import IllegalGroupNameError
from anabranch.model.link import ModePolicy
from anabranch.model.plans import PlanChangedError
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import ReasonKind
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition as Place
from anabranch.operations.groups.undo import NoSuchUndoError
from anabranch.sandbox import SandboxCluster
from qa import groups as engine
from qa.timeouts import TIMEOUT_S
from tests.integration.kafka.security import context_of
from tests.integration.links.groups import commit, committed, member, read_values, reader, store, value_of
from tests.integration.links.lab import Link, link
from tests.integration.links.topics import (
    TRANSACTIONS,
    create,
    delete_records,
    drop,
    end_transactions,
    fresh,
    numbered,
    produce,
)

pytestmark = pytest.mark.test

_numbers = itertools.count(1)


def a_group() -> str:
    """A name that no other test uses."""
    return f"mover-{next(_numbers)}"


def plan(made: Link, *groups: str, **selection: tuple[str, ...]) -> GroupsPlan:
    """What moving them means."""
    return engine.plan_sync(made.source, made.target, made.id, GroupSelection(groups, **selection))


def move(made: Link, *groups: str, **selection: tuple[str, ...]) -> GroupsMoved:
    """Look, then do exactly that."""
    return engine.sync(made.source, made.target, made.id, GroupSelection(groups, **selection))


def whys(found: GroupsPlan) -> set[ReasonKind]:
    """Every kind of reason in a plan."""
    return {refusal.why for group in found.groups for refusal in group.reasons}


def transactional(cluster: SandboxCluster, topic: str, name: str, batches: int) -> None:
    """Write transactions of three records each, every third of them aborted, so that offsets have gaps."""
    producer = Producer({**TRANSACTIONS, "bootstrap.servers": cluster.internal_bootstrap, "transactional.id": name})
    producer.init_transactions(TIMEOUT_S)
    for number in range(batches):
        producer.begin_transaction()
        for at in range(3):
            producer.produce(topic, f"{number}-{at}".encode(), partition=0)
        assert producer.flush(TIMEOUT_S) == 0  # or an abort would purge what was not sent yet
        producer.abort_transaction(TIMEOUT_S) if number % 3 == 2 else producer.commit_transaction(TIMEOUT_S)
    end_transactions(cluster, topic)


@pytest.mark.real
def test_a_group_goes_on_exactly_where_it_stood_with_its_metadata(old: SandboxCluster, new: SandboxCluster) -> None:
    """Planned, moved, in sync, and undone to nothing, on a mapped lane whose offsets are others."""
    topic, group = create(old, fresh("moved"), 2), a_group()
    renamed = f"old.{topic}"
    transactional(old, topic, f"t-{topic}", 7)
    produce(old, topic, numbered(20, partition=1))
    places = {(topic, 0): (8, "half é way"), (topic, 1): (15, "")}
    commit(old, group, places)
    there = [(renamed, 0), (renamed, 1)]
    with link(old, new, topic, naming=PluginSpec("prefix"), mode=ModePolicy.MAPPED) as made, made.running():
        made.await_position(topic, 28)
        made.await_position(topic, 20, partition=1)
        seen = plan(made, group)
        (one,) = seen.groups
        assert one.step is GroupStep.MOVE, one.reasons
        assert committed(new, group, there) == dict.fromkeys(there)
        done = move(made, group)
        assert done.ok and done.hash == seen.hash
        stands = committed(new, group, there)
        assert stands[(renamed, 0)] == (6, "half é way")
        assert stands[(renamed, 1)] == (15, "")
        assert read_values(new, group, (renamed, 0), 3) == read_values(old, group, (topic, 0), 3)
        assert [step.step for step in plan(made, group).groups] == [GroupStep.IN_SYNC]
        again = move(made, group)
        assert again.undo == "" and again.ok
        taken = engine.undo(made.target, done.undo)
        assert [(one.done, one.delete_group) for one in taken.groups] == [(True, True)]
        assert committed(new, group, there) == dict.fromkeys(there)
        refused = engine.undo(made.target, done.undo)
        assert [one.refusals[0].why for one in refused.groups] == [ReasonKind.UNDONE]


def test_undo_gives_back_exactly_what_stood(old: SandboxCluster, new: SandboxCluster) -> None:
    """Offsets and metadata as before, nothing where nothing was; a group that has moved since is left alone."""
    topic, group = create(old, fresh("undone"), 2), a_group()
    for partition in (0, 1):
        produce(old, topic, numbered(20, partition=partition))
    commit(old, group, {(topic, 0): (10, "new"), (topic, 1): (11, "other")})
    places = [(topic, 0), (topic, 1)]
    with link(old, new, topic) as made, made.running():
        for partition in (0, 1):
            made.await_position(topic, 20, partition=partition)
        commit(new, group, {(topic, 0): (3, 'früher {"a": "b"}')})
        before = committed(new, group, places)
        done = move(made, group)
        assert committed(new, group, places) == {(topic, 0): (10, "new"), (topic, 1): (11, "other")}
        commit(new, group, {(topic, 1): (12, "")})
        refused = engine.undo(made.target, done.undo)
        assert not refused.ok and not refused.groups[0].done
        assert committed(new, group, places)[(topic, 0)] == (10, "new")
        commit(new, group, {(topic, 1): (11, "other")})
        assert engine.undo(made.target, done.undo).groups[0].done
        assert committed(new, group, places) == before
        with pytest.raises(NoSuchUndoError):
            engine.plan_undo(made.target, "20130101-000000-ffff")


def test_every_reason_to_refuse_is_found_at_once(old: SandboxCluster, new: SandboxCluster) -> None:
    """Active on the target, backwards, not copied, not in the link, metadata too large; and nothing is touched."""
    topic, other, group = create(old, fresh("reasons"), 2), create(old, fresh("outside")), a_group()
    for partition in (0, 1):
        produce(old, topic, numbered(20, partition=partition))
    produce(old, other, numbered(5))
    with link(old, new, topic) as made, made.running():
        for partition in (0, 1):
            made.await_position(topic, 20, partition=partition)
        commit(old, group, {(topic, 0): (5, ""), (topic, 1): (30, ""), (other, 0): (2, "")})
        commit(new, group, {(topic, 0): (9, "")})
        with member(new, group, topic):
            assert whys(plan(made, group)) == {
                ReasonKind.ACTIVE,
                ReasonKind.BACKWARDS,
                ReasonKind.NOT_COPIED,
                ReasonKind.NOT_IN_LINK,
            }
            done = move(made, group)
        assert not done.ok and done.undo == ""
        assert committed(new, group, [(topic, 0), (topic, 1)]) == {(topic, 0): (9, ""), (topic, 1): None}
        commit(old, group, {(topic, 0): (9, ""), (topic, 1): (20, "")})
        assert whys(plan(made, group)) == {ReasonKind.NOT_IN_LINK}
        assert move(made, group, topics=(topic,)).ok
        with member(old, group, topic):
            assert ReasonKind.MOVING in whys(plan(made, group))
        with pytest.raises(NoSuchGroupError):
            plan(made, "nobody-.*")


def test_a_plan_is_refused_where_the_world_has_moved(old: SandboxCluster, new: SandboxCluster) -> None:
    """What was shown is what is done: a commit on either side in between makes it another plan."""
    topic, group = create(old, fresh("world")), a_group()
    produce(old, topic, numbered(20))
    commit(old, group, {(topic, 0): (5, "")})
    chosen = GroupSelection((group,))
    with link(old, new, topic) as made, made.running():
        made.await_position(topic, 20)
        seen = plan(made, group)
        commit(old, group, {(topic, 0): (6, "")})
        with pytest.raises(PlanChangedError):
            engine.sync(made.source, made.target, made.id, chosen, seen)
        seen = plan(made, group)
        commit(new, group, {(topic, 0): (2, "")})
        with pytest.raises(PlanChangedError):
            engine.sync(made.source, made.target, made.id, chosen, seen)
        assert committed(new, group, [(topic, 0)]) == {(topic, 0): (2, "")}


@pytest.mark.real
def test_marks_tell_which_groups_lie_before_the_links_start(old: SandboxCluster, new: SandboxCluster) -> None:
    """A link that starts in the middle would lose records of a group that stands before it, and says so in time."""
    topic, early, late = create(old, fresh("marked")), a_group(), a_group()
    produce(old, topic, numbered(20))
    commit(old, early, {(topic, 0): (5, "")})
    commit(old, late, {(topic, 0): (15, "")})
    start = StartPosition(StartKind.OFFSETS, offsets={Place(topic, 0): 10})
    with link(old, new, topic, start=start) as made, made.running():
        made.await_position(topic, 20)
        marked = engine.baseline(made.source, made.target, made.id, GroupSelection((early, late)))
        assert {one.group: one.coverage for one in marked.baselines} == {early: Coverage.BEFORE, late: Coverage.COVERED}
        assert whys(plan(made, early)) == {ReasonKind.BEFORE_START}
        assert move(made, late).ok
        assert read_values(new, late, (topic, 0), 5) == read_values(old, late, (topic, 0), 5)
        delete_records(old, topic, 10)
        assert plan(made, early).groups[0].step is GroupStep.MOVE
        rows = {row.group: row for row in engine.list_groups(made.source, made.target, made.id).groups}
        assert (rows[early].baseline, rows[late].in_link) == (Coverage.BEFORE, 1)
        assert engine.show(made.source, made.target, made.id, late).plan.step is GroupStep.IN_SYNC


def test_commits_of_transactions_are_moved_when_they_are_decided(old: SandboxCluster, new: SandboxCluster) -> None:
    """A commit in an open transaction makes its group a moving one; afterwards it is moved as any other."""
    topic, group = create(old, fresh("decided")), a_group()
    produce(old, topic, numbered(20))
    commit(old, group, {(topic, 0): (3, "")})
    consumer = reader(old, group)
    settings = {"transactional.id": f"t-{group}", "transaction.timeout.ms": 600_000}
    producer = Producer({"bootstrap.servers": old.internal_bootstrap, **settings})
    producer.init_transactions(TIMEOUT_S)
    with link(old, new, topic) as made, made.running():
        made.await_position(topic, 20)
        producer.begin_transaction()
        positions = [TopicPartition(topic, 0, 12)]
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), TIMEOUT_S)
        assert ReasonKind.MOVING in whys(plan(made, group))
        producer.commit_transaction(TIMEOUT_S)
        # The coordinator of transactions answers before that of the group knows; this one waits for it.
        assert committed(old, group, [(topic, 0)]) == {(topic, 0): (12, "")}
        assert move(made, group).ok
        assert committed(new, group, [(topic, 0)]) == {(topic, 0): (12, "")}
    consumer.close()
    drop(old, topic)


@pytest.mark.real
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_of_both_protocols_go_on_where_they_stood(
    old: SandboxCluster, new: SandboxCluster, protocol: str
) -> None:
    """Members of the old cluster leave, and members of the new one read what was left and nothing else."""
    topic, group = create(old, fresh(f"protocol-{protocol}")), a_group()
    produce(old, topic, numbered(20))
    config = {"group.protocol": protocol}
    with link(old, new, topic) as made, made.running():
        made.await_position(topic, 20)
        with member(old, group, topic, **config) as consumer:
            store(consumer, [TopicPartition(topic, 0, 13, metadata="left")])
            assert ReasonKind.MOVING in whys(plan(made, group))
        done = move(made, group)
        assert done.ok, done.groups[0].reasons
        with member(new, group, topic, **config) as consumer:
            assert [value_of(consumer.poll(TIMEOUT_S)) for _ in range(7)] == [f"record {n}" for n in range(13, 20)]
            assert whys(plan(made, group)) == {ReasonKind.ACTIVE}
            refused = engine.undo(made.target, done.undo)
            assert not refused.ok
        assert engine.undo(made.target, done.undo).ok
        assert committed(new, group, [(topic, 0)]) == {(topic, 0): None}


def test_a_name_that_brokers_take_for_no_groups_is_refused_in_words(new: SandboxCluster) -> None:
    """The empty one is refused; nothing was done, and the hint says what to name."""
    topic = create(new, fresh("nameless"))
    with pytest.raises(IllegalGroupNameError, match="takes '' for no name of a group") as caught:
        engine.create(context_of(new, "admin"), "", [topic], StartPosition())
    assert caught.value.exit_code == 3
