"""A wave is switched without its source, which was killed, and reconciled when it is back on the same data."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import cast

import pytest

from anabranch.groups.select import GroupSelection
from anabranch.kafka.acls import create_acls, describe_acls
from anabranch.kafka.ends import ends
from anabranch.kafka.partitions import empty_transaction, transactional_producer_id
from anabranch.kafka.security import open_cluster
from anabranch.kafka.settling import until_led
from anabranch.migration.ends import End
from anabranch.migration.inherited import inherited
from anabranch.migration.journal import run_fields, run_of
from anabranch.migration.kept import StoredRun
from anabranch.migration.lost import LostState, lanes_of
from anabranch.migration.options import PLAIN, TailChoice, UnknownGroups, WaveOptions
from anabranch.migration.run import WaveRun, WaveRunState, begun, lost_meanwhile
from anabranch.migration.spec import CopyRules, FenceKind, Limits, Migration, Wave
from anabranch.migration.standing import WaveStanding, WaveState, WaveVerb, standing
from anabranch.migration.steps import StepKind
from anabranch.migration.wave_steps import WaveStateError, steps_for
from anabranch.model.acls import Acl
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneState
from anabranch.model.link import ModePolicy, UnknownLinkError
from anabranch.model.topics import TopicPartition
from anabranch.operations.migrations import waves
from anabranch.operations.migrations.fencing import denials
from anabranch.sandbox import ClusterSpec, SandboxCluster
from anabranch.store.database import open_database
from anabranch.store.waves import StoredMigrations
from qa import groups as group_engine
from qa import links as engine
from qa.brokers import STEADY
from tests.integration.kafka.security import context_of
from tests.integration.links.groups import commit, committed
from tests.integration.links.test_migration_switch import DiedError, Stand, offsets, values
from tests.integration.links.topics import create, fresh, newest_offset, numbered, produce, transaction
from tests.integration.migrations.conftest import Clusters
from tests.simulated import Simulated

pytestmark = [pytest.mark.test, pytest.mark.usefixtures("quick")]


_numbers = itertools.count(1)


@dataclass
class LostStand(Stand):
    """The same, whose source may be killed, and begun again on its data."""

    @property
    def doomed(self) -> SandboxCluster:
        """The cluster that is killed."""
        return self.old

    def away(self) -> None:
        """SIGKILL, all of it."""
        for broker in self.doomed.brokers:
            broker.kill()

    def back(self) -> None:
        """The same brokers on the same data."""
        for broker in self.doomed.brokers:
            broker.start()
        self.doomed.wait_ready()

    @property
    def stands(self) -> WaveStanding:
        """Where the wave stands by its runs."""
        kept = self.store.runs_of(self.migration.name)
        return standing(self.migration, self.wave, [run_of(one.journal) for one in kept])

    def verb(self, verb: WaveVerb, asked: WaveOptions = PLAIN) -> str:
        """Begin a verb's run where the wave stands; returns its id."""
        runs = [run_of(one.journal) for one in self.store.runs_of(self.migration.name)]
        results = inherited(self.stands.leg_of(verb, asked), verb, runs)
        run = f"run-{next(_numbers)}"
        made = waves.planned_run(self.stands, verb, run, now_ms(), results, asked)
        fields = run_fields(made)
        kept = made.id, made.migration, made.wave, True, made.state.value, 1, made.began_ms, "mei", "", fields
        self.store.begin(StoredRun(*kept))
        return run

    def by_dying(self, run: str) -> WaveRun:
        """Carry a run out by engines that die before each step is written down to be begun, and once it is done."""
        steps = len(run_of(self.store.run(run).journal).steps)
        for at, is_begun in itertools.product(range(steps), (True, False)):

            def dies(next_: WaveRun, at: int = at, is_begun: bool = is_begun) -> bool:
                return next_.is_begun is is_begun and next_.at == (at if is_begun else at + 1)

            with pytest.raises(DiedError):
                self.carry_out(run, dies)
        return self.carry_out(run)

    def left_alone(self, verb: WaveVerb, dies: Callable[[WaveRun], bool], *, within: bool = False) -> WaveRun:
        """A run whose engine dies, then the cluster; a person says so, and it is gone on with to its end.

        ``within``: it dies once it has written down that the next step is begun.
        """
        run = self.verb(verb)
        with pytest.raises(DiedError):
            self.carry_out(run, dies)
        self.away()
        kept = self.store.run(run)
        died = begun(run_of(kept.journal)) if within else run_of(kept.journal)
        end = End.SOURCE if self.doomed is self.old else End.TARGET
        journal = lost_meanwhile(died, f"mei: {self.migration.at(end)} is gone", end)
        self.store.keep(run, kept.revision, kept.state, run_fields(journal), is_open=True)
        return self.carry_out(run)

    def ended(self, verb: WaveVerb, asked: WaveOptions = PLAIN) -> WaveRun:
        """Carry a verb out to its end."""
        return self.carry_out(self.verb(verb, asked))


