"""The service's own `RouteDesk`: what operations on routes ask, answered from the store and from memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from anabranch.config.routes_file import table_fields
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import Client
from anabranch.routes.table import RouteTable, RouteVersion
from anabranch.service.registry import Registry
from anabranch.service.routing import Routing, version_of
from anabranch.service.stored import Stored
from anabranch.store.errors import StoreError

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ServiceDesk:
    """``author`` is who publishes."""

    stored: Stored
    routing: Routing
    registry: Registry
    author: str = ""

    async def newest(self) -> RouteVersion | None:
        """The version that applies, None where none was published; raises StoreError."""
        await self.routing.refresh()
        return self.routing.newest

    async def version(self, number: int) -> RouteVersion:
        """A version; raises NoVersionError, StoreError."""
        return version_of(await self.stored.ask(lambda: self.stored.versions.get(number)))

    async def clients(self) -> Sequence[Client]:
        """Every client whose lease runs; raises StoreError."""
        return await self.registry.live()

    def contexts(self) -> Mapping[str, ClusterContext]:
        """The clusters of the contexts file."""
        return self.routing.contexts

    async def publish(self, table: RouteTable, base: int, reason: str) -> RouteVersion:
        """Publish a table, and lead clients by it; raises PublishedMeanwhileError, StoreError."""
        fields, at = table_fields(table), now_ms()
        made = await self.stored.ask(lambda: self.stored.versions.publish(fields, base, self.author, reason, at))
        try:
            await self.routing.refresh()
        except StoreError as error:  # it is published; it is looked for again in a second
            log.warning("the route table was not read", why=error.message)
        return version_of(made)
