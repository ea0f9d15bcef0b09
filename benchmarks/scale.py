"""What many partitions cost: ``python -m benchmarks.scale``.

Three parts: the memory of one worker that copies 200 lanes at full speed; the CPU of one worker with 1,000 lanes at
their end; and planning a link of 10,000 partitions, which is what the driver does before each lease and every few
seconds between.  Prints them and writes the section ``scale`` of ``build/bench.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka.admin import AdminClient, NewTopic

from anabranch.copier.planning.planner import Planner
from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.security import open_cluster
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.records.header import Codec
from anabranch.sandbox import SandboxCluster
from anabranch.state.topics.control import Links, ensure_topics
from benchmarks import report
from benchmarks.clusters import KAFKA, clusters
from benchmarks.memory import peak_bytes
from benchmarks.meter import Figures, Meter
from benchmarks.run import OUTPUT, measure
from benchmarks.sources import load
from benchmarks.sources.exact import ExactFill
from benchmarks.sources.tool import ToolFill
from benchmarks.systems import Stage, delete_topic
from benchmarks.systems.link import LinkSystem, RunningLink

ONE_WORKER = "local[1]"
SETTLE_SECONDS = 5.0
WINDOW_SECONDS = 5.0
START_SECONDS = 120.0
KNOWN_SECONDS = 300.0
CHUNK = 20


@dataclass(frozen=True, slots=True)
class Memory:
    """One worker at work, resident memory in units of 2^20 bytes at its largest."""

    lanes: int
    worker_mb: float
    mb_per_s: float


@dataclass(frozen=True, slots=True)
class Idle:
    """CPU in percent of one core, with nothing to copy; ``driver`` is Spark's JVM and the job's Python together.

    ``worker_between`` is the median over windows of 5 s, so that the end and the begin of a lease do not count.
    """

    lanes: int
    seconds: float
    lease_seconds: int
    worker_percent: float
    worker_between_percent: float
    driver_percent: float
    worker_mb: float


@dataclass(frozen=True, slots=True)
class Planning:
    """Seconds on the wall and of this process's CPU; ``first`` makes the topics on the target."""

    partitions: int
    topics: int
    discovery_s: float
    first_s: float
    again_s: float
    again_cpu_s: float
    memory_mb: float


def memory(source: SandboxCluster, target: SandboxCluster, scratch: Path, lanes: int, stored_bytes: int) -> Memory:
    """Copy large batches from ``lanes`` partitions with one worker."""
    fill = ToolFill(200, 160_000, "lz4", lanes, stored_bytes)
    loaded = load(source, "memory", fill, 1.0, scratch)
    try:
        found: Figures = measure(LinkSystem(master=ONE_WORKER), Stage(source, target, loaded, scratch), 1)
    finally:
        delete_topic(source, "memory")
    assert found.memory_mb is not None
    return Memory(lanes, round(found.memory_mb), round(found.mb_per_s, 1))


def idle(source: SandboxCluster, target: SandboxCluster, scratch: Path, lanes: int, seconds: float) -> Idle:
    """Copy one record of each partition, wait, and then watch the processes of the link do nothing."""
    loaded = load(source, "idle", ExactFill(200, 1, Codec.NONE, lanes, lanes), 1.0, scratch)
    stage = Stage(source, target, loaded, scratch)
    system = LinkSystem(master=ONE_WORKER)
    meter = Meter(system.place(stage, 2))
    meter.start()
    try:
        with system.copy(stage, 2) as running:
            if not meter.wait(loaded.records, START_SECONDS):
                raise TimeoutError(f"{meter.log.records} of {loaded.records} lanes were copied in {START_SECONDS:g} s")
            meter.stop()
            time.sleep(SETTLE_SECONDS)
            return _watch(running, lanes, seconds, system.lease_seconds)
    finally:
        meter.stop()
        delete_topic(source, "idle")


def _watch(running: RunningLink, lanes: int, seconds: float, lease_seconds: int) -> Idle:
    root = psutil.Process(running.pid)
    worker: list[float] = []
    driver: list[float] = []
    largest = 0
    before = _usage(root, running.worker)
    for _ in range(max(1, round(seconds / WINDOW_SECONDS))):
        time.sleep(WINDOW_SECONDS)
        now = _usage(root, running.worker)
        spent = {pid: one.seconds - (before[pid].seconds if pid in before else 0.0) for pid, one in now.items()}
        worker.append(sum(spent[pid] for pid, one in now.items() if one.is_worker))
        driver.append(sum(spent[pid] for pid, one in now.items() if not one.is_worker))
        largest = max(largest, *(one.memory for one in now.values() if one.is_worker))
        before = now
    return Idle(
        lanes=lanes,
        seconds=WINDOW_SECONDS * len(worker),
        lease_seconds=lease_seconds,
        worker_percent=round(100 * statistics.mean(worker) / WINDOW_SECONDS, 1),
        worker_between_percent=round(100 * statistics.median(worker) / WINDOW_SECONDS, 1),
        driver_percent=round(100 * statistics.mean(driver) / WINDOW_SECONDS, 1),
        worker_mb=round(largest / 2**20),
    )


