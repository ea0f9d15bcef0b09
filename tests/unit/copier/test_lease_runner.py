"""Which lanes a worker has when a lease begins, and what is left of it when it ends."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest

from anabranch.copier.lane.lane import Lane
from anabranch.copier.leases.runner import LeaseRunner
from anabranch.copier.planning.lease import Lease, PlanBasis, fingerprint
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.kafka.security import open_cluster
from anabranch.kafka.settling import until_led
from anabranch.kafka.simulated import ClusterPlan, SimulatedCluster
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneAssignment, LaneKey, LaneProgress, LaneState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, ModePolicy, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.reports import StopRequest
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol import age
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.records.encode import encode
from anabranch.state.topics.control import Links, MappedRanges, Progress, ensure_topics
from anabranch.state.topics.journal import Journal
from qa.simulation.world import World
from tests.unit import asking

pytestmark = pytest.mark.unit

T = TypeVar("T")
DAY_MS = 86_400_000
LINK, RUN, OWNER, TOPIC = "link", "run-1", "run-1/me", "orders"
RECORDS = 10
"""In each partition when a worker begins."""


@dataclass
class Stage:
    """A link between two simulated clusters, and what a worker of it does; all clocks are virtual."""

    world: World
    source: SimulatedCluster
    target: SimulatedCluster
    source_cluster: Cluster = field(init=False)
    target_cluster: Cluster = field(init=False)
    runner: LeaseRunner = field(init=False)

    @property
    def now(self) -> float:
        """The virtual time."""
        return self.world.scheduler.now

    async def until(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Work until it is so."""
        deadline = self.now + seconds
        while not condition():
            assert self.now < deadline
            await self.runner.work(0.02)
            await asyncio.sleep(0.02)

    def lane(self, partition: int = 0) -> LaneAssignment:
        """What a plan says of a lane."""
        at = TopicPartition(TOPIC, partition)
        source_id, target_id = (TopicId(one.topics[TOPIC].id) for one in (self.source, self.target))
        return LaneAssignment(LaneKey(LINK, source_id, partition), at, at, target_id, LaneStart(), ModePolicy.AUTO)

    def lease(self, batch: int, lanes: Iterable[LaneAssignment], stays: Iterable[LaneAssignment] = ()) -> Lease:
        """A lease of lanes; with ``stays`` the plan says that the worker goes on with these."""
        stays = list(stays)
        return Lease(LINK, RUN, batch, 0, 1, 600.0, tuple(lanes), {OWNER: fingerprint(stays)} if stays else {})

    def copied(self, partition: int = 0) -> int:
        """How many offsets the target's log has."""
        return self.target.partition(TOPIC, partition).high_watermark

    async def append(self, partition: int = 0) -> None:
        """Somebody writes as many records again."""
        meta, part = await self.source_cluster.partition(TOPIC, partition)
        connection = await self.source_cluster.connection(part.leader)
        assert await asking.append(connection, TOPIC, meta.id, encode(asking.records(RECORDS)), partition) == 0

    async def want(self, include: str) -> None:
        """Have the link copy these topics."""
        links = Links(self.target_cluster)
        await links.sync()
        record = links.links[LINK]
        spec = replace(record.wanted.spec, filter=PluginSpec("regex", {"include": [include]}))
        wanted = replace(record.wanted, spec=spec, revision=record.wanted.revision + 1)
        await links.put(replace(record, wanted=wanted))

    async def basis(self) -> PlanBasis:
        """What a plan of now rests on."""
        links = Links(self.target_cluster)
        await links.sync()
        return PlanBasis.of(links.links[LINK].wanted.spec.filter, links.decisions[LINK])

    async def claims(self, partition: int = 0) -> list[Claim]:
        """All claims of a lane."""
        journal = Journal(self.target_cluster)
        await journal.read()
        return [one.claim for one in journal.claims.claims(str(self.lane(partition).lane))]

    async def progress(self, partition: int = 0) -> LaneProgress:
        """What is persisted of a lane."""
        progress = Progress(self.target_cluster)
        await progress.sync()
        return progress.lanes[self.lane(partition).lane]


