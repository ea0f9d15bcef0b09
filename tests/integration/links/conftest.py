"""Two clusters for all tests of links; those that need others start them for their module."""

from collections.abc import Iterator

import pytest

from anabranch.sandbox import Cluster, ClusterSpec, start_clusters
from anabranch.testing.brokers import STEADY

QUICK = {
    "log.cleaner.backoff.ms": "200",
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "500",
}


@pytest.fixture(scope="package")
def pair() -> Iterator[tuple[Cluster, Cluster]]:
    """An old and a new cluster that clean their logs every second."""
    old, new = start_clusters(
        [
            ClusterSpec("old", overrides={**QUICK, **STEADY, "message.max.bytes": "4000000"}),
            ClusterSpec("new", overrides={**QUICK, **STEADY}),
        ]
    )
    with old, new:
        yield old, new


@pytest.fixture
def old(pair: tuple[Cluster, Cluster]) -> Cluster:
    """The source."""
    return pair[0]


@pytest.fixture
def new(pair: tuple[Cluster, Cluster]) -> Cluster:
    """The target."""
    return pair[1]
