"""Clusters that several tests of the sandbox share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.brokers import STEADY


@pytest.fixture(scope="package")
def proxied() -> Iterator[SandboxCluster]:
    """One plain broker behind a proxy."""
    with SandboxCluster.start(ClusterSpec("proxied", proxied=True, overrides=STEADY)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def trio() -> Iterator[SandboxCluster]:
    """Three brokers that are controllers too."""
    with SandboxCluster.start(ClusterSpec("trio", brokers=3, heap_mb=384)) as cluster:
        yield cluster
