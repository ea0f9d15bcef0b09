"""A PySpark application that writes with the exactly-once sink, and comes to an end where it is told to.

``python -m tests.integration.streams.sink_job SPEC.json``: the query reads text files, two a batch, and writes a record
for each line.  Exit codes: 0 when all files are written, 3 when the query failed.  At ``point`` the process kills
its ``victim``, once: itself, or the Python workers of Spark; or it waits there while a test kills the broker.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

LINES_KEYS = 40
FAILED = 3


@dataclass(frozen=True)
class JobSpec:
    """What the application is told; ``directory`` holds its files, checkpoint and notes."""

    bootstrap: str
    topic: str
    directory: str
    point: str = ""
    count: int = 0
    victim: str = ""

    def write(self) -> Path:
        """As a file."""
        path = Path(self.directory) / "spec.json"
        path.write_text(json.dumps(asdict(self)))
        return path


def main() -> int:
    """Run the query to the end of its files."""
    spec = JobSpec(**json.loads(Path(sys.argv[1]).read_text()))
    if spec.victim:
        _prepare(spec)
    from pyspark.sql import functions as F

    from anabranch.spark.session import session
    from anabranch.spark.streams.kafka_sink import register

    spark = session("sink", "local[2,4]", {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"})
    register(spark)
    root = Path(spec.directory)
    lines = spark.readStream.option("maxFilesPerTrigger", 2).text(str(root / "lines"))
    if spec.victim == "computing":
        lines = lines.select(_once(root / "killed")(F.col("value")).alias("value"))
    rows = lines.select((F.col("value").cast("long") % LINES_KEYS).cast("string").alias("key"), "value")
    writer = rows.writeStream.format("anabranch-kafka").option("kafka.bootstrap.servers", spec.bootstrap)
    query = (
        writer.option("topic", spec.topic)
        .option("checkpointLocation", str(root / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except Exception as error:
        print(error, file=sys.stderr)
        return FAILED
    finally:
        (root / "progress").write_text(json.dumps([one["batchId"] for one in query.recentProgress]))
    return 0


def _once(note: Path) -> Any:
    """A function of SQL that kills its worker the first time that it sees a certain line."""
    from pyspark.sql.functions import udf

    path = str(note)

    def same(value: str) -> str:
        if value.endswith("777") and not os.path.exists(path):
            open(path, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    return udf(same, "string")


def _prepare(spec: JobSpec) -> None:
    """Have the named point of the coordinator end somebody when it is reached for the ``count``-th time."""
    from anabranch.spark.streams.kafka_sink import session

    root, reached = Path(spec.directory), [0]

    async def strike() -> None:
        reached[0] += 1
        if reached[0] != spec.count or (root / "killed").exists():
            return
        (root / "killed").touch()
        if spec.victim == "driver":
            os.kill(os.getpid(), signal.SIGKILL)
        if spec.victim == "workers":
            for process in psutil.Process().children(recursive=True):
                if "pyspark.daemon" in process.cmdline() and "pyspark.daemon" in process.parent().cmdline():
                    process.kill()
        while spec.victim == "broker" and not (root / "go").exists():
            await asyncio.sleep(0.05)

    def around(call: Callable[..., Awaitable[Any]], *, after: bool) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(call)
        async def struck(*given: Any, **named: Any) -> Any:
            if not after:
                await strike()
            answer = await call(*given, **named)
            if after:
                await strike()
            return answer

        return struck

    sink: Any = session.SinkSession
    match spec.point:
        case "begun":
            sink.claim = around(sink.claim, after=False)
        case "layout":
            sink.layout = around(sink.layout, after=False)
        case "turn":
            sink.turns = around(sink.turns, after=True)
        case "written":
            sink.finish = around(sink.finish, after=True)
        case "commit":
            session.commit_note = around(session.commit_note, after=False)  # type: ignore[assignment]
        case "noted":
            session.commit_note = around(session.commit_note, after=True)  # type: ignore[assignment]
        case "ended":
            session.end = around(session.end, after=True)  # type: ignore[assignment]


if __name__ == "__main__":
    sys.exit(main())
