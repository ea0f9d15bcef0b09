"""Stands in for the job of a stream: ``python -m qa.stream_stand_in SPEC EVENTS``; no Spark.

It tells the same events, takes the same fence, ends on SIGTERM, and appends its fence to the file ``written`` beside
its checkpoints for as long as it runs, as a sink's rows.  The first line of the script says more: ``-- run SECONDS`` is
how often (0.1), with ``lineage`` behind it some lineage is told; ``-- exit CODE`` ends it before its queries have
started, ``-- finish`` as soon as they have.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from anabranch.config.streamspec import StreamRunSpec
from anabranch.spark.streams.fence import NewerStartError, StreamFence
from anabranch.storage import paths
from anabranch.storage.opening import open_files
from anabranch.streams.lineage.document import VersionLineage, document_of
from anabranch.streams.lineage.edges import Edge, InsertLineage
from anabranch.streams.lineage.openlineage import LineageDataset
from anabranch.streams.lineage.values import LineageKind
from anabranch.streams.lines import LineFile

WRITE_S = 0.1
LINEAGE = VersionLineage(
    (
        InsertLineage(
            "out",
            ("page", "views"),
            {"kafka://main/views": ("page", "at")},
            (
                Edge("kafka://main/views", "page", "out", "page", LineageKind.IDENTITY),
                Edge("kafka://main/views", "page", "out", None, LineageKind.GROUP_BY),
                Edge("kafka://main/views", "at", "out", None, LineageKind.WATERMARK),
            ),
        ),
    ),
    {"kafka://main/views": LineageDataset("kafka://main", "views", {"page": "STRING", "at": "TIMESTAMP"})},
)


def main(spec_file: str, events_file: str) -> int:
    """Run; returns the exit code."""
    asked = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        asked.set()

    signal.signal(signal.SIGTERM, ask)
    spec = StreamRunSpec.from_json(Path(spec_file).read_text(encoding="utf-8"))
    events = LineFile(Path(events_file))

    def tell(event: str, **fields: Any) -> None:
        head = {"event": event, "time": datetime.now(UTC).isoformat(), "stream": spec.stream, "fence": spec.fence}
        events.write(json.dumps({**head, **fields}) + "\n")

    def failed(error: str, code: int) -> int:
        tell("failed", error=error, hint="", exit_code=code)
        tell("ended", outcome="failed", exit_code=code)
        return code

    tell("starting")
    wanted = spec.script.splitlines()[0].removeprefix("-- ").split()
    pace = float(wanted[1]) if len(wanted) > 1 else WRITE_S
    if wanted[0] == "exit":
        return failed(f"it ends with {wanted[1]}", int(wanted[1]))
    files = open_files(spec.checkpoints)
    fence = StreamFence(files, spec.fence)
    written = Path(paths.split(files.root)[1]).parent / "written"
    batch = 0
    try:
        fence.take()
        if "lineage" in wanted:
            tell("lineage", **document_of(LINEAGE))
        tell("started", queries=[{"query": "out", "table": "out", "connector": "console", "line": 2}])
        while not asked.is_set() and wanted[0] != "finish":
            fence.check()
            with written.open("a", encoding="utf-8") as file:
                file.write(f"{spec.fence}\n")
            tell("progress", query="out", batch=batch, rows_in=1, rows_out=1, batch_ms=7, lag=3, rows_per_second=10.0)
            batch += 1
            asked.wait(pace)
    except NewerStartError as error:
        return failed(error.message, error.exit_code)
    tell("ended", outcome="stopped" if asked.is_set() else "finished", exit_code=0)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
