"""The exactly-once Kafka sink on a real Spark and a real broker; kills are in ``test_kafka_sink_kills.py``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import NewTopic
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from anabranch.sandbox import SandboxCluster
from anabranch.spark.streams.closing import active
from anabranch.spark.streams.kafka_sink import FORMAT, register
from qa.brokers import create_topics
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.integration.streams.sink_lab import BATCH, FILES, PARTITIONS, batches, check_exact, committed, make_lines

pytestmark = [pytest.mark.test, pytest.mark.real]
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def cluster(here: SandboxCluster) -> SandboxCluster:
    """A broker that nobody kills."""
    return here


@pytest.fixture(scope="module")
def spark(spark: SparkSession) -> Iterator[SparkSession]:
    """The session of these tests, which has the sink."""
    register(spark)
    register(spark)
    with active(spark):  # not one that other tests have made since: Spark finds the sink in the active one
        yield spark


def rows(spark: SparkSession, root: Path) -> DataFrame:
    """The lines as they come, with all columns that the sink takes but the timestamp."""
    lines = spark.readStream.option("maxFilesPerTrigger", 2).text(str(root / "lines"))
    return lines.selectExpr(
        "string(bigint(value) % 40) AS key",
        "value",
        "IF(bigint(value) % 40 = 7, 2, NULL) AS partition",
        "array(named_struct('key', 'line', 'value', binary(value))) AS headers",
    )


def run(frame: DataFrame, cluster: SandboxCluster, root: Path, **options: str) -> None:
    """Write all that there is; raises what the query raises."""
    writer = frame.writeStream.format(FORMAT).option("kafka.bootstrap.servers", cluster.bootstrap)
    writer = writer.option("checkpointLocation", str(root / "checkpoint")).options(**options)
    writer.trigger(availableNow=True).start().awaitTermination()


def test_each_batch_is_written_once_though_spark_asks_for_it_again(
    cluster: SandboxCluster, spark: SparkSession, tmp_path: Path
) -> None:
    """The last commit is taken out of the checkpoint, as a crash would have left it; the batch is not written again."""
    out = fresh(cluster)
    make_lines(tmp_path)
    for _ in range(2):
        run(rows(spark, tmp_path), cluster, tmp_path, **{"topic": out, "kafka.compression.type": "lz4"})
        until(lambda: sum(batches(committed(cluster, out)).values()) >= FILES // 2 * BATCH)
        for name in (str(FILES // 2 - 1), f".{FILES // 2 - 1}.crc"):
            (tmp_path / "checkpoint" / "commits" / name).unlink()
    found = committed(cluster, out)
    check_exact(found)
    assert {key for key, _ in found[2]} >= {b"7"}
    assert first_headers(cluster, out) == {b"0": [("line", b"0")]}


def fresh(cluster: SandboxCluster) -> str:
    """A new topic."""
    name = f"out-{next(_numbers)}"
    create_topics(cluster, [NewTopic(name, PARTITIONS, 1)])
    return name


def first_headers(cluster: SandboxCluster, topic: str) -> dict[Any, Any]:
    """The headers of the record of line 0."""
    reader = Consumer({**cluster.client_config(), "group.id": "headers", "auto.offset.reset": "earliest"})
    reader.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    try:
        while True:
            message = reader.poll(TIMEOUT_S)
            assert message is not None
            if message.error() is None and message.value() == b"0":
                return {message.value(): message.headers()}
    finally:
        reader.close()


@pytest.mark.full
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topic": "nowhere"}, "nowhere"),
        ({"topic": "out", "kafka.acks": "1"}, "kafka.acks"),
        ({}, "name the topic"),
    ],
)
def test_what_cannot_be_written_is_told_in_the_querys_error(
    cluster: SandboxCluster, spark: SparkSession, tmp_path: Path, options: dict[str, str], said: str
) -> None:
    """A topic that is not there, an option that loses records, no topic at all."""
    make_lines(tmp_path)
    with pytest.raises(StreamingQueryException, match=said):
        run(rows(spark, tmp_path), cluster, tmp_path, **options)


@pytest.mark.full
def test_a_checkpoint_whose_batches_the_cluster_does_not_know_or_has_gone_beyond_is_refused(
    cluster: SandboxCluster, spark: SparkSession, tmp_path: Path
) -> None:
    """Nothing is guessed; a person says which batch comes first."""
    early, late = fresh(cluster), fresh(cluster)
    make_lines(tmp_path)
    run(rows(spark, tmp_path), cluster, tmp_path, topic=early)
    (tmp_path / "lines" / "later.txt").write_text(f"{FILES * BATCH}\n")
    other = {"topic": late, "transactional.id": f"another-{late}"}
    with pytest.raises(StreamingQueryException, match=r"first\.batch=3"):
        run(rows(spark, tmp_path), cluster, tmp_path, **other)
    run(rows(spark, tmp_path), cluster, tmp_path, **other, **{"first.batch": "3"})
    until(lambda: sum(map(len, committed(cluster, late).values())) == 1)
    for number in (1, 2, 3):
        for kind in ("commits", "offsets"):
            (tmp_path / "checkpoint" / kind / str(number)).unlink()
            (tmp_path / "checkpoint" / kind / f".{number}.crc").unlink()
    with pytest.raises(StreamingQueryException, match="the cluster has batch 3 of it already"):
        run(rows(spark, tmp_path), cluster, tmp_path, **other)
