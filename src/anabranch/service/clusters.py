"""The clusters that the service reaches, each opened once: by the contexts file, read again where it has changed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from anabranch.config import contexts as stored
from anabranch.config.contexts import Contexts
from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.operations.links import status


class ClusterPool:
    """Open clusters by name; one event loop.

    A context that was changed is opened again: what is under way on the old one ends with an error of its connection.
    """

    def __init__(self, contexts: Path | None = None) -> None:
        self._file = contexts
        self._read: tuple[tuple[str, int, int], Contexts] | None = None
        self._open: dict[str, tuple[ClusterContext, Cluster]] = {}

    def contexts(self) -> Contexts:
        """The contexts of now; raises ConfigError."""
        location = stored.locate(self._file, os.environ, Path.cwd())
        location.check_named()
        try:
            stat = location.path.stat()
            seen = (str(location.path), stat.st_mtime_ns, stat.st_size)
        except FileNotFoundError:
            seen = (str(location.path), 0, 0)
        if self._read is None or self._read[0] != seen:
            self._read = (seen, stored.load(location))
        return self._read[1]

    def context(self, name: str) -> ClusterContext:
        """A context; raises UnknownContextError, ConfigError."""
        return self.contexts().get(name)

    def of(self, context: ClusterContext) -> Cluster:
        """The cluster of a context; nothing is connected yet.  Raises ConfigError for missing secrets or files."""
        found = self._open.get(context.name)
        if found is not None and found[0] == context:
            return found[1]
        if found is not None:
            found[1].close()
        cluster = open_cluster(context)
        self._open[context.name] = (context, cluster)
        return cluster

    def cluster(self, name: str) -> Cluster:
        """The cluster of a context's name; raises ConfigError."""
        return self.of(self.context(name))

    async def pair(self, target: str, link: str) -> tuple[Cluster, Cluster]:
        """Source and target of a link that the target stores; raises UnknownLinkError, ConfigError, ClusterError."""
        new = self.cluster(target)
        _, record = await status.stored(new, link)
        return self.cluster(record.wanted.spec.source.context), new

    async def why_away(self, name: str, within_s: float) -> str:
        """Why a cluster does not answer in that time, empty where it does."""
        try:
            async with asyncio.timeout(within_s):
                await self.cluster(name).metadata([])
        except AnabranchError as error:
            return error.message
        except TimeoutError:
            return f"cluster {name} does not answer"
        return ""

    def close(self) -> None:
        """Close them all."""
        for _, cluster in self._open.values():
            cluster.close()
        self._open.clear()
