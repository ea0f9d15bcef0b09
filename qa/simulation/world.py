"""What stands for the machine while simulated processes run: their clock, their loops, their threads, their chance."""

from __future__ import annotations

import asyncio
import functools
import gc
import random
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from anabranch.copier import worker
from anabranch.kafka.simulated import ClusterPlan, SimulatedCluster
from qa.simulation.loop import SimulatedLoop
from qa.simulation.network import Network
from qa.simulation.scheduler import WALL_MS, Fiber, Process, Scheduler, State


class World:
    """One scheduler, one network, some clusters and processes."""

    def __init__(self, seed: int) -> None:
        self.scheduler = Scheduler(seed)
        self.network = Network(self.scheduler)
        self.clusters: dict[str, SimulatedCluster] = {}
        self._processes: list[Process] = []

    @property
    def chance(self) -> random.Random:
        """What everything is drawn from."""
        return self.scheduler.chance

    def cluster(self, plan: ClusterPlan) -> SimulatedCluster:
        """Add a cluster."""
        made = self.clusters[plan.name] = SimulatedCluster(self.scheduler, plan)
        for broker in made.brokers.values():
            self.network.add(broker)
        return made

    def process(self, name: str, what: Callable[[], Any]) -> Process:
        """Begin a process whose main thread does this."""
        process = Process(self.scheduler, name)
        self._processes.append(process)

        def main() -> None:
            try:
                what()
            finally:
                process.end()

        Fiber(process, self.scheduler, main, name).start()
        return process

    def ask(self, question: Callable[[], Any], seconds: float = 120.0) -> Any:
        """What a process of its own finds out; raises what it raises, and TimeoutError."""
        found: list[Any] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                found.append(question())
            except Exception as error:
                failed.append(error)

        process = self.process("asking", run)
        if not self.scheduler.run(lambda: process.state is State.DEAD, seconds):
            process.kill()
            raise TimeoutError(f"no answer in {seconds} virtual seconds")
        if failed:
            raise failed[0]
        return found[0]

    # -- in the machine's place ------------------------------------------------------------------------

    @contextmanager
    def entered(self) -> Iterator[None]:
        """While this lasts, clocks, event loops, threads and chance of this Python process are the simulated ones."""
        scheduler = self.scheduler
        state, policy = random.getstate(), asyncio.get_event_loop_policy()
        home, really_sleep = threading.current_thread(), time.sleep

        def wall_ns() -> int:
            skew = scheduler.current.skew_ms if scheduler.current is not None else 0
            return (WALL_MS + scheduler.leapt_ms + skew) * 1_000_000 + int(scheduler.now * 1e9)

        def sleep(seconds: float) -> None:
            fiber = scheduler.fiber
            assert threading.current_thread() is not home, "only a simulated thread may sleep"
            if fiber is None or not fiber.is_current:
                really_sleep(seconds)  # a thread of this Python process that is not simulated: Spark's client has one
                return
            until = scheduler.now + seconds
            scheduler.call_at(until, lambda: scheduler.ready(fiber))
            while scheduler.now < until:
                fiber.park()

        def wall() -> float:
            return wall_ns() / 1e9

        def uuid4() -> uuid.UUID:
            return uuid.UUID(int=scheduler.chance.getrandbits(128), version=4)

        with (
            _without_collector(),
            patch.multiple(time, monotonic=scheduler.monotonic, time_ns=wall_ns, time=wall, sleep=sleep),
            patch.object(uuid, "uuid4", uuid4),
            patch.object(worker, "threading", SimpleNamespace(Thread=self._thread)),
            patch.object(worker, "gc", SimpleNamespace(freeze=lambda: None)),  # a whole world would be kept for good
        ):
            random.seed(scheduler.chance.getrandbits(64))
            asyncio.set_event_loop_policy(_Policy(self))
            try:
                yield
                # What was made since: whatever nobody awaits any more complains while its process is there.
                gc.collect(0)
            finally:
                self._clear_away()
                random.setstate(state)
                asyncio.set_event_loop_policy(policy)

    def _clear_away(self) -> None:
        """End what still is there of the simulated processes, threads and coroutines."""
        for process in self._processes:
            process.kill()
        # Coroutines of killed processes end where their memory is freed, and complain that they cannot end.
        with patch.object(sys, "unraisablehook", lambda _: None), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for loop in self.network.loops:
                loop.clear()
            gc.collect()

    def _thread(self, target: Callable[[], Any], name: str = "", daemon: bool = True) -> _Thread:
        fiber = self.scheduler.fiber
        assert fiber is not None and daemon
        return _Thread(Fiber(fiber.process, self.scheduler, target, name))


@functools.cache
def _is_frozen_for_good() -> bool:
    """Whether a run of tests has frozen what it began with: asked once, since it takes as long as there is frozen."""
    return gc.get_freeze_count() > 0


@contextmanager
def _without_collector() -> Iterator[None]:
    """The collector of cycles runs where it is called, and looks only at what was made since: a world is soon over.

    What is frozen is never freed while it is, the world before this one included: what a run of tests has frozen for
    good is enough.
    """
    was_on, was_frozen = gc.isenabled(), _is_frozen_for_good()
    gc.disable()
    if not was_frozen:
        gc.freeze()
    try:
        yield
    finally:
        if not was_frozen:
            gc.unfreeze()
        if was_on:
            gc.enable()


class _Thread:
    """What ``threading.Thread`` is to a worker."""

    def __init__(self, fiber: Fiber) -> None:
        self._fiber = fiber
        self.start = fiber.start

    def join(self) -> None:
        """Wait for it."""
        self._fiber.join()


class _Policy(asyncio.DefaultEventLoopPolicy):
    """New event loops belong to the simulated process that makes them."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def new_event_loop(self) -> Any:
        """One on the scheduler."""
        fiber = self._world.scheduler.fiber
        if fiber is None:
            return super().new_event_loop()
        return SimulatedLoop(self._world.scheduler, fiber.process, self._world.network)  # type: ignore[abstract]

    def set_event_loop(self, loop: Any) -> None:
        """Nobody asks for it."""
