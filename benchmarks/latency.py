"""End-to-end latency at a steady rate, over lease boundaries, beside MirrorMaker 2: ``python -m benchmarks.latency``.

A producer process writes the time into each record; this process reads the copy and the source itself, so that what the
clients and the source alone cost can be told from what the copier adds.  All clocks are this machine's.  Each copier
runs once unmeasured, then twice, in one order and in the other: brokers whose code for it is not yet compiled cost
whoever comes first up to ten times its p99.  Prints a table, the moments at which nothing
arrived, and whether the link's p99 is as good as MirrorMaker 2's in the same run; writes the section ``latency`` of
``build/bench.json``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from anabranch.errors import AnabranchError
from anabranch.sandbox import SandboxCluster
from benchmarks import report
from benchmarks.clusters import KAFKA, clusters
from benchmarks.run import OUTPUT
from benchmarks.sources import Loaded, create
from benchmarks.systems import Stage, System
from benchmarks.systems.link import LinkSystem
from benchmarks.systems.mirror_maker import MirrorMakerSystem

TOPIC = "latency"
PARTITIONS = 6
VALUE_BYTES = 200
TICK_S = 0.001
START_SECONDS = 90.0
WARM_SECONDS = 20.0
"""Until the JVMs of both have compiled what they run: what is asked is the steady state, over lease boundaries."""
BROKER_SECONDS = 30.0
"""How long the brokers serve the load and each copier, unmeasured, before the first one is measured."""
LATE_SECONDS = 20.0
PAUSE_MS = 50.0
SOURCE = "source alone"
_STAMP = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing arrived for ``ms``, from ``at_s`` after the start of the load on."""

    at_s: float
    ms: float


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from ``produce`` to the consumer.  ``lost`` records did not arrive in time."""

    system: str
    records: int
    lost: int
    p50_ms: float
    p90_ms: float
    p99_ms: float
    p999_ms: float
    worst_ms: float
    pauses: tuple[Pause, ...]


@dataclass(slots=True)
class Reader:
    """Reads one topic from its start in a thread, and notes for each record when it was sent and when it came."""

    settings: Mapping[str, Any]
    topic: str
    partitions: int
    sent: list[int] = field(default_factory=list)
    came: list[int] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._run, name=f"read-{self.topic}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        own = {"group.id": "bench", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        consumer = Consumer({**self.settings, **own, "fetch.error.backoff.ms": 10})
        consumer.assign([TopicPartition(self.topic, number, 0) for number in range(self.partitions)])
        try:
            while not self._stop.is_set():
                message = consumer.poll(0.1)
                if message is None or message.error() is not None:
                    continue
                value = message.value()
                self.came.append(time.time_ns())
                self.sent.append(_STAMP.unpack_from(value)[0])
        finally:
            consumer.close()


def send(settings: Mapping[str, Any], topic: str, rate: int, seconds: float) -> None:
    """Produce at a steady rate, a few records each millisecond, with Kafka 4's default linger of 5 ms."""
    producer = Producer({**settings, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000})
    padding = bytes(VALUE_BYTES - _STAMP.size)
    began = time.monotonic()
    sent, wanted = 0, round(rate * seconds)
    while sent < wanted:
        due = min(wanted, round((time.monotonic() - began) * rate))
        while sent < due:
            producer.produce(topic, _STAMP.pack(time.time_ns()) + padding, partition=sent % PARTITIONS)
            sent += 1
        producer.poll(0)
        time.sleep(TICK_S)
    producer.flush(30.0)


@dataclass(frozen=True, slots=True)
class Samples:
    """What one reader saw of one load: rows of (sent, came) in ns; ``began`` (ns) is when the load did."""

    system: str
    wanted: int
    began: int
    pairs: np.ndarray[Any, np.dtype[np.int64]]

    def pauses(self) -> tuple[Pause, ...]:
        """The moments at which nothing arrived for over ``PAUSE_MS``."""
        return tuple(
            Pause(round((before - self.began) / 1e9, 1), round((after - before) / 1e6))
            for before, after in pairwise(np.sort(self.pairs[:, 1]).tolist())
            if after - before > PAUSE_MS * 1e6
        )


def samples(system: str, reader: Reader, wanted: int, began: int) -> Samples:
    """The records that were sent after the load began (``began``, ns)."""
    pairs = [(s, c) for s, c in zip(list(reader.sent), list(reader.came), strict=False) if s >= began]
    return Samples(system, wanted, began, np.array(pairs, dtype=np.int64).reshape(-1, 2))


def summaries(found: Sequence[Samples]) -> list[Latency]:
    """The figures of each system over all of its loads, in the order in which the systems first came."""
    by_system: dict[str, list[Samples]] = {}
    for one in found:
        by_system.setdefault(one.system, []).append(one)
    result: list[Latency] = []
    for system, loads in by_system.items():
        took = np.concatenate([load.pairs[:, 1] - load.pairs[:, 0] for load in loads]) / 1e6
        p50, p90, p99, p999, worst = (round(float(value), 1) for value in np.percentile(took, [50, 90, 99, 99.9, 100]))
        lost = sum(load.wanted for load in loads) - len(took)
        pauses = tuple(pause for load in loads for pause in load.pauses())
        result.append(Latency(system, len(took), lost, p50, p90, p99, p999, worst, pauses))
    return result


