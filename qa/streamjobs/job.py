"""A process of queries that can be killed: ``python -m qa.streamjobs.job SPEC.json``.

Each query's progress goes to ``<results>/<name>.progress`` as JSON lines.  SIGTERM stops all queries as ``stop()``
does, wherever they are.  With ``dump`` the rows of the sink and of the state are written behind the end, sorted.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.sandbox.jars import runtime_jars
from qa.streamjobs import queries, sinks
from qa.streamjobs.spec import JobSpec, Kind, QuerySpec, Sink, Store, Trigger
from qa.streamjobs.tally import STATE
from qa.timeouts import TIMEOUT_S

CONNECTOR, DELTA, ICEBERG = "spark-kafka-4.1.3", "delta-4.4.0", "iceberg-1.12.0"
_PROVIDERS = "org.apache.spark.sql.execution.streaming.state."
_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    # Most of a short job is the JVM's warming up.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "10000",
}
_DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}
_LOOK_S = 0.1
_BEGINS_S = TIMEOUT_S


def session(spec: JobSpec) -> SparkSession:
    """A local session with what the queries need."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    sinks_used = {query.sink for query in (*spec.queries, *spec.then)}
    runtimes, settings = [CONNECTOR], dict(_SETTINGS)
    if Sink.DELTA in sinks_used:
        runtimes.append(DELTA)
        settings |= _DELTA_SETTINGS
    if Sink.ICEBERG in sinks_used:
        runtimes.append(ICEBERG)
        catalog = f"spark.sql.catalog.{sinks.CATALOG}"
        settings |= {catalog: "org.apache.iceberg.spark.SparkCatalog", f"{catalog}.type": "hadoop"}
        settings[f"{catalog}.warehouse"] = spec.warehouse
    jars = [str(jar) for runtime in runtimes for jar in sorted(runtime_jars(runtime).glob("*.jar"))]
    builder = SparkSession.builder.appName("stateful queries").master("local[2]").config("spark.jars", ",".join(jars))
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def main(argv: list[str]) -> int:
    """Run the queries to their ends; a query's failure is written to ``<results>/<name>.failure``.

    Returns 1 where one of queries that are to follow for ever failed, which ends the others too.
    """
    spec = JobSpec.from_json(Path(argv[0]).read_text())
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    results = Path(spec.results)
    results.mkdir(parents=True, exist_ok=True)
    spark = session(spec)
    failed = False
    for wave in (spec.queries, spec.then):
        failed = _run(spark, wave, over, results, dump=spec.dump) or failed
    spark.stop()
    return 1 if failed and any(query.trigger is Trigger.FOLLOWING for query in spec.queries) else 0


def _run(spark: SparkSession, wave: Sequence[QuerySpec], over: threading.Event, results: Path, *, dump: bool) -> bool:
    """Run these side by side; returns whether one failed."""
    plans = {query.name: queries.plan(spark, query) for query in wave}
    running = {}
    for query in sorted(wave, key=lambda one: one.kind is not Kind.TIMERS):
        _choose_store(spark, query.store)
        running[query.name] = sinks.start(spark, plans[query.name], query)
        if query.kind is Kind.TIMERS:
            _await_batch(running[query.name], over)
    reported = dict.fromkeys(running, 0)
    together = all if any(query.trigger is Trigger.FOLLOWING for query in wave) else any
    while not over.is_set() and running and together(query.isActive for query in running.values()):
        over.wait(_LOOK_S)
        _tell(running, reported, results)
    for one in running.values():
        one.stop()
    _tell(running, reported, results)
    failures = {name: error for name, query in running.items() if (error := query.exception()) is not None}
    for name, error in failures.items():
        (results / f"{name}.failure").write_text(str(error))
    if dump:
        for query in wave:
            if query.name not in failures:
                rows = sinks.content(spark, query, plans[query.name].columns)
                _dump(results / f"{query.name}.rows", rows)
                _dump(results / f"{query.name}.state", *_state(spark, query))
    return bool(failures)


def _await_batch(query: StreamingQuery, over: threading.Event) -> None:
    """Wait for a first batch: Spark gives the Python process that such a query begins with ten seconds and no more,
    which it may need where others begin beside it."""
    deadline = time.monotonic() + _BEGINS_S
    while query.isActive and query.lastProgress is None and time.monotonic() < deadline and not over.is_set():
        over.wait(_LOOK_S)


def _choose_store(spark: SparkSession, store: Store) -> None:
    """For the next query: each takes the session's settings with it when it starts."""
    name = "HDFSBackedStateStoreProvider" if store is Store.DEFAULT else "RocksDBStateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", _PROVIDERS + name)
    changelog = "true" if store is Store.CHANGELOG else "false"
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", changelog)


def _state(spark: SparkSession, spec: QuerySpec) -> Iterable[DataFrame]:
    """The rows of the newest state."""
    reader = spark.read.format("statestore")
    match spec.kind:
        case Kind.JOIN:
            return [reader.option("joinSide", side).load(spec.checkpoint) for side in ("left", "right")]
        case Kind.TIMERS:
            # A processor's state has no other reader than one by its name.
            return [reader.option("stateVarName", STATE).load(spec.checkpoint)]
        case _:
            return [reader.load(spec.checkpoint)]


def _dump(path: Path, *frames: DataFrame) -> None:
    lines = sorted(line for frame in frames for line in frame.toJSON().collect())
    path.write_text("".join(f"{line}\n" for line in lines))


def _tell(running: dict[str, StreamingQuery], reported: dict[str, int], results: Path) -> None:
    for name, query in running.items():
        progress: list[Any] = list(query.recentProgress)
        if len(progress) > reported[name]:
            with (results / f"{name}.progress").open("a") as file:
                for one in progress[reported[name] :]:
                    file.write(json.dumps(_figures(one)) + "\n")
            reported[name] = len(progress)


def _figures(progress: Any) -> dict[str, Any]:
    """What is wanted of one batch."""
    return {
        "batch": progress["batchId"],
        "rows": progress["numInputRows"],
        "late": sum(one["numRowsDroppedByWatermark"] for one in progress["stateOperators"]),
        "watermark": progress["eventTime"].get("watermark"),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
