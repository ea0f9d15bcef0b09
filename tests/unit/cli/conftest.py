"""Verbs without clusters: their operations are filled with values, and are handed contexts where clusters would be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from anabranch.model.cluster import ClusterContext


@pytest.fixture
def no_clusters(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Nothing is connected: who opens a cluster is given its context.  The names of those that were opened."""
    names: list[str] = []

    @asynccontextmanager
    async def opened(context: ClusterContext) -> AsyncIterator[ClusterContext]:
        names.append(context.name)
        yield context

    monkeypatch.setattr("anabranch.kafka.security.open_cluster", opened)
    return names
