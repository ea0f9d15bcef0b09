"""What the connectors of a query count, against what is really there; servers are away for some seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from pyspark.sql import SparkSession

from anabranch.config.context_file import read_context
from anabranch.sandbox import ClusterSpec, SandboxCluster
from anabranch.spark.streams.clusters import ContextClusters
from anabranch.spark.streams.sinks.errors import SinkUnavailableError
from anabranch.streams.connector_counts import ConnectorCounts, ConnectorKey, ConnectorSide, counts_of
from qa.brokers import RESTARTED
from qa.postgres import postgres
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S
from tests.integration.links.topics import create, fresh
from tests.integration.streams.lab import StreamLab, consumed, produce_json

pytestmark = [pytest.mark.full, pytest.mark.real]
ROWS = 900
READ = """
CREATE TABLE views (page STRING, n BIGINT)
USING kafka OPTIONS (cluster 'here', topic '{topic}', start 'earliest', max.records.per.batch '300');
"""


def views(cluster: SandboxCluster, name: str) -> str:
    """A topic with so many views."""
    topic = fresh(name)
    create(cluster, topic, 1)
    produce_json(cluster, topic, [{"page": f"/{n % 7}", "n": n} for n in range(ROWS)])
    return topic


def counted(lab: StreamLab) -> Mapping[ConnectorKey, ConnectorCounts]:
    """As the service has it, of what the queries have told."""
    told: dict[str, Mapping[str, Any]] = {}
    for fields in lab.told:
        told[fields["query"]] = {**told.get(fields["query"], {}), **fields}
    return counts_of(told)


def file_bytes(directory: Path) -> int:
    """How long the files of a table are together."""
    return sum(one.stat().st_size for one in directory.glob("**/part-*"))


def sink_of(lab: StreamLab) -> ConnectorCounts:
    """Of the one sink."""
    return next(counts for key, counts in counted(lab).items() if key.side is ConnectorSide.SINK)


def test_kafka_counts_what_is_read_and_what_is_committed(
    spark: SparkSession, tmp_path: Path, here: SandboxCluster
) -> None:
    """Records of both sides are those that are there; bytes are of the batches as brokers store them."""
    topic, out = views(here, "counted"), fresh("counted-out")
    create(here, out, 2)
    lab = StreamLab.of(spark, tmp_path, here)
    script = READ + (
        "CREATE TABLE big (page STRING, n BIGINT) USING kafka OPTIONS (cluster 'here', topic '{out}');"
        "INSERT INTO big SELECT page, n FROM STREAM views WHERE n >= 100;"
    )
    lab.run(script.format(topic=topic, out=out))

    source = ConnectorKey(lab.progress[0]["query"], ConnectorSide.SOURCE, "kafka", topic)
    found = counted(lab)
    assert found[source] == ConnectorCounts(records=ROWS, lag=0)
    assert [one["sources"][0]["lag"] for one in lab.progress if one["rows_in"]] == [600, 300, 0]
    sink = sink_of(lab)
    assert (sink.records, sink.errors, sink.retries) == (800, 0, 0)
    assert len(consumed(here, out, 800)) == 800
    values = sum(len(f'{{"page":"/{n % 7}","n":{n}}}') for n in range(100, ROWS))
    assert sink.bytes is not None and values < sink.bytes < 2 * values, "uncompressed, with little around it"
    assert [one["rows_out"] for one in lab.progress if one["rows_in"]] == [200, 300, 300]


@pytest.mark.parametrize("provider", ["parquet", "noop"])
def test_what_spark_does_not_say_of_its_own_sinks_is_counted(
    spark: SparkSession, tmp_path: Path, here: SandboxCluster, provider: str
) -> None:
    """The rows that are written, batch by batch; a query that was stopped and goes on counts what is new."""
    topic = views(here, f"seen-{provider}")
    options = f"OPTIONS (path '{tmp_path / 'out'}')" if provider == "parquet" else ""
    script = READ.format(topic=topic) + (
        f"CREATE TABLE kept USING {provider} {options};"
        "INSERT INTO kept SELECT page, n FROM STREAM views WHERE n >= 100;"
    )
    lab = StreamLab.of(spark, tmp_path, here)
    lab.run(script)
    assert [one["rows_out"] for one in lab.progress if one["rows_in"]] == [200, 300, 300]
    assert sink_of(lab).records == 800
    first = file_bytes(tmp_path / "out")
    assert sink_of(lab).bytes == (first if provider == "parquet" else None)
    produce_json(here, topic, [{"page": "/more", "n": ROWS + n} for n in range(20)])
    lab = StreamLab.of(spark, tmp_path, here)
    lab.run(script)
    assert sink_of(lab).records == 20
    if provider == "parquet":
        assert spark.read.parquet(str(tmp_path / "out")).count() == 820
        assert sink_of(lab).bytes == file_bytes(tmp_path / "out") - first


def test_a_broker_that_is_away_is_counted_as_retries(spark: SparkSession, tmp_path: Path, here: SandboxCluster) -> None:
    """The target's one broker is gone for some seconds while a query writes; nothing is an error once it is back."""
    with SandboxCluster.start(ClusterSpec("away", overrides=RESTARTED)) as away:
        topic, out = views(here, "away"), fresh("away-out")
        create(away, out, 1)
        contexts = {name: read_context(name, one.context(), "test") for name, one in (("here", here), ("away", away))}
        lab = StreamLab(spark, tmp_path, ContextClusters(contexts))
        script = READ + (
            "CREATE TABLE big (page STRING, n BIGINT) USING kafka OPTIONS (cluster 'away', topic '{out}');"
            "INSERT INTO big SELECT page, n FROM STREAM views;"
        )
        writing = threading.Thread(target=lab.run, args=(script.format(topic=topic, out=out),))
        writing.start()
        while not lab.progress:
            time.sleep(0.05)
        away.broker(1).kill()
        try:
            deadline = time.monotonic() + TIMEOUT_S
            while not any(one["sink"]["retries"] for one in lab.counts):
                assert time.monotonic() < deadline, lab.counts
                time.sleep(0.1)
        finally:
            away.broker(1).start()
        away.wait_ready()
        writing.join(LONG_TIMEOUT_S)
        assert not writing.is_alive()
        sink = sink_of(lab)
        assert (sink.records, sink.errors) == (ROWS, 0)
        assert sink.retries is not None and sink.retries > 0
        assert len(consumed(away, out, ROWS)) == ROWS


