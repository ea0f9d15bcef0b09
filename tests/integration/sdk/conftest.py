"""Two real clusters for all of these tests, and the route service as a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import STEADY, await_coordinators
from qa.route_service import RouteProcess
from tests.integration.sdk.fake_service import FakeService
from tests.integration.sdk.lab import Lab
from tests.integration.sdk.scene import Scene

# Nobody waits for members that may still come: a group of these tests has one.  Members of the newer protocol hear what
# they are to read with each heartbeat.
QUICK = {
    **STEADY,
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
}


@pytest.fixture(scope="package")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """An old and a new cluster."""
    old, new = start_clusters([ClusterSpec("old", overrides=QUICK), ClusterSpec("new", overrides=QUICK)])
    with old, new:
        for cluster in (old, new):
            await_coordinators(cluster)
        yield old, new


@pytest.fixture(scope="package")
def routes(
    pair: tuple[SandboxCluster, SandboxCluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RouteProcess]:
    """The service beside them, which a test may have ended."""
    old, new = pair
    contexts = {"old": old.context(), "new": new.context()}
    with RouteProcess(tmp_path_factory.mktemp("routes"), contexts) as service:
        yield service


@pytest.fixture
def lab(
    pair: tuple[SandboxCluster, SandboxCluster], routes: RouteProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Lab:
    """Both, the service, which knows no client and leads ``orders`` to the old one, and the token of an application."""
    if not routes.runs:
        routes.start()
    routes.forget()
    routes.publish({"codes": {"orders": {"cluster": "old", "description": f"for {tmp_path.name}"}}})
    monkeypatch.setenv("ANABRANCH_SERVICE", routes.url)
    monkeypatch.setenv("ANABRANCH_TOKEN", routes.tokens["client"])
    return Lab(*pair, tmp_path / "cache", service=routes)


@pytest.fixture
def scene(
    pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Scene]:
    """Clients are led to the old cluster by a service that says what it is told to."""
    monkeypatch.setenv("ANABRANCH_TOKEN", "anabranch_token")
    with FakeService() as service:
        monkeypatch.setenv("ANABRANCH_SERVICE", service.url)
        made = Scene(*pair, tmp_path / "cache", service=service)
        service.route = made.route(made.old, 1)
        yield made
