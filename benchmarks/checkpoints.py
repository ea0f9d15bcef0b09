"""What moving a checkpoint costs: ``python -m benchmarks.checkpoints``.

A query's checkpoint with 1 GB of state in 400 files, 200 batches and 1,000 partitions is planned, rewritten in place
and taken back, and copied to a new place on the same file system. State is neither read nor copied, so that its size
does not matter; it is sparse files here, of which a reader would still read a gigabyte. Prints the times and writes the
section ``checkpoints`` of ``build/bench.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from anabranch.checkpoints.plan import RewriteSpec
from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.operations.checkpoints import undoing
from anabranch.operations.checkpoints.copying import copy_to
from anabranch.operations.checkpoints.planning import PreparedRewrite, prepare
from anabranch.operations.checkpoints.plans import RewriteRequest
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.operations.checkpoints.routes import MappedLane, MapRoute, TargetSnapshot
from anabranch.operations.checkpoints.translation_source import ByOffsets, TranslationSource
from anabranch.operations.checkpoints.unmodified_restart import ReadableRange
from anabranch.storage.files import StoredFiles
from anabranch.storage.opening import open_files
from benchmarks import report
from benchmarks.run import OUTPUT

LIMIT_S = 1.0
ROUNDS = 5
BATCHES = 200
STATE_FILES = 400
TOPIC = "orders"
OFFSET = 1_000_000
SHIFT = 7


def main() -> int:
    """Run it; 1 where planning and rewriting in place take longer than a second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--state-bytes", type=int, default=1_000_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as scratch:
        figures = _run(Path(scratch), options.partitions, options.state_bytes)
    print(json.dumps(figures, indent=2))
    report.write("checkpoints", figures, OUTPUT)
    return int(figures["in_place_s"] > LIMIT_S)


def _run(scratch: Path, partitions: int, state_bytes: int) -> dict[str, float]:
    place = scratch / "cp"
    _write(place, partitions, state_bytes)
    files, route = open_files(str(place)), _route(partitions)
    times: dict[str, list[float]] = {name: [] for name in ("plan_s", "in_place_s", "undo_s", "to_place_s")}
    for number in range(ROUNDS):
        times["plan_s"].append(_timed(lambda: _plan(files, route)))
        times["in_place_s"].append(_timed(lambda: in_place(_plan(files, route))))
        times["undo_s"].append(_timed(lambda: undoing.take_back(files, undoing.plan(files))))
        to = open_files(str(scratch / f"copy-{number}"))
        times["to_place_s"].append(_timed(partial(_copy, files, route, to)))
    figures: dict[str, float] = {"partitions": partitions, "state_bytes": state_bytes, "batches": BATCHES}
    return figures | {name: round(statistics.median(found), 3) for name, found in times.items()}


def _plan(files: StoredFiles, route: MapRoute) -> PreparedRewrite:
    given = ByOffsets("the benchmark", {}, ClusterContext("nowhere", ("127.0.0.1:1",)))
    request = RewriteRequest(files.root, RewriteSpec(), TranslationSource(given))
    found = prepare(files, open_checkpoint(files), request, route)
    if found.planned.refusals:
        sys.exit(str(found.planned.refusals[0]))
    return found


def _copy(files: StoredFiles, route: MapRoute, to: StoredFiles) -> None:
    copy_to(_plan(files, route), to)


def _timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def _route(partitions: int) -> MapRoute:
    lanes = {}
    logs = {}
    ranges = OffsetMap.of([MappedRange(0, SHIFT, 2 * OFFSET)], 0, SHIFT)
    for number in range(partitions):
        source, target = TopicPartition(TOPIC, number), TopicPartition(TOPIC, number)
        lanes[source] = MappedLane("the benchmark", source, target, ranges)
        logs[target] = ReadableRange(0, 2 * OFFSET + SHIFT, 2 * OFFSET + SHIFT)
    return MapRoute("the benchmark", {TOPIC: TOPIC}, lanes, TargetSnapshot(logs, {TOPIC: frozenset(range(partitions))}))


def _write(place: Path, partitions: int, state_bytes: int) -> None:
    """A checkpoint as Spark 4.1 writes it, with state of which only the sizes are true."""
    write_checkpoint(place, {TOPIC: dict.fromkeys(range(partitions), OFFSET)}, BATCHES, STATE_FILES, state_bytes)


def write_checkpoint(
    place: Path,
    positions: Mapping[str, Mapping[int, int]],
    batches: int = 20,
    state_files: int = 8,
    state_bytes: int = 10_000_000,
) -> None:
    """One that has come to these positions, by a record of each partition a batch; written an hour ago."""
    for name in ("offsets", "commits", "sources/0"):
        (place / name).mkdir(parents=True)
    (place / "metadata").write_text('{"id":"9c622e09-a5ca-440c-aa7c-9397f25e9a38"}')
    for batch in range(batches):
        line = _line(positions, batches - batch)
        (place / "offsets" / str(batch)).write_text("v1\n" + _second(batch, state_files) + "\n" + line)
        (place / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    start = {topic: dict.fromkeys(each, 0) for topic, each in positions.items()}
    (place / "sources" / "0" / "0").write_bytes(b"\0v1\n" + _line(start, 0).encode())
    for number in range(state_files):
        path = place / "state" / "0" / str(number) / f"{batches}.delta"
        path.parent.mkdir(parents=True)
        with path.open("wb") as stream:
            os.truncate(stream.fileno(), state_bytes // state_files)
    old = time.time() - 3600
    for path in place.rglob("*"):
        os.utime(path, (old, old))


def _second(batch: int, state_files: int) -> str:
    conf = {"spark.sql.shuffle.partitions": str(state_files)}
    value = {"batchWatermarkMs": 0, "batchTimestampMs": 1_795_224_587_031 + batch, "conf": conf}
    return json.dumps(value, separators=(",", ":"))


def _line(positions: Mapping[str, Mapping[int, int]], back: int) -> str:
    shown = {topic: {str(at): offset - back for at, offset in each.items()} for topic, each in positions.items()}
    return json.dumps(shown, separators=(",", ":"))


if __name__ == "__main__":
    sys.exit(main())
