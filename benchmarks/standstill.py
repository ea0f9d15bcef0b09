"""How long copying stands still after a kill, beside MirrorMaker 2: ``python -m benchmarks.standstill``.

A link, or MirrorMaker 2, copies six partitions at a steady rate.  Again and again one of its processes is killed by
SIGKILL: a Python worker, an executor's JVM, the driver's JVM.  What does not come back by itself is started again at
once.  The standstill of a kill is the longest time, of all partitions, in which nothing of one arrived on the target.
Prints each and the medians, and writes the section ``standstill`` of ``build/bench.json``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil
from confluent_kafka import Consumer, TopicPartition

from anabranch.errors import AnabranchError
from anabranch.sandbox import SandboxCluster
from benchmarks import report
from benchmarks.clusters import KAFKA, clusters
from benchmarks.latency import PARTITIONS, await_topic, send
from benchmarks.run import OUTPUT
from benchmarks.sources import Loaded, create
from benchmarks.systems import Stage
from benchmarks.systems.link import prepare
from qa.faults.processes import LinkRun
from qa.faults.processes import send as signal_to
from qa.faults.standalone import StandaloneSpark
from qa.mm2 import MirrorMaker, MirrorSpec

TOPIC = "standstill"
RATE = 3_000
FIRST_S = 120.0
QUIET_S = 5.0
"""Before each kill, from the moment at which all partitions go on."""
SETTLED_S = 20.0
"""After a kill, before it is asked whether all go on."""
GIVEN_UP_S = 180.0
BEFORE_S = 0.5
STOP_S = 40.0
_NONE: Mapping[str, str] = MappingProxyType({})
_EXECUTORS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
}


class Arrivals:
    """Reads a topic from its end and keeps the moments (monotonic) at which records of each partition arrived."""

    def __init__(self, settings: Mapping[str, Any], topic: str) -> None:
        self._settings, self._topic = settings, topic
        self._at: list[list[float]] = [[] for _ in range(PARTITIONS)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="arrivals", daemon=True)
        self._thread.start()

    def newest(self) -> list[float]:
        """When the last record of each partition arrived; 0 where none did."""
        return [at[-1] if at else 0.0 for at in self._at]

    def standstill(self, struck: float) -> float:
        """The longest gap of any partition that was over after ``struck``."""
        gaps = [0.0]
        for at in self._at:
            seen = [moment for moment in at if moment > struck - BEFORE_S]
            gaps += [after - max(before, struck - BEFORE_S) for before, after in pairwise(seen) if after > struck]
        return max(gaps)

    def close(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        own = {"group.id": "bench", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        consumer = Consumer({**self._settings, **own, "fetch.error.backoff.ms": 10})
        consumer.assign([TopicPartition(self._topic, number, 0) for number in range(PARTITIONS)])
        try:
            while not self._stop.is_set():
                message = consumer.poll(0.1)
                if message is not None and message.error() is None:
                    self._at[message.partition()].append(time.monotonic())
        finally:
            consumer.close()


@dataclass(frozen=True, slots=True)
class Standstill:
    """Seconds of each kill, in order."""

    kill: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Of all."""
        return statistics.median(self.seconds)


@dataclass(slots=True)
class Victim:
    """A copier under kills: ``kill`` ends one of its processes, ``mend`` starts again what does not do so by itself."""

    topic: str
    kill: Callable[[], None]
    mend: Callable[[], None] = field(default=lambda: None)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for."""

    times: int
    rate: int
    lease_seconds: int


@dataclass(slots=True)
class Copying:
    """A link's run, which can be run again."""

    spec: Path
    master: str
    conf: Mapping[str, str]
    run: LinkRun = field(init=False)

    def start(self) -> None:
        """Run it."""
        self.run = LinkRun(self.spec, self.master, self.spec.with_suffix(".log"), conf=self.conf)


@contextmanager
def _link(
    stage: Stage, number: int, options: Options, master: str = "local[2,8]", conf: Mapping[str, str] = _NONE
) -> Iterator[Copying]:
    copying = Copying(prepare(stage, number, options.lease_seconds), master, conf)
    copying.start()
    try:
        yield copying
    finally:
        copying.run.stop(STOP_S)
        copying.run.end_all()


@contextmanager
def python_worker(stage: Stage, number: int, options: Options) -> Iterator[Victim]:
    """One of two Python workers of a local master; Spark runs its task again."""
    with _link(stage, number, options) as copying:
        yield Victim(f"link{number}-{stage.loaded.topic}", lambda: _kill(copying.run.workers[:1]))


@contextmanager
def executor(stage: Stage, number: int, options: Options) -> Iterator[Victim]:
    """One of two executors of a standalone cluster, with its Python worker; the cluster starts another one."""
    with (
        StandaloneSpark(stage.directory) as spark,
        _link(stage, number, options, spark.url, _EXECUTORS),
    ):
        yield Victim(f"link{number}-{stage.loaded.topic}", lambda: _kill(spark.executors[:1]))


