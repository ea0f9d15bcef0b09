"""Verbs without clusters: their operations are filled with values, and are handed contexts where clusters would be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from anabranch.model.cluster import ClusterContext


@pytest.fixture
def no_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is connected: who opens a cluster is given its context."""

    @asynccontextmanager
    async def opened(context: ClusterContext) -> AsyncIterator[ClusterContext]:
        yield context

    monkeypatch.setattr("anabranch.kafka.security.open_cluster", opened)