def play(
    what: Callable[[Stage], Awaitable[T]],
    *,
    brokers: int = 1,
    partitions: int = 1,
    replicas: int = 1,
) -> T:
    """What comes of a worker's doing."""
    world = World(1)
    addresses = [(f"target-{number}", 9092) for number in range(1, brokers + 1)]
    source = world.cluster(ClusterPlan("source", addresses=[("source-1", 9092)], seed=1))
    stage = Stage(world, source, world.cluster(ClusterPlan("target", addresses=addresses, seed=2)))
    found: list[T] = []

    async def run() -> None:
        contexts = (
            ClusterContext(name, tuple(f"{one.host}:{one.port}" for one in world.clusters[name].brokers.values()))
            for name in ("source", "target")
        )
        async with open_cluster(next(contexts)) as here, open_cluster(next(contexts)) as there:
            stage.source_cluster, stage.target_cluster = here, there
            await until_led(here, [TOPIC])
            await ensure_topics(there)
            await until_led(there, [TOPIC])
            refs = ClusterRef("source", source.id), ClusterRef("target", stage.target.id)
            spec = LinkSpec(LINK, *refs, filter=PluginSpec("regex", {"include": [TOPIC]}), mode=ModePolicy.MAPPED)
            await Links(there).put(LinkRecord(WantedState(spec), (source.id,), 1))
            for partition in range(partitions):
                await stage.append(partition)
            stage.runner = LeaseRunner(OWNER, here, there, lambda: True)
            found.append(await what(stage))

    with world.entered():
        source.create(TOPIC, partitions, 1, {})
        stage.target.create(TOPIC, [list(range(brokers, brokers - replicas, -1))] * partitions, replicas, {})
        world.ask(lambda: asyncio.run(run()), 4000.0)
    return found[0]


def running(stage: Stage) -> int:
    """How many lanes a worker copies."""
    return stage.runner.figures().running


@pytest.mark.parametrize("left", [False, True])
def test_a_lane_that_a_filter_left_out_and_took_in_again_is_begun_again(left: bool) -> None:
    """Both may happen between two plans: then the plan says that the worker keeps its lanes, and it has left one."""

    async def worker(stage: Stage) -> tuple[int, int, int]:
        runner, one = stage.runner, stage.lane()
        await runner.begin(stage.lease(1, [one]))
        await stage.until(lambda: stage.copied() == RECORDS)
        if left:
            await stage.want("another")
            await stage.until(lambda: running(stage) == 0)
            await stage.want(TOPIC)
            await runner.copy_on(asyncio.Event(), 2.0)
        await runner.begin(stage.lease(2, [], stays=[one]) if not left else stage.lease(2, [one], stays=[one]))
        await stage.append()
        await stage.until(lambda: stage.copied() >= 2 * RECORDS)
        await runner.end(1.0)
        return stage.copied(), running(stage), len({one.producer_id for one in await stage.claims()})

    copied, lanes, owners = play(worker)
    assert lanes == 0
    assert (copied, owners) == ((2 * RECORDS + 1, 2) if left else (2 * RECORDS, 1))  # with the marker of the second


def test_what_a_plan_rests_on_ends_none_of_its_leases_and_what_came_later_does() -> None:
    """Of a run's workers one may have read of a decision before the lease that was planned by it, and another not: if
    that one's lease were over at once, its lanes would wait for the end of the others'."""

    async def worker(stage: Stage) -> list[str]:
        runner, one, found = stage.runner, stage.lane(), []
        await runner.begin(replace(stage.lease(1, [one]), basis=await stage.basis()))
        await stage.until(lambda: stage.copied() == RECORDS)
        await stage.want(f"{TOPIC}|another")
        await stage.until(lambda: bool(runner.over))
        found.append(runner.over)
        await stage.want(TOPIC)  # planned again by what is wanted now, which this worker has not read
        await runner.begin(replace(stage.lease(2, [one], stays=[one]), basis=await stage.basis()))
        await stage.append()
        await stage.until(lambda: stage.copied() == 2 * RECORDS)
        found.append(runner.over)
        await runner.end(1.0)
        return found

    assert play(worker) == ["the link's filter changed", ""]


