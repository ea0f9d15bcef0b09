"""A sink of another package, found by its entry point."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from anabranch.spark.streams.sinks.kinds import sink_kinds
from anabranch.spark.streams.sinks.port import BatchSink, QueryIdentity
from anabranch.streams.tables import TableDeclaration

pytestmark = pytest.mark.unit

MODULE = '''
from anabranch.spark.streams.sinks.port import SinkCounts, SinkKind


class LinesSink:
    """A line for each row, in a file for each batch: the same batch again takes the place of its file."""

    def __init__(self, table, identity):
        self.counts = SinkCounts()
        self.directory = table.options["directory"]

    def check(self, schema):
        """Any columns will do."""

    def write(self, batch, batch_id):
        rows = batch.toJSON().collect()
        with open(f"{self.directory}/{batch_id}", "w") as file:
            file.writelines(f"{row}\\n" for row in rows)
        self.counts.records += len(rows)
        self.counts.last_batch = batch_id

    def close(self):
        """Nothing is open."""


KIND = SinkKind("lines", LinesSink, required={"directory": "where the files are"})
'''


def test_a_package_brings_a_sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its module and its metadata on the path are all that it takes."""
    (tmp_path / "lines_sink.py").write_text(MODULE)
    metadata = tmp_path / "lines_sink-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: lines-sink\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[anabranch.sinks]\nlines = lines_sink:KIND\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        kinds = sink_kinds()
        assert {"postgresql", "mysql", "redis", "opensearch", "elasticsearch", "lines"} <= set(kinds)
        table = TableDeclaration("t", "lines", options={"directory": str(tmp_path)})
        sink = kinds["lines"].open(table, QueryIdentity("job", "t", 1))
        assert isinstance(sink, BatchSink)
        sink.check(StructType())
    finally:
        sys.modules.pop("lines_sink", None)
