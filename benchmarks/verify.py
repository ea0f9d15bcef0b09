"""How fast two clusters are compared, beside what one would use otherwise: ``python -m benchmarks.verify``.

    records    both logs by Spark's Kafka source, summed up by Spark
    mapped     the same, summed up in Python tasks, as maps of many runs and a rate limit need it
    batches    stored batches, undecoded
    joined     the same records by the same reader, where the source has them in batches of 20: what a link has joined
    join       a plain PySpark join of both topics by partition and offset
    consoles   two console consumers, each through sha256sum (says only whether something differs)

All on local[2]; records read are those of both sides, and MB those of keys and values, or stored bytes for batches.
The last line is how many times the CPU seconds of ``batches`` it takes where batches were joined.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from anabranch.config.verifyspec import ReaderKind
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.sandbox import SandboxCluster
from anabranch.sandbox.jars import class_path, java_program
from anabranch.spark.verify.run import Comparison
from anabranch.verify.pins import LogEnds, Pin, pin
from benchmarks import report
from benchmarks.clusters import KAFKA, clusters
from benchmarks.run import OUTPUT
from qa.mm2 import RUNTIME
from qa.verify_lab import spark_session, spec_of

TOPIC, JOINED = "compared", "joined"
BATCH, SMALL_BATCH = 500, 20
BEGIN_MS = 1_760_000_000_000
SLOTS = 2
_FAR = 1 << 62


@dataclass(frozen=True, slots=True)
class Figures:
    """One way to compare: what it read a second, and what it cost."""

    name: str
    seconds: float
    records: int
    records_per_s: float
    mb_per_s: float
    cpu_s: float
    equal: bool


def fill(
    clusters: tuple[SandboxCluster, ...],
    records: int,
    partitions: int,
    size: int,
    codec: str,
    name: str = TOPIC,
    cuts: tuple[int, ...] = (BATCH, BATCH),
) -> None:
    """The same records on all clusters, in batches of so many each."""
    chance = random.Random(1)
    noise = chance.randbytes(1 << 20)
    for cluster, cut in zip(clusters, cuts, strict=True):
        address = {"bootstrap.servers": cluster.internal_bootstrap}
        topic = NewTopic(name, partitions, 1, config={"retention.ms": "-1"})
        admin = AdminClient(address)  # kept: one that is collected takes its answers with it
        admin.create_topics([topic])[name].result(30)
        while len(admin.list_topics(timeout=10).topics[name].partitions) < partitions:
            time.sleep(0.1)
        # Full batches only, so that both sides cut them alike, as after a link.
        settings: dict[str, Any] = {"linger.ms": 10_000, "batch.size": 1_000_000, "batch.num.messages": cut}
        settings |= {"compression.type": codec, "enable.idempotence": True}
        producer = Producer({**address, **settings})
        failures: list[object] = []
        for number in range(records):
            at = number * 7919 % (len(noise) - size)
            while True:
                try:
                    producer.produce(
                        name,
                        noise[at : at + size],
                        b"key %d" % number,
                        partition=number % partitions,
                        timestamp=BEGIN_MS + number,
                        on_delivery=lambda error, _, failed=failures: failed.append(error) if error else None,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush(120)
        assert not failures, failures[0]


def pins(records: int, partitions: int, name: str = TOPIC) -> list[Pin]:
    """Everything of a topic, lane by lane."""
    found = []
    for partition in range(partitions):
        where = TopicPartition(name, partition)
        ranges = OffsetMap.of([MappedRange(0, 0, len(range(partition, records, partitions)))])
        found.append(pin(f"lane-{partition}", where, where, ranges, LogEnds(0, _FAR), LogEnds(0, _FAR)))
    return found


def measure(name: str, work: Callable[[], tuple[int, int, bool]], workers: int | None = None) -> Figures:
    """Time (records, bytes, equal) of some work; CPU is that of this process' children as far as they have ended."""
    began, cpu = time.monotonic(), _cpu(workers)
    records, size, equal = work()
    seconds = time.monotonic() - began
    return Figures(name, seconds, records, records / seconds, size / seconds / 1e6, _cpu(workers) - cpu, equal)


def _cpu(family: int | None) -> float:
    """CPU seconds of the processes of a family (the JVM and its Python workers), else of ended children."""
    if family is None:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    import psutil

    me = psutil.Process(family)
    sparks = [child for child in me.children() if any("SparkSubmit" in word for word in child.cmdline())]
    total = 0.0
    for process in (me, *sparks, *(child for spark in sparks for child in spark.children(recursive=True))):
        try:
            times = process.cpu_times()
            total += times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return total


