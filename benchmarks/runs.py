"""What the offset maps of lanes with transactions cost a worker: ``python -m benchmarks.runs``.

A worker that begins reads what 200 lanes have persisted in a week with ten transactions a second each: 1.2 million
segments, given to the reader as its control topic gives them.  Then it copies these lanes: each simulated second it
appends ten runs to each, and files as a worker does; what it files is encoded and compressed, and goes nowhere.  Both
logs of each lane begin behind what was read of it, so that it is retired meanwhile.
Prints the memory of this process at the largest and the longest time for which the event loop stood still (by CPU
time, which other processes do not lengthen), and writes the section ``runs`` of ``build/bench.json``.  Needs no
cluster, and takes some minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from anabranch.copier.lane.lane import Lane
from anabranch.copier.reporting.progress_writer import ProgressWriter
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.kafka.log import STEP_ENTRIES, Headers, LogEntry
from anabranch.offsets.offset_map import MappedRange
from anabranch.records.encode import encode
from anabranch.records.header import Codec
from anabranch.records.record import Record, TimestampType
from anabranch.state.codecs import ranges as range_codec
from anabranch.state.segments.index import HELD, SEGMENT_RANGES
from anabranch.state.topics.control import MappedRanges, Progress
from benchmarks import report
from benchmarks.clusters import KAFKA
from benchmarks.control import Beside, lanes_of
from benchmarks.memory import peak_bytes
from benchmarks.run import OUTPUT

WEEK_S = 7 * 86_400
A_SECOND = 10
MEMORY_MB = 400
PAUSE_MS = 50


@dataclass(frozen=True, slots=True)
class Cost:
    """Memory in units of 2^20 bytes, pauses in milliseconds."""

    lanes: int
    segments: int
    read_s: float
    read_pause_ms: float
    read_mb: float
    seconds: int
    file_pause_ms: float
    file_cpu_ms: float
    retired: int
    largest_mb: float


class Topic:
    """A control topic that hands out what a generator makes, and encodes what it is given."""

    def __init__(self, entries: Iterable[LogEntry] = ()) -> None:
        self.entries = entries
        self.bytes = 0
        self.forgotten = 0
        self.start = 0

    async def fold(self, take: Callable[[LogEntry], None]) -> None:
        """As the real one: some records, then others may run."""
        for at, entry in enumerate(self.entries):
            if at % STEP_ENTRIES == 0:
                await asyncio.sleep(0)
            take(entry)

    async def append(self, entries: Sequence[tuple[bytes, bytes | None]], now_ms: int, headers: Headers = ()) -> int:
        """A batch as it would be sent."""
        records = [Record(at, now_ms, TimestampType.CREATE_TIME, *entry, headers) for at, entry in enumerate(entries)]
        self.bytes += len(encode(records, codec=Codec.ZSTD))
        self.forgotten += sum(value is None for _, value in entries)
        await asyncio.sleep(0)
        return 0


class Pauses:
    """The most CPU seconds of this process between two turns of the event loop: other processes do not count."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        """Until cancelled."""
        before = time.process_time()
        while True:
            await asyncio.sleep(0)
            now = time.process_time()
            self.longest = max(self.longest, now - before)
            before = now


async def measure(lanes: int, persisted_s: int, seconds: int) -> Cost:
    """Read the persisted segments of so many seconds, then copy for some more."""
    chance = random.Random(1)
    cluster = Cluster(Transport("target", "User:ANONYMOUS"), [])
    ranges, progress = MappedRanges(cluster, HELD), Progress(cluster)
    made = lanes_of(lanes, max(1, lanes // 50), 0, chance)
    count = persisted_s * A_SECOND // SEGMENT_RANGES
    newest = [
        range_codec.encode(MappedRange(first + 100 * at, first + 99 * at, 80) for at in range(SEGMENT_RANGES))
        for first in range(10**10, 10**10 + HELD * 100 * SEGMENT_RANGES, 100 * SEGMENT_RANGES)
    ]
    topic = Topic(_persisted([lane.key for lane in made], count, _kinds(chance), newest))
    cast(Any, ranges)._log, cast(Any, progress)._log = topic, Topic()
    pauses = Pauses()
    beside = asyncio.create_task(pauses.run())
    began = time.perf_counter()
    await ranges.sync()
    read_s, read_pause, read_mb = time.perf_counter() - began, pauses.longest, peak_bytes() / 2**20
    for lane in made:
        lane.copied.book = ranges.book(lane.assignment.lane)
        lane.source.log_start = lane.copied.target_start = 10**9 + 1
        await asyncio.sleep(0)
    taken_pause = pauses.longest
    gate = WriteGate(lambda: 0.0)
    gate.renew(0.0)
    none = cast(Any, Beside())
    writer = ProgressWriter(
        "20260101T000000-4711/worker-7-4711-abcd", made, ranges, progress, none.is_anothers, none.forget, gate
    )
    pauses.longest, cpu = 0.0, 0.0
    for _ in range(seconds):
        for lane in made:
            _copy(lane, chance)
            await asyncio.sleep(0)
        began = time.process_time()
        await writer.persist()
        cpu += time.process_time() - began
    beside.cancel()
    return Cost(
        lanes,
        count * lanes,
        round(read_s, 1),
        round(1000 * max(read_pause, taken_pause), 1),
        round(read_mb),
        seconds,
        round(1000 * pauses.longest, 1),
        round(1000 * cpu / seconds, 1),
        topic.forgotten,
        round(peak_bytes() / 2**20),
    )


def _kinds(chance: random.Random) -> list[bytes]:
    """A hundred segments, for those that are read and not kept."""
    kinds = []
    for _ in range(100):
        at, some = 10**9, []
        for _ in range(SEGMENT_RANGES):
            length = chance.randrange(1, 120)
            some.append(MappedRange(at, at - 10**6, length))
            at += length + chance.randrange(1, 30)
        kinds.append(range_codec.encode(some))
    return kinds


def _persisted(keys: Sequence[str], count: int, kinds: Sequence[bytes], newest: Sequence[bytes]) -> Iterator[LogEntry]:
    """The segments of all lanes, in the order in which they fill, each with bytes of its own."""
    offset = 0
    for number in range(count):
        last = number - (count - len(newest))
        for key in keys:
            stored = newest[last] if last >= 0 else kinds[offset % len(kinds)]
            yield LogEntry(offset, f"{key}/{number}".encode(), bytes(bytearray(stored)))
            offset += 1


def _copy(lane: Lane, chance: random.Random) -> None:
    for _ in range(A_SECOND):
        last = lane.copied.book.last
        assert last is not None
        run = MappedRange(last.source_end + chance.randrange(1, 30), last.target_end, chance.randrange(1, 120))
        lane.copied.book.append(run)
        lane.copied.tally.records += run.length
    lane.copied.position = lane.source.stable = lane.source.high_watermark = run.source_end
    lane.copied.target_end = run.target_end


def main(argv: list[str] | None = None) -> int:
    """Parse the options and run; 1 where a bound is passed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs", description=__doc__)
    parser.add_argument("--lanes", type=int, default=200)
    parser.add_argument("--persisted", type=int, default=WEEK_S, help="seconds of transactions already persisted")
    parser.add_argument("--seconds", type=int, default=300, help="seconds of transactions that are copied")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(argv)
    print(*report.machine(KAFKA), sep="\n")
    found = asyncio.run(measure(options.lanes, options.persisted, options.seconds))
    print(
        f"{found.lanes} lanes, {found.segments:,} segments of {SEGMENT_RANGES} runs: read in {found.read_s} s, "
        f"the event loop stood still for {found.read_pause_ms} ms at most, memory {found.read_mb} MB"
    )
    print(
        f"{found.seconds} s of {A_SECOND} transactions a second in each: filing took {found.file_cpu_ms} ms of CPU a "
        f"second, the event loop stood still for {found.file_pause_ms} ms at most, memory {found.largest_mb} MB; "
        f"{found.retired:,} segments were retired"
    )
    report.write("runs", asdict(found), options.output)
    kept = found.largest_mb < MEMORY_MB and max(found.read_pause_ms, found.file_pause_ms) < PAUSE_MS
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
