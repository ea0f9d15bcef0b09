"""Scripts that a catalog judges: what it has is read and written by its names, and nothing else is reached."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from anabranch.config.catalogspec import CatalogSpec
from anabranch.errors import AnabranchError
from anabranch.operations.catalog.desk import KnownCatalog
from anabranch.operations.catalog.entries import entry_of
from anabranch.operations.catalog.loading import spec_of
from anabranch.sandbox import SandboxCluster
from anabranch.spark.streams.granted_functions import BrokenEntryError
from anabranch.streams.catalog.ddl import definitions
from anabranch.streams.catalog.objects import Table
from anabranch.streams.errors import ScriptError
from anabranch.streams.grants import Authority, DeniedError, Grant, Privilege
from anabranch.streams.inline import InlinePolicy
from tests.integration.links.topics import create, fresh
from tests.integration.streams.lab import StreamLab, produce_json

pytestmark = pytest.mark.full

SHOP = """
CREATE TABLE shop.clicks USING `rate-micro-batch` OPTIONS (rowsPerBatch '5');
CREATE TABLE shop.secret USING `rate-micro-batch` OPTIONS (rowsPerBatch '5');
CREATE TABLE shop.orders (ssn STRING, id BIGINT) USING kafka OPTIONS (cluster 'main', topic 'orders', format 'json');
CREATE TABLE shop.hidden (ssn STRING) USING kafka OPTIONS (cluster 'main', topic 'hidden', format 'json');
CREATE TABLE shop.sink USING console;
CREATE TABLE plain USING `rate-micro-batch` OPTIONS (rowsPerBatch '5');
CREATE TABLE concealed USING `rate-micro-batch` OPTIONS (rowsPerBatch '5');
CREATE VIEW shop.even AS SELECT c.value FROM shop.clicks c WHERE c.value % 2 = 0;
CREATE VIEW shop.twice_even AS WITH e AS (SELECT * FROM shop.even) SELECT value, shop.twice(value) AS twice FROM e;
CREATE VIEW shop.peek AS SELECT value FROM shop.secret;
CREATE VIEW shop.of_plain AS SELECT value FROM plain;
CREATE FUNCTION shop.twice(x BIGINT) RETURNS BIGINT RETURN x * 2;
CREATE FUNCTION shop.unseen(x BIGINT) RETURNS BIGINT RETURN x * 2;
CREATE FUNCTION shop.java AS 'java.lang.Runtime';
CREATE VIEW shop.reflecting AS SELECT reflect('java.lang.System', 'getenv', 'HOME') AS home FROM shop.clicks;
"""
READ = ("clicks", "orders", "even", "twice_even", "peek", "of_plain", "twice", "java", "reflecting")


def spec(*more: tuple[str, Privilege], is_open: bool = False) -> CatalogSpec:
    """What mei may use: she reads most, and writes shop.sink."""
    objects = {str(one.object.name): one.object for one in definitions(SHOP)}
    entries = {name: entry_of(one, "jo", 5, None) for name, one in objects.items()}
    given = [(f"spark_catalog.shop.{one}", Privilege.READ) for one in READ]
    given += [("spark_catalog.shop.sink", Privilege.WRITE), ("spark_catalog.default.plain", Privilege.READ), *more]
    grants = frozenset(Grant(name, "user:mei", privilege) for name, privilege in given)
    authority = Authority("mei", frozenset(), grants, dict.fromkeys(objects, "jo"))
    topics = {one.topic: (name,) for name, one in objects.items() if isinstance(one, Table) and one.topic}
    found = KnownCatalog(entries, objects, authority, topics, {"alias": "main"})
    return spec_of(found, InlinePolicy(is_open=is_open))


@pytest.fixture(scope="module")
def lab(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> StreamLab:
    """Connects to nothing; its scripts are mei's."""
    made = StreamLab(spark, tmp_path_factory.mktemp("granted"))
    made.catalog = spec()
    return made


def error_of(lab: StreamLab, script: str) -> AnabranchError:
    """What a script is refused with."""
    with pytest.raises(AnabranchError) as found:
        lab.analysed(script)
    return found.value


