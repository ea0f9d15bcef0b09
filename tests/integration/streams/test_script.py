"""Scripts on a real cluster: from JSON in Kafka to numbers in files, and back to Kafka."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark
from pyspark.sql import SparkSession

from anabranch.sandbox import SandboxCluster
from anabranch.spark.streams.failing import FailedQueryError
from anabranch.spark.streams.kafka_tables import NoTopicError
from anabranch.spark.streams.refusals import sentence
from anabranch.streams.errors import ScriptError
from tests.integration.links.topics import create, fresh, produce
from tests.integration.streams.lab import StreamLab, consumed, produce_json
from tests.unit.spark.protobuf_messages import descriptors

pytestmark = pytest.mark.full

VIEWS = """
-- page views, as the web servers write them
CREATE TABLE views (page STRING, user_id BIGINT, at TIMESTAMP, _offset BIGINT)
USING kafka OPTIONS (cluster 'here', topic '{topic}', format 'json', start 'earliest', max.records.per.batch '700');
"""
PV_UV = (
    VIEWS
    + """
CREATE TEMPORARY VIEW pages AS SELECT * FROM STREAM views WHERE page <> '/health';
CREATE TABLE pv_uv (since TIMESTAMP, page STRING, pv BIGINT, uv BIGINT) USING parquet OPTIONS (path '{out}');
INSERT INTO pv_uv
SELECT window(at, '1 minute').start, page, count(*), approx_count_distinct(user_id)
FROM STREAM pages WATERMARK at DELAY OF INTERVAL 30 SECONDS
GROUP BY window(at, '1 minute'), page;
"""
)
AVRO = json.dumps(
    {
        "type": "record",
        "name": "view",
        "fields": [
            {"name": "page", "type": ["null", "string"]},
            {"name": "n", "type": ["null", "long"]},
        ],
    }
)


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path, here: SandboxCluster) -> StreamLab:
    """A directory of its own."""
    return StreamLab.of(spark, tmp_path, here)


def views(first: int, count: int) -> list[dict[str, object]]:
    """Views a second apart, by ten users, of two pages and what nobody counts."""
    return [
        {
            "page": ("/", "/basket", "/health")[n % 3],
            "user_id": n % 10,
            "at": f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z",
        }
        for n in range(first, first + count)
    ]


@pytest.mark.test
def test_page_views_and_visitors_are_counted_once_over_a_restart(lab: StreamLab, here: SandboxCluster) -> None:
    """Windows that two runs have a part in are as if one run had read all; their watermark says when they are final."""
    topic = create(here, fresh("views"))
    script, out = PV_UV.format(topic=topic, out=lab.directory / "out"), lab.directory / "out"
    produce_json(here, topic, views(0, 1_000))
    lab.run(script)
    first = lab.rows(out)
    produce_json(here, topic, views(1_000, 1_000))
    produce_json(here, topic, [{"page": "/late", "user_id": 1, "at": "2026-01-01T02:00:00Z"}])
    queries = lab.run(script)

    found = lab.rows(out)
    want = [
        (datetime(2026, 1, 1, minute // 60, minute % 60), page, pv, uv)
        for minute in range(34)
        for page, pv, uv in _counted(minute)
    ]
    assert 0 < len(first) < len(found)
    assert found == sorted(want)
    assert queries[0].totals.rows_in == 1_001
    assert {one["query"] for one in lab.progress} == {"pv_uv"}
    assert lab.progress[-1]["lag"] == 0


def _counted(minute: int) -> list[tuple[str, int, int]]:
    found = [one for one in views(0, 2_000) if one["at"] == one["at"] and _minute(str(one["at"])) == minute]
    return [
        (page, len(mine), len({one["user_id"] for one in mine}))
        for page in ("/", "/basket")
        if (mine := [one for one in found if one["page"] == page])
    ]


def _minute(text: str) -> int:
    return int(text[11:13]) * 60 + int(text[14:16])


@pytest.mark.parametrize(("how", "left"), [("skip", ["/", "/x"]), ("null", ["/", "/x", None]), ("fail", [])])
def test_a_record_that_cannot_be_decoded_fails_is_passed_over_or_is_null(
    lab: StreamLab, here: SandboxCluster, how: str, left: list[str | None]
) -> None:
    """K1, K2: whichever columns the query reads; a failure names the record."""
    topic = create(here, fresh("bad"))
    produce(
        here, topic, [{"value": value} for value in (b'{"page": "/"}', b'{"page": "/x", "user_id"', b'{"page": "/x"}')]
    )
    declared = VIEWS.format(topic=topic).replace("start '", f"on.error '{how}', start '")
    script = f"{declared} CREATE TABLE out USING console; INSERT INTO out SELECT page FROM views;"
    count = f"{declared} CREATE TABLE n USING console; INSERT INTO n SELECT count(*) FROM views;"
    if how == "fail":
        for one in (script, count):
            with pytest.raises(
                FailedQueryError, match=f"the record of {topic}-0 at offset 1 cannot be decoded"
            ) as caught:
                lab.run(one)
            assert "on.error 'skip'" in caught.value.hint
        return
    lab.run(script)
    lab.run(count)
    pages = [row[0] for _, rows in lab.shown[:1] for row in rows]
    assert sorted(pages, key=str) == sorted(left, key=str)
    assert lab.shown[-1][1][0][0] == len(left)


@pytest.mark.parametrize(
    ("form", "options", "columns"),
    [
        ("json", "", "page STRING, n BIGINT"),
        ("csv", ", csv.sep '|'", "page STRING, n BIGINT"),
        ("avro", f", avro.schema '{AVRO}'", "page STRING, n BIGINT"),
        (
            "protobuf",
            ", protobuf.descriptor '{directory}/views.desc', protobuf.message 'shop.View'",
            "page STRING, n BIGINT",
        ),
        ("raw", "", "page STRING"),
    ],
)
def test_what_a_table_writes_it_reads(
    lab: StreamLab, here: SandboxCluster, form: str, options: str, columns: str
) -> None:
    """Each format both ways, also with the columns of its schema; the key is the column that the table names."""
    options = options.replace("{directory}", str(lab.directory))
    (lab.directory / "views.desc").write_bytes(descriptors())
    source, topic = create(here, fresh("numbers")), create(here, fresh(form))
    produce_json(here, source, [{"page": f"/{n}", "n": n} for n in range(5)])
    names = "page" if form == "raw" else "page, n"
    script = f"""
    CREATE TABLE numbers (page STRING, n BIGINT) USING kafka OPTIONS (cluster 'here', topic '{source}');
    CREATE TABLE t ({columns}) USING kafka
    OPTIONS (cluster 'here', topic '{topic}', format '{form}', key 'page' {options});
    CREATE TABLE shown USING console;
    INSERT INTO t SELECT {names} FROM numbers;
    """
    lab.run(script)
    lab.run(script.replace(f"INSERT INTO t SELECT {names} FROM numbers", "INSERT INTO shown SELECT * FROM t"))

    want = [(f"/{n}",) if form == "raw" else (f"/{n}", n) for n in range(5)]
    assert sorted(tuple(row) for _, rows in lab.shown for row in rows) == want
    assert [key for key, _ in consumed(here, topic, 5)] == [f"/{n}".encode() for n in range(5)]
    if form in ("avro", "protobuf"):
        lab.shown.clear()
        lab.run(f"""
        CREATE TABLE t USING kafka OPTIONS (cluster 'here', topic '{topic}', format '{form}' {options});
        CREATE TABLE again USING console;
        INSERT INTO again SELECT page, n FROM t;
        """)
        assert sorted(tuple(row) for _, rows in lab.shown for row in rows) == want


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("csv", ""),
        ("avro", f", avro.schema '{AVRO}'"),
        ("protobuf", ", protobuf.descriptor '{directory}/views.desc', protobuf.message 'shop.View'"),
    ],
)
def test_each_format_knows_what_it_cannot_decode(lab: StreamLab, here: SandboxCluster, form: str, options: str) -> None:
    """Bytes that are no value of the format, beside a tombstone, which is no error."""
    topic = create(here, fresh(f"odd-{form}"))
    (lab.directory / "views.desc").write_bytes(descriptors())
    produce(here, topic, [{"value": None}, {"value": b"\x08\xff"}])
    with pytest.raises(FailedQueryError, match=f"the record of {topic}-0 at offset 1 cannot be decoded"):
        lab.run(f"""
        CREATE TABLE t (page STRING, n BIGINT) USING kafka
        OPTIONS (cluster 'here', topic '{topic}', format '{form}' {options.replace("{directory}", str(lab.directory))});
        CREATE TABLE shown USING console;
        INSERT INTO shown SELECT count(*) FROM t;
        """)


def test_a_table_without_columns_has_the_record_and_json_functions_read_it(
    lab: StreamLab, here: SandboxCluster
) -> None:
    """Schemaless: key, value, place, time and headers."""
    topic = create(here, fresh("schemaless"))
    produce(here, topic, [{"key": b"k", "value": b'{"a": {"b": 7}}', "headers": [("h", b"v")]}, {"value": None}])
    lab.run(f"""
    CREATE TABLE records USING kafka OPTIONS (cluster 'here', topic '{topic}');
    CREATE TABLE shown USING console;
    INSERT INTO shown SELECT key, get_json_object(value, '$.a.b') AS b, topic, partition, offset, headers[0].key AS h
    FROM records;
    """)

    assert [tuple(row) for _, rows in lab.shown for row in rows] == [
        ("k", "7", topic, 0, 0, "h"),
        (None, None, topic, 0, 1, None),
    ]


@pytest.mark.parametrize("kind", ["latest", "earliest", "timestamp", "offsets", "group"])
def test_a_first_start_begins_where_its_table_says(lab: StreamLab, here: SandboxCluster, kind: str) -> None:
    """The five positions; a partition that is not named begins at its earliest record."""
    topic = create(here, fresh("starts"), 2)
    times = [1_700_000_000_000 + n * 1000 for n in range(6)]
    for partition in (0, 1):
        produce(
            here,
            topic,
            [{"value": b"%d" % n, "timestamp": times[n], "partition": partition} for n in range(6)],
        )
    if kind == "group":
        _commit(here, topic, 4)
    start, want = {
        "latest": ("latest", []),
        "earliest": ("earliest", [*range(6), *range(6)]),
        "timestamp": (str(times[4]), [4, 4, 5, 5]),
        "offsets": (f"{topic}-0:5", [*range(6), 5]),
        "group": ("group:readers", [*range(6), 4, 5]),
    }[kind]
    lab.run(f"""
    CREATE TABLE t (n STRING) USING kafka OPTIONS (cluster 'here', topic '{topic}', format 'raw', start '{start}');
    CREATE TABLE shown USING console;
    INSERT INTO shown SELECT * FROM t;
    """)

    assert sorted(int(row[0]) for _, rows in lab.shown for row in rows) == sorted(want)


def _commit(cluster: SandboxCluster, topic: str, offset: int) -> None:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": cluster.internal_bootstrap, "group.id": "readers"})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def test_two_inserts_have_checkpoints_of_their_own_and_end_together(lab: StreamLab, here: SandboxCluster) -> None:
    """R2: one query that fails ends the other, and the error is its own."""
    topic = create(here, fresh("two"))
    produce_json(here, topic, [{"page": "/", "user_id": n} for n in range(3)])
    script = (
        VIEWS.format(topic=topic)
        + """CREATE TABLE shown USING console;
    INSERT INTO shown SELECT page, user_id FROM views;
    INSERT INTO shown SELECT 'twice', user_id FROM views;
    INSERT INTO shown SELECT 'never', CAST(page AS BIGINT) FROM views;"""
    )
    with pytest.raises(FailedQueryError) as caught:
        lab.run(script)

    assert caught.value.query == "shown-3"
    assert caught.value.condition == "CAST_INVALID_INPUT"
    assert sorted(one.name for one in (lab.directory / "checkpoints").iterdir()) == ["shown", "shown-2", "shown-3"]
    assert not lab.spark.streams.active


def test_a_topic_that_is_not_there_is_told_before_anything_runs(lab: StreamLab) -> None:
    """Read or written; a checkpoint is not begun."""
    declared = VIEWS.format(topic="nowhere") + "CREATE TABLE shown USING console;"
    with pytest.raises(ScriptError, match="statement 1, line 3, column 1: cluster here has no topic 'nowhere'"):
        lab.run(declared + "INSERT INTO shown SELECT page FROM views")
    with pytest.raises(NoTopicError):
        lab.run("""
        CREATE TABLE numbers USING rate;
        CREATE TABLE out (n BIGINT) USING kafka OPTIONS (cluster 'here', topic 'nowhere');
        INSERT INTO out SELECT value FROM numbers;
        """)

    assert not (lab.directory / "checkpoints").exists()


def test_a_full_disk_is_told_as_that(spark: SparkSession) -> None:
    """It has no name of Spark's; nothing is said of a JVM that is gone."""
    java = cast(Any, spark)._jvm.java.io
    with pytest.raises(Py4JJavaError) as full:
        java.FileOutputStream("/dev/full").write(1)
    assert sentence(full.value)[:2] == ("SPARK", "no space left on device")
