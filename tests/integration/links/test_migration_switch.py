"""A wave is started, switched and found on the other cluster; killed or given up on the way, it is as it should be."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

import pytest
from confluent_kafka import Producer

from anabranch.groups.undo import UndoPlan
from anabranch.kafka.security import open_cluster
from anabranch.migration.journal import run_fields, run_of
from anabranch.migration.kept import StoredRun
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import CopyRules, Limits, Migration, Wave, WaveOrder
from anabranch.migration.steps import MigrationStep, Part, StepKind, parts, start_steps, switch_steps
from anabranch.model.clock import now_ms
from anabranch.model.link import ModePolicy, UnknownLinkError
from anabranch.model.reasons import Reason
from anabranch.operations.groups import undo
from anabranch.operations.migrations.engine import KeptRun, carry_out
from anabranch.operations.migrations.steps import ClusterSteps
from anabranch.sandbox import SandboxCluster
from anabranch.store.database import open_database
from anabranch.store.waves import StoredMigrations
from qa import links as engine
from qa.logcompare import read_log
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.integration.kafka.security import context_of
from tests.integration.links.groups import commit, committed
from tests.integration.links.lab import Link, Running, link
from tests.integration.links.topics import create, fresh, newest_offset, numbered, produce, transaction

pytestmark = pytest.mark.test

_numbers = itertools.count(1)


class DiedError(BaseException):
    """The engine is no more."""


@dataclass
class Journals:
    """The runs of a store; ``dies`` says before which writing an engine dies."""

    store: StoredMigrations
    dies: Callable[[WaveRun], bool] = lambda _: False

    async def read(self, run: str) -> KeptRun:
        """As it is kept."""
        kept = self.store.run(run)
        return KeptRun(run_of(kept.journal), kept.revision, kept.cancelled)

    async def write(self, before: KeptRun, run: WaveRun) -> KeptRun:
        """Over what was read."""
        if self.dies(run):
            raise DiedError
        self.store.keep(run.id, before.revision, run.state.value, run_fields(run), is_open=run.state.is_open)
        return KeptRun(run, before.revision + 1, before.cancelled)


def stored_on(link: str) -> str:
    """The cluster of a wave's link."""
    return "old" if link.endswith("-back") else "new"


