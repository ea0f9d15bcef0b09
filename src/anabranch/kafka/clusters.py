"""Clusters by their contexts: each is opened when it is first asked for, and all are closed together."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext


class Clusters:
    """What is handed to a verb that learns only while it runs which clusters it needs.

    ``context`` finds a context by its name, and raises ConfigError where it is not known.  Use as an async context
    manager, within one event loop.
    """

    def __init__(self, context: Callable[[str], ClusterContext]) -> None:
        self.context = context
        self._opened: dict[str, Cluster] = {}

    async def __aenter__(self) -> Clusters:
        return self

    async def __aexit__(self, *_: object) -> None:
        for cluster in self._opened.values():
            cluster.close()
        self._opened.clear()

    def of(self, context: ClusterContext) -> Cluster:
        """A context's cluster; nothing is connected yet.  Raises ConfigError for missing secrets or files."""
        if context.name not in self._opened:
            self._opened[context.name] = open_cluster(context)
        return self._opened[context.name]
