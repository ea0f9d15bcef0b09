"""Spark's Python daemon with all that a worker imports already there, so that its forks copy most of a second sooner.

Spark starts it as ``python -m anabranch.spark.daemon WORKER-MODULE`` (``spark.python.daemon.module``), once for each
executor and kind of worker, and it forks a process for each task that has none.  Nothing here starts a thread or opens
a connection: neither would live on in a fork.
"""

from __future__ import annotations

from pyspark.daemon import manager

import anabranch.spark.link.source  # noqa: F401  # what the forks need

if __name__ == "__main__":
    manager()