@dataclass
class Stand:
    """A migration of one wave between two clusters whose links run in this process; it is the steps' desk."""

    old: SandboxCluster
    new: SandboxCluster
    migration: Migration
    store: StoredMigrations
    stack: ExitStack
    runs: dict[str, Running] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    done: list[StepKind] = field(default_factory=list)

    @property
    def wave(self) -> Wave:
        """The one that it has."""
        return self.migration.waves[0]

    def leg(self, number: int = 0) -> Leg:
        """One of the wave's legs."""
        return Leg(self.migration, self.wave, number)

    def link(self, name: str) -> Link:
        """A link of the wave, to look at and to run."""
        if name not in self.links:
            pair = (self.new, self.old) if name.endswith("-back") else (self.old, self.new)
            self.links[name] = self.stack.enter_context(link(*pair, ".*", id=name, create=False))
        return self.links[name]

    # -- the desk --------------------------------------------------------------------------------------

    async def run_link(self, there: str, name: str) -> None:
        """In threads of this process."""
        assert there == stored_on(name)
        if name not in self.runs:
            made = Running(self.link(name), f"run-{next(_numbers)}", 60.0, 1)
            self.stack.callback(self._stop, name)
            self.runs[name] = made
            made.start()

    async def stop_link(self, there: str, name: str) -> None:
        """If it runs."""
        assert there == stored_on(name)
        await asyncio.to_thread(self._stop, name)

    def _stop(self, name: str) -> None:
        if (found := self.runs.pop(name, None)) is not None:
            found.stop()

    async def verify(self, _: str, name: str, __: int) -> str:
        """Both sides hold the same, in the same order."""
        for topic in self.wave.topics:
            assert values(self.old, topic) == values(self.new, topic), name
        return "compared"

    async def handed(self, *_: object) -> dict[str, dict[str, int]]:
        """Nobody uses the SDK here."""
        return {}

    async def groups_led(self, *_: object) -> frozenset[str]:
        """None."""
        return frozenset()

    async def against(self, *_: object) -> tuple[Reason, ...]:
        """Nothing."""
        return ()

    async def hold(self, *_: object) -> None:
        """Nobody uses the SDK here."""

    async def bind(self, *_: object) -> None:
        """Nobody has paused."""

    async def let_go(self, *_: object) -> None:
        """Nobody has paused."""

    async def lead(self, *_: object) -> None:
        """Nobody is led."""

    async def hook(self, name: str, *_: object) -> None:
        """There is none."""
        raise AssertionError(name)

    # -- what a test does ------------------------------------------------------------------------------

    def begin(
        self,
        what: str,
        steps: tuple[MigrationStep, ...],
        longest_ms: int | None = None,
        leg: int = 0,
        part: Part = Part.ALL,
    ) -> str:
        """Keep a run of these steps; returns its id."""
        run, names = uuid.uuid4().hex, (self.migration.name, self.wave.name)
        made = WaveRun(run, *names, what, steps, now_ms(), longest_ms, part=part, leg=leg)
        kept = made.id, made.migration, made.wave, True, made.state.value, 1, made.began_ms, "mei", "", run_fields(made)
        self.store.begin(StoredRun(*kept))
        return made.id

    def carry_out(
        self, run: str, dies: Callable[[WaveRun], bool] = lambda _: False, tired_of: str | None = None
    ) -> WaveRun:
        """Go on with it by an engine of its own, until it has ended; raises DiedError.

        ``tired_of`` is what it may wait for once: then a person gives it up.
        """

        async def tell(run: WaveRun, why: str) -> None:
            print(f"step {run.at}: {why}")
            if tired_of is not None and tired_of in why:
                self.store.give_up(run.id, "mei: not tonight")

        async def go() -> WaveRun:
            contexts = context_of(self.old, "admin"), context_of(self.new, "admin")
            async with open_cluster(contexts[0]) as source, open_cluster(contexts[1]) as target:
                steps = ClusterSteps(self.migration, source, target, self)
                return await carry_out(Journals(self.store, dies), run, steps, now_ms, tell)

        return asyncio.run(go())

    def start(self) -> None:
        """Have its links run, and all be copied."""
        found = self.carry_out(self.begin("start", start_steps(self.leg())))
        assert found.state is WaveRunState.DONE, found.why

    def switch(self, longest_ms: int | None = 60_000, leg: int = 0) -> str:
        """Begin the switch of all of it, on one of its legs."""
        return self.begin("switch", switch_steps(self.leg(leg), Part.ALL), longest_ms, leg)


@contextmanager
def stand(old: SandboxCluster, new: SandboxCluster, store: str, mode: ModePolicy = ModePolicy.AUTO) -> Iterator[Stand]:
    """A wave of a topic with transactions and a group that has read some of it."""
    topic = create(old, fresh("moved"))
    produce(old, topic, numbered(40), batch=7)
    transaction(old, topic, [b"paid 1", b"paid 2"])
    group = f"shop-{next(_numbers)}"
    commit(old, group, {(topic, 0): (12, "noted")})
    wave = Wave("orders", (topic,), (group,))
    limits = Limits(quiet_ms=200)
    name = f"move{next(_numbers)}"
    migration = Migration(name, old.spec.name, new.spec.name, (wave,), copy=CopyRules(mode=mode), limits=limits)
    database = open_database(store)
    with ExitStack() as stack:
        stack.callback(database.close)
        made = Stand(old, new, migration, StoredMigrations(database), stack)
        made.start()
        yield made


def values(cluster: SandboxCluster, topic: str) -> list[bytes]:
    """Every committed record, in order."""
    config = {"bootstrap.servers": cluster.internal_bootstrap, "fetch.wait.max.ms": 20}
    return [entry.digest for entry in read_log(config, topic, 0, committed=True)]


def offsets(cluster: SandboxCluster, topic: str) -> dict[bytes, int]:
    """Where each record lies."""
    config = {"bootstrap.servers": cluster.internal_bootstrap, "fetch.wait.max.ms": 20}
    return {entry.digest: entry.offset for entry in read_log(config, topic, 0, committed=True)}


@pytest.fixture
def store(tmp_path: object) -> str:
    """A database of its own."""
    return f"{tmp_path}/store.sqlite"


