"""What the control topics of many lanes cost the network: ``python -m benchmarks.control``.

Measured: the bytes on the connections of one worker's part, which files a hundred lanes that all copy, and of one
reader of it, which looks twice a second as a worker does.  They are real requests to a simulated broker on loopback.
The rest is arithmetic: every worker files so much, every worker, the driver's two planners and one exporter of
metrics read what all of them file, and two more replicas fetch it.  Prints it, beside the same with what was persisted
as plain JSON each second, and writes the section ``control`` of ``build/bench.json``.  Takes some seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.reporting.progress_writer import ProgressWriter
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.security import open_cluster
from anabranch.kafka.simulated import ClusterPlan
from anabranch.kafka.simulated.server import ServedCluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import MappedRange
from anabranch.state.codecs import progress as codec
from anabranch.state.topics.control import Links, MappedRanges, Progress, ensure_topics
from anabranch.state.topics.journal import Journal
from benchmarks import report
from benchmarks.clusters import KAFKA
from benchmarks.run import OUTPUT

LINK = "orders-move"
ROUND_S = 0.05
LOOKS = 2
"""How often a second a worker looks."""
OTHERS = 3
"""Readers that are no workers: the planner of the leases, the one beside the query, an exporter of metrics."""
REPLICAS = 3
LIMIT = 5_000_000


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes a second; ``total`` is what all control topics of the target send and take."""

    lanes: int
    workers: int
    persisted_by_worker: float
    read_of_worker: float
    look_of_reader: float
    json_by_lane: float
    total: float
    total_as_json: float


class Meter:
    """Counts the bytes of every connection of this process."""

    def __init__(self) -> None:
        self.bytes = 0
        submit, updated = Connection.submit, Connection.buffer_updated

        def counted(
            one: Connection, key: int, version: int, flexible: bool, parts: Sequence[Any], timeout: float
        ) -> Any:
            self.bytes += 18 + sum(map(len, parts))
            return submit(one, key, version, flexible, parts, timeout)

        def received(one: Connection, nbytes: int) -> None:
            self.bytes += nbytes
            updated(one, nbytes)

        patched = cast(Any, Connection)
        patched.submit, patched.buffer_updated = counted, received

    def take(self) -> int:
        """The bytes since the last time."""
        taken, self.bytes = self.bytes, 0
        return taken


class Beside:
    """The takeovers and gap records of a progress writer that has none."""

    def is_anothers(self, _: Lane) -> bool:
        return False

    async def forget(self, *_: object) -> None:
        """Nothing."""


def lanes_of(count: int, topics: int, first: int, chance: random.Random) -> list[Lane]:
    """Lanes that run, each at an offset of its own, of topics that have as many partitions."""
    made = []
    for number in range(first, first + count):
        topic, partition = number % topics, number // topics
        topic_id = TopicId(uuid.UUID(int=random.Random(topic).getrandbits(128)))
        place = TopicPartition(f"orders-of-region-{topic}", partition)
        key = LaneKey(LINK, topic_id, partition)
        lane = Lane(LaneAssignment(key, place, place, topic_id, LaneStart(), ModePolicy.MAPPED))
        lane.phase, lane.status.mode, lane.status.mode_reason = (
            LanePhase.RUNNING,
            LaneMode.MAPPED,
            "the link asks for mapped lanes",
        )
        lane.copied.position = chance.randrange(10**6, 10**9)
        lane.copied.target_end = lane.copied.position - chance.randrange(10**5)
        lane.source.log_start = chance.randrange(lane.copied.position)
        lane.copied.acknowledged_epoch, lane.copied.source_epoch = 7, (lane.copied.position, 12)
        lane.copied.tally.records, lane.copied.tally.bytes = lane.copied.position, 200 * lane.copied.position
        lane.copied.book.append(
            MappedRange(0, lane.copied.target_end - lane.copied.position + 10**6, lane.copied.position - 10**6)
        )
        made.append(lane)
    return made


