"""How long a takeover lasts after another writer's batches: ``python -m benchmarks.takeover``.

A mapped lane's last batch lies in front of 100,000 batches of a producer that is none of the link's, one record each.
The lane is taken over on a real broker, and its records are looked for from the log's end.  Prints the seconds of a
lane without foreign batches and of that one, the cost for each batch, and the longest pause of the event loop; writes
the section ``takeover`` of ``build/bench.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.ownership.takeover_manager import takeover_manager
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka import produce
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.partitions import new_producer_id
from anabranch.kafka.security import open_cluster
from anabranch.kafka.settling import until_led
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.records.encode import encode
from anabranch.records.record import Record, TimestampType
from anabranch.state.topics.control import Progress, Runs, ensure_topics
from anabranch.state.topics.journal import GapRecords, Journal
from benchmarks import report
from benchmarks.clusters import clusters
from benchmarks.run import OUTPUT

SOURCE, TARGET = "old", "new"
RECORDS = 50
AT_ONCE = 500
LIMIT_S = 20.0
TICK_S = 0.005


def main() -> int:
    """Run it; 1 where the takeover takes longer than the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=100_000)
    parser.add_argument("--bytes", type=int, default=100, help="of each foreign record's value")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as scratch, clusters(Path(scratch)) as (cluster, _):
        context = ClusterContext(cluster.spec.name, tuple(cluster.bootstrap.split(",")))
        figures = asyncio.run(_run(context, options.batches, options.bytes))
    print(json.dumps(figures, indent=2))
    report.write("takeover", figures, OUTPUT)
    return int(figures["behind_s"] > LIMIT_S)


async def _run(context: ClusterContext, batches: int, size: int) -> dict[str, float]:
    async with open_cluster(context) as cluster:
        await ensure_topics(cluster)
        for topic in (SOURCE, TARGET):
            await create_topic(cluster, topic, 1, 1, {})
        await until_led(cluster, [SOURCE, TARGET])
        await _append(cluster, SOURCE, 1, RECORDS, 10, -1)
        lane = await _taken(cluster, "first")
        assert lane.active is not None
        await _append(cluster, TARGET, 1, RECORDS, 10, lane.active.ownership.producer_id)
        begun = time.monotonic()
        await _taken(cluster, "second")
        alone = time.monotonic() - begun
        await _append(cluster, TARGET, batches, 1, size, await new_producer_id(cluster))
        begun, used = time.monotonic(), time.process_time()
        watch = asyncio.create_task(_longest_pause())
        lane = await _taken(cluster, "third")
        behind, cpu = time.monotonic() - begun, time.process_time() - used
        watch.cancel()
        assert lane.copied.position == RECORDS, lane.copied.position
        return {
            "foreign_batches": batches,
            "alone_s": round(alone, 3),
            "behind_s": round(behind, 2),
            "behind_cpu_s": round(cpu, 2),
            "us_per_batch": round((behind - alone) / batches * 1e6, 1),
            "longest_pause_ms": round(await watch * 1000, 1),
        }


async def _taken(cluster: Cluster, owner: str) -> Lane:
    """The lane once this owner of the same run has taken it over."""
    source, _ = await cluster.partition(SOURCE, 0)
    target, _ = await cluster.partition(TARGET, 0)
    lane = Lane(
        LaneAssignment(
            LaneKey("bench", TopicId(source.id), 0),
            TopicPartition(SOURCE, 0),
            TopicPartition(TARGET, 0),
            TopicId(target.id),
            LaneStart(),
            ModePolicy.MAPPED,
        )
    )
    journal, gap_records, progress, runs = Journal(cluster), GapRecords(cluster), Progress(cluster), Runs(cluster)
    await asyncio.gather(journal.read(), gap_records.read(), progress.sync(), runs.sync())
    gate = WriteGate()
    gate.renew(time.monotonic())
    parts = (journal, gap_records, progress, runs)
    manager = takeover_manager(f"run/{owner}", cluster, cluster, *parts, lambda *_: None, gate)
    task = asyncio.create_task(manager.run([lane], lambda: True))
    while lane.phase is LanePhase.TAKING:
        await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert lane.phase is LanePhase.RUNNING, lane.stopped
    return lane


async def _append(cluster: Cluster, topic: str, batches: int, records: int, size: int, producer_id: int) -> None:
    """Batches of one producer, one after the other, many requests at once; -1: without a producer id."""
    meta, part = await cluster.partition(topic, 0)
    connection = await cluster.connection(part.leader, "fill")
    made = [Record(at, now_ms(), TimestampType.CREATE_TIME, None, b"x" * size) for at in range(records)]
    for first in range(0, batches, AT_ONCE):
        sent = []
        for at in range(first, min(batches, first + AT_ONCE)):
            epoch, sequence = (-1, -1) if producer_id < 0 else (0, at * records)
            batch = encode(made, producer_id=producer_id, producer_epoch=epoch, sequence=sequence)
            sent.append(produce.submit(connection, [produce.Outgoing(topic, meta.id, 0, batch)]))
        for frame in await asyncio.gather(*sent):
            code = produce.parse(frame, produce.version_for(connection))[0].code
            frame.release()
            assert code == 0, code


async def _longest_pause() -> float:
    longest = 0.0
    try:
        while True:
            begun = time.monotonic()
            await asyncio.sleep(TICK_S)
            longest = max(longest, time.monotonic() - begun - TICK_S)
    except asyncio.CancelledError:
        return longest


if __name__ == "__main__":
    sys.exit(main())
