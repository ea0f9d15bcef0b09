"""Stands in for the job of a stream that is looked at: ``python -m tests.integration.web.stream_job SPEC EVENTS``.

No Spark: each ``INSERT INTO`` of the script is told as a query whose numbers move, with lines in the log; once it has
ended, each has a checkpoint of one micro-batch of the topic ``n``, as Spark would have written it.  The first
line of the script says more: ``-- exit CODE`` has it fail before a query has started, ``-- run lineage`` has it tell
that it copies the table of orders.
"""

from __future__ import annotations

import json
import random
import re
import signal
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any

from anabranch.config.streamspec import StreamRunSpec
from anabranch.spark.streams.fence import StreamFence
from anabranch.storage import paths, stream_checkpoints
from anabranch.storage.local import LocalFiles
from anabranch.storage.opening import open_files
from anabranch.streams.lineage.document import VersionLineage, document_of
from anabranch.streams.lineage.edges import Edge, InsertLineage, TableColumn
from anabranch.streams.lineage.values import LineageKind
from anabranch.streams.lines import LineFile

BATCH_S = 0.5
SOURCE = "shop.orders"
_INSERT = re.compile(r"^\s*INSERT INTO ([\w.-]+)", re.MULTILINE | re.IGNORECASE)


def queries_of(script: str) -> list[dict[str, Any]]:
    """The queries of a script, as a job tells them when they have started."""
    found = []
    for number, one in enumerate(_INSERT.finditer(script)):
        line = script.count("\n", 0, one.start(1)) + 1
        connector = ("postgresql", "anabranch-kafka", "console")[number % 3]
        found.append({"query": one[1], "table": one[1], "connector": connector, "line": line})
    return found


def progress(chance: random.Random, batch: int) -> dict[str, Any]:
    """The numbers of a micro-batch."""
    rows = chance.randint(3_800, 4_600)
    mark = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=10)
    return {
        "batch": batch,
        "rows_in": rows,
        "rows_out": rows // chance.randint(38, 46),
        "rows_per_second": rows / BATCH_S,
        "batch_ms": chance.randint(180, 420),
        "lag": chance.randint(0, 2_400),
        "watermark": mark.isoformat().replace("+00:00", "Z"),
        "state_rows": 18_000 + batch % 900,
        "sources": [{"connector": "kafka", "name": "views", "records": batch * 4_200, "lag": chance.randint(0, 2_400)}],
        "sink": {"records": batch * 100, "bytes": batch * 9_000, "errors": 0, "retries": batch // 100},
    }


def lineage_of(stream: str, query: str) -> VersionLineage:
    """Of a query that copies orders of more than nothing."""
    target, read = f"stream://{stream}/{query}", ("id", "amount")
    edges = [Edge(SOURCE, name, target, name, LineageKind.IDENTITY) for name in read]
    edges.append(Edge(SOURCE, "amount", target, None, LineageKind.FILTER))
    reads = frozenset(TableColumn(SOURCE, name) for name in read)
    return VersionLineage((InsertLineage(target, read, {SOURCE: read}, tuple(edges), reads),), {})


def leave_checkpoints(spec: StreamRunSpec) -> None:
    """What Spark and the job leave of a micro-batch of each query."""
    files = LocalFiles(spec.checkpoints, paths.split(spec.checkpoints)[1])
    stream_checkpoints.note_script(files, spec.version, spec.script)
    for query in queries_of(spec.script):
        directory = stream_checkpoints.directory_of(query["query"])
        logs = {
            "metadata": '{"id":"2f6f7d2c-6b7a-4a3e-9d2f-3c1b8a9e0f11"}',
            "offsets/0": 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}\n{"n":{"0":17}}',
            "commits/0": 'v1\n{"nextBatchWatermarkMs":0}',
        }
        for name, text in logs.items():
            files.put(f"{directory}/{name}", text.encode(), via=f"{directory}/.written")


def main(spec_file: str, events_file: str) -> int:
    """Run until SIGTERM; returns the exit code."""
    asked = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        asked.set()

    signal.signal(signal.SIGTERM, ask)
    spec = StreamRunSpec.from_json(Path(spec_file).read_text(encoding="utf-8"))
    events = LineFile(Path(events_file))

    def tell(event: str, **fields: Any) -> None:
        head = {"event": event, "time": datetime.now(UTC).isoformat(), "stream": spec.stream, "fence": spec.fence}
        events.write(json.dumps({**head, **fields}) + "\n")

    def log(level: str, text: str) -> None:
        print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {level} {text}", flush=True)

    tell("starting")
    log("INFO", f"stream {spec.stream}, start {spec.fence}")
    wanted = spec.script.splitlines()[0].removeprefix("-- ").split()
    if wanted[0] == "exit":
        error = "statement 1, line 2, column 15: no table or view is called `ordrs`"
        log("ERROR", error)
        tell("failed", error=error, hint="the nearest name is orders", exit_code=int(wanted[1]))
        tell("ended", outcome="failed", exit_code=int(wanted[1]))
        return int(wanted[1])
    fence = StreamFence(open_files(spec.checkpoints), spec.fence)
    fence.take()
    queries = queries_of(spec.script)
    if "lineage" in wanted:
        tell("lineage", **document_of(lineage_of(spec.stream, queries[0]["query"])))
    tell("started", queries=queries)
    chance = random.Random(spec.stream)
    batch = 0
    while not asked.is_set():
        fence.check()
        for query in queries:
            told = progress(chance, batch)
            tell("progress", query=query["query"], **told)
            log("INFO", f"{query['query']}: batch {batch} has {told['rows_in']} rows")
            if batch % 40 == 7:
                log("WARN", f"{query['query']}: batch {batch} took longer than its trigger of 1 second")
        batch += 1
        asked.wait(BATCH_S)
    log("INFO", "asked to end")
    leave_checkpoints(spec)
    tell("ended", outcome="stopped", exit_code=0)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
