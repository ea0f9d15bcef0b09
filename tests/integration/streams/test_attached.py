"""Catalogs of Spark's own beside the service's: tables of Iceberg, read and written by the same grants."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anabranch.config.catalogspec import CatalogSpec, NamedQuery
from anabranch.config.streamspec import StreamRunSpec
from anabranch.errors import AnabranchError
from anabranch.jars.connector import with_connector
from anabranch.sandbox.jars import runtime_jars
from anabranch.spark.session import session
from anabranch.spark.streams.attached_tables import attached_tables
from anabranch.spark.streams.settings import SETTINGS
from anabranch.spark.streams.told_lineage import lineage_of_script
from anabranch.streams.catalog.attached import attached
from anabranch.streams.grants import Privilege
from anabranch.streams.inline import CATALOG_ALONE, TableAccess
from qa.iceberg_rest import rest_catalog
from qa.metastore import metastore
from qa.postgres import postgres
from qa.postgres_by_tcp import by_tcp
from tests.integration.streams.lab import StreamLab

pytestmark = pytest.mark.full

NUMBERS = "CREATE TABLE numbers USING `rate-micro-batch` OPTIONS (rowsPerBatch '5');\n"
WRITES = f"{NUMBERS}INSERT INTO lake.shop.clicks SELECT value AS id, 'a' AS page FROM STREAM numbers;"
READS = "INSERT INTO lake.shop.pages SELECT id, upper(page) AS page FROM STREAM lake.shop.clicks;"
LOOKS_UP = f"{NUMBERS}SELECT value, page FROM STREAM numbers JOIN lake.shop.clicks ON value = id;"
BOTH = (Privilege.READ, Privilege.WRITE)
DENIED = (
    (WRITES, {}, "may not write lake.shop.clicks"),
    (READS, {"lake.shop.pages": BOTH}, "may not read lake.shop.clicks"),
    (READS, {"lake.shop": (Privilege.READ,)}, "may not write lake.shop.pages"),
    ("SELECT * FROM (SELECT 1 WHERE EXISTS (SELECT * FROM lake.shop.clicks))", {}, "may not read lake.shop.clicks"),
    ("WITH c AS (SELECT * FROM lake.shop.clicks) SELECT * FROM c", {}, "may not read lake.shop.clicks"),
    ("SELECT * FROM shop.peek", {"spark_catalog.shop.peek": BOTH}, "may not read lake.shop.clicks"),
    ("SELECT nope FROM IDENTIFIER('lake.shop.clicks')", {}, "may not"),
    ("SELECT nope FROM IDENTIFIER('lake.' || 'shop.clicks')", {}, "name a table by IDENTIFIER"),
    ("SELECT (SELECT max(nope) FROM IDENTIFIER('lake.' || 'shop.clicks'))", {}, "name a table by IDENTIFIER"),
    ("SELECT nope FROM lake.shop.clicks VERSION AS OF 1", {}, "may not read lake.shop.clicks"),
    ("SELECT (SELECT max(nope) FROM lake.shop.clicks)", {}, "may not read lake.shop.clicks"),
    ("SELECT * FROM lake.shop.absent", {}, "may not read lake.shop.absent"),
    ("SELECT * FROM lake.`{place}/warehouse/shop/clicks`", {"lake": BOTH}, "is no part of one"),
    ("SELECT * FROM lake.shop.clicks.files", {"lake": BOTH}, "4 parts"),
    ("SELECT * FROM lake.Shop.Clicks", {"lake": BOTH}, "in lower case"),
    ("SET spark.sql.catalog.other = org.apache.iceberg.spark.SparkCatalog", {"lake": BOTH}, "may not set"),
)
LISTED: tuple[tuple[dict[str, tuple[Privilege, ...]], list[tuple[str, str]]], ...] = (
    ({}, []),
    ({"lake": BOTH}, [("clicks", ""), ("pages", "")]),
    ({"lake.shop": (Privilege.READ,)}, [("clicks", ""), ("pages", "")]),
    ({"lake.shop.pages": (Privilege.WRITE,), "lake.shop.absent": BOTH}, [("pages", "")]),
)
"""What is listed with which grants."""


@contextmanager
def catalog_of(kind: str, directory: Path) -> Iterator[dict[str, str]]:
    """The settings of a catalog of Iceberg, while its server runs: all but the one in a directory have a real one."""
    if kind == "hive":
        with metastore(directory) as uri:
            yield {"uri": uri}
    elif kind in ("jdbc", "rest"):
        with postgres() as server, by_tcp(server.database()) as (database, user):
            if kind == "jdbc":
                yield {"uri": database, "jdbc.user": user}
            else:
                with rest_catalog(directory, database, user) as uri:
                    yield {"uri": uri}
    else:
        yield {}


@pytest.mark.parametrize("kind", ["hadoop", "hive", "jdbc", "rest"])
def test_tables_of_iceberg_are_read_and_written_by_grants(kind: str, tmp_path: Path) -> None:
    """In a process of its own: the catalog's jars are of the JVM."""
    with catalog_of(kind, tmp_path) as settings:
        words = [sys.executable, "-m", "tests.integration.streams.test_attached", str(tmp_path), kind]
        words.append(json.dumps(settings))
        done = subprocess.run(words, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    steps = ["copied", "copied", "traced", "looked-up", *("denied" for _ in DENIED), "listed", "over"]
    assert done.stdout.split() == steps


def main(place: str, kind: str, more: str) -> None:
    """Write, read, look up, and be refused."""
    directory = Path(place)
    jars = [jar for one in ("iceberg-1.12.0", "postgresql-42.7.8") for jar in sorted(runtime_jars(one).glob("*.jar"))]
    made = {
        "spark.jars": ",".join(map(str, jars)),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": kind,
        **{f"spark.sql.catalog.lake.{name}": value for name, value in json.loads(more).items()},
        "spark.sql.catalog.lake.warehouse": f"{directory}/warehouse",
        "spark.sql.catalog.lake.cache-enabled": "false",  # each session has a catalog of its own
    }
    spark = session("attached", "local[2]", with_connector({**SETTINGS, **made, "spark.sql.shuffle.partitions": "1"}))
    spark.sql("CREATE NAMESPACE lake.shop")
    for table in ("clicks", "pages"):
        spark.sql(f"CREATE TABLE lake.shop.{table} (id BIGINT, page STRING) USING iceberg")
    views = (NamedQuery("shop.peek", "SELECT id FROM lake.shop.clicks"),)

    def lab(may: dict[str, tuple[Privilege, ...]]) -> StreamLab:
        access = TableAccess("mei", may, policy=CATALOG_ALONE)
        catalog = CatalogSpec(access, views=views, attached=attached(made))
        return StreamLab(spark, directory, catalog=catalog)

    copies = lab({"lake.shop.clicks": (Privilege.READ,), "lake.shop.pages": (Privilege.WRITE,)})
    for first in (0, 3):
        spark.range(first, first + 3).selectExpr("id", "concat('p', id) AS page").writeTo("lake.shop.clicks").append()
        copies.run(READS)
        found = sorted(tuple(row) for row in spark.table("lake.shop.pages").collect())
        assert found == [(n, f"P{n}") for n in range(first + 3)], found
        print("copied")
    _traced(copies)
    (found,) = lab({"lake": (Privilege.READ,)}).analysed(LOOKS_UP).selects.values()
    assert found.columns == ["value", "page"] and found.isStreaming
    print("looked-up")
    for text, may, told in DENIED:
        with pytest.raises(AnabranchError) as raised:
            lab(may).analysed(text.replace("{place}", place))
        said = raised.value.message
        assert told in said and "page" not in said.replace("shop.pages", ""), said
        print("denied")
    for grants, wanted in LISTED:
        given = CatalogSpec(TableAccess("mei", dict(grants)), attached=attached(made))
        found = [(one.table, one.problem) for one in attached_tables(spark, given)]
        empty = [("", "")] if kind == "hive" and "lake" in grants else []  # a metastore has a database `default`
        assert found == [*empty, *wanted], (grants, found)
    print("listed")
    print("over")


def _traced(lab: StreamLab) -> None:
    """Lineage names the tables as scripts do."""
    spec = StreamRunSpec("s", 1, "run", 1, READS, "/nowhere", catalog=lab.catalog)
    (insert,) = lineage_of_script(lab.analysed(READS), spec).inserts
    assert insert.is_complete and insert.sources == {"lake.shop.clicks": ("id", "page")}, insert
    assert [str(one) for one in insert.edges] == [
        "lake.shop.clicks.id -> lake.shop.pages.id identity",
        "lake.shop.clicks.page -> lake.shop.pages.page transformation",
    ], insert.edges
    print("traced")


if __name__ == "__main__":
    main(*sys.argv[1:])
