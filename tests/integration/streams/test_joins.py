"""Joins to rows that are compared: of two streams, and of a stream with a table of a real PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from anabranch.sandbox import SandboxCluster
from qa.postgres import postgres
from qa.postgres_by_tcp import by_tcp
from tests.integration.links.topics import create, fresh
from tests.integration.streams.lab import StreamLab, produce_json

CLICKS = """
CREATE TABLE clicks (id BIGINT, page STRING, at TIMESTAMP)
USING kafka OPTIONS (cluster 'here', topic '{clicks}', start 'earliest', max.records.per.batch '4');
"""
STREAMS = (
    CLICKS
    + """
CREATE TABLE orders (click BIGINT, amount BIGINT, ordered TIMESTAMP)
USING kafka OPTIONS (cluster 'here', topic '{orders}', start 'earliest', max.records.per.batch '3');
CREATE TEMPORARY VIEW c AS SELECT * FROM STREAM clicks WATERMARK at DELAY OF INTERVAL 2 HOURS;
CREATE TEMPORARY VIEW o AS SELECT * FROM STREAM orders WATERMARK ordered DELAY OF INTERVAL 2 HOURS;
CREATE TABLE bought (id BIGINT, page STRING, amount BIGINT) USING parquet OPTIONS (path '{out}');
INSERT INTO bought SELECT id, page, amount FROM c JOIN o
ON id = click AND ordered BETWEEN at AND at + INTERVAL 30 MINUTES;
"""
)
LOOKUP = (
    CLICKS
    + """
CREATE TABLE pages USING jdbc OPTIONS (
    url '{url}', dbtable 'pages', driver 'org.postgresql.Driver', user '{user}', password 'env:PAGES_PASSWORD'
);
CREATE TABLE named (id BIGINT, title STRING, price DECIMAL(10, 2)) USING parquet OPTIONS (path '{out}');
INSERT INTO named SELECT id, title, price FROM STREAM clicks c LEFT JOIN pages p ON c.page = p.page;
"""
)


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path, here: SandboxCluster) -> StreamLab:
    """A directory of its own."""
    return StreamLab.of(spark, tmp_path, here)


def at(minute: int) -> str:
    """A time of one day."""
    return f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00Z"


def clicks(first: int, count: int) -> list[dict[str, object]]:
    """A click a minute on one of three pages."""
    return [{"id": n, "page": f"p{n % 3}", "at": at(n)} for n in range(first, first + count)]


def orders(*found: tuple[int, int]) -> list[dict[str, object]]:
    """An order for each click, so many minutes after it."""
    return [{"click": click, "amount": 10 * click + after, "ordered": at(click + after)} for click, after in found]


@pytest.mark.test
def test_two_streams_are_joined_once_over_a_restart(lab: StreamLab, here: SandboxCluster) -> None:
    """Rows of one run meet those of the next one; what is out of the time between them meets nothing."""
    topics = {"clicks": create(here, fresh("clicks")), "orders": create(here, fresh("orders"))}
    out = lab.directory / "out"
    script = STREAMS.format(out=out, **topics)
    first = [(0, 0), (2, 5), (4, 30), (1, 31), (3, -1), (2, 7)]
    produce_json(here, topics["clicks"], clicks(0, 10))
    produce_json(here, topics["orders"], orders(*first))
    lab.run(script)
    met = [(0, "p0", 0), (2, "p2", 25), (2, "p2", 27), (4, "p1", 70)]
    assert lab.rows(out) == met

    second = [(6, 3), (11, 2), (9, 40), (99, 0)]
    produce_json(here, topics["orders"], orders(*second))
    produce_json(here, topics["clicks"], clicks(10, 5))
    lab.run(script)
    assert lab.rows(out) == [*met, (6, "p0", 63), (11, "p2", 112)]


@pytest.mark.full
def test_a_stream_looks_up_a_table_of_a_server_as_it_is(
    lab: StreamLab, here: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each micro-batch sees its rows of then; a row that is not there leaves nulls."""
    topic, out = create(here, fresh("clicks")), lab.directory / "out"
    monkeypatch.setenv("PAGES_PASSWORD", "not asked for here")
    produce_json(here, topic, clicks(0, 6))
    with postgres() as server, psycopg.connect(uri := server.database(), autocommit=True) as database:
        database.execute("CREATE TABLE pages (page text PRIMARY KEY, title text, price numeric(10, 2))")
        database.execute("INSERT INTO pages VALUES ('p0', 'Köln', 1.50), ('p1', 'tab\there', NULL)")
        with by_tcp(uri) as (url, user):
            script = LOOKUP.format(clicks=topic, url=url, user=user, out=out)
            lab.run(script)
            before = [(n, *(("Köln", "1.50"), ("tab\there", None), (None, None))[n % 3]) for n in range(6)]
            assert [(n, title, price and str(price)) for n, title, price in lab.rows(out)] == before
            database.execute("UPDATE pages SET title = 'new' WHERE page = 'p0'")
            database.execute("INSERT INTO pages VALUES ('p2', 'third', 3)")
            produce_json(here, topic, clicks(6, 3))
            lab.run(script)
    found = [(n, title, price and str(price)) for n, title, price in lab.rows(out)]
    assert found == [*before, (6, "new", "1.50"), (7, "tab\there", None), (8, "third", "3.00")]
