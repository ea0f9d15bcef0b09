"""What happens to a link while it runs: at moments that are drawn, for as long as is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.kafka.simulated import SimulatedCluster
from anabranch.kafka.simulated.broker import BrokerPower
from anabranch.kafka.simulated.partition import NO_LEADER, SimulatedPartition
from qa.faults.topics import LoadTopic, TopicKind
from qa.logcompare import ComparedRecord
from qa.simulation.load import entries
from qa.simulation.run import Run
from qa.simulation.scheduler import State
from qa.simulation.world import World

KEPT_BATCHES = 3
"""How many batches retention leaves: of a log without any it is not known where its lane is."""
RETAINED = {TopicKind.PLAIN, TopicKind.TRANSACTIONAL}
MOST_RUNS = 3
LOOKS = 300
"""How often it is looked for a moment in which nothing is under way."""
_HOURS_S = (3_600.0, 40_000.0, 200_000.0)
_DAYS_S = (100_000.0, 600_000.0, 800_000.0)
"""A transaction coordinator remembers an id for 604,800 seconds."""


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
    RETENTION = "retention on both sides"
    HOURS = "hours without anything"
    AWAY = "days without a run"
    PAUSE = "pause of the link"
    FILTER = "topic left out"


@dataclass(slots=True)
class Faults:
    """The faults of one life.

    ``positions`` are how far the lanes have persisted, in the source and in the target, by topic and partition;
    ``gone`` is what retention took, for the judge.
    """

    world: World
    source: SimulatedCluster
    target: SimulatedCluster
    topics: Sequence[LoadTopic]
    runs: Sequence[Run]
    start_run: Callable[[], None]
    set_paused: Callable[[bool], object]
    set_filter: Callable[[list[str]], object]
    positions: Callable[[], Mapping[tuple[str, int], tuple[int, int]]]
    struck: dict[Fault, int] = field(default_factory=dict)
    gone: dict[tuple[str, str, int], list[ComparedRecord]] = field(default_factory=dict)
    unclean: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    """When each partition of the target got a leader that lacked what was acknowledged, in virtual seconds."""

    def begin(self, faults: Sequence[Fault], gap_s: float, until: float) -> None:
        """Let one of these faults happen about every ``gap_s`` until then; all in virtual seconds."""
        wait = self.world.chance.expovariate(1 / gap_s)
        if not faults or self.world.scheduler.now + wait > until:
            return

        def happen() -> None:
            fault = self.world.chance.choice(list(faults))
            if self.inject(fault):
                self._count(fault)
            self.begin(faults, gap_s, until)

        self.world.scheduler.call_later(wait, happen)

    def end(self) -> None:
        """Undo every fault that still lasts."""
        self.world.network.heal()
        for cluster in self.world.clusters.values():
            for broker in cluster.brokers.values():
                broker.start()
                broker.resume()
        for run in self.runs:
            for slot in run.workers:
                slot.process.resume()

    def _count(self, fault: Fault) -> None:
        self.struck[fault] = self.struck.get(fault, 0) + 1
        if self.world.scheduler.trace is not None:
            self.world.scheduler.trace(f"fault: {fault}")

    def inject(self, fault: Fault) -> bool:
        """Let it happen now; False where there is nothing that it could happen to.

        What has to wait for its moment is False, too: it is counted when that comes.
        """
        chance, world = self.world.chance, self.world
        workers = [slot.process for run in self.runs for slot in run.workers if slot.process.state is State.RUNNING]
        match fault:
            case Fault.WORKER_KILL if workers:
                chance.choice(workers).kill()
            case Fault.WORKER_STOP if workers:
                process = chance.choice(workers)
                return self._for(process.stop, process.resume)
            case Fault.DRIVER_KILL:
                alive = [run for run in self.runs if run.driver and run.driver.state is State.RUNNING]
                if not alive:
                    return False
                chance.choice(alive).kill()
            case Fault.SECOND_RUN:
                if sum(run.is_alive for run in self.runs) >= MOST_RUNS:
                    return False
                self.start_run()
            case Fault.RESET:
                wires = list(world.network.wires)
                if not wires:
                    return False
                chance.choice(wires).reset()
            case Fault.TARGET_CUT | Fault.SOURCE_CUT:
                cluster = "target" if fault is Fault.TARGET_CUT else "source"
                who = chance.choice([process.name for process in workers] or ["*"])
                return self._for(lambda: world.network.cut(who, cluster), world.network.heal)
            case Fault.TARGET_KILL | Fault.SOURCE_KILL:
                return self._broker(self.target if fault is Fault.TARGET_KILL else self.source, kill=True)
            case Fault.TARGET_STOP | Fault.SOURCE_STOP:
                return self._broker(self.target if fault is Fault.TARGET_STOP else self.source, kill=False)
            case Fault.TARGET_MOVE | Fault.SOURCE_MOVE:
                return self._move(self.target if fault is Fault.TARGET_MOVE else self.source)
            case Fault.TARGET_UNCLEAN:
                return self._unclean()
            case Fault.RETENTION:
                return self._retain()
            case Fault.HOURS:
                self._leap(fault, LOOKS, _HOURS_S)
                return False
            case Fault.AWAY:
                self._kill_all()
                self._leap(fault, LOOKS, _DAYS_S)
                return False
            case Fault.PAUSE:
                return self._for(lambda: self.set_paused(True), lambda: self.set_paused(False))
            case Fault.FILTER:
                names = [topic.name for topic in self.topics]
                out = chance.choice(names)
                left = [name for name in names if name != out]
                return self._for(lambda: self.set_filter(left or ["none"]), lambda: self.set_filter(names))
            case _:
                return False
        return True

    def _for(self, begin: Callable[[], object], end: Callable[[], object]) -> bool:
        chance = self.world.chance
        seconds = chance.choice([chance.uniform(0.01, 0.3), chance.uniform(0.3, 2.0), chance.uniform(2.0, 9.0)])

        def over() -> None:
            end()

        begin()
        self.world.scheduler.call_later(seconds, over)
        return True

    def _kill_all(self) -> None:
        """No process of any run is there any more; nothing was given back."""
        for run in self.runs:
            run.kill()
            for slot in run.workers:
                slot.process.kill()

    def _leap(self, fault: Fault, looks: int, lengths: Sequence[float]) -> None:
        """Let about one of these lengths go by once nothing is under way, and nothing stopped, that would be as old.

        Where no such moment comes within so many looks, nothing happens, and nothing is counted.
        """
        world = self.world
        alive = [slot.process for run in self.runs for slot in run.workers] + [run.driver for run in self.runs]
        stopped = any(process is not None and process.state is State.STOPPED for process in alive)
        off = any(
            broker.power is not BrokerPower.ON for one in world.clusters.values() for broker in one.brokers.values()
        )
        if not stopped and not off and world.network.is_quiet:
            world.scheduler.leap(world.chance.choice(lengths) * world.chance.uniform(0.5, 1.5))
            for cluster in world.clusters.values():
                cluster.transactions.time_out()  # a coordinator looks each hour what it may forget
            self._count(fault)
        elif looks:
            world.scheduler.call_later(0.003, lambda: self._leap(fault, looks - 1, lengths))

    def _broker(self, cluster: SimulatedCluster, *, kill: bool) -> bool:
        on = [one for one in cluster.brokers.values() if one.power is BrokerPower.ON]
        if len(on) < len(cluster.brokers):
            return False  # one at a time
        broker = self.world.chance.choice(on)
        return self._for(broker.kill, broker.start) if kill else self._for(broker.pause, broker.resume)

    def _led(self, cluster: SimulatedCluster) -> list[SimulatedPartition]:
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
        names = {topic.name for topic in self.topics if topic.unclean}
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
        moved = self.target.move_leader(partition, node, unclean=True)
        if moved:
            self.unclean.setdefault((partition.topic, partition.index), []).append(self.world.scheduler.now)
        return moved

    def _retain(self) -> bool:
        """Both clusters delete what is old: the source what was copied, the target all but a few batches of what was
        persisted.  What is deleted before an owner that is killed has persisted it, no map can tell: no retention is so
        short.
        """
        done = False
        positions = self.positions()
        for topic in self.topics:
            if topic.kind not in RETAINED or topic.unclean:
                continue
            for index in range(topic.partitions):
                copied, persisted = positions.get((topic.name, index), (0, 0))
                for name, cluster, below in (("source", self.source, copied), ("target", self.target, persisted)):
                    if topic.name in cluster.topics and self.world.chance.random() < 0.5:
                        done |= self._delete(name, cluster.partition(topic.name, index), below)
        return done

    def _delete(self, name: str, partition: SimulatedPartition, below: int) -> bool:
        if partition.leader == NO_LEADER:
            return False
        batches = [one for one in partition.led.log.batches if one.header.base_offset >= partition.led.log.start]
        upto = min(below, partition.high_watermark)
        old = [one for one in batches[:-KEPT_BATCHES] if one.last < upto]
        if not old:
            return False
        start = self.world.chance.choice(old).last + 1
        gone = self.gone.setdefault((name, partition.topic, partition.index), [])
        gone += [one for one in entries(partition, committed=name == "source") if one.offset < start]
        for replica in partition.replicas.values():
            if replica.log.end >= start:
                replica.log.delete_before(start)
        return True