WRITERS = ("User:shop", "User:till")
LOST = WaveOptions(lost=UnknownGroups.REFUSE)
AGAIN = WaveOptions(lost=UnknownGroups.EARLIEST)


@contextmanager
def stand(
    pair: Clusters,
    store: str,
    mode: ModePolicy = ModePolicy.AUTO,
    fences: tuple[FenceKind, ...] = (FenceKind.OBSERVE,),
    partitions: int = 2,
) -> Iterator[LostStand]:
    """A wave of a topic of two partitions, or more of which nothing was written to, and a group, which is copied.

    No log ends with a marker: whether that was passed is known only while its lane runs.
    """
    old, new = pair
    topic = create(old, fresh("lost"), partitions)
    transaction(old, topic, [b"paid 1", b"paid 2"])
    produce(old, topic, numbered(40), batch=7)
    produce(old, topic, numbered(10, partition=1))
    group = f"lost-shop-{next(_numbers)}"
    commit(old, group, {(topic, 0): (12, "noted")})
    name = f"lost{next(_numbers)}"
    wave = Wave("orders", (topic,), (group,), principals=WRITERS, fences=fences)
    migration = Migration(name, "old", "new", (wave,), copy=CopyRules(mode=mode), limits=Limits(quiet_ms=200))
    database = open_database(store)
    with ExitStack() as stack:
        stack.callback(database.close)
        made = LostStand(old, new, migration, StoredMigrations(database), stack)
        stack.callback(made.back)
        assert made.ended(WaveVerb.START).state is WaveRunState.DONE
        yield made


def denied(made: LostStand) -> tuple[Acl, Acl]:
    """The rules of the wave's fence, of which a test makes the first one somebody else's: of each of its writers."""
    theirs, ours = sorted(denials(made.wave, made.wave.topics, (), ""), key=lambda rule: rule.principal)
    return theirs, ours


def mark(cluster: SandboxCluster, topic: str) -> None:
    """Write a marker without records, as a coordinator does for an application that has ended."""

    async def go() -> None:
        async with open_cluster(context_of(cluster, "admin")) as opened:
            await until_led(opened, [topic])
            at, name = TopicPartition(topic, 0), fresh("ended")
            before = (await ends(opened, [at]))[at]
            _, producer_id, epoch = await transactional_producer_id(opened, name)
            assert await empty_transaction(opened, name, producer_id, epoch, topic, 0) == 0
            while (await ends(opened, [at]))[at] == before:
                await asyncio.sleep(0.05)

    asyncio.run(go())


@pytest.mark.parametrize("mode", [ModePolicy.AUTO, pytest.param(ModePolicy.MAPPED, marks=pytest.mark.full)])
def test_nothing_was_lost_and_the_way_back_is_exact(clusters: Clusters, store: str, mode: ModePolicy) -> None:
    """What is written on the target while the source is away is there when it is back, and a reverse is exact."""
    with stand(clusters, store, mode) as made:
        (topic,), (group,) = made.wave.topics, made.wave.groups
        made.away()
        refused = made.ended(WaveVerb.SWITCH, LOST)
        assert refused.state is WaveRunState.CANCELLED and f"how far group {group} had read is not known" in refused.why
        assert made.stands.state is WaveState.COPYING
        assert not engine.show(context_of(made.new, "admin"), made.leg().link).wanted.paused
        run = made.ended(WaveVerb.SWITCH, AGAIN)
        assert (run.state, run.why) == (WaveRunState.DONE, "")
        assert committed(made.new, group, [(topic, 0), (topic, 1)]) == {(topic, 0): (0, ""), (topic, 1): (0, "")}
        assert made.stands.lost is not None and made.stands.lost.state is LostState.GONE
        assert any("all was copied that was seen" in doubt for doubt in made.stands.lost.doubts)
        for verb in (WaveVerb.REVERSE, WaveVerb.VERIFY, WaveVerb.CANCEL):
            with pytest.raises(WaveStateError, match="switched without old"):
                steps_for(made.stands, verb)
        produce(made.new, topic, numbered(20, first=500), batch=3)
        transaction(made.new, topic, [b"paid 3"])
        commit(made.new, group, {(topic, 0): (newest_offset(made.new, topic) - 9, "read on")})

        made.back()
        mark(made.old, topic)
        found = made.ended(WaveVerb.RECONCILE)
        assert (found.state, found.why, made.stands.lost) == (WaveRunState.DONE, "", None)
        back = made.link(made.leg(1).link)
        back.await_position(topic, newest_offset(made.new, topic))
        assert values(made.old, topic) == values(made.new, topic)
        assert len(set(values(made.old, topic))) == 63
        there = offsets(made.new, topic)
        (read,) = (digest for digest, at in there.items() if at == newest_offset(made.new, topic) - 9)
        assert made.ended(WaveVerb.REVERSE).state is WaveRunState.DONE
        assert committed(made.old, group, [(topic, 0)])[topic, 0] == (offsets(made.old, topic)[read], "read on")


