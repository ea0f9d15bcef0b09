"""What sinks promise, as classes of tests for any of them, also those of other packages.

A module of tests has the fixtures ``lab`` (a place that is new for each test, a ``SinkLab``) and ``spark``, and a class
that takes in what its sink promises::

    class TestLines(EverySink, FencedSink):
        pass

``EverySink`` is what no sink may break; ``KeyedSink`` writes by the column ``id``, ``FencedSink`` keeps the number of
its start with its rows, ``OrderedSink`` knows which batch it has.  Rows are of ``SCHEMA``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from anabranch.errors import AnabranchError
from anabranch.spark.streams.sinks.errors import BatchBehindError, WriterFencedError
from anabranch.spark.streams.sinks.port import BatchSink, QueryIdentity, SinkKind
from anabranch.streams.tables import TableDeclaration

SCHEMA = T.StructType([T.StructField("id", T.LongType()), T.StructField("name", T.StringType())])
HARD = "tab\tline\nreturn\rslash\\ quote' double\" tick` 日本語 \U0001f600 {} %s \\N"
"""A text that is hard to write."""
LONGEST_S = 600
Names = Mapping[int, str | None]


class SinkLab(Protocol):
    """A place to write into: a table, an index, a directory."""

    @property
    def kind(self) -> SinkKind:
        """The sink."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """Of the table that is written."""
        ...

    def content(self) -> list[tuple[int, str | None]]:
        """``id`` and ``name`` of each row that is there."""
        ...


def open_sink(lab: SinkLab, fence: int = 1) -> BatchSink:
    """The sink of a query, by the start of that number."""
    table = TableDeclaration("conformance", lab.kind.provider, options=dict(lab.options), line=1)
    sink = lab.kind.open(table, QueryIdentity("conformance", "conformance", fence))
    if not isinstance(sink, BatchSink):
        raise TypeError(f"sink {lab.kind.provider} is no BatchSink: Spark writes it, and knows what it promises")
    sink.check(SCHEMA)
    return sink


def batch(spark: SparkSession, names: Names) -> DataFrame:
    """Rows in two partitions."""
    return spark.createDataFrame(list(names.items()), SCHEMA).repartition(2)


class EverySink:
    """What no sink may break."""

    def test_rows_are_there_as_they_are(self, lab: SinkLab, spark: SparkSession) -> None:
        """Texts that are hard to write, empty ones and nulls; and they are counted."""
        names: Names = {1: "a", -(2**63): HARD, 3: "", 2**63 - 1: None}
        with _opened(lab) as sink:
            sink.write(batch(spark, names), 0)
            _is(_there(lab), sorted(names.items(), key=repr))
            _is((sink.counts.records, sink.counts.last_batch, sink.counts.errors), (4, 0, 0))

    def test_a_batch_that_comes_again_is_there_once(self, lab: SinkLab, spark: SparkSession) -> None:
        """From the same start and from the next one, as after a crash; the batches after it are there, too."""
        with _opened(lab) as sink:
            for _ in range(2):
                sink.write(batch(spark, {1: "a", 2: "b"}), 7)
        with _opened(lab, 2) as later:
            later.write(batch(spark, {1: "a", 2: "b"}), 7)
            later.write(batch(spark, {3: "c"}), 8)
            _is(_there(lab), [(1, "a"), (2, "b"), (3, "c")])

    def test_a_batch_without_rows_is_none(self, lab: SinkLab, spark: SparkSession) -> None:
        """Nothing is there."""
        with _opened(lab) as sink:
            sink.write(batch(spark, {1: "a"}).where("id > 1"), 0)
            _is(_there(lab), [])

    def test_a_query_with_state_goes_on_behind_a_batch_that_is_there(self, lab: SinkLab, spark: SparkSession) -> None:
        """Killed after the sink has a batch, and before the checkpoint says so: its next start does not fail."""
        with tempfile.TemporaryDirectory() as place:
            source, checkpoint = Path(place, "in"), Path(place, "checkpoint")
            source.mkdir()
            lines = spark.readStream.format("text").schema("value STRING").load(str(source))
            ids = lines.select(F.col("value").cast("long").alias("id"))
            counts = ids.groupBy("id").agg(F.count("*").cast("string").alias("name"))

            def start(write: Callable[[DataFrame, int], None]) -> None:
                writer = counts.writeStream.foreachBatch(write).outputMode("update").trigger(availableNow=True)
                query = writer.option("checkpointLocation", str(checkpoint)).start()
                _is(query.awaitTermination(LONGEST_S), True)

            (source / "a").write_text("1\n2\n2\n", encoding="utf-8")
            with _opened(lab) as sink:

                def killed(rows: DataFrame, number: int) -> None:
                    sink.write(rows, number)
                    raise KeyError("killed")

                _refuses(StreamingQueryException, lambda: start(killed))
            with _opened(lab, 2) as later:
                start(later.write)
                _is(_there(lab), [(1, "1"), (2, "2")])
                (source / "b").write_text("3\n", encoding="utf-8")
                start(later.write)
                _is(_there(lab), [(1, "1"), (2, "2"), (3, "1")])


class KeyedSink:
    """A sink that writes by the column ``id``."""

    def test_a_row_replaces_the_row_of_its_key(self, lab: SinkLab, spark: SparkSession) -> None:
        """Nulls replace values, too; the rows of other keys stay."""
        with _opened(lab) as sink:
            sink.write(batch(spark, {1: "a", 2: "b"}), 0)
            sink.write(batch(spark, {2: None, 3: "c"}), 1)
            _is(_there(lab), [(1, "a"), (2, None), (3, "c")])

    def test_two_rows_of_one_key_are_refused(self, lab: SinkLab, spark: SparkSession) -> None:
        """Nothing says which is the last; nothing of the batch is there, and it may come again."""
        twice = batch(spark, {1: "a", 4: "b"}).union(batch(spark, {4: "c"}))
        with _opened(lab) as sink:
            _refuses(AnabranchError, lambda: sink.write(twice, 0))
            _is(_there(lab), [])
            sink.write(batch(spark, {1: "a"}), 0)
            _is(_there(lab), [(1, "a")])


class FencedSink:
    """A sink that keeps the number of its start with its rows."""

    def test_an_earlier_start_is_fenced(self, lab: SinkLab, spark: SparkSession) -> None:
        """As soon as a later one has written, and however often the earlier one tries."""
        with _opened(lab) as sink, _opened(lab, 2) as later:
            sink.write(batch(spark, {1: "a"}), 0)
            later.write(batch(spark, {2: "b"}), 1)
            for number in (2, 3):
                _refuses(WriterFencedError, partial(sink.write, batch(spark, {9: "late"}), number))
            later.write(batch(spark, {3: "c"}), 2)
            _is(_there(lab), [(1, "a"), (2, "b"), (3, "c")])


class OrderedSink:
    """A sink that knows which batch of a checkpoint it has."""

    def test_an_earlier_batch_is_refused(self, lab: SinkLab, spark: SparkSession) -> None:
        """A checkpoint that was set back overwrites nothing that is newer."""
        with _opened(lab) as sink:
            sink.write(batch(spark, {1: "new"}), 7)
            _refuses(BatchBehindError, lambda: sink.write(batch(spark, {1: "old"}), 6))
            _is(_there(lab), [(1, "new")])


@contextmanager
def _opened(lab: SinkLab, fence: int = 1) -> Iterator[BatchSink]:
    sink = open_sink(lab, fence)
    try:
        yield sink
    finally:
        sink.close()


def _there(lab: SinkLab) -> list[tuple[int, str | None]]:
    return sorted(lab.content(), key=repr)


def _is(found: object, wanted: object) -> None:
    if found != wanted:
        raise AssertionError(f"{found!r} is there, and {wanted!r} was to be")


def _refuses(kind: type[Exception], call: Callable[[], None]) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"it was taken, and {kind.__name__} was to be raised")