def test_a_run_that_a_person_stops_gives_its_lanes_back_and_begins_none_again() -> None:
    """Its workers see it themselves: a driver that hangs must not keep them copying."""

    async def worker(stage: Stage) -> tuple[str, list[ClaimState], str, int]:
        runner, one = stage.runner, stage.lane()
        await runner.begin(stage.lease(1, [one]))
        await stage.until(lambda: stage.copied() == RECORDS)
        progress = Progress(stage.target_cluster)
        await progress.stop(StopRequest(LINK, ("run-0",), now_ms()))
        await runner.work(2.0)
        assert not runner.over, "another run was stopped"
        await progress.stop(StopRequest(LINK, ("run-0", RUN), now_ms()))
        await stage.until(lambda: runner.is_final)
        why = runner.over
        await runner.end(1.0)
        claims = await stage.claims()
        await stage.append()
        await runner.begin(stage.lease(2, [one]))
        await runner.work(5.0)
        again = runner.over
        await runner.end(1.0)
        return why, [claim.state for claim in claims], again, stage.copied()

    why, claims, again, copied = play(worker)
    assert why == again == "a person asked the run to stop"
    assert (claims, copied) == ([ClaimState.RELEASED], RECORDS)


class Wire:
    """A connection with nothing in flight."""

    def __init__(self) -> None:
        self.node, self.in_flight = "1", 0
        self.closed: object | None = None
        self.on_close: list[Any] = []

    def offers(self, _api_key: int) -> int:
        """Versions with names."""
        return 9

    def wake(self) -> None:
        """What a sender's connection may be asked."""


def unconnected() -> LeaseRunner:
    """A runner whose clusters are nowhere."""
    source, target = (Cluster(Transport(name, "User:ANONYMOUS"), []) for name in "st")
    return LeaseRunner(OWNER, source, target, lambda: True)


def test_nothing_runs_after_the_end_of_a_lane_that_was_won_as_it_came() -> None:
    """The takeover ends well in the very moment in which it is cancelled, and the lane gets a sender."""

    async def play() -> set[str]:
        at = TopicPartition(TOPIC, 0)
        topic = TopicId(uuid.UUID(int=9))
        runner, target = unconnected(), cast(Any, SimpleNamespace(connection=Wire()))
        lane = Lane(LaneAssignment(LaneKey(LINK, topic, 0), at, at, topic, LaneStart(), ModePolicy.AUTO))
        won = []

        async def taking() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                runner._copying._taken(lane, target)
                won.extend(task.get_name() for task in asyncio.all_tasks())

        runner._copying.tasks.start("taking", taking())
        await asyncio.sleep(0)
        await runner.end(1.0)
        assert "send-1" in won
        return {task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()}

    assert asyncio.run(play()) == set()


def test_a_worker_that_ends_asks_for_no_lanes() -> None:
    """What another one asks of it while it lets lanes go is no reason to do as its lease says."""

    async def play() -> bool:
        runner = unconnected()
        runner._membership.is_home = True
        await runner.end(0.1)
        return runner._membership.is_home

    assert not asyncio.run(play())


def test_a_lane_that_is_let_go_is_taken_over_no_more() -> None:
    """Its takeover may be under way when another worker is told that the lane is free."""

    async def worker(stage: Stage) -> tuple[list[Claim], list[Claim]]:
        runner, broker = stage.runner, stage.target.brokers[2]
        broker.pause()
        await runner.begin(stage.lease(1, [stage.lane()]))
        await runner.work(0.5)
        assert runner.figures().lanes == 1
        await runner.begin(stage.lease(2, []))
        await stage.until(lambda: runner.figures().lanes == 0)
        free = await stage.claims()
        broker.resume()
        await runner.work(20.0)
        later = await stage.claims()
        await runner.begin(stage.lease(3, [stage.lane()]))
        await stage.until(lambda: stage.copied() == RECORDS)
        await runner.end(1.0)
        return free, later

    free, later = play(worker, brokers=2)
    assert free == later == []


