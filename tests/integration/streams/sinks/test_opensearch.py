"""OpenSearch, for real."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from anabranch.spark.streams.sinks.errors import RowRefusedError, SinkMissingError, SinkSchemaError
from qa.opensearch import OpenSearch, opensearch
from tests.integration.streams.sinks.conformance import Conformance, names, sink
from tests.integration.streams.sinks.labs import SearchLab, open_sink
from tests.integration.streams.sinks.rows import SCHEMA, named

__all__ = ["sink"]

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSearch]:
    """The server."""
    with opensearch(tmp_path_factory.mktemp("opensearch")) as made:
        yield made


@pytest.fixture
def lab(server: OpenSearch) -> SearchLab:
    """An index."""
    made = SearchLab(server, f"hits-{uuid.uuid4().hex[:12]}")
    made.make()
    return made


class TestOpenSearch(Conformance):
    """The suite."""


class TestOfItsOwn:
    """What OpenSearch alone has."""

    def test_versions_may_be_a_columns(self, lab: SearchLab, spark: SparkSession) -> None:
        """A document with a greater one stays, whoever wrote it."""
        sink = open_sink(lab, version="version")
        rows = named(spark, {1: "a"})
        sink.check(rows.withColumn("version", F.lit(1)).schema)
        for batch, (name, version) in enumerate((("a", 5), ("b", 4), ("c", 6))):
            sink.write(named(spark, {1: name}).withColumn("version", F.lit(version)), batch)
            assert names(lab) == {1: "c" if version == 6 else "a"}
        with pytest.raises(RowRefusedError, match="column version: -1 is no version"):
            sink.write(rows.withColumn("version", F.lit(-1)), 3)
        sink.close()

    def test_what_is_not_there_or_differs_is_told(self, lab: SearchLab) -> None:
        """Index and fields."""
        with pytest.raises(SinkMissingError, match="no index nothing"):
            open_sink(lab, index="nothing").check(SCHEMA)
        schema = SCHEMA.fromJson(SCHEMA.jsonValue()).add("ok2", "boolean")
        lab.server.ask(
            "PUT", f"/{lab.index}/_mapping", {"dynamic": "strict", "properties": {"tags2": {"type": "long"}}}
        )
        with pytest.raises(SinkSchemaError) as told:
            open_sink(lab).check(schema.add("tags2", "string"))
        assert told.value.problems == (
            "it has no field ok2 and makes none, but ok",
            "field tags2 is long, which does not hold string",
        )

    def test_a_document_that_is_refused_is_named(self, lab: SearchLab, spark: SparkSession) -> None:
        """With the server's reason; the batch does not count."""
        lab.server.ask("PUT", f"/{lab.index}/_mapping", {"properties": {"other": {"type": "date"}}})
        sink = open_sink(lab)
        rows = named(spark, {1: "a", 2: "b"}).withColumn("other", F.expr("if(id = 2, 'no day', '2026-01-01')"))
        sink.check(rows.schema)
        with pytest.raises(RowRefusedError, match=r"1 documents of a request, such as document '2': .*\[other\]"):
            sink.write(rows, 0)
        assert sink.counts.last_batch == -1
        sink.close()