def test_a_database_that_is_away_counts_retries_while_it_is_and_an_error_where_it_stays(
    spark: SparkSession, tmp_path: Path, here: SandboxCluster
) -> None:
    """Retries are told before the batch is over."""
    topic = views(here, "database")
    with postgres() as server:
        uri = server.database()
        parts = conninfo_to_dict(uri)
        with psycopg.connect(uri, autocommit=True) as connection:
            connection.execute("CREATE TABLE seen (page text, n bigint PRIMARY KEY)")
        url = f"postgresql:///{parts['dbname']}?host={quote(str(parts['host']), safe='')}"
        script = READ + (
            "CREATE TABLE seen USING postgresql "
            "OPTIONS (url '{url}', user '{user}', key 'n', retry_seconds '{patience}');"
            "INSERT INTO seen SELECT page, n FROM STREAM views;"
        )
        values = {"topic": topic, "url": url, "user": parts["user"]}
        lab = StreamLab.of(spark, tmp_path / "back", here)
        writing = threading.Thread(target=lab.run, args=(script.format(patience=round(LONG_TIMEOUT_S), **values),))
        writing.start()
        while not lab.progress:
            time.sleep(0.02)
        server.kill()
        try:
            deadline = time.monotonic() + TIMEOUT_S
            while not any(one["sink"]["retries"] for one in lab.counts):
                assert time.monotonic() < deadline, lab.counts
                time.sleep(0.1)
        finally:
            server.start()
        writing.join(LONG_TIMEOUT_S)
        assert not writing.is_alive()
        sink = sink_of(lab)
        assert (sink.records, sink.errors) == (ROWS, 0)
        assert sink.retries
        with psycopg.connect(uri) as connection:
            assert connection.execute("SELECT count(*) FROM seen").fetchall() == [(ROWS,)]

        gone = StreamLab.of(spark, tmp_path / "gone", here)
        writing = threading.Thread(target=_fails, args=(gone, script.format(patience=1, **values)))
        writing.start()
        while not gone.progress:
            time.sleep(0.02)
        server.kill()
        try:
            writing.join(LONG_TIMEOUT_S)
        finally:
            server.start()
        assert not writing.is_alive()
        assert sink_of(gone).errors == 1, gone.counts
        assert sink_of(gone).retries


def test_what_is_not_known_is_absent(spark: SparkSession, tmp_path: Path) -> None:
    """Of files no errors, as a batch that is not written ends the run, and of the console no bytes."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"n": 1}\n{"n": 2}\n')
    lab = StreamLab(spark, tmp_path)
    lab.run(
        f"CREATE TABLE given (n BIGINT) USING json OPTIONS (path '{tmp_path / 'in'}');"
        f"CREATE TABLE kept (n BIGINT) USING parquet OPTIONS (path '{tmp_path / 'out'}');"
        "CREATE TABLE shown USING console;"
        "INSERT INTO kept SELECT n FROM STREAM given; INSERT INTO shown SELECT n FROM STREAM given;"
    )
    found = {(key.query, key.side): counts for key, counts in counted(lab).items()}
    assert found[("kept", ConnectorSide.SINK)] == ConnectorCounts(2, file_bytes(tmp_path / "out"))
    assert found[("shown", ConnectorSide.SINK)] == ConnectorCounts(records=2, errors=0, retries=0)
    assert {key.name for key in counted(lab) if key.side is ConnectorSide.SOURCE} == {f"file:{tmp_path / 'in'}"}
    assert found[("kept", ConnectorSide.SOURCE)] == ConnectorCounts(records=2)


def _fails(lab: StreamLab, script: str) -> None:
    with pytest.raises(SinkUnavailableError):
        lab.run(script)