def assert_switched(made: Stand) -> None:
    """The group goes on at exactly its record, new records reach the old cluster, and nothing is there twice."""
    (topic,), (group,) = made.wave.topics, made.wave.groups
    here, there = offsets(made.old, topic), offsets(made.new, topic)
    twelfth = next(digest for digest, offset in here.items() if offset == 12)
    assert committed(made.new, group, [(topic, 0)]) == {(topic, 0): (there[twelfth], "noted")}
    produce(made.new, topic, numbered(10, first=500))
    back = made.link(made.leg(1).link)
    back.await_position(topic, newest_offset(made.new, topic))
    assert values(made.old, topic) == values(made.new, topic)
    assert len(values(made.new, topic)) == 52
    assert made.leg().link not in made.runs
    assert engine.show(context_of(made.new, "admin"), made.leg().link).wanted.paused


async def undo_of(cluster: SandboxCluster, record: str) -> UndoPlan:
    """What an undo of moved groups would do."""
    async with open_cluster(context_of(cluster, "admin")) as opened:
        return await undo.plan(opened, record)


@pytest.mark.parametrize("mode", [ModePolicy.AUTO, ModePolicy.MAPPED])
def test_a_wave_is_switched_and_its_way_back_runs(
    old: SandboxCluster, new: SandboxCluster, store: str, mode: ModePolicy
) -> None:
    """From the first look to the reverse link; the journal has the pins and what was staged."""
    with stand(old, new, store, mode) as made:
        run = made.carry_out(made.switch())
        assert (run.state, run.why) == (WaveRunState.DONE, "")
        (topic,) = made.wave.topics
        assert run.result(StepKind.PIN, "orders") == {"ends": {f"{topic}-0": newest_offset(old, topic)}}
        assert_switched(made)
        moved = asyncio.run(undo_of(new, run.result(StepKind.PUBLISH_GROUPS, "orders")["undo"]))
        assert [(one.record.existed, one.delete_group) for one in moved.groups] == [(False, True)]


def test_there_and_back_and_there_again(old: SandboxCluster, new: SandboxCluster, store: str) -> None:
    """Records are written and groups read on each side in turn; each record is there once, each position exact."""
    with stand(old, new, store) as made:
        (topic,), (group,) = made.wave.topics, made.wave.groups
        for leg in range(3):
            run = made.carry_out(made.switch(leg=leg))
            assert (run.state, run.why) == (WaveRunState.DONE, ""), leg
            there, other = (old, new) if made.leg(leg).leads_back else (new, old)
            lies = sorted(offsets(there, topic).items(), key=lambda one: one[1])
            found = committed(there, group, [(topic, 0)])[topic, 0]
            read = 12 + 15 * leg
            assert found == (lies[read][1], "noted"), leg
            produce(there, topic, numbered(10, first=1000 * (leg + 1)), batch=3)
            transaction(there, topic, [b"paid %d" % (100 * (leg + 1))])
            commit(there, group, {(topic, 0): (sorted(offsets(there, topic).values())[read + 15], "noted")})
            back = made.link(made.leg(leg + 1).link)
            back.await_position(topic, newest_offset(there, topic))
            assert values(old, topic) == values(new, topic), leg
            assert len(set(values(other, topic))) == 42 + 11 * (leg + 1)


@pytest.mark.parametrize("order", [WaveOrder.CONSUMERS_FIRST, WaveOrder.PRODUCERS_FIRST])
@pytest.mark.parametrize("mode", [ModePolicy.AUTO, ModePolicy.MAPPED])
def test_consumers_and_producers_go_apart_and_each_position_is_exact(
    old: SandboxCluster, new: SandboxCluster, store: str, order: WaveOrder, mode: ModePolicy
) -> None:
    """There and back: in between one side is written to and the other one is read, by a link that goes on."""
    with stand(old, new, store, mode) as stood:
        wave = replace(stood.wave, order=order)
        made = replace(stood, migration=replace(stood.migration, waves=(wave,)))
        (topic,), (group,) = wave.topics, wave.groups
        read, sides = 12, (old, new)
        for leg in range(2):
            here, there = sides[leg], sides[1 - leg]
            for part in parts(wave):
                written_to = there if order is WaveOrder.PRODUCERS_FIRST and part is Part.CONSUMERS else here
                read_on = there if order is WaveOrder.CONSUMERS_FIRST and part is Part.PRODUCERS else here
                produce(written_to, topic, numbered(10, first=1000 * (leg + 1) + 100 * len(part.value)), batch=3)
                transaction(written_to, topic, [b"paid %s %d" % (part.value.encode(), leg)])
                until_same(old, new, topic)
                read += 7
                commit(read_on, group, {(topic, 0): (sorted(offsets(read_on, topic).values())[read], "noted")})
                run = made.carry_out(made.begin("switch", switch_steps(made.leg(leg), part), 60_000, leg, part))
                assert (run.state, run.why) == (WaveRunState.DONE, ""), (leg, part)
                now = there if order is WaveOrder.CONSUMERS_FIRST or part is Part.CONSUMERS else here
                expected = sorted(offsets(now, topic).values())[read]
                assert committed(now, group, [(topic, 0)]) == {(topic, 0): (expected, "noted")}, (leg, part)
        until_same(old, new, topic)
        assert len(set(values(old, topic))) == len(values(old, topic)) == 42 + 4 * 11


