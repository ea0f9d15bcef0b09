"""One Spark for the tests of sinks."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from anabranch.jars.connector import with_connector
from anabranch.spark.session import session

ZONE = "America/New_York"


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """A session of two threads."""
    before = SparkSession.getActiveSession()
    if before is not None:  # of other tests of this process, which go on with it
        made = before.newSession()
        made.conf.set("spark.sql.session.timeZone", ZONE)
        yield made
        return
    # with the Kafka source, though no sink needs it: other tests of this process go on with its JVM
    made = session("sinks", "local[2]", with_connector({"spark.sql.session.timeZone": ZONE}))
    yield made
    made.stop()
