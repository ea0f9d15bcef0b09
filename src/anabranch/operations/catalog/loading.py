"""What a stream of an account is given of the catalog before its script runs.

Invariant
    H1  what an account may not read or write is named and nothing else of it is given: no column, no option, no query.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from anabranch.config.catalogspec import CatalogSpec, NamedQuery
from anabranch.operations.catalog.desk import CatalogDesk, KnownCatalog, known
from anabranch.streams.catalog.functions import CatalogTexts
from anabranch.streams.catalog.names import CATALOG
from anabranch.streams.catalog.objects import CatalogDatabase, Function, Table, View
from anabranch.streams.grants import Authority, Privilege
from anabranch.streams.inline import InlinePolicy, TableAccess
from anabranch.streams.tables import TableDeclaration


async def catalog_for(
    desk: CatalogDesk, account: str, policy: InlinePolicy, attached: Mapping[str, str]
) -> CatalogSpec:
    """What the streams of an account may use; raises StoreError.

    ``policy`` is that of a script's own tables, ``attached`` are catalogs of Spark's own.  Who manages the whole
    catalog may also declare tables of files and secrets, as he may in the catalog.
    """
    found = await known(desk, account)
    is_open = found.authority.has([CATALOG], Privilege.MANAGE)
    return spec_of(found, InlinePolicy(is_open=True) if is_open else policy, attached)


async def texts_for(desk: CatalogDesk, account: str) -> CatalogTexts:
    """The functions and views that an account may use; raises StoreError."""
    return spec_of(await known(desk, account), InlinePolicy()).texts


def spec_of(
    found: KnownCatalog, policy: InlinePolicy, attached: Mapping[str, str] = MappingProxyType({})
) -> CatalogSpec:
    """The part of the catalog that an account may use (H1)."""
    may: dict[str, tuple[Privilege, ...]] = {}
    tables: list[TableDeclaration] = []
    views: list[NamedQuery] = []
    functions: list[str] = []
    hidden: set[str] = set()
    for name, one in sorted(found.objects.items()):
        if isinstance(one, CatalogDatabase):
            continue
        allowed = tuple(privilege for privilege in Privilege if found.authority.may(one.name, privilege))
        short = one.name.short
        if not allowed:
            hidden.add(short)
            continue
        may[name] = allowed
        if isinstance(one, Table):
            told = one.declaration
            tables.append(TableDeclaration(short, told.provider, told.columns, told.options))
        elif isinstance(one, View):
            views.append(NamedQuery(short, one.query))
        elif isinstance(one, Function):
            functions.append(one.statement)
    may |= _in_attached(found.authority, attached)
    topics = {f"{cluster}/{topic}": names for (cluster, topic), names in found.topics.items()}
    access = TableAccess(found.authority.account, may, topics, dict(found.leads), policy)
    return CatalogSpec(access, tuple(tables), tuple(views), tuple(functions), frozenset(hidden), dict(attached))


def _in_attached(authority: Authority, attached: Mapping[str, str]) -> dict[str, tuple[Privilege, ...]]:
    """What an account may do in attached catalogs: on what its grants are, and on all below it."""
    named = {one.securable for one in authority.grants if one.securable.partition(".")[0] in attached}
    found = {
        name: tuple(one for one in Privilege if authority.has([name], one)) for name in sorted({*attached, *named})
    }
    return {name: privileges for name, privileges in found.items() if privileges}
