"""How fast offsets are translated, and what a large map costs: ``python -m benchmarks.translate``.

The map has 10^9 records in 10^5 runs with a gap after each, as a lane over many transactions has.  Rates are a
second of CPU of one core, which nothing here uses more of; each is the median of some rounds, after answers were
compared with those of a plain Python program on the same offsets.  Prints them and writes the section
``translate`` of ``build/bench.json``.  Needs no cluster and takes half a minute.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
import tracemalloc
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anabranch.offsets import codec
from anabranch.offsets.bulk import to_source_bulk, to_target_bulk
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.offsets.translate import Exact, to_target
from anabranch.state.segments.index import SEGMENT_RANGES
from benchmarks import report
from benchmarks.clusters import KAFKA
from benchmarks.run import OUTPUT

RECORDS = 1_000_000_000
RUNS = 100_000
ASKED = 1_000_000
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Size:
    """The map: its numbers, its bytes in memory and stored, and the median seconds to load it.

    ``load_segments_s`` is from the numbered segments of the control topic, the form in which a link keeps it.
    """

    records: int
    ranges: int
    memory_bytes: int
    stored_bytes: int
    load_s: float
    load_segments_s: float


@dataclass(frozen=True, slots=True)
class Rate:
    """Translations a second of CPU."""

    what: str
    translations_per_s: int


def make(records: int, ranges: int, seed: int) -> OffsetMap:
    """A map of runs of 1 to twice the mean length, with one to three source offsets without a record after each."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 2 * records // ranges, ranges)
    lengths[-1] = max(1, lengths[-1] + records - int(lengths.sum()))
    source = target = 0
    made = OffsetMap()
    for length, gap in zip(lengths.tolist(), random.integers(1, 4, ranges).tolist(), strict=True):
        made = made.append(MappedRange(source, target, length))
        source, target = source + length + gap, target + length
    return made.advance(source, target)


def size_of(made: OffsetMap) -> Size:
    """What the map weighs, and how long it takes to load."""
    stored = codec.encode(made)
    ranges = list(made)
    segments = [
        codec.encode(OffsetMap.of(ranges[at : at + SEGMENT_RANGES])) for at in range(0, len(ranges), SEGMENT_RANGES)
    ]

    def from_segments() -> OffsetMap:
        loaded = OffsetMap(made.source_start, made.target_start)
        for segment in segments:
            loaded = loaded.extend(codec.decode(segment))
        return loaded.advance(made.source_end, made.target_end)

    if from_segments() != made or codec.decode(stored) != made:
        raise AssertionError("the map did not read back as it was")
    gc.collect()
    tracemalloc.start()
    loaded = codec.decode(stored)
    gc.collect()
    memory, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Size(
        made.records,
        len(loaded),
        memory,
        len(stored),
        round(_seconds(lambda: codec.decode(stored)), 3),
        round(_seconds(from_segments), 3),
    )


def rates(made: OffsetMap, seed: int) -> list[Rate]:
    """Each way to translate, and the plain Python program beside them."""
    offsets = np.random.default_rng(seed + 1).integers(0, made.source_end, ASKED)
    lists = [list(column) for column in made.columns()]
    asked = offsets.tolist()

    def peer() -> list[int]:
        return [_peer(lists[0], lists[1], lists[2], made.target_end, offset) for offset in asked]

    def single() -> list[object]:
        return [to_target(made, offset) for offset in asked[: ASKED // 10]]

    _check(made, offsets, peer())
    back, _ = to_target_bulk(made, offsets)
    rising = np.sort(offsets)
    return [
        Rate("arrays of a million, to the target", _rate(lambda: to_target_bulk(made, offsets), ASKED)),
        Rate("arrays of a million, to the source", _rate(lambda: to_source_bulk(made, back), ASKED)),
        Rate("arrays of a million, rising", _rate(lambda: to_target_bulk(made, rising), ASKED)),
        Rate("one at a time", _rate(single, ASKED // 10)),
        Rate("plain Python: bisect in lists", _rate(peer, ASKED)),
    ]


def _check(made: OffsetMap, offsets: NDArray[np.int64], expected: list[int]) -> None:
    answers, kinds = to_target_bulk(made, offsets)
    if kinds.any() or answers.tolist() != expected:
        raise AssertionError("bulk answers differ from the plain program's")
    for offset, answer in zip(offsets[:10_000].tolist(), expected, strict=False):
        one = to_target(made, offset)
        if not isinstance(one, Exact) or one.offset != answer:
            raise AssertionError(f"the answer for {offset} differs from the plain program's")


def _peer(sources: list[int], targets: list[int], lengths: list[int], end: int, offset: int) -> int:
    """What one would write without a library."""
    at = bisect_right(sources, offset) - 1
    if at >= 0 and offset < sources[at] + lengths[at]:
        return targets[at] + offset - sources[at]
    return targets[at + 1] if at + 1 < len(targets) else end


def _seconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(ROUNDS):
        gc.collect()
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return statistics.median(taken)


def _rate(work: Callable[[], object], count: int) -> int:
    return round(count / _seconds(work))


def main(argv: list[str] | None = None) -> int:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.translate", description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(argv)
    print(*report.machine(KAFKA), sep="\n")
    made = make(options.records, options.ranges, options.seed)
    size = size_of(made)
    print(
        f"map: {size.records:,} records, {size.ranges:,} runs; {size.memory_bytes / 1e6:.2f} MB in memory, "
        f"{size.stored_bytes / 1e6:.2f} MB stored; loaded in {size.load_s:.3f} s, from segments in "
        f"{size.load_segments_s:.3f} s"
    )
    found = rates(made, options.seed)
    for one in found:
        print(f"{one.what}: {one.translations_per_s:,} translations/s")
    report.write("translate", {"map": asdict(size), "rates": [asdict(one) for one in found]}, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