def test_tables_views_and_functions_of_the_catalog_run_beside_those_of_the_script(lab: StreamLab) -> None:
    """By any spelling of their names, in joins, subqueries, common table expressions and views over views."""
    script = """
    CREATE TABLE mine USING `rate-micro-batch` OPTIONS (rowsPerBatch '5');
    CREATE TABLE shown USING console;
    CREATE VIEW own AS SELECT orders.id FROM shop.orders WHERE shop.orders.id > 1;
    INSERT INTO shop.sink WITH x AS (SELECT * FROM shop.twice_even) SELECT x.twice AS value FROM x;
    INSERT INTO shown SELECT m.value FROM STREAM mine m UNION ALL SELECT clicks.value FROM STREAM `SHOP`.Clicks;
    INSERT INTO spark_catalog.shop.sink SELECT value FROM spark_catalog.shop.even;
    INSERT INTO shown SELECT value FROM plain UNION ALL SELECT value FROM default.plain;
    INSERT INTO shown SELECT shop.twice(value) AS value FROM shop.of_plain;
    INSERT INTO shown SELECT id AS value FROM own;
    INSERT INTO shown WITH plain AS (SELECT * FROM plain WHERE value > 1) SELECT value FROM plain
    """
    found = lab.analysed(script)
    assert [one.query for one in found.inserts][:3] == ["shop.sink", "shown", "shop.sink-2"]
    assert len(found.inserts) == 7
    assert found.registered.tables == {"shop.clicks", "shop.orders", "default.plain"}


def test_what_the_catalog_gives_is_what_a_query_reads(lab: StreamLab) -> None:
    """Rows of a table, through a view and a function."""
    lab.shown.clear()
    with pytest.raises(AnabranchError):
        lab.analysed("INSERT INTO shop.sink SELECT value FROM shop.secret")
    out = lab.directory / "out"
    lab.catalog = spec(is_open=True)
    try:
        made = lab.analysed(
            f"CREATE TABLE f (value BIGINT) USING parquet OPTIONS (path '{out}');"
            "INSERT INTO f SELECT twice FROM shop.twice_even"
        )
    finally:
        lab.catalog = spec()
    writer = made.inserts[0].rows.writeStream.format("parquet").option("checkpointLocation", str(lab.directory / "ck"))
    query = writer.option("path", str(out)).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    assert {row[0] % 4 for row in lab.spark.read.parquet(str(out)).collect()} == {0}


