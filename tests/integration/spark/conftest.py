"""Two real clusters of Kafka for the tests on real clusters of Spark."""

from collections.abc import Iterator

import pytest

from anabranch.sandbox import Cluster, ClusterSpec, start_clusters
from qa.brokers import STEADY


@pytest.fixture(scope="package")
def pair() -> Iterator[tuple[Cluster, Cluster]]:
    """Both."""
    old, new = start_clusters([ClusterSpec("old", overrides=STEADY), ClusterSpec("new", overrides=STEADY)])
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
