"""Archives of the classes that brokers and Spark load, for the many JVMs of the tests: ``jars.shared_classes``.

    python -m qa.shared_classes

What is there stays.  That one could not be made costs time alone, and is told.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from anabranch.errors import AnabranchError
from anabranch.jars import shared_classes
from anabranch.sandbox import SandboxCluster
from anabranch.sandbox.jars import runtime_jars
from anabranch.sandbox.spec import QUICK_JVM, ClusterSpec
from qa.timeouts import TIMEOUT_S

SPARK = f"spark-{version('pyspark')}"
SPARK_JARS = Path(str(files("pyspark").joinpath("jars")))
VERSIONS = ("4.3.1", "3.9.1")
"""Those that most clusters of the tests have."""

_JOB = """
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.master("local[1]").getOrCreate()
frame = spark.range(10).withColumn("k", F.col("id") % 3)
frame.groupBy("k").agg(F.sum("id")).join(frame, "k").orderBy("id").collect()
spark.createDataFrame([(1, b"a")], "a int, b binary").mapInArrow(lambda rows: rows, "a int, b binary").collect()
query = spark.readStream.format("rate").load().writeStream.format("noop").trigger(availableNow=True).start()
query.awaitTermination(60)
spark.stop()
"""


def make_all() -> None:
    """Make what is missing."""
    for number in VERSIONS:
        runtime = f"kafka-{number}"
        _make(shared_classes.archive(runtime, runtime_jars(runtime)), partial(_broker, number))
    _make(shared_classes.archive(SPARK, SPARK_JARS), _spark)


def spark_options() -> str:
    """What ``SPARK_SUBMIT_OPTS`` must hold for sessions to start by the archive; nothing where there is none."""
    return " ".join(shared_classes.using(SPARK, SPARK_JARS))


def _make(target: Path, run: Callable[[Path], None]) -> None:
    if target.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch) / target.name
        try:
            run(made)
        except (AnabranchError, KafkaException) as error:
            print(f"{target.name}: {error}", file=sys.stderr)
        if made.is_file():
            made.rename(target)
        else:
            print(f"no archive of classes: {target.name}", file=sys.stderr)


def _broker(number: str, path: Path) -> None:
    options = (*QUICK_JVM, *shared_classes.making(path))
    with SandboxCluster.start(ClusterSpec("classes", number, jvm_options=options)) as cluster:
        at = {"bootstrap.servers": cluster.bootstrap, "log_level": "0"}
        admin = AdminClient(at)
        admin.create_topics([NewTopic("t", 2, 1)])["t"].result(TIMEOUT_S)
        producer = Producer({**at, "transactional.id": "t"})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        producer.produce("t", b"v", b"k")
        producer.commit_transaction(TIMEOUT_S)
        consumer = Consumer({**at, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        consumer.poll(TIMEOUT_S)
        consumer.commit(asynchronous=False)
        consumer.close()
        cluster.broker(1).stop()


def _spark(path: Path) -> None:
    # Of two JVMs, spark-submit and its launcher, only the one that runs the job has these.
    options = " ".join(shared_classes.making(path))
    environment = {**os.environ, "SPARK_SUBMIT_OPTS": f"-XX:+UseSerialGC {options}", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run([sys.executable, "-c", _JOB], env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)


if __name__ == "__main__":
    make_all()