def test_a_view_reads_the_catalog_whatever_the_script_calls_its_own(lab: StreamLab) -> None:
    """A4."""
    script = "CREATE TABLE plain USING console; CREATE TABLE s USING console; INSERT INTO s SELECT * FROM shop.of_plain"
    assert len(lab.analysed(script).inserts) == 1


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT * FROM shop.hidden", "read shop.hidden"),
        ("SELECT sss FROM shop.hidden", "read shop.hidden"),
        ("SELECT hidden.nothing FROM spark_catalog.shop.hidden", "read shop.hidden"),
        ("SELECT 1 WHERE 1 IN (SELECT 1 FROM SHOP.`Hidden`)", "read shop.hidden"),
        ("WITH x AS (SELECT * FROM shop.hidden) SELECT 1 FROM shop.clicks", "read shop.hidden"),
        ("SELECT (SELECT max(ssn) FROM shop.hidden) FROM shop.clicks", "read shop.hidden"),
        ("SELECT value FROM concealed", "read default.concealed"),
        ("SELECT value FROM default.concealed", "read default.concealed"),
        ("SELECT value FROM IDENTIFIER('shop.hidden')", "name a table by IDENTIFIER: its name is to be in the text"),
        ("CREATE VIEW v AS SELECT * FROM shop.hidden", "read shop.hidden"),
        ("SELECT * FROM shop.peek", "read shop.secret"),
        ("SELECT * FROM shop.hidden, shop.secret", "read shop.hidden; may not read shop.secret"),
        ("INSERT INTO shop.orders SELECT 'a', value FROM shop.clicks", "write shop.orders"),
        ("INSERT INTO shop.hidden SELECT 'a' FROM shop.clicks", "write shop.hidden"),
        ("INSERT INTO concealed SELECT 1 FROM shop.clicks", "write default.concealed"),
        ("SELECT * FROM shop.sink", "read shop.sink"),
        ("SELECT shop.unseen(1)", "use shop.unseen"),
        (
            "CREATE TABLE o (ssn STRING) USING kafka OPTIONS (cluster 'main', topic 'hidden'); SELECT * FROM o",
            "read o: topic hidden of cluster main is that of shop.hidden",
        ),
        (
            "CREATE TABLE o (ssn STRING) USING kafka OPTIONS (cluster 'alias', topic 'x, hidden'); SELECT * FROM o",
            "read o: topic hidden of cluster alias is that of shop.hidden",
        ),
        (
            "CREATE TABLE o (ssn STRING) USING kafka OPTIONS (cluster 'main', topic 'hidden', TOPIC 'orders');"
            "SELECT * FROM o",
            "read o: topic hidden of cluster main is that of shop.hidden",
        ),
        (
            "CREATE TABLE o (id BIGINT) USING kafka OPTIONS (cluster 'main', topic 'orders');"
            "INSERT INTO o SELECT value FROM shop.clicks",
            "write o: topic orders of cluster main is that of shop.orders",
        ),
    ],
)
def test_what_no_grant_allows_is_named_and_its_columns_are_not_told(lab: StreamLab, statement: str, told: str) -> None:
    """A5: neither as nearest names nor in what Spark says."""
    error = error_of(lab, statement)
    assert isinstance(error, DeniedError)
    assert error.message == f"mei may not {told}"
    assert "ssn" not in error.message.replace(statement, "") + error.hint


def test_all_that_is_denied_is_told_at_once(lab: StreamLab) -> None:
    """Over several statements."""
    script = "SET spark.sql.runSQLOnFiles = true; SELECT * FROM shop.hidden; INSERT INTO shop.orders SELECT 1"
    error = error_of(lab, script)
    assert isinstance(error, DeniedError)
    assert error.denied == ("set spark.sql.runSQLOnFiles", "read shop.hidden", "write shop.orders")


@pytest.mark.parametrize("word", ["hiden", "hidde", "secrt"])
def test_an_unknown_name_is_not_led_to_what_is_hidden(lab: StreamLab, word: str) -> None:
    """The nearest names are of what the account may use."""
    error = error_of(lab, f"SELECT * FROM shop.{word}")
    assert isinstance(error, ScriptError) and f"no table 'shop.{word}'" in error.message
    assert "hidden" not in error.hint and "secret" not in error.hint


