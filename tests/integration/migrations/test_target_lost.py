"""A wave is led back without its target, which was killed behind the switch, and reconciled when that is back."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from anabranch.copier.reporting.progress_writer import ProgressWriter
from anabranch.kafka.security import open_cluster
from anabranch.migration.ends import End
from anabranch.migration.journal import run_fields, run_of
from anabranch.migration.lost import LostState, lanes_of
from anabranch.migration.lost import doubts_of as lost_doubts
from anabranch.migration.options import TailChoice, WaveOptions
from anabranch.migration.run import WaveRun, WaveRunState, lost_meanwhile
from anabranch.migration.spec import FenceKind, WaveOrder
from anabranch.migration.standing import WaveState, WaveVerb
from anabranch.migration.steps import StepKind
from anabranch.migration.wave_steps import WaveStateError, steps_for
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneState
from anabranch.model.link import ModePolicy, UnknownLinkError
from anabranch.operations.migrations import linking
from anabranch.operations.migrations.fencing import denials
from anabranch.operations.migrations.waves import WaveRunPlan, plan, planned_run
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa import links as engine
from qa.brokers import STEADY
from tests.integration.kafka.security import context_of
from tests.integration.links.groups import commit, committed
from tests.integration.links.test_migration_switch import DiedError, offsets, until_same, values
from tests.integration.links.topics import newest_offset, numbered, produce
from tests.integration.migrations.conftest import Clusters
from tests.integration.migrations.test_source_lost import AGAIN, LOST, LostStand, changed_rules, denied, stand
from tests.simulated import Simulated

pytestmark = [pytest.mark.test, pytest.mark.usefixtures("quick")]


@dataclass
class TargetStand(LostStand):
    """The same, whose target may be killed; ``read`` is what members of its group hand over, ``idle`` never run."""

    read: dict[str, int] = field(default_factory=dict)
    idle: set[str] = field(default_factory=set)

    @property
    def doomed(self) -> SandboxCluster:
        """The cluster that is killed."""
        return self.new

    async def run_link(self, at: str, name: str) -> None:
        """Unless it is to stand idle."""
        if name not in self.idle:
            await super().run_link(at, name)

    async def handed(self, *_: object) -> dict[str, dict[str, int]]:
        """Up to where the group's members have read."""
        return {self.wave.groups[0]: dict(self.read)} if self.read else {}


def entry_at(made: TargetStand, group: str) -> bytes:
    """The record at which a group is on the target."""
    (topic,) = made.wave.topics
    at = committed(made.new, group, [(topic, 0)])[topic, 0]
    assert at is not None
    return next(digest for digest, offset in offsets(made.new, topic).items() if offset == at[0])


@contextmanager
def switched(
    pair: Clusters,
    store: str,
    mode: ModePolicy = ModePolicy.AUTO,
    fences: tuple[FenceKind, ...] = (FenceKind.OBSERVE,),
    idle: bool = False,
) -> Iterator[TargetStand]:
    """A wave that is on the target, whose way back runs, unless it is idle."""
    with stand(pair, store, mode, fences) as found:
        made = TargetStand(found.old, found.new, found.migration, found.store, found.stack, found.runs, found.links)
        if idle:
            made.idle.add(made.leg(1).link)
        made.stack.callback(made.back)
        assert made.ended(WaveVerb.SWITCH).state is WaveRunState.DONE
        yield made


def doubts_of(made: LostStand) -> str:
    """What is said of the wave until it is settled."""
    lost = made.stands.lost
    assert lost is not None and (lost.end, lost.state) == (End.TARGET, LostState.GONE)
    return "; ".join(lost.doubts)


def dry(made: TargetStand) -> WaveRunPlan:
    """What each step of a way back without the target would meet now."""

    async def go() -> WaveRunPlan:
        contexts = context_of(made.old, "admin"), context_of(made.new, "admin")
        async with open_cluster(contexts[0]) as source, open_cluster(contexts[1]) as target:
            begins = planned_run(made.stands, WaveVerb.REVERSE, "dry", now_ms(), {}, LOST)
            return await plan(source, target, made, made.stands, WaveVerb.REVERSE, begins)

    return asyncio.run(go())


