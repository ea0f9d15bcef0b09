"""One life of a link: load, faults at drawn moments, then quiet, and the judge of the real clusters.

A seed draws everything: what kinds of logs there are, how they are written, which faults fall when and for how long.
What must hold does not hang on any of it:

    L1  what a read-committed reader of the source sees is what any reader of the target sees, in the same order;
    L2  what is filed of the offset maps says where each record lies, exactly, whenever it is looked at;
    L3  the target's log alone gives the same maps back;
    L4  once all is quiet the link catches up by itself, and no run of it ended by an error that a person must mend.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from anabranch.config.jobspec import LinkJob
from anabranch.errors import AnabranchError
from anabranch.kafka.security import open_cluster
from anabranch.kafka.simulated import ClusterPlan, SimulatedCluster
from anabranch.kafka.simulated.broker import Power
from anabranch.kafka.simulated.partition import NO_LEADER, Partition
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, ModePolicy, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.offsets.runs import Run as MappedRun
from anabranch.replicate.control import Links, Progress, Runs, ensure_topics
from anabranch.testing.faults.proof import Filed, Proof, filed_of, weigh
from anabranch.testing.faults.topics import SOURCE_SETTINGS, LoadTopic, TopicKind
from anabranch.testing.simulation.load import Load, entries
from anabranch.testing.simulation.run import Run
from anabranch.testing.simulation.scheduler import Process, State
from anabranch.testing.simulation.world import World

LINK = "link"
CATCH_UP_S = 400.0


class Fault(StrEnum):
    """What can happen to a running link."""

    WORKER_KILL = "worker kill"
    WORKER_STOP = "worker stop"
    DRIVER_KILL = "driver kill"
    SECOND_RUN = "second run"
    RESET = "connection reset"
    TARGET_CUT = "target cut off"
    SOURCE_CUT = "source cut off"
    TARGET_KILL = "target broker kill"
    TARGET_STOP = "target broker stop"
    SOURCE_KILL = "source broker kill"
    SOURCE_STOP = "source broker stop"
    TARGET_MOVE = "target leader move"
    SOURCE_MOVE = "source leader move"
    TARGET_UNCLEAN = "target unclean election"
    PAUSE = "pause of the link"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a life is made of, before its seed draws the rest; times in virtual seconds.

    ``expiration_ms`` is the target's ``producer.id.expiration.ms``, whose check runs every second.
    """

    name: str
    topics: Sequence[LoadTopic]
    faults: Sequence[Fault]
    seconds: float = 12.0
    gap_s: float = 0.8
    load_gap_s: float = 0.15
    brokers: int = 1
    version: str = "4.3.1"
    expiration_ms: int = 86_400_000
    lease_s: tuple[float, float] = (1.0, 6.0)
    slots: int = 2
    mode: ModePolicy = ModePolicy.AUTO
    may_mark: bool = True
    wall_rate: float = 1.0


@dataclass(slots=True)
class Outcome:
    """What came of a life; it held where ``wrong`` is empty."""

    plan: str
    seed: int
    proof: Proof
    struck: dict[Fault, int] = field(default_factory=dict)
    runs: int = 0
    looks: int = 0
    seconds: float = 0.0
    steps: int = 0
    wrong: list[str] = field(default_factory=list)


