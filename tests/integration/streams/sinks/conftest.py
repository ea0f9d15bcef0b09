"""One Spark for the tests of sinks."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from anabranch.spark.session import session


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """A session of two threads."""
    made = session("sinks", "local[2]", {"spark.sql.session.timeZone": "America/New_York"})
    yield made
    made.stop()