@pytest.mark.full
@pytest.mark.parametrize("mode", [ModePolicy.AUTO, ModePolicy.MAPPED])
def test_nothing_was_lost_and_the_wave_goes_there_again(clusters: Clusters, store: str, mode: ModePolicy) -> None:
    """All that was written on the target is on the source, and what is written there later on the target again.

    A group goes on exactly where its members had read, on records that were written on either cluster.
    """
    with switched(clusters, store, mode) as made:
        (topic,), (group,) = made.wave.topics, made.wave.groups
        produce(made.new, topic, numbered(20, first=500), batch=3)
        until_same(made.old, made.new, topic)
        there = offsets(made.new, topic)
        made.read = {f"{topic}-0": newest_offset(made.new, topic) - 5, f"{topic}-1": 4}
        (read,) = (digest for digest, at in there.items() if at == made.read[f"{topic}-0"])
        refused = made.ended(WaveVerb.REVERSE, LOST)
        assert refused.state is WaveRunState.CANCELLED
        assert refused.why == f"wave orders: new answers at {made.new.bootstrap}: it is not lost"
        assert not engine.show(context_of(made.old, "admin"), made.leg(1).link).wanted.paused
        made.away()
        run = made.ended(WaveVerb.REVERSE, LOST)
        assert (run.state, run.why, run.leg) == (WaveRunState.DONE, "", 1)
        assert committed(made.old, group, [(topic, 0)]) == {(topic, 0): (offsets(made.old, topic)[read], "")}
        assert committed(made.old, group, [(topic, 1)]) == {(topic, 1): (4, "")}
        assert made.stands.state is WaveState.COPYING and "all was copied that was seen" in doubts_of(made)
        assert values(made.old, topic)[-1] == list(there)[-1]
        with pytest.raises(WaveStateError, match="it was led back without new"):
            steps_for(made.stands, WaveVerb.SWITCH)
        produce(made.old, topic, numbered(10, first=700), batch=3)
        made.back()
        found = made.ended(WaveVerb.RECONCILE)
        assert (found.state, found.why, made.stands.lost) == (WaveRunState.DONE, "", None)
        assert made.leg(2).link in made.runs
        until_same(made.old, made.new, topic)
        assert len(set(values(made.new, topic))) == len(values(made.new, topic)) == 72
        assert made.ended(WaveVerb.SWITCH).state is WaveRunState.DONE
        (read,) = (
            one
            for one, at in offsets(made.old, topic).items()
            if at == committed(made.old, group, [(topic, 0)])[topic, 0][0]
        )
        assert committed(made.new, group, [(topic, 0)])[topic, 0][0] == offsets(made.new, topic)[read]


def lost_with_tail(made: TargetStand, carry_out: Callable[[str], WaveRun]) -> list[bytes]:
    """Records are written to the target that are not copied back, it is killed, and the wave led back without it."""
    (topic,) = made.wave.topics
    until_same(made.old, made.new, topic)
    link = made.link(made.leg(1).link)
    link.await_position(topic, newest_offset(made.new, topic))
    engine.pause(link.target, link.id)
    link.await_(lambda status: all(lane.state is LaneState.PAUSED for lane in status.lanes))
    before, copied = set(values(made.new, topic)), newest_offset(made.new, topic)
    produce(made.new, topic, numbered(9, first=300), batch=4)
    link.await_(lambda _: link.lane(topic).high_watermark >= newest_offset(made.new, topic))
    tail = [one for one in values(made.new, topic) if one not in before]
    made.away()
    run = carry_out(made.verb(WaveVerb.REVERSE, AGAIN))
    assert (run.state, run.why) == (WaveRunState.DONE, "")
    lanes = {lane.partition: lane for lane in lanes_of(run.result(StepKind.LOST_TAIL, "orders")["lanes"])}
    assert (lanes[f"{topic}-0"].copied, lanes[f"{topic}-0"].end) == (copied, copied + 9)
    assert f"offsets {copied} to {copied + 8} of {topic}-0 are possibly lost" in doubts_of(made)
    return tail


