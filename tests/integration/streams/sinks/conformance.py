"""What every sink promises, on its real server: a class of tests that is run once for each lab.

``lab`` is a fixture of the module that takes the suite in: a place that was made, new for each test.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DayTimeIntervalType, StructField, StructType

from anabranch.spark.streams.sinks.errors import (
    BatchBehindError,
    DuplicateKeysError,
    RowRefusedError,
    SinkAwayError,
    SinkOptionError,
    SinkSchemaError,
    SinkUnavailableError,
    WriterFencedError,
)
from anabranch.spark.streams.sinks.port import BatchSink
from qa.service import until
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.streams.sinks.labs import TABLE, Lab, open_sink
from tests.integration.streams.sinks.rows import SCHEMA, frame, many, named, nulls, row, seen

ROWS = 50_000


@pytest.fixture
def sink(lab: Lab) -> Iterator[BatchSink]:
    """The first start's sink."""
    opened = open_sink(lab)
    opened.check(SCHEMA)
    yield opened
    opened.close()


def names(lab: Lab) -> dict[int, str | None]:
    """What is there: ids and names."""
    return {number: one["name"] for number, one in lab.content().items()}


class Conformance:
    """Promises of a sink that writes by the key ``id``."""

    def test_values_are_there_as_they_are(self, lab: Lab, sink: BatchSink, spark: SparkSession) -> None:
        """Unicode, control characters, decimals, microseconds, bytes, arrays, structures and nulls are unaltered."""
        rows = [row(1), row(-(2**63)), row(3, ""), nulls(2**63 - 1)]
        sink.write(frame(spark, rows), 0)
        assert lab.content() == {one.id: seen(one) for one in rows}
        assert (sink.counts.records, sink.counts.last_batch, sink.counts.errors) == (4, 0, 0)
        assert (sink.counts.bytes or 0) > 0

    def test_a_row_replaces_the_row_of_its_key(self, lab: Lab, sink: BatchSink, spark: SparkSession) -> None:
        """Nulls replace values, too; the rows of other keys stay."""
        sink.write(frame(spark, [row(1), row(2)]), 0)
        sink.write(frame(spark, [nulls(2), row(3)]), 1)
        assert lab.content() == {1: seen(row(1)), 2: seen(nulls(2)), 3: seen(row(3))}

    def test_a_batch_that_is_there_is_not_written_again(self, lab: Lab, sink: BatchSink, spark: SparkSession) -> None:
        """Neither by the same start nor by the next one."""
        sink.write(named(spark, {1: "a", 2: "b"}), 7)
        sink.write(named(spark, {1: "x", 3: "y"}), 7)
        later = open_sink(lab, fence=2)
        later.write(named(spark, {1: "x", 3: "y"}), 7)
        later.close()
        assert names(lab) == {1: "a", 2: "b"}
        assert (sink.counts.records, later.counts.records, later.counts.last_batch) == (2, 0, 7)

    def test_a_query_with_state_goes_on_behind_a_batch_that_is_there(
        self, lab: Lab, sink: BatchSink, spark: SparkSession, tmp_path: Path
    ) -> None:
        """Killed after the sink has a batch, and before the checkpoint says so: its next start does not fail."""
        (tmp_path / "in").mkdir()
        lines = spark.readStream.format("text").schema("value STRING").load(str(tmp_path / "in"))
        counts = lines.groupBy(F.col("value").cast("long").alias("id")).agg(F.count("*").cast("string").alias("name"))

        def start(write: Callable[[DataFrame, int], None]) -> None:
            writer = counts.writeStream.foreachBatch(write).outputMode("update").trigger(availableNow=True)
            query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
            assert query.awaitTermination(int(LONG_TIMEOUT_S))

        def killed(batch: DataFrame, number: int) -> None:
            sink.write(batch, number)
            raise KeyError("killed")

        (tmp_path / "in" / "a").write_text("1\n2\n2\n")
        with pytest.raises(StreamingQueryException, match="killed"):
            start(killed)
        later = open_sink(lab, fence=2)
        start(later.write)
        assert (names(lab), later.counts.records, later.counts.last_batch) == ({1: "1", 2: "2"}, 0, 0)
        (tmp_path / "in" / "b").write_text("2\n3\n")
        start(later.write)
        later.close()
        assert names(lab) == {1: "1", 2: "3", 3: "1"}

    def test_an_earlier_batch_is_refused(self, lab: Lab, sink: BatchSink, spark: SparkSession) -> None:
        """A checkpoint that was set back overwrites nothing that is newer."""
        sink.write(named(spark, {1: "new"}), 7)
        with pytest.raises(BatchBehindError, match=r"has batch 7 .* batch 6 of the same checkpoint"):
            sink.write(named(spark, {1: "old"}), 6)
        assert names(lab) == {1: "new"}

    def test_an_earlier_start_is_fenced(self, lab: Lab, sink: BatchSink, spark: SparkSession) -> None:
        """As soon as a later one has begun, and however often the earlier one tries."""
        sink.write(named(spark, {1: "a"}), 0)
        later = open_sink(lab, fence=2)
        later.write(named(spark, {1: "b"}), 1)
        for start in (sink, open_sink(lab, fence=1)):
            with pytest.raises(WriterFencedError, match=r"start 1 .* start 2 writes"):
                start.write(named(spark, {1: "late"}), 2)
        later.write(named(spark, {2: "c"}), 2)
        later.close()
        assert names(lab) == {1: "b", 2: "c"}

    def test_a_batch_without_rows_counts(self, lab: Lab, sink: BatchSink, spark: SparkSession) -> None:
        """It is not written later with others."""
        sink.write(named(spark, {1: "a"}).where("id > 1"), 0)
        sink.write(named(spark, {1: "a"}), 0)
        assert lab.content() == {}

    def test_two_rows_of_one_key_are_refused(self, lab: Lab, sink: BatchSink, spark: SparkSession) -> None:
        """Nothing says which is the last; the batch is not there, and may come again."""
        with pytest.raises(DuplicateKeysError, match=r"one key \(id\).*4") as refused:
            sink.write(frame(spark, [row(1, "a"), row(4, "b"), row(4, "c")]), 0)
        assert "order" in refused.value.hint
        assert lab.content() == {}
        sink.write(named(spark, {1: "a"}), 0)
        assert names(lab) == {1: "a"}
        assert sink.counts.errors == 1

    def test_of_two_rows_of_one_key_the_greatest_stays(self, lab: Lab, spark: SparkSession) -> None:
        """By the columns of option order; equal ones are refused."""
        ordered = open_sink(lab, order="ratio, name")
        ordered.check(SCHEMA)
        rows = [row(1, "b"), row(1, "c"), row(1, "a"), row(2, "z")]
        ordered.write(frame(spark, rows), 0)
        assert names(lab) == {1: "c", 2: "z"}
        with pytest.raises(DuplicateKeysError, match="equal order columns"):
            ordered.write(frame(spark, [row(1, "d"), row(1, "d")]), 1)
        ordered.close()

    def test_a_null_key_is_refused(self, lab: Lab, sink: BatchSink, spark: SparkSession) -> None:
        """No row of the batch stays for good: it is not counted as written."""
        with pytest.raises(RowRefusedError, match="key column id is null"):
            sink.write(named(spark, {1: "a"}).withColumn("id", F.expr("nullif(id, 1)")), 0)
        assert sink.counts.last_batch == -1

    def test_a_batch_may_be_large(self, lab: Lab, sink: BatchSink, spark: SparkSession) -> None:
        """Many pieces of bytes, of several tasks, are one batch."""
        sink.write(many(spark, ROWS), 0)
        found = names(lab)
        assert len(found) == ROWS
        assert all(name == f"row {number}" for number, name in found.items())

    def test_a_batch_whose_writer_was_killed_is_there_once(
        self, lab: Lab, sink: BatchSink, spark: SparkSession
    ) -> None:
        """Killed in its middle; where the sink is exact nothing of it is seen until the next start has written it."""
        query = f"into-{lab.options.get('index', TABLE)}"
        words = [lab.kind.provider, json.dumps(lab.options), query, str(ROWS)]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.streams.sinks.killed", *words],
            cwd=Path(__file__).parents[4],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"SENT\n"
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
        there = len(lab.content())
        assert (there == 0) if lab.exact else (there < ROWS)
        later = open_sink(lab, fence=2)
        later.write(many(spark, ROWS), 0)
        later.close()
        found = names(lab)
        assert len(found) == ROWS
        assert all(name == f"row {number}" for number, name in found.items())

    def test_a_server_that_comes_back_has_the_batch(self, lab: Lab, sink: BatchSink, spark: SparkSession) -> None:
        """The writer tries until it is there, and counts how often."""
        sink.write(named(spark, {1: "a"}), 0)
        lab.stop()
        writing = threading.Thread(target=sink.write, args=(named(spark, {2: "b"}), 1))
        try:
            writing.start()
            until(lambda: sink.counts.retries > 0)
        finally:
            lab.start()
        writing.join(LONG_TIMEOUT_S)
        assert not writing.is_alive()
        assert names(lab) == {1: "a", 2: "b"}
        assert sink.counts.errors == 0

    def test_a_server_that_stays_away_is_an_error(self, lab: Lab, spark: SparkSession) -> None:
        """After the time that was given, and a later attempt may succeed."""
        short = open_sink(lab, retry_seconds="1")
        short.check(SCHEMA)
        short.write(named(spark, {1: "a"}), 0)
        lab.stop()
        try:
            with pytest.raises(SinkUnavailableError) as gone:
                short.write(named(spark, {2: "b"}), 1)
            with pytest.raises(SinkAwayError) as away:
                open_sink(lab).check(SCHEMA)
        finally:
            lab.start()
        assert gone.value.retryable and away.value.retryable
        assert gone.value.attempts > 1
        assert short.counts.errors == 1
        assert short.counts.retries > 0
        short.write(named(spark, {2: "b"}), 1)
        short.close()
        assert names(lab) == {1: "a", 2: "b"}

    def test_a_server_that_takes_no_rows_is_an_error(self, lab: Lab, spark: SparkSession) -> None:
        """Full, or read-only: tried again for the time that was given; nothing of the batch counts."""
        short = open_sink(lab, retry_seconds="1")
        short.check(SCHEMA)
        with lab.full(), pytest.raises(SinkUnavailableError):
            short.write(named(spark, {1: "a"}), 0)
        short.write(named(spark, {1: "b"}), 0)
        short.close()
        assert names(lab) == {1: "b"}

    def test_another_checkpoint_counts_its_batches_anew(
        self, lab: Lab, sink: BatchSink, spark: SparkSession, tmp_path: Path
    ) -> None:
        """A query that goes on skips what is there; one with a new checkpoint writes its batch 0 again."""
        source, old, new = tmp_path / "rows", tmp_path / "old", tmp_path / "new"
        named(spark, {1: "a"}).coalesce(1).write.parquet(str(source))
        _run(spark, sink, source, old)
        named(spark, {2: "b"}).coalesce(1).write.mode("append").parquet(str(source))
        _run(spark, sink, source, old)
        assert names(lab) == {1: "a", 2: "b"}
        (last,) = (old / "commits").glob("1")
        last.unlink()
        later = open_sink(lab, fence=2)
        _run(spark, later, source, old)
        assert (later.counts.records, later.counts.last_batch) == (0, 1)
        _run(spark, later, source, new)
        assert later.counts.records == 2
        assert names(lab) == {1: "a", 2: "b"}
        later.close()

    def test_what_can_be_known_is_told_before_a_batch(self, lab: Lab, spark: SparkSession) -> None:
        """Columns that no sink can write, keys that the query does not write, options that are unknown or missing."""
        with pytest.raises(SinkSchemaError, match="column span is interval"):
            open_sink(lab).check(StructType([*SCHEMA.fields, StructField("span", DayTimeIntervalType())]))
        with pytest.raises(SinkSchemaError, match="number, which option key names"):
            open_sink(lab, key="number").check(SCHEMA)
        with pytest.raises(SinkOptionError, match=r"option keys: .* has none of this name"):
            open_sink(lab, keys="id")
        with pytest.raises(SinkOptionError, match="option password: is no reference"):
            open_sink(lab, password="hunter2")
        with pytest.raises(SinkOptionError, match="option url: is missing"):
            open_sink(lab, url="")


def _run(spark: SparkSession, sink: BatchSink, source: Path, checkpoint: Path) -> None:
    rows = spark.readStream.schema(SCHEMA).parquet(str(source))
    query = rows.writeStream.foreachBatch(sink.write).option("checkpointLocation", str(checkpoint))
    started = query.trigger(availableNow=True).start()
    assert started.awaitTermination(int(LONG_TIMEOUT_S))
