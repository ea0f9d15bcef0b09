"""Two real clusters of Kafka for the tests on real clusters of Spark."""

from collections.abc import Iterator

import pytest

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import STEADY


@pytest.fixture(scope="package")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Both."""
    old, new = start_clusters([ClusterSpec("old", overrides=STEADY), ClusterSpec("new", overrides=STEADY)])
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