def lost_with_tail(made: LostStand, carry_out: Callable[[str], WaveRun] | None = None) -> list[bytes]:
    """Records are written to the source that are not copied, the source is killed, and the wave switched without it.

    Returns the records of the tail, in order.
    """
    carry_out = carry_out or made.carry_out
    (topic,) = made.wave.topics
    before = set(values(made.old, topic))
    link = made.link(made.leg().link)
    link.await_position(topic, newest_offset(made.old, topic))
    engine.pause(link.target, link.id)
    link.await_(lambda status: all(lane.state is LaneState.PAUSED for lane in status.lanes))
    transaction(made.old, topic, [b"paid 300", b"paid 301"])
    produce(made.old, topic, numbered(9, first=300), batch=4)
    link.await_(lambda _: link.lane(topic).high_watermark >= newest_offset(made.old, topic))
    tail = [one for one in values(made.old, topic) if one not in before]
    assert len(tail) == 11
    made.away()
    run = carry_out(made.verb(WaveVerb.SWITCH, AGAIN))
    assert (run.state, run.why) == (WaveRunState.DONE, "")
    lanes = {lane.partition: lane for lane in lanes_of(run.result(StepKind.LOST_TAIL, "orders")["lanes"])}
    assert (lanes[f"{topic}-0"].copied, lanes[f"{topic}-0"].end) == (43, 55)
    assert lanes[f"{topic}-1"].tail == 0
    assert made.stands.lost is not None
    assert any(f"offsets 43 to 54 of {topic}-0 are possibly lost" in doubt for doubt in made.stands.lost.doubts)
    return tail


@pytest.mark.parametrize("mode", [pytest.param(ModePolicy.AUTO, marks=pytest.mark.full), ModePolicy.MAPPED])
def test_a_tail_is_named_kept_and_appended_behind_what_was_written_since(
    clusters: Clusters, store: str, mode: ModePolicy
) -> None:
    """Each of its records is on the target exactly once then; no way back is made, and the wave may be completed."""
    with stand(clusters, store, mode) as made:
        (topic,) = made.wave.topics
        tail = lost_with_tail(made)
        produce(made.new, topic, numbered(20, first=500), batch=3)
        since = values(made.new, topic)
        made.back()
        refused = made.ended(WaveVerb.RECONCILE)
        assert refused.state is WaveRunState.CANCELLED
        assert f"11 records (offsets 43 to 54) of {topic}-0" in refused.why
        kept = made.ended(WaveVerb.RECONCILE, WaveOptions(tail=TailChoice.KEEP))
        assert (kept.state, kept.why) == (WaveRunState.DONE, "")
        assert made.stands.lost is not None and made.stands.lost.state is LostState.KEPT
        with pytest.raises(WaveStateError, match="old has records that new has not"):
            steps_for(made.stands, WaveVerb.REVERSE)
        assert values(made.new, topic) == since
        done = made.ended(WaveVerb.RECONCILE, WaveOptions(tail=TailChoice.APPEND))
        assert (done.state, done.why) == (WaveRunState.DONE, "")
        assert values(made.new, topic) == [*since, *tail]
        assert made.stands.lost is not None and made.stands.lost.state is LostState.APPENDED
        again = made.ended(WaveVerb.RECONCILE)
        assert again.state is WaveRunState.CANCELLED
        assert f"new has records of others between the copies of {topic}-0" in again.why
        assert made.leg().link not in made.runs
        completed = made.ended(WaveVerb.COMPLETE)
        assert (completed.state, made.stands.state) == (WaveRunState.DONE, WaveState.COMPLETED)
        assert values(made.new, topic) == [*since, *tail]


def test_a_tail_that_was_appended_before_anybody_wrote_has_a_way_back(clusters: Clusters, store: str) -> None:
    """Both clusters hold the same in the same order then."""
    with stand(clusters, store) as made:
        (topic,) = made.wave.topics
        tail = lost_with_tail(made)
        copied = values(made.new, topic)
        made.back()
        done = made.ended(WaveVerb.RECONCILE, WaveOptions(tail=TailChoice.APPEND))
        assert (done.state, done.why) == (WaveRunState.DONE, "")
        assert values(made.new, topic) == [*copied, *tail] == values(made.old, topic)
        done = made.ended(WaveVerb.RECONCILE)
        assert (done.state, done.why, made.stands.lost) == (WaveRunState.DONE, "", None)
        produce(made.new, topic, numbered(10, first=700))
        made.link(made.leg(1).link).await_position(topic, newest_offset(made.new, topic))
        assert values(made.new, topic) == values(made.old, topic)


