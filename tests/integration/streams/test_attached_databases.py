"""Spark's catalog of a database's tables, on a real PostgreSQL, and Delta's, which can only replace Spark's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from anabranch.config.catalogspec import CatalogSpec, NamedQuery
from anabranch.config.streamspec import StreamRunSpec
from anabranch.errors import AnabranchError
from anabranch.jars.connector import with_connector
from anabranch.sandbox.jars import runtime_jars
from anabranch.spark.session import session
from anabranch.spark.streams.attached_tables import attached_tables
from anabranch.spark.streams.refusals import ScriptError
from anabranch.spark.streams.settings import SETTINGS
from anabranch.spark.streams.told_lineage import lineage_of_script
from anabranch.streams.catalog.attached import attached
from anabranch.streams.grants import Privilege
from anabranch.streams.inline import InlinePolicy, TableAccess
from qa.postgres import postgres
from qa.postgres_by_tcp import by_tcp
from tests.integration.streams.lab import StreamLab

pytestmark = pytest.mark.full

Grants = dict[str, tuple[Privilege, ...]]
NUMBERS = "CREATE TABLE numbers (id BIGINT) USING json OPTIONS (path '{place}/in');\n"
JOINS = NUMBERS + (
    "CREATE TABLE named (id BIGINT, title STRING) USING parquet OPTIONS (path '{place}/out');\n"
    "INSERT INTO named SELECT n.id, upper(p.title) AS title FROM STREAM numbers n JOIN db.shop.pages p ON n.id = p.id;"
)
READ, BOTH = (Privilege.READ,), (Privilege.READ, Privilege.WRITE)
DENIED: tuple[tuple[str, Grants, str], ...] = (
    (JOINS, {}, "may not read db.shop.pages"),
    (JOINS, {"db.shop.pages": (Privilege.WRITE,)}, "may not read db.shop.pages"),
    (JOINS, {"db.shop.absent": BOTH, "db.other": BOTH}, "may not read db.shop.pages"),
    ("SELECT * FROM (SELECT 1 WHERE EXISTS (SELECT * FROM db.shop.pages))", {}, "may not read db.shop.pages"),
    ("WITH c AS (SELECT * FROM db.shop.pages) SELECT * FROM c", {}, "may not read db.shop.pages"),
    ("SELECT * FROM shop.peek", {"spark_catalog.shop.peek": BOTH}, "may not read db.shop.pages"),
    ("SELECT nope FROM IDENTIFIER('db.' || 'shop.pages')", {}, "name a table by IDENTIFIER"),
    ("SELECT (SELECT max(nope) FROM db.shop.pages)", {}, "may not read db.shop.pages"),
    ("SELECT * FROM db.shop.absent", {}, "may not read db.shop.absent"),
    ("SELECT * FROM db.Shop.Pages", {"db": BOTH}, "in lower case"),
    (NUMBERS + "INSERT INTO db.shop.pages SELECT id, 'a' FROM STREAM numbers;", {"db": READ}, "may not write db.shop"),
    (
        NUMBERS + "INSERT INTO db.shop.pages SELECT id, 'a' FROM STREAM numbers;",
        {"db": BOTH},
        "of catalog db has no sink",
    ),
    ("SELECT * FROM STREAM db.shop.pages", {"db": BOTH}, "does not support"),
)
LISTED: tuple[tuple[Grants, list[str]], ...] = (
    ({}, []),
    ({"db.shop": READ}, ["pages", "secrets"]),
    ({"db.shop.pages": READ, "db.shop.absent": BOTH}, ["pages"]),
)


def test_tables_of_a_database_are_looked_up_by_grants(tmp_path: Path) -> None:
    """Rows are those that are there as a micro-batch reads them; such a table is no stream, and not written."""
    with postgres() as server, psycopg.connect(uri := server.database(), autocommit=True) as database:
        database.execute("CREATE SCHEMA shop")
        database.execute("CREATE TABLE shop.pages (id bigint, title text)")
        database.execute("CREATE TABLE shop.secrets (code text)")
        database.execute("INSERT INTO shop.pages VALUES (1, 'one'), (2, 'two')")
        with by_tcp(uri) as (url, user):
            done = _run("jdbc", str(tmp_path), uri, url, user)
    assert done == ["joined", "joined", "traced", *("denied" for _ in DENIED), "listed"]


def test_the_catalog_of_delta_finds_nothing_under_a_name_of_its_own(tmp_path: Path) -> None:
    """Why the service does not start with it: it asks Spark's own catalog, which it has only in that one's place."""
    assert _run("delta", str(tmp_path)) == ["listed", "read"]


def _run(*words: str) -> list[str]:
    """In a process of its own: the catalog's jars are of the JVM."""
    command = [sys.executable, "-m", "tests.integration.streams.test_attached_databases", *words]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


