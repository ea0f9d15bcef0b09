"""Two clusters and one Spark session with the Kafka source, for all tests of rebuilding."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.brokers import STEADY
from qa.verify_lab import spark_session
from tests.simulated import clusters


@pytest.fixture(scope="package")
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """An old and a new cluster."""
    specs = [ClusterSpec(name, overrides=STEADY) for name in ("old", "new")]
    with clusters(request.config, *specs) as (old, new):
        yield old, new


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """A local session."""
    made = spark_session("anabranch tests of rebuilding", "local[2]")
    yield made
    made.stop()
