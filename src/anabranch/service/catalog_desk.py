"""The service's own `CatalogDesk`: what operations on the catalog ask, answered from the store and the routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.model.accounts import Role
from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import ClientRole, RouteQuery
from anabranch.routes.resolve import resolve
from anabranch.service.clusters import ClusterPool
from anabranch.service.routing import Routing
from anabranch.service.stored import Stored
from anabranch.store.catalog import EntryChange, StoredEntry, StoredGrant
from anabranch.streams.artifacts.references import ArtifactReference
from anabranch.streams.lineage.document import StoredLineage


@dataclass(frozen=True, slots=True)
class ServiceCatalogDesk:
    """``account`` is who asks."""

    stored: Stored
    routing: Routing
    clusters: ClusterPool
    account: str

    async def entries(self) -> Sequence[StoredEntry]:
        """Every entry; raises StoreError."""
        return await self.stored.ask(self.stored.catalog.all)

    async def grants(self) -> Sequence[StoredGrant]:
        """Every grant; raises StoreError."""
        return await self.stored.ask(self.stored.catalog.grants)

    async def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The accounts of each group; raises StoreError."""
        return await self.stored.ask(self.stored.catalog.groups)

    async def assigned(self) -> Mapping[str, tuple[str, ...]]:
        """The accounts that admins have put into each group, and no provider; raises StoreError."""
        return await self.stored.ask(self.stored.catalog.assigned)

    async def admins(self) -> frozenset[str]:
        """The accounts of the role admin that are not disabled; raises StoreError."""
        accounts = await self.stored.ask(self.stored.accounts.all)
        return frozenset(one.name for one in accounts if one.role is Role.ADMIN and one.disabled_at is None)

    async def lineages(self) -> Mapping[str, StoredLineage]:
        """The lineage of now of each stream that has told one; raises StoreError."""
        return await self.stored.ask(self.stored.lineages.now)

    async def callers(self, function: str) -> Sequence[str]:
        """The streams whose published version is pinned to a function of an artifact; raises StoreError."""
        return await self.stored.ask(lambda: self.stored.artifacts.callers(function))

    async def change(self, changes: Sequence[EntryChange]) -> None:
        """Change entries; raises EntryChangedError, StoreError."""
        await self.stored.ask(lambda: self.stored.catalog.change(changes))

    async def grant(self, made: StoredGrant) -> bool:
        """Keep a grant; False where it is there."""
        return await self.stored.ask(lambda: self.stored.catalog.grant(made))

    async def revoke(self, gone: StoredGrant) -> bool:
        """Take a grant back; False where it is not there."""
        return await self.stored.ask(lambda: self.stored.catalog.revoke(gone))

    async def set_members(self, group: str, add: Sequence[str], remove: Sequence[str]) -> None:
        """Have accounts in a group, and others not."""
        await self.stored.ask(lambda: self.stored.catalog.set_members(group, add, remove))

    def leads(self, codes: Sequence[str]) -> Mapping[str, str]:
        """The cluster that each code of the route table leads to; contexts with an address in common are one cluster.

        Raises ConfigError.
        """
        contexts, newest = self.clusters.contexts().contexts, self.routing.newest
        same = _same_clusters(contexts)
        known = () if newest is None else newest.table.codes
        found = {code: self._led(code) for code in sorted({*codes, *contexts, *known})}
        found = {code: same.get(cluster, cluster) for code, cluster in found.items()}
        return {code: cluster for code, cluster in found.items() if cluster != code}

    def cluster(self, code: str) -> Cluster:
        """The cluster that a code leads to, else the context of that name; raises ConfigError."""
        return self.clusters.cluster(self._led(code))

    async def check_artifact(self, named: ArtifactReference) -> None:
        """Raise NoArtifactError, NoArtifactVersionError where a function would be from nothing; StoreError."""
        await self.stored.ask(lambda: self.stored.artifacts.version(named.name, named.number))

    def _led(self, code: str) -> str:
        newest = self.routing.newest
        if newest is None:
            return code
        try:
            return resolve(newest.table, RouteQuery(code, ClientRole.CONSUMER, (), "", "", {}))[0].cluster
        except RefusedError:
            return code


def _same_clusters(contexts: Mapping[str, ClusterContext]) -> Mapping[str, str]:
    """Contexts that are another one by another name: the first of those that have an address in common."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for name in sorted(contexts):
        addresses = [address.lower() for address in contexts[name].bootstrap]
        there = next((first[one] for one in addresses if one in first), name)
        for one in addresses:
            first.setdefault(one, there)
        if there != name:
            found[name] = there
    return found
