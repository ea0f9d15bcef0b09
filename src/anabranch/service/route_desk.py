"""The service's own `RouteDesk`: what operations on routes ask, answered from the store and from memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from anabranch.config.routes_file import table_fields
from anabranch.errors import AnabranchError
from anabranch.kafka.security import open_cluster
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import Client
from anabranch.operations.routes.desk import SwitchCancelledError, Switched, SwitchOrder
from anabranch.operations.routes.moving import CopyingLink, link_between, wider
from anabranch.routes.switch import Switch, SwitchState
from anabranch.routes.table import RouteTable, RouteVersion
from anabranch.service.clusters import ClusterPool
from anabranch.service.errors import SwitchOverError
from anabranch.service.registry import Registry
from anabranch.service.routing import Routing, version_of
from anabranch.service.stored import Stored
from anabranch.service.switching import Switching, check_given_up
from anabranch.service.telling import Tell, nobody
from anabranch.store.errors import StoreError

_TELL_S = 0.2
_ANSWER_S = 3.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ServiceDesk:
    """``author`` is who publishes; ``tell`` keeps how far it came."""

    stored: Stored
    routing: Routing
    registry: Registry
    switching: Switching
    clusters: ClusterPool
    author: str = ""
    tell: Tell = nobody

    async def newest(self) -> RouteVersion | None:
        """The version that applies, None where none was published; raises StoreError."""
        await self.routing.refresh()
        return self.routing.newest

    async def version(self, number: int) -> RouteVersion:
        """A version; raises NoVersionError, StoreError."""
        return version_of(await self.stored.ask(lambda: self.stored.versions.get(number)))

    async def clients(self) -> Sequence[Client]:
        """Every client that was seen within the hour, also those that are gone; raises StoreError."""
        return await self.registry.every(ended=True)

    def contexts(self) -> Mapping[str, ClusterContext]:
        """The clusters of the contexts file."""
        return self.routing.contexts

    async def why_away(self, cluster: str) -> str:
        """Why a cluster does not answer within some seconds, empty where it does."""
        return await self.clusters.why_away(cluster, _ANSWER_S)

    async def cluster_id(self, context: ClusterContext) -> str:
        """The id of the cluster that a context leads to; empty where it does not answer within some seconds.

        So it is where it asks for a login that is not the service's own for that cluster: the secrets are others'.
        """
        is_own = context == self.routing.contexts.get(context.name)
        tls = context.security.tls
        if not is_own and (context.security.login is not None or (tls is not None and tls.cert_file is not None)):
            return ""
        try:
            async with asyncio.timeout(_ANSWER_S):
                if is_own:
                    return await self.clusters.cluster(context.name).cluster_id()
                async with open_cluster(context) as asked:
                    return await asked.cluster_id()
        except (AnabranchError, TimeoutError):
            return ""

    async def link(self, before: str, after: str, topics: Mapping[str, str]) -> CopyingLink:
        """The link that copies topics from one cluster to another, where they are called so.

        Raises NoLinkError, ConfigError, ClusterError.
        """
        return await link_between(self.clusters.cluster(after), before, topics)

    async def wider(self, before: str, after: str, topics: Mapping[str, str]) -> Sequence[str]:
        """Topics that have more partitions on the second cluster; none where one does not answer in some seconds."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await wider(self.clusters.cluster(before), self.clusters.cluster(after), topics)
        except (AnabranchError, TimeoutError):
            return ()

    async def switch(self, begun: SwitchOrder) -> Switched:
        """Begin a switch and wait until it has ended; killed meanwhile, the acting instance goes on with it.

        Raises SwitchUnderWayError, PublishedMeanwhileError, SwitchCancelledError, StoreError.
        """
        made = await self.switching.begin(begun, self.author)
        ended = await self._ended(made)
        if ended.state is SwitchState.CANCELLED:
            raise SwitchCancelledError(made, ended.why)
        return Switched(made, await self.version(ended.version), ended.doubts)

    async def open_switch(self, switch: str) -> Switch:
        """A switch that can be given up.

        Raises NoSuchSwitchError, SwitchOverError, SwitchPublishedError, SwitchBoundError, StoreError.
        """
        journal = await self.switching.get(switch)
        check_given_up(journal)
        if not journal.state.is_open:
            raise SwitchOverError(switch)
        return journal

    async def give_up(self, switch: str, reason: str) -> Switch:
        """Give a switch up, and wait until its clients are told; raises as ``open_switch`` does.

        Killed meanwhile, the acting instance takes it back to its end.
        """
        await self.switching.cancel(switch, f"{self.author}: {reason}")
        return await self._ended(switch)

    async def _ended(self, switch: str) -> Switch:
        """The journal of a switch once it has ended; until then it is told how far that is."""
        telling = asyncio.create_task(self._tell(switch))
        try:
            return await self.switching.ended(switch)
        finally:
            telling.cancel()

    async def _tell(self, switch: str) -> None:
        """Tell how far the switch has come, each time that it has come further."""
        told: object = None
        while True:
            taken = self.switching.taken
            if taken is not None and taken.journal.id == switch:
                journal = taken.journal
                now = {
                    "stage": journal.state.value,
                    "switch": switch,
                    "clients": len(journal.named),
                    "paused": len(journal.ready),
                }
                if now != told:
                    told = now
                    await self.tell(now)
            await asyncio.sleep(_TELL_S)

    async def publish(self, table: RouteTable, base: int, reason: str) -> RouteVersion:
        """Publish a table, and lead clients by it; raises PublishedMeanwhileError, StoreError."""
        fields, at = table_fields(table), now_ms()
        made = await self.stored.ask(lambda: self.stored.versions.publish(fields, base, self.author, reason, at))
        try:
            await self.routing.refresh()
        except StoreError as error:  # it is published; it is looked for again in a second
            log.warning("the route table was not read", why=error.message)
        return version_of(made)
