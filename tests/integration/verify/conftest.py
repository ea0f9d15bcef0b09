"""Two clusters and one Spark session with the Kafka source, for all tests of comparisons."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import STEADY
from qa.verify_lab import spark_session

QUICK = {
    **STEADY,
    "log.cleaner.backoff.ms": "200",
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "500",
}


@pytest.fixture(scope="package")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """An old and a new cluster."""
    old, new = start_clusters([ClusterSpec("old", overrides=QUICK), ClusterSpec("new", overrides=QUICK)])
    with old, new:
        yield old, new


@pytest.fixture
def old(pair: tuple[SandboxCluster, SandboxCluster]) -> SandboxCluster:
    """The source."""
    return pair[0]


@pytest.fixture
def new(pair: tuple[SandboxCluster, SandboxCluster]) -> SandboxCluster:
    """The target."""
    return pair[1]


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """A local session."""
    made = spark_session("anabranch tests of verify", "local[2]")
    yield made
    made.stop()
