"""Injects faults into real processes, brokers and networks, and undoes each when its time is over."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import psutil

from anabranch.errors import ClusterError
from anabranch.sandbox import BrokerProcess, SandboxCluster
from anabranch.state.codecs import topics as control_topics
from qa.faults.leaders import Leaders
from qa.faults.processes import send
from qa.faults.schedule import FaultKind, Injection
from qa.faults.testbed import LinkTestbed
from qa.faults.topics import LoadTopic
from qa.faults.unclean import elect_uncleanly
from qa.timeouts import TIMEOUT_S

_VICTIM_S = TIMEOUT_S
_MOVE_EVERY_S = 1.0
_MOVES_S = TIMEOUT_S


class FaultInjector:
    """Carries a schedule out, each fault in a thread of its own, so that faults meet.

    Two faults never share an object: a cluster has one broker down or paused at a time (but for an unclean election),
    one disturbed proxy and one who moves its leaders, and a driver is not killed while it is being started.
    ``injected`` counts what really happened, ``moves`` the leaders that were moved.
    """

    def __init__(self, testbed: LinkTestbed, topics: Sequence[LoadTopic], tell: Callable[[str], None]) -> None:
        self._testbed = testbed
        self._topics = topics
        self._tell = tell
        kinds = ("broker", "net", "leaders")
        self._busy = {
            name: threading.Lock() for name in (*(f"{s} {k}" for s in ("source", "target") for k in kinds), "driver")
        }
        self._counting = threading.Lock()
        self.injected: Counter[FaultKind] = Counter()
        self.moves = 0
        self.failures: list[str] = []

    def run_schedule(self, injections: Sequence[Injection]) -> None:
        """Inject faults at the given times, and return when all are undone."""
        began = time.monotonic()
        threads = []
        for injection in injections:
            time.sleep(max(0.0, began + injection.at - time.monotonic()))
            thread = threading.Thread(target=self._inject, args=(injection, began), daemon=True)
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join()

    def _inject(self, injection: Injection, began: float) -> None:
        try:
            victim = self._do(injection, random.Random(injection.pick))
        except Exception as error:  # a thread's error must reach the verdict
            self.failures.append(f"{injection.kind} could not be carried out: {error!r}")
            self._tell(self.failures[-1])
            return
        if not victim:
            self._tell(f"{time.monotonic() - began:6.1f} s  {injection.kind}: no process or broker to fail")
        else:
            with self._counting:
                self.injected[injection.kind] += 1
            self._tell(f"{time.monotonic() - began:6.1f} s  {injection.kind}, {injection.hold:.1f} s: {victim}")

    def _do(self, injection: Injection, chance: random.Random) -> str:
        testbed = self._testbed
        match injection.kind:
            case FaultKind.DRIVER_KILL:
                by_jvm = chance.random() < 0.5
                with self._busy["driver"]:
                    testbed.kill_driver(by_jvm)
                return "its JVM" if by_jvm else "its Python process"
            case FaultKind.SECOND_RUN:
                testbed.second_run(injection.hold, chance)
                return "beside the first"
            case FaultKind.WORKER_KILL:
                return self._kill(self._going_workers, chance)
            case FaultKind.EXECUTOR_KILL:
                return self._kill(lambda: testbed.standalone.executors if testbed.standalone else [], chance)
            case FaultKind.WORKER_STOP:
                return self._stop_worker(injection.hold, chance)
            case FaultKind.SOURCE_KILL | FaultKind.TARGET_KILL:
                return self._broker(injection, chance, _restart)
            case FaultKind.SOURCE_PAUSE | FaultKind.TARGET_PAUSE:
                return self._broker(injection, chance, _pause)
            case FaultKind.SOURCE_MOVE | FaultKind.TARGET_MOVE:
                return self._move(injection, chance)
            case FaultKind.TARGET_UNCLEAN:
                return self._unclean(injection.hold, chance)
            case _:
                return self._network(injection, chance)

    def _cluster(self, kind: FaultKind) -> tuple[str, SandboxCluster]:
        side = kind.partition(" ")[0]
        return side, self._testbed.source if side == "source" else self._testbed.target

    def _signal(
        self, find: Callable[[], list[psutil.Process]], number: int, chance: random.Random
    ) -> psutil.Process | None:
        """Signal one of the processes that may be signalled, waiting for one; None if none is found for long."""
        deadline = time.monotonic() + _VICTIM_S
        while time.monotonic() < deadline:
            found = sorted(find(), key=lambda process: process.pid)
            if found and send(victim := chance.choice(found), number):
                return victim
            time.sleep(0.2)
        return None

    def _kill(self, find: Callable[[], list[psutil.Process]], chance: random.Random) -> str:
        victim = self._signal(find, signal.SIGKILL, chance)
        return "" if victim is None else f"process {victim.pid}"

    def _stop_worker(self, hold: float, chance: random.Random) -> str:
        stopped = self._testbed.stopped
        victim = self._signal(self._going_workers, signal.SIGSTOP, chance)
        if victim is None:
            return ""
        stopped.add(victim.pid)
        try:
            time.sleep(hold)
            send(victim, signal.SIGCONT)
        finally:
            stopped.discard(victim.pid)
        return f"process {victim.pid}"

    def _going_workers(self) -> list[psutil.Process]:
        """The workers that are not stopped by us."""
        return [worker for worker in self._testbed.workers if worker.pid not in self._testbed.stopped]

    def _broker(
        self, injection: Injection, chance: random.Random, act: Callable[[SandboxCluster, BrokerProcess, float], None]
    ) -> str:
        side, cluster = self._cluster(injection.kind)
        with self._busy[f"{side} broker"]:
            broker = chance.choice(cluster.brokers)
            act(cluster, broker, injection.hold)
        return f"broker {broker.node_id}"

    def _move(self, injection: Injection, chance: random.Random) -> str:
        """Another leader for every partition of the lanes and of the control topics, each second, whatever else is."""
        side, cluster = self._cluster(injection.kind)
        names = [topic.name for topic in self._topics]
        if side == "target":
            names += control_topics.ALL
        moved = 0
        with self._busy[f"{side} leaders"]:
            leaders, begun = Leaders(cluster), time.monotonic()
            # On a machine that stands still the fault's time may pass before anything has moved.
            while time.monotonic() < begun + (injection.hold if moved else max(injection.hold, _MOVES_S)):
                with contextlib.suppress(ClusterError):  # whoever was asked is down or stands still
                    moved += leaders.rotate(names, chance)
                time.sleep(_MOVE_EVERY_S)
        self.moves += moved
        return f"{moved} moves" if moved else ""

    def _unclean(self, hold: float, chance: random.Random) -> str:
        topics = [topic.name for topic in self._topics if topic.unclean]
        # In this order everywhere, or two faults wait for each other.
        with self._busy["target leaders"], self._busy["target broker"]:
            return elect_uncleanly(self._testbed.target, Leaders(self._testbed.target), topics, hold, chance)

    def _network(self, injection: Injection, chance: random.Random) -> str:
        side, cluster = self._cluster(injection.kind)
        with self._busy[f"{side} net"]:
            proxy = cluster.proxy(chance.choice(cluster.brokers).node_id)
            try:
                match injection.kind:
                    case FaultKind.SOURCE_CUT | FaultKind.TARGET_CUT:
                        proxy.cut()
                    case FaultKind.SOURCE_STALL | FaultKind.TARGET_STALL:
                        proxy.stall()
                    case _:
                        proxy.delay(chance.uniform(20, 300))
                time.sleep(injection.hold)
            finally:
                proxy.clear()
        return f"before broker {proxy.node_id}"


def _restart(cluster: SandboxCluster, broker: BrokerProcess, hold: float) -> None:
    broker.kill()
    time.sleep(hold)
    broker.start()
    cluster.wait_ready()


def _pause(cluster: SandboxCluster, broker: BrokerProcess, hold: float) -> None:
    broker.pause()
    try:
        time.sleep(hold)
    finally:
        broker.resume()
    cluster.wait_ready()
