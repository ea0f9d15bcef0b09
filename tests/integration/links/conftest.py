"""Two clusters for all tests of links; those that need others start them for their module.

The clusters are simulated unless a test is marked ``real`` or everything is asked for (``make full``): what a link does
is the same on both, which the contract tests and the full tier show.
"""

from collections.abc import Iterator

import pytest

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import STEADY
from tests.chance import is_full
from tests.simulated import Simulated

QUICK = {
    "log.cleaner.backoff.ms": "200",
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "500",
}


SPECS = (
    ClusterSpec("old", overrides={**QUICK, **STEADY, "message.max.bytes": "4000000"}),
    ClusterSpec("new", overrides={**QUICK, **STEADY}),
)
"""An old and a new cluster that clean their logs every second."""


@pytest.fixture(scope="package")
def real_pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Both, each a broker's process."""
    old, new = start_clusters(list(SPECS))
    with old, new:
        yield old, new


@pytest.fixture(scope="package")
def simulated_pair() -> Iterator[tuple[Simulated, Simulated]]:
    """Both, in this process."""
    with Simulated(SPECS[0]) as old, Simulated(SPECS[1]) as new:
        yield old, new


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> tuple[SandboxCluster, SandboxCluster]:
    """The clusters of a test."""
    is_real = is_full(request.config) or request.node.get_closest_marker("real") is not None
    found: tuple[SandboxCluster, SandboxCluster] = request.getfixturevalue("real_pair" if is_real else "simulated_pair")
    return found


@pytest.fixture
def old(pair: tuple[SandboxCluster, SandboxCluster]) -> SandboxCluster:
    """The source."""
    return pair[0]


@pytest.fixture
def new(pair: tuple[SandboxCluster, SandboxCluster]) -> SandboxCluster:
    """The target."""
    return pair[1]