def jdbc(place: str, uri: str, url: str, user: str) -> None:
    """Join, and be refused."""
    directory = Path(place)
    made = {
        "spark.jars": ",".join(map(str, runtime_jars("postgresql-42.7.8").glob("*.jar"))),
        "spark.sql.catalog.db": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        "spark.sql.catalog.db.url": url,
        "spark.sql.catalog.db.driver": "org.postgresql.Driver",
        "spark.sql.catalog.db.user": user,
    }
    spark = session("attached", "local[2]", with_connector({**SETTINGS, **made, "spark.sql.shuffle.partitions": "1"}))
    views = (NamedQuery("shop.peek", "SELECT id FROM db.shop.pages"),)

    def lab(may: Grants) -> StreamLab:
        access = TableAccess("mei", may, policy=InlinePolicy(is_open=True))
        return StreamLab(spark, directory, catalog=CatalogSpec(access, views=views, attached=attached(made)))

    (directory / "in").mkdir()
    looks_up = lab({"db.shop.pages": READ})
    script = JOINS.replace("{place}", place)
    wanted = []
    for batch, ids in enumerate(((1, 3), (1, 2))):
        (directory / "in" / f"{batch}.json").write_text("".join(f'{{"id": {one}}}\n' for one in ids))
        looks_up.run(script)
        wanted += [(1, "ONE")] if batch == 0 else [(1, "UNO"), (2, "TWO")]
        assert looks_up.rows(directory / "out") == sorted(wanted), looks_up.rows(directory / "out")
        print("joined")
        with psycopg.connect(uri, autocommit=True) as database:
            database.execute("UPDATE shop.pages SET title = 'uno' WHERE id = 1")
    spec = StreamRunSpec("s", 1, "run", 1, script, "/nowhere", catalog=looks_up.catalog)
    (insert,) = lineage_of_script(looks_up.analysed(script), spec).inserts
    assert insert.is_complete and insert.sources["db.shop.pages"] == ("id", "title"), insert
    assert any(str(one).startswith("db.shop.pages.title -> ") for one in insert.edges), insert.edges
    print("traced")
    for text, may, told in DENIED:
        with pytest.raises(AnabranchError) as raised:
            lab(may).analysed(text.replace("{place}", place))
        said = raised.value.message
        print(f"SAID {said} {raised.value.hint}", file=sys.stderr)
        assert told in said and "title" not in said, said
        print("denied")
    for grants, tables in LISTED:
        given = CatalogSpec(TableAccess("mei", grants), attached=attached(made))
        found = [(one.database, one.table, one.problem) for one in attached_tables(spark, given)]
        assert found == [("shop", one, "") for one in tables], (grants, found)
    print("listed")


def delta(place: str) -> None:
    """List and read."""
    made = {
        "spark.jars": ",".join(map(str, sorted(runtime_jars("delta-4.4.0").glob("*.jar")))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.delta_tables": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    spark = session("attached", "local[2]", with_connector({**SETTINGS, **made}))
    given = CatalogSpec(TableAccess("mei", {"delta_tables": BOTH}), attached={"delta_tables": ""})
    (found,) = attached_tables(spark, given)
    assert not found.table and "bug in Spark or the Spark plugins" in found.problem, found
    print("listed")
    with pytest.raises(ScriptError, match="bug in Spark or the Spark plugins"):
        StreamLab(spark, Path(place), catalog=given).analysed("SELECT * FROM delta_tables.shop.pages")
    print("read")


if __name__ == "__main__":
    {"jdbc": jdbc, "delta": delta}[sys.argv[1]](*sys.argv[2:])