@contextmanager
def driver(stage: Stage, number: int, options: Options) -> Iterator[Victim]:
    """The driver's JVM of a local master, and with it all; the link is run again once its process has ended."""
    with _link(stage, number, options) as copying:
        yield Victim(f"link{number}-{stage.loaded.topic}", lambda: copying.run.kill_driver(by_jvm=True), copying.start)


@contextmanager
def mirror_maker(stage: Stage, number: int, _: Options) -> Iterator[Victim]:
    """MirrorMaker 2's JVM at Kafka's defaults; it is started again at once."""
    spec = MirrorSpec(
        f"bench{number}", stage.source.bootstrap, "copy", stage.target.bootstrap, stage.loaded.topic, tasks=2
    )
    mirror = MirrorMaker.start(spec, stage.directory)

    def mend() -> None:
        nonlocal mirror
        mirror = MirrorMaker.start(spec, stage.directory)

    try:
        yield Victim(spec.target_topic(stage.loaded.topic), lambda: mirror.kill(), mend)  # noqa: PLW0108  # the one that runs then
    finally:
        mirror.stop()


KILLS: Mapping[str, Callable[[Stage, int, Options], AbstractContextManager[Victim]]] = {
    "python-worker": python_worker,
    "executor": executor,
    "driver": driver,
    "mirrormaker2": mirror_maker,
}


def _kill(processes: Sequence[psutil.Process]) -> None:
    if not any(signal_to(process, signal.SIGKILL) for process in processes):
        raise RuntimeError("there was no process to kill")


def measure(
    name: str, source: SandboxCluster, target: SandboxCluster, number: int, options: Options, scratch: Path
) -> Standstill:
    """Kill as often as asked; raises ``TimeoutError`` where copying does not go on."""
    topic = f"{TOPIC}-{number}"
    create(source, topic, PARTITIONS)
    stage = Stage(source, target, Loaded(topic, PARTITIONS, 0, 0, 0, 0.0), scratch)
    load = multiprocessing.get_context("spawn").Process(
        target=send, args=(source.client_config(), topic, options.rate, 36_000.0), daemon=True
    )
    load.start()
    found: list[float] = []
    try:
        with KILLS[name](stage, number, options) as victim:
            await_topic(target, victim.topic)
            arrivals = Arrivals(target.client_config(), victim.topic)
            try:
                _await(arrivals, time.monotonic(), FIRST_S)
                for _ in range(options.times):
                    time.sleep(QUIET_S)
                    struck = time.monotonic()
                    victim.kill()
                    victim.mend()
                    # Workers outlive their driver for some seconds: what arrives at once says nothing yet.
                    time.sleep(max(0.0, struck + SETTLED_S - time.monotonic()))
                    _await(arrivals, time.monotonic(), GIVEN_UP_S)
                    found.append(round(arrivals.standstill(struck), 2))
                    print(f"{name}: {found[-1]:.2f} s", flush=True)
            finally:
                arrivals.close()
    finally:
        load.kill()
        load.join()
    return Standstill(name, tuple(found))


def _await(arrivals: Arrivals, since: float, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while min(arrivals.newest()) < since:
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing of some partition arrived for {seconds:g} s")
        time.sleep(0.05)


def table(found: Sequence[Standstill]) -> str:
    """The figures as text, in seconds."""
    lines: list[tuple[str, ...]] = [("kill", "times", "median s", "least s", "most s")]
    for one in found:
        figures = (one.median, min(one.seconds), max(one.seconds))
        lines.append((one.kill, f"{len(one.seconds)}", *(f"{value:.2f}" for value in figures)))
    return report.columns(lines, left=1)


def main(argv: list[str] | None = None) -> int:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.standstill", description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="kills of each kind")
    parser.add_argument("--rate", type=int, default=RATE, help="records a second")
    parser.add_argument("--lease-seconds", type=int, default=60)
    parser.add_argument("--kills", default=",".join(KILLS))
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--keep", type=Path, help="keep logs and data in this empty directory")
    options = parser.parse_args(argv)
    chosen = options.kills.split(",")
    if not set(chosen) <= KILLS.keys():
        parser.error(f"--kills: choose from {', '.join(KILLS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(*report.machine(KAFKA), sep="\n")
    found: list[Standstill] = []
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as temporary:
        scratch: Path = options.keep or Path(temporary)
        try:
            with clusters(scratch) as (source, target):
                for number, name in enumerate(chosen, 1):
                    asked = Options(options.times, options.rate, options.lease_seconds)
                    found.append(measure(name, source, target, number, asked, scratch))
        except AnabranchError as error:
            print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
            return 1
    print(f"\nseconds in which nothing of some partition arrived, {options.rate:,} records/s\n{table(found)}")
    report.write("standstill", [asdict(one) | {"median": one.median} for one in found], options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