def test_persisted_runs_that_contradict_each_other_end_no_run() -> None:
    """An older segment that was stored late after a truncation holds up its lane, and the others are copied."""

    async def worker(stage: Stage) -> tuple[LaneProgress, list[Claim], int]:
        lane = stage.lane(0).lane
        await MappedRanges(stage.target_cluster).persist(
            {(lane, 0): (MappedRange(0, 0, 50),), (lane, 1): (MappedRange(40, 40, 9),)}
        )
        await stage.runner.begin(stage.lease(1, [stage.lane(0), stage.lane(1)]))
        await stage.until(lambda: stage.copied(1) == RECORDS)
        await stage.runner.work(5.0)
        found = await stage.progress(0), await stage.claims(0), stage.copied(0)
        await stage.runner.end(1.0)
        return found

    told, claims, copied = play(worker, partitions=2)
    assert (told.state, claims, copied) == (LaneState.WAITING, [], 0)
    assert told.stop_reason is not None and "contradicts itself" in told.stop_reason


def test_a_lane_that_is_let_go_waits_for_no_answer_of_a_connection_that_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sender has forgotten it by then, so that nobody ends its ownership; who asked for it would wait for
    nothing.
    """
    monkeypatch.setattr("anabranch.copier.leases.copying.LET_GO_S", 3600.0)

    async def worker(stage: Stage) -> tuple[bool, float]:
        runner, broker = stage.runner, stage.target.brokers[2]
        await runner.begin(stage.lease(1, [stage.lane()]))
        await stage.until(lambda: stage.copied() == RECORDS)
        broker.pause()
        await stage.append()
        await runner.work(0.5)
        await runner.begin(stage.lease(2, []))
        await runner.work(1.0)
        waits = runner.figures().lanes == 1
        broker.kill()
        killed = stage.now
        await stage.until(lambda: runner.figures().lanes == 0)
        broker.start()
        await runner.end(1.0)
        return waits, stage.now - killed

    waits, seconds = play(worker, brokers=2)
    assert waits
    assert seconds < 60.0


def test_a_worker_that_stood_while_it_read_writes_nothing_before_it_has_read_again() -> None:
    """What it read before it was stopped for a minute says nothing about who else has claimed since."""

    async def worker(stage: Stage) -> tuple[bool, bool]:
        runner, journal = stage.runner, stage.runner._topics.journal
        await runner.begin(stage.lease(1, [stage.lane()]))
        await stage.until(lambda: stage.copied() == RECORDS)
        opened, read = [], journal.read

        async def slow() -> Any:
            found = await read()
            await asyncio.sleep(60.0)
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal, "read", slow)
            await runner._watch.read()
            opened.append(runner.gate.is_open)
        await runner._watch.read()
        opened.append(runner.gate.is_open)
        await runner.end(1.0)
        return opened[0], opened[1]

    assert play(worker) == (False, True)


def test_a_claim_is_renewed_before_it_is_old_and_nothing_is_repeated() -> None:
    """Its producer id is used again, and nobody is fenced: the target gets no marker."""

    async def worker(stage: Stage) -> tuple[int, list[tuple[int, ClaimState]], int]:
        runner = stage.runner
        await runner.begin(stage.lease(1, [stage.lane()]))
        await stage.until(lambda: stage.copied() == RECORDS)
        (first,) = await stage.claims()
        for times in (2, 3):
            stage.world.scheduler.leapt_ms += age.renew_ms(DAY_MS, by_coordinator=False)
            await runner.work(5.0)
            await stage.append()
            await stage.until(lambda at=times * RECORDS: stage.copied() >= at)
        claims = await stage.claims()
        await runner.end(1.0)
        states = [(one.producer_id - first.producer_id, one.state) for one in claims]
        return stage.copied(), states, claims[-1].claimed_at_ms - first.claimed_at_ms

    copied, claims, later = play(worker)
    assert (copied, claims) == (3 * RECORDS, [(0, ClaimState.CLAIMED)])
    assert later >= 2 * age.renew_ms(DAY_MS, by_coordinator=False)


def test_a_claim_is_renewed_once_what_was_sent_under_it_is_answered() -> None:
    """Released before, it would tell the next owner that nothing is on its way."""

    async def worker(stage: Stage) -> tuple[int, list[Claim]]:
        runner = stage.runner
        await runner.begin(stage.lease(1, [stage.lane()]))
        await stage.until(lambda: stage.copied() == RECORDS)
        stage.world.network.cut("*", "target")
        await stage.append()
        await runner.work(0.5)
        stage.world.scheduler.leapt_ms += age.renew_ms(DAY_MS, by_coordinator=False)
        await runner.work(1.0)
        stage.world.network.heal()
        await runner.work(3.0)
        await stage.append()
        await stage.until(lambda: stage.copied() >= 3 * RECORDS)
        claims = await stage.claims()
        await runner.end(1.0)
        return stage.copied(), claims

    copied, claims = play(worker)
    assert (copied, len(claims)) == (3 * RECORDS, 1)


@pytest.mark.parametrize("moved", [False, True])
def test_an_idle_lane_whose_connection_is_closed_is_not_taken_over(moved: bool) -> None:
    """It goes on over another connection where its leader is the same; else it is taken over, once it has records."""

    async def worker(stage: Stage) -> tuple[int, list[Claim], list[Claim]]:
        runner, leader = stage.runner, stage.target.partition(TOPIC, 0).leader
        await runner.begin(stage.lease(1, [stage.lane()]))
        await stage.until(lambda: stage.copied() == RECORDS)
        for _ in range(3):
            for wire in list(stage.world.network.wires):
                if wire.broker is stage.target.brokers[leader]:
                    wire.reset()
            await runner.work(3.0)
        idle = await stage.claims()
        if moved:
            assert stage.target.move_leader(stage.target.partition(TOPIC, 0), 1 if leader != 1 else 2)
        await stage.append()
        await stage.until(lambda: stage.copied() >= 2 * RECORDS)
        claims = await stage.claims()
        await runner.end(1.0)
        return stage.copied(), idle, claims

    copied, idle, claims = play(worker, brokers=2, replicas=2)
    assert len(idle) == 1
    assert (copied, len(claims)) == ((2 * RECORDS + 1, 2) if moved else (2 * RECORDS, 1))


def test_a_lane_that_another_worker_has_the_lease_of_is_let_go_at_its_asking() -> None:
    """Between two leases a worker copies on; whoever has the lane next must not take it by force."""

    async def worker(stage: Stage) -> tuple[int, list[ClaimState]]:
        runner = stage.runner
        await runner.begin(stage.lease(1, [stage.lane()]))
        await stage.until(lambda: stage.copied() == RECORDS)
        await runner.work(3.0)
        runner.over = "the lease is over"
        other = Progress(stage.target_cluster)
        await other.sync()
        told = await stage.progress()
        for _ in range(3):  # as who waits for a lane asks again and again
            await other.persist([replace(told, owner=f"{RUN}/other", state=LaneState.WAITING, updated_at_ms=now_ms())])
            await runner.copy_on(asyncio.Event(), 1.0)
        found = runner.figures().lanes, [one.state for one in await stage.claims()]
        await runner.end(1.0)
        return found

    assert play(worker) == (0, [ClaimState.RELEASED])


def test_a_lane_from_a_sibling_is_told_where_the_sibling_persisted_it() -> None:
    """Its last runs may not be read yet; progress that went back for a moment would look as if records were lost."""

    async def worker(stage: Stage) -> tuple[int, int, int]:
        runner, one, other = stage.runner, stage.lane(0), stage.lane(1)
        await MappedRanges(stage.target_cluster).persist({(other.lane, 0): (MappedRange(0, 0, 5),)})
        await runner.begin(stage.lease(1, [one]))
        await stage.until(lambda: stage.copied() == RECORDS)
        await runner.end(1.0)
        mine = await stage.progress()
        persisted = replace(
            mine, lane=other.lane, source=other.source, target=other.target, position=9, target_end=8, owner="run-1/it"
        )
        await Progress(stage.target_cluster).persist([persisted])
        await runner._topics.progress.sync()
        lane = runner._make_lane(other)
        return lane.copied.book.map.records, lane.copied.position, lane.copied.target_end

    assert play(worker, partitions=2) == (5, 9, 8)
