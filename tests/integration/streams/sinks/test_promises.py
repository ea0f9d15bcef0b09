"""The suite for any sink, by the sink of another package that the docs have, and by PostgreSQL's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

from anabranch.spark.streams.sinks import postgresql
from anabranch.spark.streams.sinks.conformance import EverySink, FencedSink, KeyedSink, OrderedSink, SinkLab
from anabranch.spark.streams.sinks.port import SinkKind
from qa.postgres import Postgres, postgres
from tests.integration.streams.sinks.labs import PostgresLab
from tests.unit.spark.test_sink_plugin import MODULE

pytestmark = pytest.mark.full


@dataclass(frozen=True)
class LinesLab:
    """A directory of the sink of the docs."""

    kind: SinkKind
    directory: Path

    @property
    def options(self) -> Mapping[str, str]:
        """Of its table."""
        return {"directory": str(self.directory)}

    def content(self) -> list[tuple[int, str | None]]:
        """All lines."""
        lines = [line for file in self.directory.iterdir() for line in file.read_text(encoding="utf-8").split("\n")]
        return [(one["id"], one.get("name")) for one in map(json.loads, filter(None, lines))]


class TestLines(EverySink):
    """The sink of the docs promises that, and no more."""

    @pytest.fixture
    def lab(self, tmp_path: Path) -> LinesLab:
        """A directory."""
        module = ModuleType("lines_sink")
        exec(MODULE, module.__dict__)
        return LinesLab(module.KIND, tmp_path)


@dataclass
class TablesLab:
    """A table of PostgreSQL."""

    server: PostgresLab
    kind: SinkKind = postgresql.KIND
    options: dict[str, str] = field(default_factory=dict)

    def content(self) -> list[tuple[int, str | None]]:
        """All rows."""
        return [(row["id"], row["name"]) for row in self.server.run("SELECT id, name FROM conformance")]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """The server."""
    with postgres() as made:
        yield made


class TestTables(EverySink, KeyedSink, FencedSink, OrderedSink):
    """A sink that promises all."""

    @pytest.fixture
    def lab(self, server: Postgres) -> TablesLab:
        """A database with a table."""
        made = PostgresLab(server.database(), server.uri)
        made.run("CREATE TABLE conformance (id bigint PRIMARY KEY, name text)")
        return TablesLab(made, options=made.options)


def test_a_sink_that_writes_a_batch_twice_is_found_out(tmp_path: Path, spark: SparkSession) -> None:
    """The suite says what is there."""
    module = ModuleType("lines_sink")
    exec(MODULE.replace('{batch_id}", "w"', 'all", "a"'), module.__dict__)
    lab: SinkLab = LinesLab(module.KIND, tmp_path)
    with pytest.raises(AssertionError, match="was to be"):
        EverySink().test_a_batch_that_comes_again_is_there_once(lab, spark)
