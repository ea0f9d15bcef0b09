"""PostgreSQL, for real."""

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
from qa.postgres import Postgres, postgres
from tests.integration.streams.sinks.conformance import Conformance, sink
from tests.integration.streams.sinks.labs import TABLE, PostgresLab, open_sink
from tests.integration.streams.sinks.rows import SCHEMA, frame, named, nulls, row, seen

__all__ = ["sink"]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """The server."""
    with postgres() as made:
        yield made


@pytest.fixture
def lab(server: Postgres) -> PostgresLab:
    """A database with a table."""
    made = PostgresLab(server.database(), server.uri)
    made.make()
    return made


@pytest.mark.test
def test_a_batch_is_written_once(lab: PostgresLab, spark: SparkSession) -> None:
    """The short path: the values are there, the same batch again changes nothing, and a later one replaces rows."""
    sink = open_sink(lab)
    sink.check(SCHEMA)
    sink.write(frame(spark, [row(1), nulls(2)]), 0)
    sink.write(named(spark, {1: "again"}), 0)
    assert lab.content() == {1: seen(row(1)), 2: seen(nulls(2))}
    sink.write(named(spark, {2: "later"}), 1)
    assert lab.content() == {1: seen(row(1)), 2: seen(row(2, "later"))}
    sink.close()


@pytest.mark.full
class TestPostgreSql(Conformance):
    """The suite."""


@pytest.mark.full
class TestOfItsOwn:
    """What PostgreSQL alone has."""

    def test_without_a_key_rows_are_added_once(self, lab: PostgresLab, spark: SparkSession) -> None:
        """A batch that comes again adds nothing."""
        lab.run(f"ALTER TABLE {TABLE} DROP CONSTRAINT {TABLE}_pkey")
        sink = open_sink(lab, key="")
        sink.check(SCHEMA)
        for batch in (0, 0, 1):
            sink.write(frame(spark, [row(1), row(1)]), batch)
        sink.close()
        assert len(lab.run(f"SELECT 1 FROM {TABLE}")) == 4

    def test_a_table_that_differs_is_told_whole(self, lab: PostgresLab) -> None:
        """Each column with what it is, and the constraint that is missing."""
        for change in (
            *(f"DROP CONSTRAINT {TABLE}_pkey", "ALTER id DROP NOT NULL", "ALTER amount TYPE numeric(10, 2)"),
            *("ALTER at TYPE timestamptz(3)", "DROP day", "ADD other int NOT NULL", "ALTER raw TYPE text USING ''"),
        ):
            lab.run(f"ALTER TABLE {TABLE} {change}")
        with pytest.raises(SinkSchemaError) as told:
            open_sink(lab).check(SCHEMA)
        assert told.value.problems == (
            "column amount is numeric(10,2), which does not hold decimal(18,4)",
            "column at is timestamp(3) with time zone, which does not hold timestamp",
            "it has no column day, but amount, at, id, local, name, ok, other, place, ratio, raw, tags",
            "column raw is text, which does not hold binary",
            "column other may not be null, and the query does not write it",
            "key column id may be null",
            "it has no primary key and no unique constraint on exactly (id)",
        )

    def test_what_is_not_there_is_told(self, lab: PostgresLab, server: Postgres) -> None:
        """Table and database."""
        with pytest.raises(SinkMissingError, match='no table "nothing"'):
            open_sink(lab, table="nothing").check(SCHEMA)
        url = lab.options["url"].replace(lab.name, "no_such_database")
        with pytest.raises(SinkMissingError, match="no_such_database"):
            open_sink(lab, url=url).check(SCHEMA)

    def test_missing_rights_are_told(self, lab: PostgresLab) -> None:
        """Which, and what grants them; then what makes the table of the batches."""
        lab.run("DROP ROLE IF EXISTS reader")
        lab.run("CREATE ROLE reader LOGIN")
        lab.run(f"GRANT SELECT ON {TABLE} TO reader")
        with pytest.raises(SinkDeniedError, match="may not INSERT, UPDATE"):
            open_sink(lab, user="reader").check(SCHEMA)
        lab.run(f"GRANT INSERT, UPDATE ON {TABLE} TO reader")
        with pytest.raises(SinkDeniedError) as denied:
            open_sink(lab, user="reader").check(SCHEMA)
        assert "CREATE TABLE IF NOT EXISTS" in denied.value.hint
        lab.run("DROP OWNED BY reader")

    def test_a_value_that_does_not_fit_is_told(self, lab: PostgresLab, spark: SparkSession) -> None:
        """With its column; nothing of the batch is there."""
        lab.run(f"ALTER TABLE {TABLE} ALTER name TYPE varchar(3), ALTER place TYPE text")
        sink = open_sink(lab)
        sink.check(SCHEMA)
        with pytest.raises(RowRefusedError, match="column name: value too long"):
            sink.write(named(spark, {1: "abc", 2: "abcd"}), 0)
        with pytest.raises(RowRefusedError, match=r"column name: .*U\+0000"):
            sink.write(named(spark, {1: "a\0"}), 0)
        assert lab.content() == {}

    def test_keys_are_compared_as_the_server_does(self, lab: PostgresLab, spark: SparkSession) -> None:
        """Two texts that are one key there are two rows of one key."""
        lab.run("CREATE TABLE words (name char(5) PRIMARY KEY, id bigint)")
        sink = open_sink(lab, table="words", key="name")
        rows = named(spark, {1: "a", 2: "a "}).select("id", "name")
        sink.check(rows.schema)
        with pytest.raises(DuplicateKeysError):
            sink.write(rows, 0)
        sink.close()