DOORS = [
    ("SELECT reflect('java.lang.System', 'getenv', 'ANABRANCH_DOOR')", "call reflect, which calls methods of Java"),
    ("SELECT java_method('java.lang.System', 'getenv', 'ANABRANCH_DOOR')", "call java_method"),
    ("SELECT try_reflect('java.lang.System', 'getenv', 'ANABRANCH_DOOR')", "call try_reflect"),
    ("SELECT builtin.reflect('java.lang.System', 'getenv', 'ANABRANCH_DOOR')", "call reflect"),
    ("SELECT IDENTIFIER('reflect')('java.lang.System', 'getenv', 'ANABRANCH_DOOR')", "call reflect"),
    ("CREATE VIEW v AS SELECT reflect('java.lang.System', 'getenv', 'HOME')", "call reflect"),
    ("SELECT * FROM shop.reflecting", "call reflect"),
    ("SELECT from_avro(X'00', '\"string\"', map('avroSchemaUrl', '{file}'))", "call from_avro, which opens files"),
    ("SELECT from_xml('<a/>', 'a INT', map('rowValidationXSDPath', '{file}'))", "call from_xml, which opens files"),
    ("SELECT from_protobuf(X'00', 'M', '{file}')", "call from_protobuf, which opens files"),
    ("SELECT TRANSFORM(value) USING 'cat' AS (x) FROM shop.clicks", "run a program (TRANSFORM)"),
    ("CREATE TEMPORARY FUNCTION f AS 'java.lang.Runtime'", "make a function of a class or a jar"),
    ("CREATE OR REPLACE FUNCTION shop.twice(x INT) RETURNS INT RETURN 1", "make a function of the catalog"),
    ("SET spark.sql.runSQLOnFiles = true", "set spark.sql.runSQLOnFiles"),
    ("SET spark.sql.variable.substitute = true", "set spark.sql.variable.substitute"),
    ("SET spark.sql.catalog.other = org.example.Catalog", "set spark.sql.catalog.other"),
    ("SET spark.sql.streaming.stateStore.providerClass = a.B", "set spark.sql.streaming.stateStore.providerClass"),
    ("SET fs.s3a.access.key = x", "set fs.s3a.access.key"),
    ("CREATE TABLE t USING text OPTIONS (path '{file}'); SELECT * FROM t", "declare t: a script may not declare"),
    ("CREATE TABLE t USING org.example.Source; SELECT * FROM t", "declare t: a script may not declare"),
    (
        "CREATE TABLE t (a INT) USING kafka OPTIONS (cluster 'c', topic 't', format 'avro', avro.schema.file '{file}')",
        "declare t: option avro.schema.file names a file",
    ),
    (
        "CREATE TABLE t USING kafka OPTIONS (cluster 'c', topic 't', kafka.sasl.jaas.config 'x')",
        "declare t: option kafka.sasl.jaas.config is none of those",
    ),
    (
        "CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:derby:memory:x;create=true', dbtable 't')",
        "declare t: its url is none of",
    ),
    (
        "CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:postgresql://h/d', dbtable 't', password 'env:ANABRANCH_DOOR')",
        "declare t: option password names a secret",
    ),
]


@pytest.mark.parametrize(("statement", "told"), DOORS, ids=[str(number) for number in range(len(DOORS))])
def test_a_way_out_of_the_tables_is_closed(lab: StreamLab, tmp_path: Path, statement: str, told: str) -> None:
    """Each one gave away something of the job's machine, or ran something there, before it was closed."""
    file = tmp_path / "door.txt"
    file.write_text("opened\n", encoding="utf-8")
    error = error_of(lab, statement.replace("{file}", str(file)))
    assert isinstance(error, DeniedError), error
    assert told in error.message
    assert "opened" not in error.message


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("EXECUTE IMMEDIATE 'SET spark.sql.runSQLOnFiles=true'", "EXECUTE IMMEDIATE is no part"),
        ("ADD JAR '/x.jar'", "is no part of a stream's script"),
        ("SELECT * FROM text.`{file}`", "no table"),
        ("SELECT * FROM binaryFile.`{file}`", "no table"),
        ("SHOW TABLES", "is no part"),
        ("DESCRIBE shop.orders", "is no part"),
        ("SET VAR x = 1", "is no part"),
        ("CREATE TEMPORARY FUNCTION f AS 'a.B' USING JAR '{file}'", "is a path"),
        ("CREATE FUNCTION f AS 'a.B' USING JAR '{file}'", "is a path"),
        (
            "CREATE TABLE o USING kafka OPTIONS (cluster 'main', topic 'orders', TOPIC 'hidden'); SELECT * FROM o",
            "the option is there twice",
        ),
    ],
)
def test_a_statement_that_reaches_out_is_none_of_a_script(
    lab: StreamLab, tmp_path: Path, statement: str, problem: str
) -> None:
    """Files that are named as tables are unknown tables."""
    file = tmp_path / "door.txt"
    file.write_text("opened\n", encoding="utf-8")
    error = error_of(lab, statement.replace("{file}", str(file)))
    assert isinstance(error, ScriptError) and problem in error.message
    assert "opened" not in error.message + error.hint


