"""Two clusters and one Spark session with the Kafka source, for all tests of rebuilding."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import STEADY
from qa.verify_lab import spark_session


@pytest.fixture(scope="package")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """An old and a new cluster."""
    old, new = start_clusters([ClusterSpec(name, overrides=STEADY) for name in ("old", "new")])
    with old, new:
        yield old, new


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """A local session."""
    made = spark_session("anabranch tests of rebuilding", "local[2]")
    yield made
    made.stop()
