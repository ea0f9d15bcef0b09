"""Scripts that cannot be run: each is refused at its place, with what to do, before anything runs."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from anabranch.spark.streams.sinks.kinds import BrokenSinkError, sink_kinds
from anabranch.streams.errors import ScriptError
from tests.integration.streams.lab import StreamLab

pytestmark = pytest.mark.full

HEAD = """-- what all scripts here have
CREATE TABLE views (page STRING, user_id BIGINT, ts TIMESTAMP) USING kafka OPTIONS (cluster 'here', topic 'views');
CREATE TABLE out (since TIMESTAMP, pv BIGINT, uv BIGINT) USING parquet OPTIONS (path '/nowhere');
CREATE TABLE shown USING console;
"""
HEAD_LINES = HEAD.count("\n")


@pytest.fixture(scope="module")
def lab(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> StreamLab:
    """Connects to nothing."""
    return StreamLab(spark, tmp_path_factory.mktemp("refused"))


@pytest.mark.parametrize(
    ("statement", "place", "problem", "hint"),
    [
        ("SELEC 1", (1, 1), "syntax error at or near 'SELEC'", ""),
        ("SELECT page,,\n  user_id FROM views", (1, 13), "syntax error at or near ','", ""),
        ("SELECT page\nFROM viewz", (2, 6), "no table 'viewz'", "did you mean views?"),
        ("SELECT (SELECT max(a) FROM zzz) FROM views", (1, 28), "no table 'zzz'", "there is out, shown, views"),
        ("SELECT pag FROM views", (1, 8), "no column 'pag'", "there is page"),
        ("SELECT nope(page) FROM views", (1, 8), "no function 'nope'", "CREATE TEMPORARY FUNCTION"),
        ("SELECT page + ts FROM views", (1, 8), "data type mismatch", ""),
        ("SELECT count(*), page FROM views", (1, 1), "GROUP BY", ""),
        ("INSERT INTO outt SELECT 1 FROM views", (1, 13), "no table 'outt'", "did you mean out?"),
        ("INSERT INTO out SELECT ts FROM views", (1, 1), "no column for pv, uv", "the table has since, pv, uv"),
        (
            "INSERT INTO out SELECT ts, 1, 2, 3 AS x FROM views",
            (1, 39),
            "the table has no column for x",
            "the query has",
        ),
        ("INSERT INTO out SELECT ts, 1, page FROM views", (1, 31), "the query has string, the table bigint", "CAST"),
        (
            "INSERT INTO out SELECT ts AS since, 1 AS uv, 2 AS pv FROM views",
            (1, 42),
            "the table's columns in another order",
            "BY NAME",
        ),
        ("INSERT INTO out BY NAME SELECT ts AS since, 1 AS pv FROM views", (1, 1), "no column for uv", ""),
        ("INSERT INTO out (since, pw) SELECT ts, 1 FROM views", (1, 25), "no such column", ""),
        ("INSERT INTO shown SELECT page, page FROM views", (1, 26), "two columns have that name", "rename"),
        ("INSERT INTO out SELECT max(ts), 1, 1 FROM views", (1, 1), "output mode append", "WATERMARK"),
        ("INSERT INTO shown SELECT page FROM views ORDER BY page", (1, 1), "a stream cannot be sorted", ""),
        ("INSERT INTO shown SELECT 1 AS a", (1, 1), "reads no stream", "FROM STREAM"),
        ("INSERT OVERWRITE out SELECT 1", (1, 1), "INSERT OVERWRITE is no part", "INSERT INTO"),
        ("FROM views INSERT INTO shown SELECT 1 INSERT INTO shown SELECT 2", (1, 1), "several tables at once", ""),
        ("DROP TABLE views", (1, 1), "DROP TABLE is no part of a stream's script", "CREATE TABLE"),
        ("CREATE TABLE t USING parquet AS SELECT 1", (1, 1), "CREATE TABLE AS SELECT is no part", "INSERT INTO n"),
        ("CREATE TABLE t (a INT)", (1, 1), "says no connector", "USING kafka"),
        ("CREATE TABLE t USING kafak OPTIONS (a '1')", (1, 22), "no connector 'kafak'", "did you mean kafka?"),
        ("CREATE TABLE t USING kafka OPTIONS (topic 't')", (1, 1), "connector kafka needs it", "cluster '...'"),
        (
            "CREATE TABLE t (a INT) USING kafka\nOPTIONS (cluster 'c', topic 't', fromat 'json')",
            (2, 34),
            "connector kafka has no such option",
            "did you mean format?",
        ),
        (
            "CREATE TABLE t USING kafka OPTIONS (kafka.bootstrap.servers 'h:1', topic 't')",
            (1, 37),
            "names a cluster, and no addresses",
            "cluster 'CODE'",
        ),
        (
            "CREATE TABLE t (a INT) USING kafka OPTIONS (cluster 'c', topic 't', format 'xml')",
            (1, 69),
            "'xml' is none of json",
            "",
        ),
        (
            "CREATE TABLE t (a INT) USING kafka OPTIONS (cluster 'c', topic 't', start 'soon')",
            (1, 69),
            "'soon' is not a start position",
            "earliest",
        ),
        (
            "CREATE TABLE t (a INT) USING kafka OPTIONS (cluster 'c', topic 't', avro.schema 'x')",
            (1, 69),
            "belongs to format avro",
            "format 'avro'",
        ),
        (
            "CREATE TABLE t (a INT) USING kafka OPTIONS (cluster 'c', topic 't', format 'avro')",
            (1, 1),
            "format avro needs a schema",
            "avro.schema.file",
        ),
        (
            "CREATE TABLE t USING jdbc OPTIONS (url 'u', dbtable 't', password 'x')",
            (1, 58),
            "holds no secret",
            "env:NAME",
        ),
        ("CREATE TABLE views USING rate", (1, 14), "'views' already", "another name"),
        ("CREATE TABLE t USING rate; INSERT INTO t SELECT page FROM views", (1, 40), "cannot be written", "sinks are"),
        (
            "CREATE TABLE t (a STRING, _offset BIGINT) USING kafka OPTIONS (cluster 'c', topic 't'); "
            "INSERT INTO t SELECT page, 1 FROM views",
            (1, 89),
            "a record gets it where it is written",
            "leave the column out",
        ),
        (
            "CREATE TABLE t (a STRING) USING kafka OPTIONS (cluster 'c', topic 't', key 'b'); "
            "INSERT INTO t SELECT page FROM views",
            (1, 82),
            "the rows have no column b",
            "they have a",
        ),
        ("SELECT * FROM STREAM shown", (1, 22), "only written", "another table"),
        ("CREATE TABLE t USING json OPTIONS (path '/nowhere'); SELECT * FROM t", (1, 1), "path does not exist", ""),
        (
            "CREATE TABLE t USING json OPTIONS (path '/'); SELECT * FROM STREAM t JOIN t AS u",
            (1, 68),
            "read as a stream, and elsewhere as it is",
            "twice",
        ),
        ("INSERT INTO shown SELECT page FROM views; SET spark.sql.x = 1", (1, 43), "SET stands after what reads", ""),
        ("SET spark.executor.memory = '1g'", (1, 1), "cannot modify the value of the Spark config", ""),
    ],
)
def test_a_statement_that_cannot_be_run_is_refused_at_its_place(
    lab: StreamLab, statement: str, place: tuple[int, int], problem: str, hint: str
) -> None:
    """Line and column are the script's, the sentence is ours or Spark's without Java, the hint is what to write."""
    with pytest.raises(ScriptError) as caught:
        lab.analysed(HEAD + statement)

    error = caught.value
    assert problem in error.problem
    assert hint in error.hint
    assert (error.line - HEAD_LINES, error.column) == place
    assert error.excerpt.splitlines()[0] in HEAD + statement
    assert "Exception" not in error.message and "\n" not in error.message
    assert pickle.loads(pickle.dumps(error)).message == error.message


def test_a_script_says_its_tables_its_selects_and_its_queries(lab: StreamLab) -> None:
    """What is written twice into one table has two names, and each output mode is one that query and sink have."""
    names = lab.directory / "names.csv"
    names.write_text("id,name\n1,ann\n")
    found = lab.analysed(
        HEAD
        + f"CREATE TEMPORARY TABLE lookup (id BIGINT, name STRING) USING csv OPTIONS (path '{names}', header 'true');"
        + """
    CREATE VIEW named AS SELECT v.*, l.name FROM STREAM views v JOIN lookup l ON v.user_id = l.id;
    CREATE TEMPORARY FUNCTION shout(x STRING) RETURNS STRING RETURN upper(x) || '!';
    SELECT shout(name) AS loud FROM STREAM named;
    INSERT INTO shown WITH a AS (SELECT page, count(*) AS n FROM named GROUP BY page) SELECT * FROM a;
    WITH a AS (SELECT page FROM named) INSERT INTO shown SELECT * FROM a;
    INSERT INTO out BY NAME SELECT 1 AS uv, ts AS since, 2 AS pv FROM views;
    """
    )

    assert [one.kind.value for one in found.statements] == [
        *("table", "table", "table", "table", "view", "function", "select", "insert", "insert", "insert")
    ]
    assert found.tables["lookup"].options == {"path": str(names), "header": "true"}
    assert [(one.query, one.mode) for one in found.inserts] == [
        ("shown", "update"),
        ("shown-2", "update"),
        ("out", "append"),
    ]
    assert found.selects[7].columns == ["loud"]
    assert found.inserts[2].rows.dtypes == [("since", "timestamp"), ("pv", "bigint"), ("uv", "bigint")]
    assert '"class":"org.apache.spark.sql.catalyst.plans.logical' in found.inserts[0].plan


def test_a_record_is_decoded_once_whatever_conditions_a_query_has(lab: StreamLab) -> None:
    """K3: Spark would push each condition below the columns, and decode there again."""
    rows = lab.analysed(HEAD + "SELECT page, ts FROM views WHERE user_id > 1 AND page <> ''").selects[4]
    optimizer = rows.sparkSession._jsparkSession.sessionState().optimizer()
    plan = optimizer.execute(rows._jdf.queryExecution().analyzed()).toString()

    assert plan.count("from_json") == 1, plan


def test_a_package_that_brings_no_sink_is_named() -> None:
    """An entry point that cannot be loaded is not passed over."""

    class Point:
        name = "broken"

        def load(self) -> object:
            raise ImportError("no module there")

    with pytest.raises(BrokenSinkError, match="broken cannot be used: ImportError"):
        sink_kinds(brought=[Point()])  # type: ignore[list-item]


def test_a_cluster_that_nobody_knows_is_named_with_those_that_are(spark: SparkSession, tmp_path: Path) -> None:
    """By the contexts of the job."""
    from anabranch.model.cluster import ClusterContext
    from anabranch.spark.streams.clusters import ContextClusters

    lab = StreamLab(spark, tmp_path, ContextClusters({"here": ClusterContext("here", ("127.0.0.1:1",))}))
    with pytest.raises(ScriptError, match="no cluster 'heer'") as caught:
        lab.analysed(HEAD.replace("'here'", "'heer'") + "SELECT * FROM views")

    assert caught.value.hint == "did you mean here?"
    assert (caught.value.line, caught.value.column) == (2, HEAD.split("\n")[1].index("'here'") + 1)


def test_a_query_is_not_called_as_the_fence_is(lab: StreamLab) -> None:
    """Its checkpoint would be where the numbers of starts are."""
    text = f"{HEAD}CREATE TABLE fence USING noop;\nINSERT INTO fence SELECT page FROM views;"
    with pytest.raises(ScriptError) as raised:
        lab.analysed(text)
    assert "query fence would have the directory of something else" in raised.value.message
    assert raised.value.line == HEAD_LINES + 2
