"""What operations on routes are handed: the versions, the clients, and the one way to publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import Client
from anabranch.routes.table import RouteTable, RouteVersion


class RouteDesk(Protocol):
    """Where route tables are kept, and who is led by them."""

    async def newest(self) -> RouteVersion | None:
        """The version that applies, None where none was published."""
        ...

    async def version(self, number: int) -> RouteVersion:
        """A version; raises RefusedError where it is not there."""
        ...

    async def clients(self) -> Sequence[Client]:
        """Every client whose lease runs."""
        ...

    def contexts(self) -> Mapping[str, ClusterContext]:
        """The clusters that are known by name; one that is asked for and not there raises RefusedError."""
        ...

    async def publish(self, table: RouteTable, base: int, reason: str) -> RouteVersion:
        """Publish a table over the version ``base``; raises RefusedError where another one was published since."""
        ...
