"""The catalog: what one may see of it, its schema versions, grants and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import JSONResponse

from anabranch.model.accounts import Role
from anabranch.operations.catalog.desk import KnownCatalog, known
from anabranch.service.answers import answered
from anabranch.service.caller import Caller
from anabranch.service.catalog_answers import (
    AttachedAnswer,
    EntryAnswer,
    EntrySummary,
    GrantAnswer,
    GroupAnswer,
    SchemaAnswer,
    summary_of,
)
from anabranch.service.catalog_desk import ServiceCatalogDesk
from anabranch.service.instance import Instance
from anabranch.service.web import AsViewer, Here, answer
from anabranch.store.catalog import NoEntryError, StoredEntry
from anabranch.streams.catalog.names import database_name, object_name
from anabranch.streams.catalog.objects import ObjectKind
from anabranch.streams.grants import Privilege

router = APIRouter(prefix="/api/v1/catalog", tags=["catalog"])
EntryName = Annotated[
    str, Path(min_length=1, max_length=310, description="A table, or a database where there is none.")
]


async def _known(here: Instance, caller: Caller) -> KnownCatalog:
    return await known(ServiceCatalogDesk(here.stored, here.routing, here.clusters, caller.account.name))


def _found(seen: KnownCatalog, text: str) -> StoredEntry:
    """An object of a name, or the database; raises NoEntryError, CatalogNameError."""
    name = str(object_name(text))
    if name in seen.entries:
        return seen.visible(name)
    if text.count(".") < 2:
        return seen.visible(database_name(text))
    raise NoEntryError(name)


@router.get("", responses=answered(Sequence[EntrySummary]))
async def entries(
    here: Here,
    caller: AsViewer,
    database: Annotated[str, Query(max_length=210)] = "",
    search: Annotated[str, Query(max_length=100, description="In names, descriptions and columns.")] = "",
) -> JSONResponse:
    """What of the catalog one may see, by name."""
    seen = await _known(here, caller)
    begin = f"{database_name(database)}." if database else ""
    visible = [one for one in seen.entries.values() if one.name.startswith(begin) and _shown(seen, one)]
    return answer([summary_of(one) for one in visible if _holds(one, search.lower())])


@router.get("/attached", responses=answered(Sequence[AttachedAnswer]))
async def attached_catalogs(here: Here, caller: AsViewer) -> JSONResponse:
    """Catalogs of Spark's own in which one has a privilege; a trial of kind `tables` lists what is in them."""
    seen = await _known(here, caller)
    mine = seen.authority.principals
    granted = {one.securable.partition(".")[0] for one in seen.authority.grants if one.principal in mine}
    return answer(
        [
            AttachedAnswer(name, connector, launcher)
            for launcher, catalogs in here.settings.jobs.catalogs.items()
            for name, connector in catalogs.items()
            if seen.authority.is_admin or name in granted
        ]
    )


@router.get("/grants", responses=answered(Sequence[GrantAnswer]))
async def grants(here: Here, caller: AsViewer, securable: Annotated[str, Query(max_length=310)] = "") -> JSONResponse:
    """Grants on what one manages, and one's own."""
    seen = await _known(here, caller)
    mine = seen.authority.principals
    found = await here.stored.ask(lambda: here.stored.catalog.grants(securable or None))
    return answer(
        [
            GrantAnswer(one.securable, one.principal, one.privilege, one.at, one.author)
            for one in found
            if one.principal in mine or seen.authority.has(_above(one.securable), Privilege.MANAGE)
        ]
    )


@router.get("/groups", responses=answered(Sequence[GroupAnswer]))
async def groups(here: Here, caller: AsViewer) -> JSONResponse:
    """One's own groups; an admin's answer has all."""
    catalog = here.stored.catalog
    found, assigned = await here.stored.ask(lambda: (catalog.groups(), catalog.assigned()))
    admin, name = caller.account.role is Role.ADMIN, caller.account.name
    return answer(
        [
            GroupAnswer(one, members, tuple(each for each in members if each not in assigned.get(one, ())))
            for one, members in found.items()
            if admin or name in members
        ]
    )


@router.get("/entries/{name}", responses=answered(EntryAnswer))
async def entry(here: Here, name: EntryName, caller: AsViewer) -> JSONResponse:
    """One entry, with what one may do with it."""
    seen = await _known(here, caller)
    found = _found(seen, name)
    may = tuple(one.value for one in Privilege if seen.authority.has(_above(found.name), one))
    told = summary_of(found), found.revision, found.created, found.author, found.document
    return answer(EntryAnswer(*told, may))


@router.get("/entries/{name}/versions", responses=answered(Sequence[SchemaAnswer]))
async def versions(here: Here, name: EntryName, caller: AsViewer) -> JSONResponse:
    """The schema versions of a table, the newest first."""
    found = _found(await _known(here, caller), name)
    stored = await here.stored.ask(lambda: here.stored.catalog.schemas(found.name))
    return answer([SchemaAnswer(one.number, one.at, one.author, tuple(one.columns)) for one in stored])


def _shown(seen: KnownCatalog, one: StoredEntry) -> bool:
    """Whether an entry may be seen; a database may be where something in it may be."""
    if seen.may_see(one):
        return True
    inside = (other for other in seen.entries.values() if other.name.startswith(f"{one.name}."))
    return one.kind == ObjectKind.DATABASE and any(seen.may_see(other) for other in inside)


def _holds(one: StoredEntry, text: str) -> bool:
    columns = (column["name"] for column in one.document.get("columns", ()))
    return not text or any(text in told.lower() for told in (one.name, one.description, *columns))


def _above(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