def copy(lanes: Sequence[Lane], chance: random.Random) -> None:
    """A second's worth of records in each lane."""
    for lane in lanes:
        records = chance.randrange(50, 500)
        last = lane.copied.book.last
        assert last is not None
        lane.copied.book.append(MappedRange(last.source_end, last.target_end, records))
        lane.copied.position, lane.copied.target_end = lane.copied.position + records, lane.copied.target_end + records
        lane.source.stable = lane.source.high_watermark = lane.copied.position + chance.randrange(100)
        lane.source.seen_at = time.monotonic()
        lane.copied.tally.records, lane.copied.tally.bytes = (
            lane.copied.tally.records + records,
            lane.copied.tally.bytes + 213 * records,
        )


async def measure(target: Cluster, lanes: int, workers: int, rounds: int) -> Traffic:
    """One worker's progress writer and one reader's reading, and from these the rest."""
    meter, chance = Meter(), random.Random(1)
    await ensure_topics(target)
    progress, ranges = Progress(target), MappedRanges(target)
    beside = cast(Any, Beside())
    gate = WriteGate(lambda: 0.0)
    gate.renew(0.0)
    every = lanes_of(lanes, max(1, lanes // 50), 0, chance)
    await ProgressWriter(
        "20260101T000000-4711/worker-1-4711-abcd", every, ranges, progress, beside.is_anothers, beside.forget, gate
    ).persist()
    await progress.sync()
    mine = every[: lanes // workers]
    writer = ProgressWriter(
        "20260101T000000-4711/worker-7-4711-abcd", mine, ranges, progress, beside.is_anothers, beside.forget, gate
    )
    await writer.persist()
    links, seen, journal = Links(target), Progress(target), Journal(target)
    await _look(links, seen, journal)
    json_bytes = sum(len(codec.encode_lane(writer.report(one))) + len(str(one.assignment.lane)) for one in mine)
    meter.take()
    persisted = 0
    for _ in range(rounds):
        copy(mine, chance)
        await writer.persist()
        persisted += meter.take()
        await asyncio.sleep(ROUND_S)
        meter.take()
    await _look(links, seen, journal)
    read = meter.take()
    for _ in range(LOOKS * rounds):
        await _look(links, seen, journal)
    look = meter.take() / rounds
    readers = workers + OTHERS
    by_worker, of_worker = persisted / rounds, max(0.0, read / rounds)
    plain = json_bytes * workers
    return Traffic(
        lanes,
        workers,
        round(by_worker),
        round(of_worker),
        round(look),
        round(json_bytes / len(mine)),
        round(workers * by_worker * REPLICAS + readers * (workers * of_worker + look)),
        round(plain * REPLICAS + readers * (plain + look)),
    )


async def _look(links: Links, progress: Progress, journal: Journal) -> None:
    await links.sync()
    await progress.sync()
    await journal.read()


def main(argv: list[str] | None = None) -> int:
    """Parse the options and run; 1 where it is more than the bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.control", description=__doc__)
    parser.add_argument("--lanes", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(argv)
    print(*report.machine(KAFKA), sep="\n")

    async def run(bootstrap: str) -> Traffic:
        async with open_cluster(ClusterContext("target", (bootstrap,))) as target:
            return await measure(target, options.lanes, options.workers, options.rounds)

    with ServedCluster(ClusterPlan("target", KAFKA)) as served:
        found = asyncio.run(run(served.bootstrap))
    lanes = found.lanes / found.workers
    print(
        f"one worker of {lanes:,.0f} lanes files {found.persisted_by_worker / 1e3:,.1f} kB/s "
        f"({found.persisted_by_worker / lanes:,.0f} B a lane; as JSON each second {found.json_by_lane:,.0f}); "
        f"reading that takes {found.read_of_worker / 1e3:,.1f} kB/s, and looking {found.look_of_reader / 1e3:,.1f} kB/s"
    )
    print(
        f"{found.lanes:,} lanes, {found.workers} workers, {OTHERS} other readers, {REPLICAS} replicas: "
        f"{found.total / 1e6:,.2f} MB/s; as JSON each second {found.total_as_json / 1e6:,.0f} MB/s"
    )
    report.write("control", asdict(found), options.output)
    return 0 if found.total < LIMIT or found.lanes > 5000 else 1


if __name__ == "__main__":
    sys.exit(main())