def until_same(old: SandboxCluster, new: SandboxCluster, topic: str) -> None:
    """Wait until the one that is not written to has caught up."""
    until(lambda: values(old, topic) == values(new, topic))


MODEL = Wave("w", ("t",), ("g",))
STEPS = len(switch_steps(Leg(Migration("m", "a", "b", (MODEL,)), MODEL), Part.ALL))


def test_an_engine_that_dies_at_each_step_leaves_what_the_next_one_ends(
    old: SandboxCluster, new: SandboxCluster, store: str
) -> None:
    """Twice a step: before it is written down that it begins, and once it is done, before that is written down."""
    with stand(old, new, store) as made:
        run, deaths = made.switch(longest_ms=None), 0
        for at, is_begun in itertools.product(range(STEPS), (True, False)):

            def dies(next_: WaveRun, at: int = at, is_begun: bool = is_begun) -> bool:
                begins = next_.is_begun and next_.at == at
                ends = not next_.is_begun and next_.at == at + 1
                return begins if is_begun else ends

            with pytest.raises(DiedError):
                made.carry_out(run, dies)
            deaths += 1
        assert made.carry_out(run).state is WaveRunState.DONE
        assert deaths == 2 * STEPS
        assert_switched(made)


def test_what_is_given_up_before_the_point_of_no_return_is_as_before(
    old: SandboxCluster, new: SandboxCluster, store: str
) -> None:
    """A producer that writes on keeps it from being quiet; the link copies on, and nobody's position has moved."""
    with stand(old, new, store) as made:
        (topic,), (group,) = made.wave.topics, made.wave.groups
        open_ = Producer({"bootstrap.servers": old.internal_bootstrap, "transactional.id": f"till-{next(_numbers)}"})
        open_.init_transactions(TIMEOUT_S)
        open_.begin_transaction()
        open_.produce(topic, b"under way")
        open_.flush(TIMEOUT_S)
        run = made.carry_out(made.switch(), tired_of="a transaction is open on")
        assert (run.state, run.why) == (WaveRunState.CANCELLED, "mei: not tonight")
        open_.commit_transaction(TIMEOUT_S)
        there = made.link(made.leg().link)
        there.await_position(topic, newest_offset(old, topic))
        assert committed(new, group, [(topic, 0)]) == {(topic, 0): None}
        assert not engine.show(context_of(new, "admin"), there.id).wanted.paused
        with pytest.raises(UnknownLinkError):
            engine.show(context_of(old, "admin"), made.leg(1).link)
        assert made.carry_out(made.switch()).state is WaveRunState.DONE


def test_who_writes_after_the_ends_were_pinned_turns_the_switch_back(
    old: SandboxCluster, new: SandboxCluster, store: str
) -> None:
    """The last look before the point of no return finds it, and says who it was and what came."""
    with stand(old, new, store) as made:
        (topic,) = made.wave.topics
        run, wrote = made.switch(), []

        def writes(next_: WaveRun) -> bool:
            if next_.is_begun and next_.steps[next_.at].kind is StepKind.VERIFY_END and not wrote:
                wrote.append(topic)
                produce(old, topic, numbered(3, first=900))
            return False

        found = made.carry_out(run, writes)
        assert (found.state, wrote) == (WaveRunState.CANCELLED, [topic])
        assert found.why.startswith(f"wave orders: 3 records came to {topic}-0 after its end was pinned")
        there = made.link(made.leg().link)
        there.await_position(topic, newest_offset(old, topic))
        assert values(old, topic) == values(new, topic)
