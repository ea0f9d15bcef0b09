"""One cluster a Kafka version for the whole run, and one topic a test."""

import itertools
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import cast

import pytest

from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.brokers import RESTARTED, STEADY, await_coordinators
from tests.contract.lab import EXPIRY_MS, Log
from tests.simulated import Simulated

VERSIONS = ("3.9.1", "4.0.0", "4.3.1")
SIMULATED = tuple(f"{version}-simulated" for version in VERSIONS)
"""The same facts of the simulated Kafka, which is to stand for each of them."""
EVERY = [
    pytest.param(one, marks=[pytest.mark.full] if one.startswith("4.0.0") or one == "3.9.1-simulated" else [])
    for one in (*VERSIONS, *SIMULATED)
]
_numbers = itertools.count(1)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known that only these tests use."""
    config.addinivalue_line("markers", "topic(configs): the configs of the test's topics")


@pytest.fixture(scope="module", autouse=True)
def _connections(patient_connections: None) -> None:
    """Open them with patience."""


@contextmanager
def running(spec: ClusterSpec, *, simulated: bool) -> Iterator[SandboxCluster]:
    """A real cluster, or a simulated one that is asked the same."""
    if simulated:
        with Simulated(spec) as stand_in:
            yield cast(SandboxCluster, stand_in)
    else:
        with SandboxCluster.start(spec) as real:
            yield real


@pytest.fixture(scope="session", params=EVERY)
def cluster(request: pytest.FixtureRequest) -> Iterator[SandboxCluster]:
    """A running one-broker cluster whose producer entries expire quickly."""
    version, _, simulated = request.param.partition("-")
    spec = ClusterSpec(
        name=f"facts-{version.replace('.', '-')}",
        version=version,
        overrides={
            "producer.id.expiration.ms": str(EXPIRY_MS),
            "producer.id.expiration.check.interval.ms": "1000",
            # Tests hold on to leader epochs: a broker that stands still for a while must not be fenced.
            **RESTARTED,
            # By itself the cleaner looks for work every 15 s.
            "log.cleaner.backoff.ms": "200",
        },
    )
    with running(spec, simulated=bool(simulated)) as found:
        await_coordinators(found)
        yield found


@pytest.fixture(scope="session", params=("3.9.1", "4.3.1", "3.9.1-simulated", "4.3.1-simulated"))
def guarded(request: pytest.FixtureRequest) -> Iterator[SandboxCluster]:
    """A running one-broker cluster that asks who one is, and lets alice do what rules say."""
    version, _, simulated = request.param.partition("-")
    name = f"guarded-{version.replace('.', '-')}"
    spec = ClusterSpec(name, version=version, security="SCRAM-SHA-512", authorizer=True, overrides=STEADY)
    with running(spec, simulated=bool(simulated)) as found:
        await_coordinators(found)
        yield found


@pytest.fixture
def version(cluster: SandboxCluster) -> tuple[int, ...]:
    """The cluster's Kafka version as numbers."""
    return tuple(map(int, cluster.spec.version.split(".")))


@pytest.fixture
async def log(cluster: SandboxCluster, request: pytest.FixtureRequest) -> AsyncIterator[Log]:
    """A fresh topic's only partition; a ``topic`` marker sets its configs."""
    async with new_log(cluster, request) as made:
        yield made


@pytest.fixture
async def other(cluster: SandboxCluster, request: pytest.FixtureRequest) -> AsyncIterator[Log]:
    """A second one, with the same configs."""
    async with new_log(cluster, request) as made:
        yield made


def new_log(cluster: SandboxCluster, request: pytest.FixtureRequest) -> Log:
    """A fresh topic named after the test; it exists once the log is entered."""
    marker = request.node.get_closest_marker("topic")
    configs = dict(marker.args[0]) if marker is not None else {}
    name = re.sub(r"[^a-z0-9]+", "-", request.node.originalname.lower())[:60]
    return Log(cluster, f"{name}-{next(_numbers)}", configs)
