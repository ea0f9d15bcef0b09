"""Clusters that are opened as they are asked for."""

from __future__ import annotations

import asyncio

import pytest

from anabranch.kafka.clusters import Clusters
from anabranch.model.cluster import ClusterContext

pytestmark = pytest.mark.unit


def test_a_cluster_is_opened_once_and_closed_with_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for a context a second time gets what the first one got; after the end it is opened anew."""
    contexts = {name: ClusterContext(name, ("127.0.0.1:1",)) for name in ("old", "new")}
    closed: list[str] = []

    async def use() -> None:
        async with Clusters(contexts.__getitem__) as clusters:
            old, new = clusters.of(clusters.context("old")), clusters.of(contexts["new"])
            assert (old.name, new.name) == ("old", "new")
            assert clusters.of(contexts["old"]) is old
            for one in (old, new):
                monkeypatch.setattr(one, "close", lambda name=one.name: closed.append(name))
        assert sorted(closed) == ["new", "old"]
        assert clusters.of(contexts["old"]) is not old

    asyncio.run(use())