def test_engines_that_die_at_each_step_lead_back_and_append_the_tail_once(clusters: Clusters, store: str) -> None:
    """Twice a step.  The group goes on where the source has it, and that is said."""
    with switched(clusters, store, ModePolicy.MAPPED) as made:
        (topic,), (group,) = made.wave.topics, made.wave.groups
        tail = lost_with_tail(made, made.by_dying)
        assert committed(made.old, group, [(topic, 0)]) == {(topic, 0): (12, "noted")}
        assert f"group {group} goes on at what old has of it in 1 partition, of before it was led to new" in doubts_of(
            made
        )
        produce(made.old, topic, numbered(20, first=500), batch=3)
        since = values(made.old, topic)
        made.back()
        refused = made.ended(WaveVerb.RECONCILE)
        assert refused.state is WaveRunState.CANCELLED and f"9 records (offsets 42 to 50) of {topic}-0" in refused.why
        found = made.by_dying(made.verb(WaveVerb.RECONCILE, WaveOptions(tail=TailChoice.APPEND)))
        assert (found.state, found.why) == (WaveRunState.DONE, "")
        assert values(made.old, topic) == [*since, *tail]
        over = made.ended(WaveVerb.CANCEL)
        assert (over.state, made.stands.state) == (WaveRunState.DONE, WaveState.PLANNED)


def test_a_way_back_that_never_ran_says_so_and_positions_are_exact_all_the_same(clusters: Clusters, store: str) -> None:
    """The maps that it begins with are on the source: what was copied there translates, and the rest is named."""
    with switched(clusters, store, idle=True) as made:
        (topic,), (group,) = made.wave.topics, made.wave.groups
        ends = newest_offset(made.new, topic)
        produce(made.new, topic, numbered(6, first=500))
        made.read = {f"{topic}-0": 30, f"{topic}-1": 4}
        (read,) = (digest for digest, at in offsets(made.new, topic).items() if at == 30)
        made.away()
        planned = dry(made)
        run = made.ended(WaveVerb.REVERSE, LOST)
        assert (run.state, run.why) == (WaveRunState.DONE, "")
        assert [(step.kind, step.text) for step in planned.steps] == [(step.kind, step.text) for step in run.steps]
        assert planned.ok and tuple(doubt for step in planned.steps for doubt in step.doubts) == lost_doubts(
            run.results
        )
        told = doubts_of(made)
        assert f"link {made.leg(1).link} has never run: nothing that applications wrote to new since" in told
        assert f"{topic}-0 was copied up to {ends:,}; where its log ended on new was never seen" in told
        assert committed(made.old, group, [(topic, 0)]) == {(topic, 0): (offsets(made.old, topic)[read], "")}
        assert committed(made.old, group, [(topic, 1)]) == {(topic, 1): (4, "")}
        made.back()
        refused = made.ended(WaveVerb.RECONCILE)
        assert f"6 records (offsets {ends} to {ends + 5}) of {topic}-0" in refused.why


