"""A run of a link in the simulation: a driver that plans, and workers that Spark would give its tasks to.

``LeasePlanner`` and ``Worker`` are the product's, each in a process of its own.  What is written here is what Spark
does with them: it gives each lease to some worker, waits for all, starts a new worker where one died, and gives a lease
a second time where a worker is slow (speculation).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from anabranch.config.jobspec import LinkJob
from anabranch.copier.planning.lease import Lease
from anabranch.copier.worker import Worker
from anabranch.errors import AnabranchError
from anabranch.kafka.errors import passing
from anabranch.model.clock import now_ms
from anabranch.spark.link.leases import LeasePlanner
from qa.simulation.scheduler import Fiber, Process, State
from qa.simulation.world import World

BETWEEN_S = (0.05, 0.4)
AGAIN_S = 0.5
SLOW_S = 4.0


@dataclass(slots=True, eq=False)
class Slot:
    """A worker process, and the task that it has."""

    process: Process
    lease: Lease | None = None
    done: Callable[[str], None] | None = None
    fiber: Fiber | None = None
    ended: str = ""


@dataclass(slots=True, eq=False)
class Run:
    """One run of a link, from its driver's start to its end; ``stop`` ends it in order."""

    world: World
    job: LinkJob
    slots: int
    skew_ms: Callable[[], int] = lambda: 0
    workers: list[Slot] = field(default_factory=list)
    driver: Process | None = None
    is_over: bool = False
    exits: list[str] = field(default_factory=list)
    _numbers: int = 0
    _stopping: bool = False

    def start(self) -> None:
        """Begin."""
        self.driver = self.world.process(f"driver of {self.job.run}", self._drive)
        self.driver.skew_ms = self.skew_ms()

    def stop(self) -> None:
        """Ask it to end; it gives its lanes back."""
        self._stopping = True

    def kill(self) -> None:
        """The driver's process is killed, and its workers find that out."""
        if self.driver is not None:
            self.driver.kill()

    @property
    def is_alive(self) -> bool:
        """Whether any process of it is there."""
        return (self.driver is not None and self.driver.state is not State.DEAD) or any(
            slot.process.state is not State.DEAD for slot in self.workers
        )

    # -- the driver ------------------------------------------------------------------------------------

    def _drive(self) -> None:
        scheduler = self.world.scheduler
        me = scheduler.fiber
        assert me is not None
        planner: LeasePlanner | None = None
        try:
            planner = LeasePlanner(self.job, self.slots)
            while not self._stopping:
                leases = planner.leases(now_ms())
                self._carry_out(leases, me)
                self._wait(me, scheduler.chance.uniform(*BETWEEN_S))
        except AnabranchError as error:
            self.exits.append(f"{'passing' if passing(error) else 'final'}: {error.message}")
        finally:
            self.is_over = True
            if planner is not None:
                planner.close()

    def _wait(self, me: Fiber, seconds: float) -> None:
        self.world.scheduler.call_later(seconds, lambda: self.world.scheduler.ready(me))
        me.park()

    def _carry_out(self, leases: list[Lease], me: Fiber) -> None:
        """Give each lease to some worker until one has carried it out; raises what none of them could."""
        left = {lease.slot: lease for lease in leases}
        failures: list[str] = []
        began = {lease.slot: self.world.scheduler.now for lease in leases}
        attempts: dict[int, int] = dict.fromkeys(left, 0)
        running: dict[int, list[Slot]] = {slot: [] for slot in left}

        def finished(slot: int, worker: Slot) -> Callable[[str], None]:
            def told(error: str) -> None:
                if worker in running[slot]:
                    running[slot].remove(worker)
                if error:
                    failures.append(error)
                else:
                    left.pop(slot, None)
                self.world.scheduler.ready(me)

            return told

        while left:
            for slot, lease in list(left.items()):
                running[slot] = [one for one in running[slot] if one.process.state is not State.DEAD]
                slow = self.world.scheduler.now - began[slot] > lease.seconds + SLOW_S
                if running[slot] and not (slow and len(running[slot]) < 2):
                    continue
                attempts[slot] += 1
                if attempts[slot] > 20:
                    raise RuntimeError(f"a lease was given to 20 workers: {failures[-3:]}")
                worker = self._free_worker()
                running[slot].append(worker)
                self._give(worker, lease, finished(slot, worker))
            if len(failures) >= 4:
                self.exits.append(f"tasks failed: {failures[-1]}")
                raise RuntimeError(failures[-1])
            self._wait(me, AGAIN_S)

    def _free_worker(self) -> Slot:
        free = [slot for slot in self.workers if slot.process.state is State.RUNNING and slot.lease is None]
        if free:
            return self.world.chance.choice(free)
        self._numbers += 1
        name = f"worker-{self._numbers} of {self.job.run}"
        slot: Slot = Slot(self.world.process(name, lambda: self._work(slot)))  # which begins with the next step
        slot.process.skew_ms = self.skew_ms()
        self.workers.append(slot)
        return slot

    def _give(self, slot: Slot, lease: Lease, done: Callable[[str], None]) -> None:
        slot.lease, slot.done = lease, done
        if slot.fiber is not None:
            self.world.scheduler.ready(slot.fiber)

    # -- a worker --------------------------------------------------------------------------------------

    def _work(self, slot: Slot) -> None:
        scheduler = self.world.scheduler
        slot.fiber = me = scheduler.fiber
        assert me is not None
        driver = self.driver
        assert driver is not None
        worker = Worker(self.job.source, self.job.target, self.job.run, lambda: driver.state is not State.DEAD)
        try:
            while not self.is_over and driver.state is not State.DEAD:
                if slot.lease is None:
                    self._wait(me, 1.0)
                    continue
                error = ""
                try:
                    for _ in worker.run(slot.lease):
                        if self._stopping:
                            break
                except AnabranchError as raised:
                    error = raised.message
                slot.lease, done, slot.done = None, slot.done, None
                if done is not None:
                    done(error)
        finally:
            worker.close()
