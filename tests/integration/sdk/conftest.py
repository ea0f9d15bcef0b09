"""Two real clusters for all of these tests, and the route service as a process for each."""

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

# Nobody waits for members that may still come: a group of these tests has one.
QUICK = {**STEADY, "group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(scope="package")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """An old and a new cluster."""
    old, new = start_clusters([ClusterSpec("old", overrides=QUICK), ClusterSpec("new", overrides=QUICK)])
    with old, new:
        for cluster in (old, new):
            await_coordinators(cluster)
        yield old, new


@pytest.fixture
def lab(pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Both, a route service that leads ``orders`` to the old one, and the token of an application."""
    old, new = pair
    contexts = {"old": old.context(), "new": new.context()}
    with RouteProcess(tmp_path, contexts) as service:
        service.publish({"codes": {"orders": {"cluster": "old"}}})
        monkeypatch.setenv("ANABRANCH_SERVICE", service.url)
        monkeypatch.setenv("ANABRANCH_TOKEN", service.tokens["client"])
        yield Lab(old, new, tmp_path / "cache", service=service)


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
