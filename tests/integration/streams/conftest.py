"""One cluster and one Spark session for all tests of streams."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from anabranch.jars.connector import with_connector
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.sandbox.jars import runtime_jars
from anabranch.spark.session import session
from anabranch.spark.streams.settings import SETTINGS
from qa.brokers import STEADY


@pytest.fixture(scope="package")
def here() -> Iterator[SandboxCluster]:
    """The cluster of code ``here``."""
    (made,) = start_clusters([ClusterSpec("here", overrides=STEADY)])
    with made:
        yield made


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """A session as the job of a stream makes it."""
    driver = ",".join(map(str, runtime_jars("postgresql-42.7.8").glob("*.jar")))
    settings = {**SETTINGS, "spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "1", "spark.jars": driver}
    made = session("anabranch tests of streams", "local[2]", with_connector(settings))
    yield made
    made.stop()