def verdict(found: Sequence[Latency]) -> str:
    """Whether what is wanted was met: a p99 of the link no worse than MirrorMaker 2's in the same run, and no loss."""
    p99 = {one.system: one for one in found}
    link, mirror = p99.get(LinkSystem().name), p99.get(MirrorMakerSystem(tuned=False).name)
    wanted = "wanted: a p99 of the link no worse than MirrorMaker 2's in the same run"
    if link is None or mirror is None:
        return f"{wanted}; not judged, as both are not measured"
    is_met = link.p99_ms <= mirror.p99_ms and not link.lost
    lost = f", {link.lost:,} records lost" if link.lost else ""
    return f"{wanted}; {'met' if is_met else 'missed'}: {link.p99_ms:.1f} ms beside {mirror.p99_ms:.1f} ms{lost}"


def measure(
    system: System, source: SandboxCluster, target: SandboxCluster, number: int, options: Options, seconds: float
) -> list[Samples]:
    """Start a copier, wait until a first record comes through, then load; what the readers of both clusters saw."""
    topic = f"{TOPIC}-{number}"
    create(source, topic, PARTITIONS)
    stage = Stage(source, target, Loaded(topic, PARTITIONS, 0, 0, 0, 0.0), options.scratch)
    copy = system.place(stage, number).topic
    context = multiprocessing.get_context("spawn")
    with system.copy(stage, number) as running:
        await_topic(target, copy)
        readers = [Reader(target.client_config(), copy, PARTITIONS), Reader(source.client_config(), topic, PARTITIONS)]
        for reader in readers:
            reader.start()
        try:
            _load(context, source, topic, options.rate, WARM_SECONDS)
            _await(readers[0], len(readers[1].came), START_SECONDS)
            running.check()
            before = [len(reader.came) for reader in readers]
            began = time.time_ns()
            _load(context, source, topic, options.rate, seconds)
            wanted = round(options.rate * seconds)
            _await(readers[0], before[0] + wanted, LATE_SECONDS)
        finally:
            for reader in readers:
                reader.stop()
    names = (system.name, f"{SOURCE} ({system.name})")
    return [samples(name, reader, wanted, began) for name, reader in zip(names, readers, strict=True)]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for."""

    rate: int
    seconds: float
    scratch: Path


def _load(context: Any, source: SandboxCluster, topic: str, rate: int, seconds: float) -> None:
    """A process of its own: this one's lock must not hold the producer up."""
    process = context.Process(target=send, args=(source.client_config(), topic, rate, seconds), daemon=True)
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"the producer ended with {process.exitcode}")


def await_topic(target: SandboxCluster, topic: str) -> None:
    """Wait until a copier has made its topic; raises ``TimeoutError``."""
    admin = AdminClient(target.client_config())
    deadline = time.monotonic() + START_SECONDS
    while topic not in admin.list_topics(timeout=10).topics:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no topic {topic} on the target after {START_SECONDS:g} s")
        time.sleep(0.2)


def _await(reader: Reader, records: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while len(reader.came) < records and time.monotonic() < deadline:
        time.sleep(0.1)


def table(found: Sequence[Latency]) -> str:
    """The figures as text, in ms."""
    lines: list[tuple[str, ...]] = [("system", "records", "lost", "p50", "p90", "p99", "p99.9", "worst")]
    for one in found:
        numbers = (one.p50_ms, one.p90_ms, one.p99_ms, one.p999_ms, one.worst_ms)
        lines.append((one.system, f"{one.records:,}", f"{one.lost:,}", *(f"{value:,.1f}" for value in numbers)))
    return report.columns(lines, left=1)


def main(argv: list[str] | None = None) -> int:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--rate", type=int, default=5_000, help="records a second")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each of a system's two loads")
    parser.add_argument("--lease-seconds", type=int, default=LinkSystem().lease_seconds)
    parser.add_argument("--systems", default="link,mirrormaker2")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--keep", type=Path, help="keep logs and data in this empty directory")
    options = parser.parse_args(argv)
    every: tuple[System, ...] = (LinkSystem(lease_seconds=options.lease_seconds), MirrorMakerSystem(tuned=False))
    known = {system.name: system for system in every}
    chosen = options.systems.split(",")
    if not set(chosen) <= known.keys():
        parser.error(f"--systems: choose from {', '.join(known)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(*report.machine(KAFKA), sep="\n")
    found: list[Samples] = []
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as temporary:
        scratch: Path = options.keep or Path(temporary)
        try:
            with clusters(scratch) as (source, target):
                asked = Options(options.rate, options.seconds, scratch)
                for number, name in enumerate(chosen, 1):
                    measure(known[name], source, target, number, asked, BROKER_SECONDS)
                for number, name in enumerate((*chosen, *reversed(chosen)), len(chosen) + 1):
                    found += measure(known[name], source, target, number, asked, options.seconds)
                    pauses = ", ".join(f"{p.ms:.0f} ms at {p.at_s:.1f} s" for p in found[-2].pauses())
                    print(f"{name}: pauses over {PAUSE_MS:g} ms: {pauses or 'none'}", flush=True)
        except AnabranchError as error:
            print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
            return 1
    result = summaries(found)
    print(f"\nms from produce to consumer, {options.rate:,} records/s, twice {options.seconds:g} s\n{table(result)}")
    print(verdict(result))
    report.write("latency", [asdict(one) for one in result], options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
