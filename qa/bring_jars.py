"""Bring the jars of every JVM runtime that demo, tests and benchmarks use, and make archives of their classes.

And the provider of the tests of logins, as its first start leaves it.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from anabranch.errors import AnabranchError
from anabranch.sandbox import VERSIONS
from anabranch.sandbox.jars import runtime_jars
from qa import keycloak, shared_classes
from qa.mm2 import RUNTIME

# The versions that restore checkpoints in the tests; the others only wrote fixtures.
FLINK = ("flink-1.20.3", "flink-2.2.0")
# Spark's Kafka source, and what looks tables of PostgreSQL up.  What streaming queries write into (servers, Delta,
# Iceberg) is large, of the tier ``full`` alone, and brought by the tests that need it.
SPARK = ("spark-kafka-4.1.3", "postgresql-42.7.8")
# What checkpoints lie in beside disks: an S3 server, and HDFS.
STORES = ("s3proxy-3.1.0", "hdfs-3.4.1")
# What runs Spark jobs in the tests.
CLUSTERS = ("yarn-3.4.2",)

if __name__ == "__main__":
    runtimes = [*(version.runtime for version in VERSIONS.values()), RUNTIME]
    runtimes += [*FLINK, *SPARK, *STORES, *CLUSTERS]
    try:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(runtime_jars, runtimes))
    except AnabranchError as error:
        sys.exit(f"error: {error.message}\nhint: {error.hint}")
    keycloak.prepared()
    shared_classes.make_all()