class Life:
    """A world with a link in it."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self.plan = plan
        self.world = World(seed, plan.wall_rate)
        self.outcome = Outcome(plan.name, seed, Proof())
        self._runs: list[Run] = []
        self._numbers = 0
        self._keeps = True
        self._until = 0.0
        self._observer: Process | None = None
        self._progress: dict[tuple[str, int], tuple[int, LaneState, str | None]] = {}
        self.source = self._cluster("source", "3.9.1" if seed % 3 == 0 else "4.3.1", SOURCE_SETTINGS)
        target = {
            "producer.id.expiration.ms": str(plan.expiration_ms),
            "producer.id.expiration.check.interval.ms": "1000",
            "log.cleaner.backoff.ms": "300",
            "replica.lag.time.max.ms": "3000",
        }
        self.target = self._cluster("target", plan.version, target)
        self.load = Load(self.source, tuple(plan.topics), plan.load_gap_s)

    def _cluster(self, name: str, version: str, overrides: dict[str, str] | object) -> SimulatedCluster:
        addresses = [(f"{name}-{number}", 9092) for number in range(1, self.plan.brokers + 1)]
        settings = dict(overrides) if isinstance(overrides, dict) else dict(SOURCE_SETTINGS)
        # Without the right to write markers a takeover fences through the transaction coordinator.
        authorizer = name == "target" and not self.plan.may_mark
        return self.world.cluster(
            ClusterPlan(
                name,
                version,
                addresses,
                settings,
                {"mover": "secret"} if authorizer else {},
                authorizer,
                seed=self.world.chance.getrandbits(32),
            )
        )

    def context(self, name: str) -> ClusterContext:
        """How processes reach a cluster."""
        addresses = tuple(f"{broker.host}:{broker.port}" for broker in self.world.clusters[name].brokers.values())
        return ClusterContext(name, addresses)

    # -- the whole -------------------------------------------------------------------------------------

    def live(self) -> Outcome:
        """From the first record to the verdict."""
        world, plan = self.world, self.plan
        with world.entered():
            self.load.start()
            world.ask(lambda: asyncio.run(self._store_link()))
            self._keep()
            self._observer = world.process("observer", self._observe)
            world.scheduler.run(lambda: bool(self._progress), 60.0)
            self._until = world.scheduler.now + plan.seconds
            self._next_fault()
            world.scheduler.run(lambda: False, plan.seconds)
            self._quiet()
            self.load.stop()
            self._catch_up()
            self._stop_runs()
            self._observer.kill()
            self._judge()
        self.outcome.seconds, self.outcome.steps = world.scheduler.now, world.scheduler.steps
        for name, error in world.scheduler.failures:
            where = "".join(traceback.format_exception(error)[-3:])
            self.outcome.wrong.append(f"{name} ended by {type(error).__name__}: {error}\n{where}")
        for cluster in world.clusters.values():
            self.outcome.wrong += [f"{cluster.plan.name} could not answer: {one}" for one in cluster.unanswered[:3]]
        return self.outcome

    async def _store_link(self) -> None:
        async with open_cluster(self.context("target")) as target:
            await ensure_topics(target)
            links = Links(target)
            await links.sync()
            spec = LinkSpec(
                LINK,
                ClusterRef("source", self.source.id),
                ClusterRef("target", self.target.id),
                PluginSpec("regex", {"include": [topic.name for topic in self.plan.topics]}),
                replication_factor=min(3, self.plan.brokers),
                mode=self.plan.mode,
            )
            await links.put(LinkRecord(WantedState(spec), (self.source.id,), now_ms()))

    # -- runs ------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        """See to it that a run is there, as whoever operates a link does."""
        if not self._keeps:
            return
        alive = [run for run in self._runs if run.driver is not None and run.driver.state is not State.DEAD]
        if not alive:
            self._start_run()
        self.world.scheduler.call_later(0.5, self._keep)

    def _start_run(self) -> None:
        self._numbers += 1
        chance = self.world.chance
        job = LinkJob(
            LINK,
            f"run-{self._numbers}",
            self.context("source"),
            self.context("target"),
            chance.uniform(*self.plan.lease_s),
        )
        run = Run(self.world, job, self.plan.slots, lambda: chance.choice([0, 0, 0, -3000, 2500]))
        self._runs.append(run)
        run.start()
        self.outcome.runs += 1

    def _stop_runs(self) -> None:
        self._keeps = False
        for run in self._runs:
            run.stop()
        if not self.world.scheduler.run(lambda: not any(run.is_alive for run in self._runs), 60.0):
            self.outcome.wrong.append("the runs did not end")
        for run in self._runs:
            self.outcome.wrong += [f"a run ended: {one}" for one in run.exits if not one.startswith("passing")]

    # -- faults ----------------------------------------------------------------------------------------

    def _next_fault(self) -> None:
        wait = self.world.chance.expovariate(1 / self.plan.gap_s)
        if not self.plan.faults or self.world.scheduler.now + wait > self._until:
            return

        def strike() -> None:
            fault = self.world.chance.choice(list(self.plan.faults))
            if self._inject(fault):
                self.outcome.struck[fault] = self.outcome.struck.get(fault, 0) + 1
                self._say(f"fault: {fault}")
            self._next_fault()

        self.world.scheduler.call_later(wait, strike)

    def _say(self, text: str) -> None:
        if self.world.scheduler.trace is not None:
            self.world.scheduler.trace(text)

    def _for(self, seconds: float, begin: Callable[[], None], end: Callable[[], None]) -> bool:
        begin()
        self.world.scheduler.call_later(seconds, end)
        return True

    def _while(self) -> float:
        chance = self.world.chance
        return chance.choice([chance.uniform(0.01, 0.3), chance.uniform(0.3, 2.0), chance.uniform(2.0, 9.0)])

    def _inject(self, fault: Fault) -> bool:
        chance, world = self.world.chance, self.world
        workers = [slot.process for run in self._runs for slot in run.workers if slot.process.state is State.RUNNING]
        match fault:
            case Fault.WORKER_KILL if workers:
                chance.choice(workers).kill()
            case Fault.WORKER_STOP if workers:
                process = chance.choice(workers)
                return self._for(self._while(), process.stop, process.resume)
            case Fault.DRIVER_KILL:
                alive = [run for run in self._runs if run.driver and run.driver.state is State.RUNNING]
                if not alive:
                    return False
                chance.choice(alive).kill()
            case Fault.SECOND_RUN:
                if sum(run.is_alive for run in self._runs) > 2:
                    return False
                self._start_run()
            case Fault.RESET:
                wires = list(world.network.wires)
                if not wires:
                    return False
                chance.choice(wires).reset()
            case Fault.TARGET_CUT | Fault.SOURCE_CUT:
                cluster = "target" if fault is Fault.TARGET_CUT else "source"
                who = chance.choice([process.name for process in workers] or ["*"])
                return self._for(self._while(), lambda: world.network.cut(who, cluster), world.network.heal)
            case Fault.TARGET_KILL | Fault.SOURCE_KILL:
                return self._broker(self.target if fault is Fault.TARGET_KILL else self.source, kill=True)
            case Fault.TARGET_STOP | Fault.SOURCE_STOP:
                return self._broker(self.target if fault is Fault.TARGET_STOP else self.source, kill=False)
            case Fault.TARGET_MOVE | Fault.SOURCE_MOVE:
                return self._move(self.target if fault is Fault.TARGET_MOVE else self.source)
            case Fault.TARGET_UNCLEAN:
                return self._unclean()
            case Fault.PAUSE:
                return self._pause()
            case _:
                return False
        return True

    def _broker(self, cluster: SimulatedCluster, *, kill: bool) -> bool:
        on = [one for one in cluster.brokers.values() if one.power is Power.ON]
        if len(on) < len(cluster.brokers):
            return False  # one at a time
        broker = self.world.chance.choice(on)
        seconds = self._while()
        if kill:
            return self._for(seconds, broker.kill, broker.start)
        return self._for(seconds, broker.pause, broker.resume)

    def _led(self, cluster: SimulatedCluster) -> list[Partition]:
        return [one for one in cluster.partitions() if one.leader != NO_LEADER and len(one.replicas) > 1]

    def _move(self, cluster: SimulatedCluster) -> bool:
        partitions = self._led(cluster)
        if not partitions:
            return False
        partition = self.world.chance.choice(partitions)
        others = [node for node in partition.isr if node != partition.leader]
        return bool(others) and cluster.move_leader(partition, self.world.chance.choice(others))

    def _unclean(self) -> bool:
        """A replica that lacks what was acknowledged leads: the leader was alone in sync, and is lost."""
        names = {topic.name for topic in self.plan.topics if topic.unclean}
        partitions = [one for one in self._led(self.target) if one.topic in names]
        if not partitions:
            return False
        partition = self.world.chance.choice(partitions)
        others = [node for node in partition.replicas if node != partition.leader and self.target.is_alive(node)]
        if not others:
            return False
        node = self.world.chance.choice(others)
        lost = self.world.chance.randint(1, 4)
        replica = partition.replicas[node].log
        keep = replica.batches[-lost].header.base_offset if len(replica.batches) >= lost else replica.start
        replica.truncate(keep)
        return self.target.move_leader(partition, node, unclean=True)

    def _pause(self) -> bool:
        def change(paused: bool) -> None:
            self.world.process("operator", lambda: asyncio.run(self._set_paused(paused)))

        return self._for(self._while(), lambda: change(True), lambda: change(False))

    async def _set_paused(self, paused: bool) -> None:
        try:
            async with open_cluster(self.context("target")) as target:
                links = Links(target)
                await links.sync()
                record = links.links[LINK]
                wanted = replace(record.wanted, paused=paused, revision=record.wanted.revision + 1)
                await links.put(replace(record, wanted=wanted))
        except AnabranchError:
            pass  # whoever could not reach the cluster tries it another time

    def _quiet(self) -> None:
        """Undo every fault that still lasts."""
        self.world.network.heal()
        for cluster in self.world.clusters.values():
            for broker in cluster.brokers.values():
                broker.start()
                broker.resume()
        for run in self._runs:
            for slot in run.workers:
                slot.process.resume()
        self.world.scheduler.run(lambda: False, 2.0)
        self.world.ask(lambda: asyncio.run(self._set_paused(False)))

    # -- looking ---------------------------------------------------------------------------------------

    def _observe(self) -> None:
        asyncio.run(self._look_on())

    async def _look_on(self) -> None:
        """Read what is filed, about once a second, and hold it against both logs as they are in that moment."""
        async with open_cluster(self.context("target")) as target:
            progress, runs = Progress(target), Runs(target)
            while True:
                await asyncio.sleep(1.0)
                try:
                    await progress.sync()
                    await runs.sync()
                except AnabranchError:
                    progress, runs = Progress(target), Runs(target)
                    continue
                self.outcome.looks += 1
                for key, lane in progress.lanes.items():
                    place = (lane.source.topic, lane.source.partition)
                    self._progress[place] = (lane.position, lane.state, lane.stop_reason)
                    segments = runs.segments.get(key, {})
                    self._hold(place, [run for number in sorted(segments) for run in segments[number]])

    def _hold(self, place: tuple[str, int], runs: Sequence[MappedRun]) -> None:
        """L2: of what both logs hold now, the filed runs say exactly where it is."""
        topic = next(one for one in self.plan.topics if one.name == place[0])
        if topic.unclean or topic.kind is TopicKind.BOTH_COMPACTED or not runs:
            return  # what the target lost again is filed until its owner has noticed
        source, target = self.source.partition(*place), self.target.partition(*place)
        if NO_LEADER in {source.leader, target.leader}:
            return
        last = runs[-1]
        here = {one.offset: one.digest for one in entries(source, committed=True)[-40:]}
        there = {one.offset: one.digest for one in entries(target, committed=False)[-60:]}
        for run in runs[-20:]:
            for at in range(run.length):
                ours, theirs = here.get(run.source + at), there.get(run.target + at)
                if ours is not None and theirs is not None and ours != theirs:
                    self.outcome.wrong.append(
                        f"{place}: while it ran, {run} was filed, and source {run.source + at} is not there ({last})"
                    )
                    return

    # -- the end ---------------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        scheduler = self.world.scheduler
        scheduler.run(lambda: not self._open_transactions(), 30.0)
        wanted = {
            (partition.topic, partition.index): partition.stable_end(partition.led)
            for partition in self.source.partitions()
        }

        def there() -> bool:
            return all(self._progress.get(place, (0,))[0] >= end for place, end in wanted.items() if end)

        if not scheduler.run(there, CATCH_UP_S):
            behind = {
                place: (end, self._progress.get(place))
                for place, end in wanted.items()
                if self._progress.get(place, (0,))[0] < end
            }
            self.outcome.wrong.append(f"the link did not catch up within {CATCH_UP_S:.0f} s: {behind}")

    def _open_transactions(self) -> bool:
        return any(
            partition.leader == NO_LEADER or partition.stable_end(partition.led) < partition.high_watermark
            for partition in self.source.partitions()
        )

    def _judge(self) -> None:
        filed: dict[tuple[str, int], Filed] = {}
        filed, self.outcome.proof.jumps = self.world.ask(
            lambda: asyncio.run(filed_of(self.context("target"), LINK)), 300.0
        )
        proof = self.outcome.proof
        for topic in self.plan.topics:
            for index in range(topic.partitions):
                ours = entries(self.source.partition(topic.name, index), committed=True)
                there = self.target.topics.get(topic.name)
                target = None if there is None else there.partitions[index]
                if target is not None:
                    proof.markers += sum(one.header.is_control for one in target.led.log.batches)
                theirs = [] if target is None else entries(target, committed=False)
                if ours or theirs:
                    weigh(proof, topic, index, ours, theirs, filed.get((topic.name, index)), self.load.ledger)
        self.outcome.wrong += proof.wrong
