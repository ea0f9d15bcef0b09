"""Catalogs of Spark's own beside the service's: tables of Iceberg, read and written by the same grants."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from anabranch.config.catalogspec import CatalogSpec, NamedQuery
from anabranch.errors import AnabranchError
from anabranch.jars.connector import with_connector
from anabranch.sandbox.jars import runtime_jars
from anabranch.spark.session import session
from anabranch.spark.streams.attached_tables import attached_tables
from anabranch.spark.streams.settings import SETTINGS
from anabranch.streams.catalog.attached import attached
from anabranch.streams.grants import Privilege
from anabranch.streams.inline import CATALOG_ALONE, TableAccess
from qa.metastore import metastore
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


@pytest.mark.parametrize("catalog", ["hadoop", "hive"])
def test_tables_of_iceberg_are_read_and_written_by_grants(catalog: str, tmp_path: Path) -> None:
    """In a process of its own: the catalog's jars are of the JVM.  Of Hive there is a real metastore."""
    with metastore(tmp_path) if catalog == "hive" else nullcontext("") as uri:
        _reads_and_writes(tmp_path, uri)


def _reads_and_writes(tmp_path: Path, uri: str) -> None:
    words = [sys.executable, "-m", "tests.integration.streams.test_attached", str(tmp_path), uri]
    done = subprocess.run(words, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["copied", "copied", "looked-up", *("denied" for _ in DENIED), "listed", "over"]


def main(place: str, uri: str) -> None:
    """Write, read, look up, and be refused."""
    directory = Path(place)
    made = {
        "spark.jars": ",".join(str(jar) for jar in sorted(runtime_jars("iceberg-1.12.0").glob("*.jar"))),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hive" if uri else "hadoop",
        **({"spark.sql.catalog.lake.uri": uri} if uri else {}),
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
        empty = [("", "")] if uri and "lake" in grants else []  # a metastore has a database `default`
        assert found == [*empty, *wanted], (grants, found)
    print("listed")
    print("over")


if __name__ == "__main__":
    main(*sys.argv[1:])