def test_a_variable_in_a_script_is_a_text(lab: StreamLab) -> None:
    """The environment of the job has secrets, and so may its settings."""
    found = lab.analysed("SELECT '${env:HOME}' AS a, '${system:user.home}' AS b, '${spark.driver.memory}' AS c")
    assert [tuple(row) for row in found.selects[1].collect()] == [
        ("${env:HOME}", "${system:user.home}", "${spark.driver.memory}")
    ]


def test_what_is_harmless_is_set_for_tables_and_queries(lab: StreamLab) -> None:
    """In every session of the script."""
    script = "SET spark.sql.session.timeZone = Asia/Tokyo; SELECT current_timezone() AS zone FROM shop.clicks"
    rows = lab.analysed(script).selects[2]
    assert rows.sparkSession.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"


def test_a_view_that_no_longer_fits_its_tables_is_told_of(lab: StreamLab) -> None:
    """By its name, as the catalog's."""
    lab.catalog = replace(
        spec(), views=tuple(replace(one, query="SELECT gone FROM shop.clicks") for one in spec().views)
    )
    try:
        error = error_of(lab, "SELECT * FROM shop.even")
    finally:
        lab.catalog = spec()
    assert isinstance(error, ScriptError) and "shop.even of the catalog cannot be used: no column" in error.message


def test_a_function_of_a_class_is_not_run_for_an_account(lab: StreamLab) -> None:
    """Whoever defined it."""
    error = error_of(lab, "SELECT shop.java(1)")
    assert isinstance(error, BrokenEntryError) and "it names a class" in error.message


def test_whoever_manages_the_catalog_declares_tables_of_files(lab: StreamLab, tmp_path: Path) -> None:
    """As in the catalog itself; functions that reach out stay closed."""
    lab.catalog = spec(is_open=True)
    (tmp_path / "in").mkdir()
    script = f"CREATE TABLE t (a STRING) USING text OPTIONS (path '{tmp_path / 'in'}'); SELECT * FROM STREAM t"
    try:
        assert lab.analysed(script).selects
        assert isinstance(error_of(lab, "SELECT reflect('java.lang.System', 'getenv', 'HOME')"), DeniedError)
    finally:
        lab.catalog = spec()


AVRO = '{"type":"record","name":"n","fields":[{"name":"page","type":"string"},{"name":"n","type":"long"}]}'


def test_kafka_tables_of_the_catalog_are_read_and_written(
    spark: SparkSession, here: SandboxCluster, tmp_path: Path
) -> None:
    """Formats that use what is closed to scripts, and the sink that is exactly once, beside the closed session."""
    source, topic = create(here, fresh("granted-in")), create(here, fresh("granted-out"))
    produce_json(here, source, [{"page": f"/{n}", "n": n} for n in range(6)])
    sql = f"""
    CREATE TABLE shop.pages (page STRING, n BIGINT) USING kafka OPTIONS (cluster 'here', topic '{source}');
    CREATE TABLE shop.out USING kafka OPTIONS (cluster 'here', topic '{topic}', format 'avro', avro.schema '{AVRO}');
    """
    objects = {str(one.object.name): one.object for one in definitions(sql)}
    entries = {name: entry_of(one, "mei", 5, None) for name, one in objects.items()}
    owners = Authority("mei", owners=dict.fromkeys(objects, "mei"))
    made = StreamLab.of(spark, tmp_path, here)
    made.catalog = spec_of(KnownCatalog(entries, objects, owners, {}, {}), InlinePolicy())
    made.run("INSERT INTO shop.out SELECT page, n FROM shop.pages WHERE n > 2")
    made.run("CREATE TABLE seen USING console; INSERT INTO seen SELECT n, page FROM shop.out")
    assert sorted(tuple(row) for _, rows in made.shown for row in rows) == [(n, f"/{n}") for n in (3, 4, 5)]


def test_the_tables_of_a_script_are_its_own_and_those_that_it_uses(lab: StreamLab) -> None:
    """Of the catalog those that views read, too."""
    found = lab.analysed("CREATE TABLE mine USING console; INSERT INTO shop.sink SELECT value FROM shop.even")
    assert set(found.tables) == {"mine", "shop.sink", "shop.clicks"}