def test_what_a_way_back_has_copied_is_known_that_has_told_of_nothing(
    clusters: Clusters, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its target was lost within a second of its begin: its claims and the source's log tell up to where it came."""

    async def silent(*_: object, **__: object) -> None:
        """Nothing is told."""

    with switched(clusters, store, idle=True) as made:
        (topic,), (group,) = made.wave.topics, made.wave.groups
        produce(made.new, topic, numbered(6, first=500))
        with monkeypatch.context() as patched:
            patched.setattr(ProgressWriter, "persist", silent)
            made.idle.clear()
            asyncio.run(made.run_link("old", made.leg(1).link))
            until_same(made.old, made.new, topic)
            copied = newest_offset(made.new, topic)
            made.away()
            made.read = {f"{topic}-0": copied - 2, f"{topic}-1": 4}
            run = made.ended(WaveVerb.REVERSE, LOST)
        assert (run.state, run.why) == (WaveRunState.DONE, "")
        assert f"{topic}-0 was copied up to {copied:,}; where its log ended on new was never seen" in doubts_of(made)
        at = newest_offset(made.old, topic) - 2
        assert committed(made.old, group, [(topic, 0)]) == {(topic, 0): (at, "")}
        made.back()
        back = made.ended(WaveVerb.RECONCILE)
        assert (back.state, back.why, made.stands.lost) == (WaveRunState.DONE, "", None)


def test_a_way_back_of_an_older_version_that_never_ran_is_refused(
    clusters: Clusters, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which topics its offset maps are of stands on the target alone: nothing is guessed, and all is put back."""

    async def unnamed(*_: object) -> None:
        """As it was done before."""

    monkeypatch.setattr(linking, "_name_topics", unnamed)
    with switched(clusters, store, idle=True) as made:
        made.away()
        run = made.ended(WaveVerb.REVERSE, AGAIN)
        assert run.state is WaveRunState.CANCELLED
        assert f"{made.leg(1).link} has never run, and which partitions its 2 offset maps on old are of" in run.why
        assert not engine.show(context_of(made.old, "admin"), made.leg(1).link).wanted.paused


def test_a_switch_whose_target_dies_behind_the_point_of_no_return_is_led_back(clusters: Clusters, store: str) -> None:
    """Nobody was let go there: it is taken back.  Somebody may have been: it ends, and a reverse leads from there."""
    with stand(clusters, store) as found:
        made = TargetStand(found.old, found.new, found.migration, found.store, found.stack, found.runs, found.links)
        made.stack.callback(made.back)
        (topic,) = made.wave.topics

        kinds = [step.kind for step in steps_for(made.stands, WaveVerb.SWITCH).steps]

        def left_alone(kind: StepKind) -> WaveRun:
            at = kinds.index(kind)
            return made.left_alone(WaveVerb.SWITCH, lambda one: one.is_begun and one.at == at, within=True)

        over = left_alone(StepKind.PUBLISH_GROUPS)
        assert (over.state, made.stands.leg.number, made.stands.gone) == (WaveRunState.CANCELLED, 0, End.TARGET)
        made.back()
        found_ = made.ended(WaveVerb.RECONCILE)
        assert (found_.state, found_.why, made.stands.gone) == (WaveRunState.DONE, "", None)
        produce(made.old, topic, numbered(5, first=900))
        until_same(made.old, made.new, topic)
        over = left_alone(StepKind.RUN_REVERSE)
        assert (over.state, made.stands.leg.number, made.stands.gone) == (WaveRunState.DONE, 1, End.TARGET)
        led = made.ended(WaveVerb.REVERSE, AGAIN)
        assert (led.state, led.why) == (WaveRunState.DONE, "")
        assert "has never run" in doubts_of(made)
        over = made.ended(WaveVerb.CANCEL)
        assert (over.state, made.stands.state) == (WaveRunState.DONE, WaveState.PLANNED)


@pytest.mark.full
def test_a_target_dies_at_each_point_of_a_switch(clusters: Clusters, store: str) -> None:
    """One after the other; where nobody was let go there all is as before, and is copied on once the target is back."""
    with stand(clusters, store) as found:
        made = TargetStand(found.old, found.new, found.migration, found.store, found.stack, found.runs, found.links)
        made.stack.callback(made.back)
        (topic,), (group,) = made.wave.topics, made.wave.groups
        kinds = [step.kind for step in steps_for(made.stands, WaveVerb.SWITCH).steps]
        let_go = kinds.index(StepKind.RUN_REVERSE)
        first = itertools.count(2000, 10)
        for number, is_begun in itertools.product(range(let_go), (True, False)):

            def dies(one: WaveRun, at: int = number, is_begun: bool = is_begun) -> bool:
                return one.is_begun is is_begun and one.at == (at if is_begun else at + 1)

            over = made.left_alone(WaveVerb.SWITCH, dies)
            assert (over.state, over.why) == (WaveRunState.CANCELLED, "mei: new is gone"), number
            assert (made.stands.leg.number, made.stands.gone, made.stands.lost) == (0, End.TARGET, None)
            produce(made.old, topic, numbered(3, first=next(first)))
            commit(made.old, group, {(topic, 0): (newest_offset(made.old, topic) - 2, "read on")})
            made.back()
            back = made.ended(WaveVerb.RECONCILE)
            assert (back.why, back.state, made.stands.gone, made.stands.left) == ("", WaveRunState.DONE, None, None)
            assert not engine.show(context_of(made.new, "admin"), made.leg().link).wanted.paused
        until_same(made.old, made.new, topic)
        assert len(set(values(made.new, topic))) == len(values(made.new, topic))
        assert made.ended(WaveVerb.SWITCH).state is WaveRunState.DONE
        read = newest_offset(made.old, topic) - 2
        assert offsets(made.old, topic)[entry_at(made, group)] == read


@pytest.mark.full
@pytest.mark.parametrize("order", [WaveOrder.CONSUMERS_FIRST, WaveOrder.PRODUCERS_FIRST])
def test_the_part_that_went_there_is_led_back(clusters: Clusters, store: str, order: WaveOrder) -> None:
    """Consumers read again what they had read there, and nothing is lost; of producers the tail is named."""
    with stand(clusters, store) as stood:
        wave = replace(stood.wave, order=order)
        migration = replace(stood.migration, waves=(wave,))
        made = TargetStand(stood.old, stood.new, migration, stood.store, stood.stack, stood.runs, stood.links)
        made.stack.callback(made.back)
        (topic,), (group,) = wave.topics, wave.groups
        assert made.ended(WaveVerb.SWITCH).state is WaveRunState.DONE
        is_ahead = order is WaveOrder.CONSUMERS_FIRST
        if is_ahead:
            commit(made.new, group, {(topic, 0): (newest_offset(made.new, topic), "read on")})
            made.read = {f"{topic}-0": newest_offset(made.new, topic)}
        produce(made.old if is_ahead else made.new, topic, numbered(10, first=500))
        until_same(made.old, made.new, topic)
        made.away()
        run = made.ended(WaveVerb.REVERSE, AGAIN)
        assert (run.state, run.why, run.leg) == (WaveRunState.DONE, "", 1)
        assert committed(made.old, group, [(topic, 0)]) == {(topic, 0): (12, "noted")}
        stands = made.stands
        assert (stands.state, stands.leg.number, stands.gone) == (WaveState.COPYING, 0 if is_ahead else 2, End.TARGET)
        if is_ahead:
            (untold, *_) = run.result(StepKind.LOST_GROUPS, "earliest")["doubts"]
            assert untold.endswith("and no offset map on old tells where that is") and stands.lost is None
        else:
            assert "all was copied that was seen" in doubts_of(made)
        produce(made.old, topic, numbered(10, first=700))
        made.back()
        back = made.ended(WaveVerb.RECONCILE)
        assert (back.state, back.why) == (WaveRunState.DONE, "")
        assert (made.stands.gone, made.stands.lost) == (None, None)
        until_same(made.old, made.new, topic)
        assert len(set(values(made.new, topic))) == len(values(made.new, topic))


@pytest.fixture
def fenced() -> Iterator[Clusters]:
    """Both with access rules."""
    specs = [ClusterSpec(name, security="PLAIN", authorizer=True, overrides=STEADY) for name in ("old", "new")]
    with ExitStack() as stack:
        yield cast(Clusters, tuple(stack.enter_context(Simulated(spec)) for spec in specs))


def test_the_source_allows_writing_again_where_its_wave_is_led_back_without_the_target(
    fenced: Clusters, store: str
) -> None:
    """What the switch had denied there, and nobody else's rule."""
    with switched(fenced, store, fences=(FenceKind.ACL,)) as made:
        (topic,) = made.wave.topics
        fence = set(denials(made.wave, [topic], (), ""))
        assert changed_rules(made.old) >= fence
        made.away()
        run = made.ended(WaveVerb.REVERSE, AGAIN)
        assert (run.state, run.why) == (WaveRunState.DONE, "")
        assert not changed_rules(made.old) & fence


def test_a_fence_that_a_cancel_without_the_source_left_there_is_lifted_once_it_is_back(
    fenced: Clusters, store: str
) -> None:
    """By a reconcile, by the switch that comes next, or as the wave is cancelled; a rule of somebody else's stays."""
    with stand(fenced, store, fences=(FenceKind.ACL,)) as made:
        (topic,) = made.wave.topics
        theirs, ours = denied(made)
        changed_rules(made.old, create=[theirs])

        def left() -> WaveRun:
            run = made.verb(WaveVerb.SWITCH)
            at = [step.kind for step in run_of(made.store.run(run).journal).steps].index(StepKind.JOURNAL)
            with pytest.raises(DiedError):
                made.carry_out(run, lambda one: one.is_begun and one.at == at)
            made.away()
            kept = made.store.run(run)
            journal = lost_meanwhile(run_of(kept.journal), "mei: old is gone")
            made.store.keep(run, kept.revision, kept.state, run_fields(journal), is_open=True)
            return made.carry_out(run)

        def there() -> Mapping[object, bool]:
            rules = changed_rules(made.old)
            return {theirs: theirs in rules, ours: ours in rules}

        assert left().state is WaveRunState.CANCELLED
        made.back()
        assert there() == {theirs: True, ours: True}
        found = made.by_dying(made.verb(WaveVerb.RECONCILE))
        assert (found.state, found.why, made.stands.left) == (WaveRunState.DONE, "", None)
        assert there() == {theirs: True, ours: False}
        assert left().state is WaveRunState.CANCELLED
        assert made.ended(WaveVerb.SWITCH, AGAIN).state is WaveRunState.DONE
        made.back()
        for verb in (WaveVerb.RECONCILE, WaveVerb.REVERSE):
            commit(made.new, made.wave.groups[0], {(topic, 0): (newest_offset(made.new, topic), "read on")})
            done = made.ended(verb)
            assert (done.state, done.why) == (WaveRunState.DONE, ""), verb
        assert there() == {theirs: True, ours: False}
        assert left().state is WaveRunState.CANCELLED
        made.back()
        over = made.ended(WaveVerb.CANCEL)
        assert (over.state, made.stands.state, made.stands.left) == (WaveRunState.DONE, WaveState.PLANNED, None)
        assert there() == {theirs: True, ours: False}


def test_what_a_cancel_without_the_target_left_there_is_taken_away_by_a_second_one(
    fenced: Clusters, store: str
) -> None:
    """The fence of a reverse, and links; a rule of somebody else's stays, and it is not started before."""
    with switched(fenced, store, fences=(FenceKind.ACL,)) as made:
        theirs, ours = denied(made)
        changed_rules(made.new, create=[theirs])
        assert made.ended(WaveVerb.REVERSE).state is WaveRunState.DONE
        over = made.left_alone(WaveVerb.SWITCH, lambda one: one.at == 1)
        assert (over.state, made.stands.gone) == (WaveRunState.CANCELLED, End.TARGET)
        first = made.ended(WaveVerb.CANCEL)
        assert (first.state, made.stands.state, made.stands.remains) == (WaveRunState.DONE, WaveState.PLANNED, 2)
        made.back()
        with pytest.raises(WaveStateError, match="cancelled without a cluster"):
            steps_for(made.stands, WaveVerb.START)
        assert {theirs, ours} <= set(changed_rules(made.new))
        second = made.ended(WaveVerb.CANCEL)
        assert (second.state, second.why, made.stands.remains) == (WaveRunState.DONE, "", None)
        rules = changed_rules(made.new)
        assert theirs in rules and ours not in rules
        for leg in (made.leg(), made.leg(2)):
            with pytest.raises(UnknownLinkError):
                engine.show(context_of(made.new, "admin"), leg.link)