def test_a_source_that_answers_is_not_left_without_it(clusters: Clusters, store: str) -> None:
    """Refused at once, by the name of the server that answered, and nothing was done."""
    with stand(clusters, store) as made:
        run = made.ended(WaveVerb.SWITCH, LOST)
        assert run.state is WaveRunState.CANCELLED
        assert run.why == f"wave orders: old answers at {made.old.bootstrap}: it is not lost"
        assert not engine.show(context_of(made.new, "admin"), made.leg().link).wanted.paused


def test_a_group_goes_on_at_what_was_moved_before_and_that_is_said(clusters: Clusters, store: str) -> None:
    """What it has read since is read again; nothing has to be chosen."""
    with stand(clusters, store) as made:
        (topic,), (group,) = made.wave.topics, made.wave.groups
        link = made.link(made.leg().link)
        link.await_position(topic, newest_offset(made.old, topic))
        group_engine.sync(link.source, link.target, link.id, GroupSelection((group,)))
        commit(made.old, group, {(topic, 0): (30, "read on")})
        made.away()
        run = made.ended(WaveVerb.SWITCH, LOST)
        assert (run.state, run.why) == (WaveRunState.DONE, "")
        assert committed(made.new, group, [(topic, 0)]) == {(topic, 0): (12, "noted")}
        (doubt,) = run.result(StepKind.LOST_GROUPS, "refuse")["doubts"]
        assert doubt.startswith(f"group {group} goes on at what new has of it in 1 partition, as of 20")
        assert made.ended(WaveVerb.COMPLETE).state is WaveRunState.DONE  # which asks nothing of the source either
        with pytest.raises(UnknownLinkError):
            engine.show(context_of(made.new, "admin"), link.id)


@pytest.mark.full
def test_a_source_that_is_back_denies_writing_before_it_is_looked_at(store: str) -> None:
    """Refused, only those rules go that were made for it; once the way back is made they stay."""
    specs = [ClusterSpec(name, security="PLAIN", authorizer=True, overrides=STEADY) for name in ("old", "new")]
    with ExitStack() as stack:
        pair = cast(Clusters, tuple(stack.enter_context(Simulated(spec)) for spec in specs))
        made = stack.enter_context(stand(pair, store, fences=(FenceKind.ACL,)))
        (topic,) = made.wave.topics
        theirs, ours = denied(made)
        fence = {theirs, ours}
        changed_rules(made.old, create=[theirs])
        lost_with_tail(made)
        made.back()
        refused = made.ended(WaveVerb.RECONCILE)
        assert refused.state is WaveRunState.CANCELLED and "11 records" in refused.why
        assert changed_rules(made.old) & fence == {theirs}
        done = made.ended(WaveVerb.RECONCILE, WaveOptions(tail=TailChoice.APPEND))
        assert (done.state, done.why) == (WaveRunState.DONE, "")
        assert changed_rules(made.old) >= {theirs, ours}
        commit(made.new, made.wave.groups[0], {(topic, 0): (newest_offset(made.new, topic), "read on")})
        for verb in (WaveVerb.RECONCILE, WaveVerb.REVERSE):
            done = made.ended(verb)
            assert (done.state, done.why) == (WaveRunState.DONE, ""), verb
        assert changed_rules(made.old) & fence == {theirs}


def changed_rules(cluster: SandboxCluster, create: Iterable[Acl] = ()) -> set[Acl]:
    """The access rules of a cluster, once these are made."""

    async def go() -> set[Acl]:
        async with open_cluster(context_of(cluster, "admin")) as opened:
            await create_acls(opened, create)
            return set(await describe_acls(opened))

    return asyncio.run(go())


def test_engines_that_die_at_each_step_leave_what_the_next_one_ends(clusters: Clusters, store: str) -> None:
    """Twice a step, of the switch without the source and of the reconcile that appends its tail."""
    with stand(clusters, store) as made:
        (topic,) = made.wave.topics

        tail = lost_with_tail(made, made.by_dying)
        produce(made.new, topic, numbered(20, first=500), batch=3)
        since = values(made.new, topic)
        made.back()
        found = made.by_dying(made.verb(WaveVerb.RECONCILE, WaveOptions(tail=TailChoice.APPEND)))
        assert (found.state, found.why) == (WaveRunState.DONE, "")
        assert values(made.new, topic) == [*since, *tail]
