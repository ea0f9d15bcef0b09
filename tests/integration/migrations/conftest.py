"""What tests of a source that is lost share: two clusters, a store, and little patience."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import cast

import pytest

from anabranch.operations.migrations import lost
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import RESTARTED
from tests.chance import is_full
from tests.simulated import Simulated

Clusters = tuple[SandboxCluster, SandboxCluster]


@pytest.fixture(scope="module")
def clusters(request: pytest.FixtureRequest) -> Iterator[Clusters]:
    """Both, simulated unless everything is asked for."""
    specs = [ClusterSpec("old"), ClusterSpec("new", overrides=RESTARTED)]
    with ExitStack() as stack:
        if is_full(request.config):
            old, new = (stack.enter_context(one) for one in start_clusters(specs))
            yield old, new
        else:
            yield cast(Clusters, tuple(stack.enter_context(Simulated(spec)) for spec in specs))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that was killed does not answer after half a second either."""
    monkeypatch.setattr(lost, "LOOK_LOST_S", 0.5)


@pytest.fixture
def store(tmp_path: object) -> str:
    """A database of its own."""
    return f"{tmp_path}/store.sqlite"