@dataclass(frozen=True, slots=True)
class _Usage:
    is_worker: bool
    seconds: float
    memory: int


def _usage(root: psutil.Process, worker: str) -> dict[int, _Usage]:
    found: dict[int, _Usage] = {}
    for process in [root, *root.children(recursive=True)]:
        try:
            times, is_worker = process.cpu_times(), worker in (process.name(), *process.cmdline())
            found[process.pid] = _Usage(is_worker, times.user + times.system, process.memory_info().rss)
        except psutil.NoSuchProcess:
            continue
    return found


async def _known(cluster: Client, names: list[str], partitions: int) -> None:
    """Wait until the brokers have read of every partition, which takes them longer than the controller's answer."""
    async with asyncio.timeout(KNOWN_SECONDS):
        while True:
            topics = (await cluster.metadata(None)).topics
            if all(name in topics and len(topics[name].partitions) == partitions for name in names):
                return
            await asyncio.sleep(0.5)


async def planning(source: SandboxCluster, target: SandboxCluster, topics: int, partitions: int) -> Planning:
    """Make the source's topics, then plan a link over all of them twice."""
    names = [f"many-{number:04}" for number in range(topics)]
    admin = AdminClient(source.client_config())
    for at in range(0, topics, CHUNK):
        new = [NewTopic(name, partitions, replication_factor=1) for name in names[at : at + CHUNK]]
        for made in admin.create_topics(new, operation_timeout=60, request_timeout=120).values():
            made.result()
    contexts = [ClusterContext(c.spec.name, tuple(c.bootstrap.split(","))) for c in (source, target)]
    async with open_cluster(contexts[0]) as old, open_cluster(contexts[1]) as new_cluster:
        await ensure_topics(new_cluster)
        refs = [ClusterRef(cluster.name, await cluster.cluster_id()) for cluster in (old, new_cluster)]
        record = LinkRecord(WantedState(LinkSpec("many", refs[0], refs[1])), (refs[0].cluster_id,), now_ms())
        await Links(new_cluster).put(record)
        await _known(old, names, partitions)
        began = time.monotonic()
        await old.metadata(None)
        discovery = time.monotonic() - began
        planner = Planner("many", old, new_cluster)
        began = time.monotonic()
        await planner.plan()
        first = time.monotonic() - began
        began, cpu = time.monotonic(), time.process_time()
        plan = await planner.plan()
        again, again_cpu = time.monotonic() - began, time.process_time() - cpu
    return Planning(
        len(plan.lanes),
        topics,
        round(discovery, 2),
        round(first, 1),
        round(again, 2),
        round(again_cpu, 2),
        round(peak_bytes() / 2**20),
    )


def main(argv: list[str] | None = None) -> int:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--parts", default="planning,idle,memory")
    parser.add_argument("--lanes", type=int, default=200, help="of the memory part")
    parser.add_argument("--megabytes", type=int, default=800, help="stored bytes of the memory part (10^6)")
    parser.add_argument("--idle-lanes", type=int, default=1_000)
    parser.add_argument("--idle-seconds", type=float, default=65.0, help="longer than a lease")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=100, help="of each topic of the planning part")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(*report.machine(KAFKA), sep="\n")
    parts = options.parts.split(",")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as temporary:
        scratch = Path(temporary)
        try:
            for part in parts:
                with clusters(scratch / part) as (source, target):
                    if part == "planning":
                        one: Any = asyncio.run(planning(source, target, options.topics, options.partitions))
                    elif part == "idle":
                        one = idle(source, target, scratch, options.idle_lanes, options.idle_seconds)
                    elif part == "memory":
                        one = memory(source, target, scratch, options.lanes, options.megabytes * 1_000_000)
                    else:
                        parser.error(f"--parts: there is no {part}")
                found[part] = asdict(one)
                print(f"{part}: " + ", ".join(f"{key}={value}" for key, value in found[part].items()), flush=True)
        except AnabranchError as error:
            print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
            return 1
    report.write("scale", found, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