def compare(
    spark: SparkSession,
    old: SandboxCluster,
    new: SandboxCluster,
    found: list[Pin],
    reader: ReaderKind,
    rate: int | None = None,
) -> tuple[int, int, bool]:
    """One whole comparison at both isolation levels, as the job does it."""
    comparison = Comparison(spark, spec_of(old, new, found, reader=reader, rate_limit=rate), first_round=1 << 22)
    for _ in comparison.rounds():
        pass
    equal = comparison.findings() == {} and all(
        lane.source.records == lane.pin.offsets for lane in comparison.work.lanes
    )
    return comparison.records, comparison.bytes, equal


def join(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster, records: int, size: int
) -> tuple[int, int, bool]:
    """What one writes in ten minutes: read both, join by offset, compare."""

    def read(cluster: SandboxCluster) -> object:
        return (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", cluster.internal_bootstrap)
            .option("subscribe", TOPIC)
            .option("includeHeaders", "true")
            .load()
        )

    ours, theirs = read(old).alias("a"), read(new).alias("b")  # type: ignore[attr-defined]
    same = [sql.col("a.partition") == sql.col("b.partition"), sql.col("a.offset") == sql.col("b.offset")]
    differs = sql.lit(False)
    for name in ("key", "value", "timestamp", "headers"):
        differs |= ~sql.col(f"a.{name}").eqNullSafe(sql.col(f"b.{name}"))
    return 2 * records, 2 * records * size, ours.join(theirs, same, "full_outer").where(differs).count() == 0


def consoles(old: SandboxCluster, new: SandboxCluster, records: int, size: int, scratch: Path) -> tuple[int, int, bool]:
    """Two console consumers at once, their output through a hash; order over partitions is as it comes."""
    running = []
    for cluster in (old, new):
        properties = scratch / f"{cluster.spec.name}.properties"
        properties.write_text("isolation.level=read_committed\n")
        command = [java_program(), "-Xmx512m", "-cp", class_path(RUNTIME)]
        command += ["org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", cluster.internal_bootstrap]
        command += ["--topic", TOPIC, "--from-beginning", "--max-messages", str(records), "--command-config"]
        command += [str(properties), "--formatter-property", "print.key=true"]
        command += ["--formatter-property", "print.timestamp=true"]
        consumer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        running.append(
            (consumer, subprocess.Popen(["sha256sum"], stdin=consumer.stdout, stdout=subprocess.PIPE, text=True))
        )
    digests = [digest.communicate()[0] for _, digest in running]
    codes = [consumer.wait() for consumer, _ in running]
    return 2 * records, 2 * records * size, codes == [0, 0] and len(digests) == 2


def main(argv: list[str] | None = None) -> int:
    """Measure all of them, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verify", description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--codec", default="none")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(argv)
    machine = report.machine(KAFKA)
    print(*machine, sep="\n")
    rows: list[Figures] = []
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as scratch, clusters(Path(scratch)) as both:
        old, new = both
        fill(both, options.records, options.partitions, options.size, options.codec)
        cuts = (SMALL_BATCH, BATCH)
        fill(both, options.records, options.partitions, options.size, options.codec, JOINED, cuts)
        print(f"{options.records:,} records of {options.size} B, {options.partitions} partitions, {options.codec}")
        lanes = pins(options.records, options.partitions)
        joined = pins(options.records, options.partitions, JOINED)
        spark = spark_session("anabranch benchmark of verify", f"local[{SLOTS}]")
        me = os.getpid()
        try:
            for turn in range(options.rounds):
                ways: list[tuple[str, Callable[[], tuple[int, int, bool]], int | None]] = [
                    ("records", lambda: compare(spark, old, new, lanes, ReaderKind.RECORDS), me),
                    ("mapped", lambda: compare(spark, old, new, lanes, ReaderKind.RECORDS, _FAR), me),
                    ("batches", lambda: compare(spark, old, new, lanes, ReaderKind.BATCHES), me),
                    ("joined", lambda: compare(spark, old, new, joined, ReaderKind.BATCHES), me),
                    ("join", lambda: join(spark, old, new, options.records, options.size), me),
                ]
                if turn == options.rounds - 1:
                    ways.append(
                        ("consoles", lambda: consoles(old, new, options.records, options.size, Path(scratch)), None)
                    )
                for name, work, family in ways:
                    found = measure(name, work, family)
                    if turn == options.rounds - 1:
                        rows.append(found)
                    print(
                        f"round {turn + 1}  {name:<8} {found.seconds:6.1f} s  {found.records_per_s:>10,.0f} records/s "
                        f"{found.mb_per_s:>7,.0f} MB/s {found.cpu_s:6.1f} s CPU  {'equal' if found.equal else 'WRONG'}",
                        flush=True,
                    )
        finally:
            spark.stop()
    cpu = {row.name: row.cpu_s for row in rows}
    print(f"joined batches cost {cpu['joined'] / cpu['batches']:.1f} times the CPU of equal ones")
    report.write("verify", [asdict(row) for row in rows], options.output)
    return 0 if all(row.equal for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
