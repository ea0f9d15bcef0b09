"""Lineage as values: what is read is what was written, and tables have one name for all streams."""

from __future__ import annotations

import json

import pytest

from anabranch.errors import InvalidFieldError
from anabranch.operations.streams.lineage import (
    column_of,
    readers_of_columns,
    readers_of_table,
    streams_lineage,
    writers_of_table,
)
from anabranch.service.lineage_answers import shown
from anabranch.streams.lineage.document import (
    LineageDocumentError,
    StoredLineage,
    VersionLineage,
    dataset_of,
    document_of,
    known_as,
    lineage_of,
    renamed,
)
from anabranch.streams.lineage.edges import TableColumn
from anabranch.streams.tables import Column, TableDeclaration
from tests.unit.streams.lineage.cases import cases, lineages

pytestmark = pytest.mark.unit

KAFKA = TableDeclaration("mine", "kafka", (Column("id", "BIGINT"),), {"cluster": "code", "topic": "orders"})


@pytest.mark.parametrize("case", cases(), ids=lambda one: one.name)
def test_what_is_read_is_what_was_written(case) -> None:  # type: ignore[no-untyped-def]
    """L13: through JSON, for every script of the lineage tests."""
    made = VersionLineage(tuple(lineages(case)), {"mine": dataset_of("mine", KAFKA)})
    assert lineage_of(json.loads(json.dumps(document_of(made)))) == made


@pytest.mark.parametrize("broken", [{}, {"inserts": 1, "datasets": {}}, {"inserts": [{}], "datasets": {}}])
def test_what_is_none_is_an_error(broken: dict[str, object]) -> None:
    """Of another version, or broken."""
    with pytest.raises(LineageDocumentError):
        lineage_of(broken)


def test_a_table_has_one_name_for_all_streams() -> None:
    """A script's own table of a topic is that of the catalog, or the topic itself."""
    topics = {"main/orders": ("spark_catalog.shop.orders",)}
    assert known_as("pv", KAFKA, topics, {"code": "main"}) == "shop.orders"
    assert known_as("pv", KAFKA, {}, {"code": "main"}) == "kafka://main/orders"
    assert known_as("pv", TableDeclaration("out", "console"), topics, {}) == "stream://pv/out"
    assert dataset_of("shop.orders", KAFKA).namespace == "kafka://code"


def test_readers_and_writers_are_found_through_names() -> None:
    """Over streams, whatever the case."""
    (made, *_) = lineages(next(iter(cases())))
    source = next(iter(made.sources))
    names = {source.lower(): "shop.Orders", made.target.lower(): "shop.out"}
    document = document_of(VersionLineage((renamed(made, names),)))
    lineage = streams_lineage({"pv": StoredLineage("pv", 1, 0, document)})
    assert readers_of_table(lineage, "shop.orders") == ("pv",) and not readers_of_table(lineage, "shop.out")
    assert writers_of_table(lineage, "SHOP.out") == ("pv",)
    read = next(one.column for one in made.reads if one.table == source)
    assert readers_of_columns(lineage, "shop.orders", [read, "none"]) == ("pv",)
    assert not readers_of_columns(lineage, "shop.orders", ["none"])


def test_columns_of_what_may_not_be_seen_are_not_shown() -> None:
    """H2: neither as sources nor as targets."""
    (made, *_) = lineages(next(iter(cases())))
    source = next(iter(made.sources))
    without = shown(made, lambda table: table != source)
    assert not [one for one in without.edges if one.source_table == source]
    assert without.sources[source] == () and not [one for one in without.reads if one.table == source]
    without = shown(made, lambda table: table != made.target)
    assert without.columns == () and without.edges == ()


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("shop.orders.id", TableColumn("shop.orders", "id")),
        ("spark_catalog.Shop.Orders.id", TableColumn("shop.orders", "id")),
        ("orders.id", TableColumn("default.orders", "id")),
        ("kafka://main/my.topic.id", TableColumn("kafka://main/my.topic", "id")),
        ("stream://pv/out.id", TableColumn("stream://pv/out", "id")),
    ],
)
def test_a_column_is_written_with_its_table(text: str, column: TableColumn) -> None:
    """As lineage names both."""
    assert column_of(text) == column


@pytest.mark.parametrize("text", ["id", ".id", "shop.", "a.b.c.d.e", "sh op.id"])
def test_what_is_no_column_is_refused(text: str) -> None:
    """With how one is written."""
    with pytest.raises(InvalidFieldError):
        column_of(text)
