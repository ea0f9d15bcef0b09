"""Names, types, definitions and changes of schemas of the catalog."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.reasons import Severity, errors
from anabranch.streams.catalog.compatibility import breaks
from anabranch.streams.catalog.ddl import definitions
from anabranch.streams.catalog.names import CatalogNameError, database_name, name_of_topic, object_name
from anabranch.streams.catalog.objects import CatalogDatabase, Function, Table, View, topic_of
from anabranch.streams.errors import ScriptError
from anabranch.streams.sqltypes import (
    Array,
    Field,
    Map,
    Scalar,
    SqlType,
    Struct,
    TypeTextError,
    is_wider,
    read,
    read_column,
    text_of,
)
from anabranch.streams.tables import Column

pytestmark = pytest.mark.unit

SCALARS = st.sampled_from(
    [
        *(Scalar(name) for name in ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BINARY")),
        *(Scalar(name) for name in ("BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ")),
        *(Scalar("DECIMAL", size) for size in ((10, 0), (10, 2), (20, 0), (38, 10))),
        *(Scalar("VARCHAR", (5,)), Scalar("CHAR", (5,))),
    ]
)
NAMES = st.text("abcXY_ `é", min_size=1, max_size=5).filter(lambda name: name.strip("`") and not name.isspace())
TYPES: st.SearchStrategy[SqlType] = st.recursive(
    SCALARS,
    lambda inner: (
        st.builds(Array, inner)
        | st.builds(Map, SCALARS, inner)
        | st.builds(
            Struct,
            st.lists(
                st.builds(Field, NAMES, inner, st.booleans()), max_size=3, unique_by=lambda one: one.name.lower()
            ).map(tuple),
        )
    ),
    max_leaves=4,
)
COLUMNS = st.lists(
    st.builds(Column, st.sampled_from("abcd"), TYPES.map(text_of)), max_size=4, unique_by=lambda one: one.name
)


@given(TYPES)
def test_a_type_is_read_as_it_is_written(found: SqlType) -> None:
    """Y1."""
    assert read(text_of(found)) == found
    assert read(text_of(found).lower().replace(", ", " ,  ")) is not None


@given(TYPES, TYPES, TYPES)
def test_wider_is_passed_on(first: SqlType, second: SqlType, third: SqlType) -> None:
    """Y2."""
    assert is_wider(first, first)
    if is_wider(first, second) and is_wider(second, third):
        assert is_wider(first, third)


@pytest.mark.parametrize(
    ("wide", "narrow", "is_so"),
    [
        ("BIGINT", "INT", True),
        ("INT", "BIGINT", False),
        ("DOUBLE", "INT", True),
        ("DOUBLE", "BIGINT", False),
        ("FLOAT", "INT", False),
        ("DECIMAL(20, 0)", "BIGINT", True),
        ("DECIMAL(12, 2)", "DECIMAL(10, 2)", True),
        ("DECIMAL(12, 4)", "DECIMAL(10, 2)", True),
        ("DECIMAL(12, 6)", "DECIMAL(10, 2)", False),
        ("STRING", "VARCHAR(9)", True),
        ("VARCHAR(9)", "STRING", False),
        ("STRING", "INT", False),
        ("ARRAY<BIGINT>", "array<int>", True),
        ("STRUCT<a: INT, b: INT>", "struct<A: int>", True),
        ("STRUCT<a: INT>", "STRUCT<a: INT, b: INT>", False),
        ("STRUCT<a: INT NOT NULL>", "STRUCT<a: INT>", False),
        ("MAP<STRING, BIGINT>", "map<string, int>", True),
    ],
)
def test_a_type_holds_what_another_held(wide: str, narrow: str, is_so: bool) -> None:
    """Without losing a value."""
    assert is_wider(read(wide), read(narrow)) is is_so


@pytest.mark.parametrize(
    "text",
    [
        "",
        "INTT",
        "ARRAY<",
        "ARRAY<INT",
        "DECIMAL(39, 0)",
        "DECIMAL(5, 6)",
        "VARCHAR",
        "INT x",
        "INT NULL",
        "MAP<INT>",
        "%",
    ],
)
def test_what_is_no_type_is_refused(text: str) -> None:
    """With what is wrong about it."""
    with pytest.raises(TypeTextError):
        read_column("a", text)


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("Orders", "spark_catalog.default.orders"),
        ("`shop`.ORDERS", "spark_catalog.shop.orders"),
        ("spark_catalog.shop.orders", "spark_catalog.shop.orders"),
        ("lake.shop.or_ders1", "lake.shop.or_ders1"),
    ],
)
def test_a_name_is_the_object_that_spark_finds(text: str, full: str) -> None:
    """N1."""
    assert str(object_name(text)) == full
    assert object_name(full) == object_name(text)


@pytest.mark.parametrize("text", ["", ".", "a.", "a..b", "a.b.c.d", "a b", "`a.b`", "é", "x" * 101, "-a"])
def test_what_is_no_name_is_refused(text: str) -> None:
    """Before it is kept anywhere."""
    with pytest.raises(CatalogNameError):
        object_name(text)
    with pytest.raises(CatalogNameError):
        database_name("a.b.c")


@given(st.text("abC.-_ é9", min_size=1, max_size=249))
def test_a_topic_has_a_name_as_a_table(topic: str) -> None:
    """Whatever it is called."""
    assert object_name(name_of_topic(topic)).name == name_of_topic(topic)


@given(COLUMNS)
def test_columns_that_stay_break_nothing(columns: list[Column]) -> None:
    """G2: nor does a nullable one more."""
    assert breaks(columns, columns) == ()
    assert breaks(columns, [*columns, Column("more", "INT")]) == ()


@given(COLUMNS.filter(bool), st.data())
def test_what_readers_miss_is_named(columns: list[Column], data: st.DataObject) -> None:
    """G3: a column that goes, one that is narrower, one that may not be null."""
    gone = data.draw(st.sampled_from(columns))
    rest = [one for one in columns if one != gone]
    if rest:
        (reason,) = breaks(columns, rest)
        assert reason.severity is Severity.ERROR and f"column {gone.name} goes" in reason.what
    strict = [Column(one.name, one.type + " NOT NULL") if one == gone else one for one in columns]
    assert f"column {gone.name} would be NOT NULL" in breaks(columns, strict)[0].what
    assert errors(breaks(strict, columns)) == ()
    new = [Column("more", "INT NOT NULL")]
    assert "column more is new and NOT NULL" in breaks(columns, [*columns, *new])[0].what


def test_a_wider_type_is_worth_a_look_and_a_narrower_one_breaks() -> None:
    """State that keeps the column does not go on."""
    before, after = [Column("a", "INT")], [Column("A", "BIGINT")]
    assert [one.severity for one in breaks(before, after)] == [Severity.WARNING]
    assert "was BIGINT and would be INT" in errors(breaks(after, before))[0].what


SCRIPT = """
-- what the shop has
CREATE DATABASE IF NOT EXISTS shop COMMENT 'it''s the shop';
CREATE OR REPLACE TABLE shop.Orders (
  id BIGINT NOT NULL COMMENT 'of; the order', `when` timestamp,
  items ARRAY<STRUCT<sku: STRING, price: DECIMAL(10, 2)>>, m MAP<STRING, INT>
) USING Kafka OPTIONS (cluster 'main', topic = "orders", format json, value.columns 'x') COMMENT 'orders';
CREATE VIEW shop.big COMMENT 'v' AS SELECT * FROM shop.orders WHERE id > 1 -- so
;
CREATE FUNCTION shop.twice(x INT) RETURNS INT RETURN x * 2;
"""


def test_definitions_are_read_from_sql() -> None:
    """Databases, tables, views, functions; what Spark reads is kept as it is written."""
    database, table, view, function = definitions(SCRIPT)
    assert (database.object, database.if_not_exists, database.line) == (
        CatalogDatabase("spark_catalog.shop", "it's the shop"),
        True,
        3,
    )
    made = table.object
    assert isinstance(made, Table) and table.or_replace
    assert (str(made.name), made.description) == ("spark_catalog.shop.orders", "orders")
    assert made.declaration.columns == (
        Column("id", "BIGINT NOT NULL"),
        Column("when", "TIMESTAMP"),
        Column("items", "ARRAY<STRUCT<sku: STRING, price: DECIMAL(10, 2)>>"),
        Column("m", "MAP<STRING, INT>"),
    )
    assert made.comments == {"id": "of; the order"}
    assert made.declaration.options == {"cluster": "main", "topic": "orders", "format": "json", "value.columns": "x"}
    assert (made.declaration.provider, topic_of(made.declaration)) == ("kafka", ("main", "orders"))
    assert view.object == View(object_name("shop.big"), "SELECT * FROM shop.orders WHERE id > 1 -- so", "v")
    assert isinstance(function.object, Function)
    assert function.object.statement == "CREATE FUNCTION shop.twice(x INT) RETURNS INT RETURN x * 2"


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("DROP TABLE a", (1, 1), "CREATE is expected"),
        ("\n  CREATE TEMPORARY TABLE a", (2, 20), "temporary"),
        ("CREATE TABLE a (x INT)", (1, 23), "USING is expected"),
        ("CREATE TABLE a (x INT) USING", (1, 29), "no connector is named"),
        ("CREATE TABLE a (x INTT) USING rate", (1, 23), "no type"),
        ("CREATE TABLE a (x INT, X INT) USING rate", (1, 29), "there twice"),
        ("CREATE TABLE a USING rate PARTITIONED BY (x)", (1, 27), "PARTITIONED is not known"),
        ("CREATE TABLE a USING rate OPTIONS (a 'b', A 'c')", (1, 45), "there twice"),
        ("CREATE TABLE a USING rate OPTIONS (a ,)", (1, 38), "a string is expected"),
        ("CREATE TABLE a USING jdbc OPTIONS (password 'x')", (1, 45), "holds no secret"),
        ("CREATE TABLE a.b.c.d USING rate", (1, 20), "4 parts"),
        ("CREATE VIEW a AS", (1, 17), "query of the view is missing"),
        ("CREATE INDEX a", (1, 14), "not known"),
    ],
)
def test_what_is_not_understood_is_an_error_with_its_place(text: str, place: tuple[int, int], problem: str) -> None:
    """C1: no clause is left out."""
    with pytest.raises(ScriptError, match=problem) as raised:
        definitions(text)
    assert (raised.value.line, raised.value.column) == place
