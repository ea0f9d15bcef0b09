"""What operations on the catalog are handed: its entries, who asks, and the clusters of codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.operations.catalog.entries import object_of
from anabranch.streams.artifacts.references import ArtifactReference
from anabranch.streams.catalog.kept import EntryChange, NoEntryError, StoredEntry, StoredGrant
from anabranch.streams.catalog.names import CATALOG, DATABASE, ObjectName
from anabranch.streams.catalog.objects import CatalogObject, ObjectKind, Table
from anabranch.streams.grants import Authority, DeniedError, Grant, Privilege
from anabranch.streams.lineage.document import StoredLineage


class CatalogDesk(Protocol):
    """Where the catalog is kept; ``account`` is who asks."""

    @property
    def account(self) -> str:
        """Who asks."""
        ...

    async def entries(self) -> Sequence[StoredEntry]:
        """Every entry; raises StoreError."""
        ...

    async def grants(self) -> Sequence[StoredGrant]:
        """Every grant; raises StoreError."""
        ...

    async def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The accounts of each group, by whoever's word; raises StoreError."""
        ...

    async def assigned(self) -> Mapping[str, tuple[str, ...]]:
        """The accounts that admins have put into each group, and no provider; raises StoreError."""
        ...

    async def admins(self) -> frozenset[str]:
        """The accounts that manage everything; raises StoreError."""
        ...

    async def lineages(self) -> Mapping[str, StoredLineage]:
        """The lineage of now of each stream that has told one; raises StoreError."""
        ...

    async def callers(self, function: str) -> Sequence[str]:
        """The streams whose published version is pinned to a function of an artifact; raises StoreError."""
        ...

    async def change(self, changes: Sequence[EntryChange]) -> None:
        """Change entries; raises EntryChangedError, StoreError."""
        ...

    async def grant(self, made: StoredGrant) -> bool:
        """Keep a grant; False where it is there."""
        ...

    async def revoke(self, gone: StoredGrant) -> bool:
        """Take a grant back; False where it is not there."""
        ...

    async def set_members(self, group: str, add: Sequence[str], remove: Sequence[str]) -> None:
        """Have accounts in a group, and others not."""
        ...

    def leads(self, codes: Sequence[str]) -> Mapping[str, str]:
        """The cluster that each code leads to, and every other code that is known; one that leads nowhere is absent."""
        ...

    def cluster(self, code: str) -> Cluster:
        """The cluster that a code leads to; raises RefusedError, ConfigError."""
        ...

    async def check_artifact(self, named: ArtifactReference) -> None:
        """Raise NoArtifactError, NoArtifactVersionError where a function would be from nothing; StoreError."""
        ...


@dataclass(frozen=True, slots=True)
class KnownCatalog:
    """The catalog as it was read: its entries and their objects by full name, and what the one who asks may do.

    ``topics`` are the tables of each topic, by the cluster that it is on and its name.
    """

    entries: Mapping[str, StoredEntry]
    objects: Mapping[str, CatalogObject]
    authority: Authority
    topics: Mapping[tuple[str, str], tuple[str, ...]]
    leads: Mapping[str, str]

    def need(self, privilege: Privilege, *securables: str) -> None:
        """Raise DeniedError where no grant on one of them gives the privilege."""
        if not self.authority.has(securables, privilege):
            raise DeniedError(self.authority.account, (f"{privilege} {securables[-1]}",))

    def manages(self, name: ObjectName) -> None:
        """Raise DeniedError where the one who asks does not manage an object."""
        self.need(Privilege.MANAGE, *name.parents, str(name))

    def may_see(self, entry: StoredEntry) -> bool:
        """Whether what an entry says may be shown to the one who asks."""
        above = entry.name.split(".")
        securables = [".".join(above[:count]) for count in range(1, len(above) + 1)]
        return any(self.authority.has(securables, one) for one in Privilege)

    def visible(self, name: str) -> StoredEntry:
        """An entry that may be shown; raises NoEntryError."""
        entry = self.entries.get(name)
        if entry is None or not self.may_see(entry):
            raise NoEntryError(name)
        return entry

    def of_topic(self, code: str, topic: str) -> tuple[str, ...]:
        """The tables of a topic of a cluster code."""
        return self.topics.get((self.leads.get(code, code), topic), ())


@dataclass(eq=False)
class NoDatabaseError(RefusedError):
    """There is no such database."""

    database: str

    _message = "there is no database {database}"
    _hint = "make it: CREATE DATABASE {database}"


async def known(desk: CatalogDesk, account: str | None = None) -> KnownCatalog:
    """The catalog of now, as an account may use it; by default the one who asks.  Raises StoreError."""
    who = desk.account if account is None else account
    entries = {one.name: one for one in await desk.entries()}
    objects = {name: object_of(one) for name, one in entries.items()}
    groups = frozenset(name for name, accounts in (await desk.groups()).items() if who in accounts)
    grants = frozenset(Grant(one.securable, one.principal, Privilege(one.privilege)) for one in await desk.grants())
    owners = {name: one.owner for name, one in entries.items()}
    authority = Authority(who, groups, grants, owners, who in await desk.admins())
    tables = {name: one for name, one in objects.items() if isinstance(one, Table)}
    codes = sorted({one.topic[0] for one in tables.values() if one.topic is not None})
    leads = desk.leads(codes)
    topics: dict[tuple[str, str], list[str]] = {}
    for name, table in sorted(tables.items()):
        if table.topic is not None:
            code, named = table.topic
            for topic in dict.fromkeys(one.strip() for one in named.split(",") if one.strip()):
                topics.setdefault((leads.get(code, code), topic), []).append(name)
    return KnownCatalog(entries, objects, authority, {key: tuple(names) for key, names in topics.items()}, leads)


def check_database(found: KnownCatalog, name: ObjectName) -> None:
    """Raise NoDatabaseError where the database of an object is not there; Spark's own default always is."""
    database = name.parents[1]
    entry = found.entries.get(database)
    if (entry is None or entry.kind != ObjectKind.DATABASE) and database != f"{CATALOG}.{DATABASE}":
        raise NoDatabaseError(database.removeprefix(f"{CATALOG}."))
