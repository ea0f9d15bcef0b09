"""Clusters by their contexts: each is opened when it is first asked for, and all are closed together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anabranch.errors import ConfigError
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


@dataclass(eq=False)
class NotOpenError(ConfigError):
    """A context was asked for that is none of those whose clusters were handed over."""

    name: str

    _message = "context {name!r} is none of the clusters that are moved from or to"


class OpenClusters(Clusters):
    """Clusters that somebody else has opened, and closes; their contexts only name them, and hold no login."""

    def __init__(self, clusters: Mapping[str, Cluster]) -> None:
        super().__init__(self._named)
        self._clusters = clusters

    async def __aexit__(self, *_: object) -> None:
        """They stay open."""

    def of(self, context: ClusterContext) -> Cluster:
        """A context's cluster; raises NotOpenError."""
        if context.name not in self._clusters:
            raise NotOpenError(context.name)
        return self._clusters[context.name]

    def _named(self, name: str) -> ClusterContext:
        if name not in self._clusters:
            raise NotOpenError(name)
        return ClusterContext(name, self._clusters[name].bootstrap)
