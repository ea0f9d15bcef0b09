"""MariaDB, for real."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from anabranch.spark.streams.sinks.errors import (
    DuplicateKeysError,
    RowRefusedError,
    SinkDeniedError,
    SinkMissingError,
    SinkSchemaError,
)
from qa.mariadb import MariaDb, mariadb
from tests.integration.streams.sinks.conformance import Conformance, sink
from tests.integration.streams.sinks.labs import TABLE, MySqlLab, open_sink, secret
from tests.integration.streams.sinks.rows import SCHEMA, frame, named, row

__all__ = ["sink"]

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDb]:
    """The server."""
    with mariadb(tmp_path_factory.mktemp("m")) as made:
        yield made


@pytest.fixture
def lab(server: MariaDb) -> Iterator[MySqlLab]:
    """A database with a table, and the user's password where the sink looks for it."""
    made = MySqlLab(server)
    made.make()
    with secret():
        yield made


class TestMySql(Conformance):
    """The suite."""


class TestOfItsOwn:
    """What MySQL alone has."""

    def test_without_a_key_rows_are_added_once(self, lab: MySqlLab, spark: SparkSession) -> None:
        """A batch that comes again adds nothing."""
        lab.run(f"ALTER TABLE {TABLE} DROP PRIMARY KEY")
        sink = open_sink(lab, key="")
        sink.check(SCHEMA)
        for batch in (0, 0, 1):
            sink.write(frame(spark, [row(1), row(1)]), batch)
        sink.close()
        assert len(lab.run(f"SELECT 1 FROM {TABLE}")) == 4

    def test_a_table_that_differs_is_told_whole(self, lab: MySqlLab) -> None:
        """Each column with what it is, the engine, and unique indexes by which the server would find another row."""
        for change in (
            *("MODIFY amount DECIMAL(10, 2)", "MODIFY at DATETIME", "DROP day", "ADD other INT NOT NULL"),
            *("MODIFY raw TEXT", "MODIFY id INT UNSIGNED", "ADD UNIQUE (local)", "ENGINE=MyISAM"),
        ):
            lab.run(f"ALTER TABLE {TABLE} {change}")
        with pytest.raises(SinkSchemaError) as told:
            open_sink(lab).check(SCHEMA)
        assert told.value.problems == (
            "its engine is MyISAM, which has no transactions",
            "it has one more unique index, on (local)",
            "column id is int(10) unsigned, which does not hold bigint",
            "column amount is decimal(10,2), which does not hold decimal(18,4)",
            "column at is datetime, which does not hold timestamp",
            "it has no column day, but amount, at, id, local, name, ok, other, place, ratio, raw, tags",
            "column raw is text, which does not hold binary",
            "column other may not be null, and the query does not write it",
        )

    def test_what_is_not_there_or_not_allowed_is_told(self, lab: MySqlLab) -> None:
        """Table, key, and the user's password."""
        with pytest.raises(SinkMissingError, match="nothing"):
            open_sink(lab, table="nothing").check(SCHEMA)
        lab.run(f"ALTER TABLE {TABLE} DROP PRIMARY KEY")
        with pytest.raises(SinkSchemaError, match=r"no unique constraint on exactly \(id\)"):
            open_sink(lab).check(SCHEMA)
        with secret("wrong"), pytest.raises(SinkDeniedError, match="Access denied"):
            open_sink(lab).check(SCHEMA)

    def test_a_value_that_does_not_fit_is_told(self, lab: MySqlLab, spark: SparkSession) -> None:
        """With its column; nothing of the batch is there, and nothing is cut."""
        lab.run(f"ALTER TABLE {TABLE} MODIFY name VARCHAR(3)")
        sink = open_sink(lab)
        sink.check(SCHEMA)
        with pytest.raises(RowRefusedError, match="name"):
            sink.write(named(spark, {1: "abc", 2: "abcd"}), 0)
        with pytest.raises(RowRefusedError, match="column ratio: nan"):
            sink.write(frame(spark, [row(1, "a")]).selectExpr(*_with("ratio", "double('nan')")), 0)
        assert lab.content() == {}

    def test_keys_are_compared_as_the_server_does(self, lab: MySqlLab, spark: SparkSession) -> None:
        """Two texts that are one key there are two rows of one key."""
        lab.run("CREATE TABLE words (name VARCHAR(9) PRIMARY KEY, id BIGINT, n BIGINT UNIQUE AUTO_INCREMENT)")
        sink = open_sink(lab, table="words", key="name")
        rows = named(spark, {1: "a", 2: "A"}).select("id", "name")
        sink.check(rows.schema)
        with pytest.raises(DuplicateKeysError):
            sink.write(rows, 0)
        sink.write(rows.where("id = 1"), 0)
        sink.write(rows.where("id = 2"), 1)
        sink.close()
        assert [one["id"] for one in lab.run("SELECT id FROM words")] == [2]


def _with(name: str, expression: str) -> list[str]:
    return [f"{expression} AS {one}" if one == name else one for one in SCHEMA.fieldNames()]
