"""How long a takeover lasts after another writer's batches: ``python -m benchmarks.takeover``.

A mapped lane's last batch lies in front of 1,000, 10,000 or 100,000 batches of a producer that is none of the link's,
one record each.  Each such lane is taken over on a real broker, and its records are looked for from the log's end.
Prints for each, and for a lane without foreign batches, the seconds, the requests, the CPU of each foreign batch, how
many times as long it takes as the row before, and the longest turn of the event loop in CPU time, which a busy machine
does not change; writes the section ``takeover`` of ``build/bench.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.ownership.takeover_manager import takeover_manager
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka import produce
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
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
from anabranch.state.topics.control import MappedRanges, Progress, ensure_topics
from anabranch.state.topics.journal import GapRecords, Journal
from benchmarks import report
from benchmarks.clusters import clusters
from benchmarks.run import OUTPUT

BATCHES = (0, 1_000, 10_000, 100_000)
RECORDS = 50
AT_ONCE = 500
LIMIT_S = 20.0
TICK_S = 0.005
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Row:
    """Takeovers behind so many foreign batches; medians, but for the longest turn."""

    foreign_batches: int
    seconds: float
    cpu_s: float
    requests: float
    longest_turn_ms: float


def main() -> int:
    """Run it; 1 where the takeover takes longer than the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES, help="foreign ones, each its own lane")
    parser.add_argument("--bytes", type=int, default=100, help="of each foreign record's value")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as scratch, clusters(Path(scratch)) as (cluster, _):
        context = ClusterContext(cluster.spec.name, tuple(cluster.bootstrap.split(",")))
        print("\n".join(report.machine(cluster.spec.version)), flush=True)
        rows = asyncio.run(_run(context, options.batches, options.bytes))
    print(_table(rows))
    report.write("takeover", [asdict(row) for row in rows], options.output)
    return int(max(row.seconds for row in rows) > LIMIT_S)


def _table(rows: Sequence[Row]) -> str:
    head = ("foreign batches", "s", "CPU s", "requests", "CPU us a batch", "x the row before", "longest turn ms")
    lines = [head]
    for at, row in enumerate(rows):
        alone = rows[0].cpu_s if rows[0].foreign_batches == 0 else 0.0
        each = f"{(row.cpu_s - alone) / row.foreign_batches * 1e6:.1f}" if row.foreign_batches else ""
        ratio = f"{row.seconds / rows[at - 1].seconds:.1f}" if at else ""
        times = f"{row.seconds:.3f}", f"{row.cpu_s:.3f}"
        lines.append(
            (f"{row.foreign_batches:,}", *times, f"{row.requests:,.0f}", each, ratio, f"{row.longest_turn_ms:.1f}")
        )
    return report.columns(lines, left=0)


async def _run(context: ClusterContext, sizes: Sequence[int], size: int) -> list[Row]:
    async with open_cluster(context) as cluster:
        await ensure_topics(cluster)
        await _row(cluster, 1, size)  # what is only there the first time
        return [await _row(cluster, batches, size) for batches in sizes]


async def _row(cluster: Cluster, batches: int, size: int) -> Row:
    """A lane of its own, taken over again and again: every owner finds the same last batch behind the foreign ones."""
    source, target = f"old-{batches}", f"new-{batches}"
    for topic in (source, target):
        await create_topic(cluster, topic, 1, 1, {})
    await until_led(cluster, [source, target])
    await _append(cluster, source, 1, RECORDS, 10, -1)
    lane = await _taken(cluster, source, target, "first")
    assert lane.active is not None
    await _append(cluster, target, 1, RECORDS, 10, lane.active.ownership.producer_id)
    if batches:
        await _append(cluster, target, batches, 1, size, await new_producer_id(cluster))
    gc.freeze()  # as a worker does: what was imported is not looked through again
    seconds, cpu, requests, turns = [], [], [], []
    for number in range(ROUNDS):
        begun, used = time.monotonic(), time.process_time()
        watch = asyncio.create_task(_longest_turn())
        with _counted() as sent:
            lane = await _taken(cluster, source, target, f"next-{number}")
        seconds.append(time.monotonic() - begun)
        cpu.append(time.process_time() - used)
        requests.append(len(sent))
        watch.cancel()
        turns.append(await watch)
        assert lane.copied.position == RECORDS, lane.copied.position
    median = statistics.median
    return Row(batches, round(median(seconds), 3), round(median(cpu), 3), median(requests), round(max(turns) * 1e3, 1))


@contextmanager
def _counted() -> Iterator[list[int]]:
    """The API keys of all requests that are sent meanwhile."""
    sent: list[int] = []
    submit = Connection.submit

    def counted(connection: Connection, api_key: int, *more: Any) -> Any:
        sent.append(api_key)
        return submit(connection, api_key, *more)

    with patch.object(Connection, "submit", counted):
        yield sent


async def _taken(cluster: Cluster, source_topic: str, target_topic: str, owner: str) -> Lane:
    """The lane once this owner of the same run has taken it over."""
    source, _ = await cluster.partition(source_topic, 0)
    target, _ = await cluster.partition(target_topic, 0)
    lane = Lane(
        LaneAssignment(
            LaneKey("bench", TopicId(source.id), 0),
            TopicPartition(source_topic, 0),
            TopicPartition(target_topic, 0),
            TopicId(target.id),
            LaneStart(),
            ModePolicy.MAPPED,
        )
    )
    journal, gap_records = Journal(cluster), GapRecords(cluster)
    progress, ranges = Progress(cluster), MappedRanges(cluster)
    await asyncio.gather(journal.read(), gap_records.read(), progress.sync(), ranges.sync())
    gate = WriteGate()
    gate.renew(time.monotonic())
    parts = (journal, gap_records, progress, ranges)
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


async def _longest_turn() -> float:
    longest = 0.0
    try:
        while True:
            begun = time.thread_time()
            await asyncio.sleep(TICK_S)
            longest = max(longest, time.thread_time() - begun)
    except asyncio.CancelledError:
        return longest


if __name__ == "__main__":
    sys.exit(main())
