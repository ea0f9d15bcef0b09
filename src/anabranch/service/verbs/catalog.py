"""Changes of the catalog: grants decide who may make them, beside the role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from anabranch.config.units import parse_interval
from anabranch.model.accounts import Role
from anabranch.operations.catalog import define, drop, importing, rights
from anabranch.operations.catalog.define import Defined, DefinePlan
from anabranch.operations.catalog.drop import Dropped, DropPlan
from anabranch.operations.catalog.importing import ImportPlan
from anabranch.operations.catalog.rights import (
    EntrySet,
    EntrySetPlan,
    Granted,
    GrantPlan,
    MembersPlan,
    MembersSet,
    securable,
)
from anabranch.operations.catalog.topics import TopicOptions
from anabranch.service.catalog_desk import ServiceCatalogDesk
from anabranch.service.reach import Reach
from anabranch.service.verb import Name, Request, Verb
from anabranch.service.words import command
from anabranch.streams.catalog.ddl import definitions
from anabranch.streams.catalog.names import database_name, object_name
from anabranch.streams.grants import Privilege
from anabranch.streams.inference import SAMPLES

FILE = "definitions.sql"
LARGEST_SCRIPT = 1 << 19
EntryName = Annotated[str, StringConstraints(min_length=1, max_length=310, pattern=r"^[^\x00-\x1f\x7f]+$")]
Level = Literal["catalog", "database", "object"]
PrivilegeWord = Literal["read", "write", "manage"]


class Definitions(Request):
    """Statements: CREATE DATABASE, TABLE, VIEW and FUNCTION."""

    sql: Annotated[str, StringConstraints(min_length=1, max_length=LARGEST_SCRIPT)]


class CreateCatalogRequest(Request):
    """What is defined; with ``create_topics`` topics that tables name and that are not there are made.

    ``retention`` is a length of time such as ``168h``; the cluster's own where it is left out.
    """

    definitions: Definitions
    create_topics: bool = False
    partitions: Annotated[int, Field(ge=1, le=10_000)] = 1
    replication_factor: Annotated[int, Field(ge=1, le=100)] = 1
    retention: Annotated[str, StringConstraints(max_length=30, pattern=r"^[0-9A-Za-z.]*$")] = ""
    accept_breaking: bool = False

    def topics(self) -> TopicOptions | None:
        """How topics are made; raises InvalidFieldError."""
        if not self.create_topics:
            return None
        retention = parse_interval(self.retention, "catalog create", "retention") if self.retention else None
        return TopicOptions(self.partitions, self.replication_factor, retention)


class DropCatalogRequest(Request):
    """What goes; ``topic`` deletes the Kafka topic of a table with all its records."""

    name: EntryName
    kind: Literal["object", "database"] = "object"
    topic: bool = False


class CatalogGrantRequest(Request):
    """A privilege on a catalog, a database or an object, for ``user:NAME`` or ``group:NAME``."""

    privilege: PrivilegeWord
    name: EntryName
    principal: Name
    on: Level = "object"


class CatalogImportRequest(Request):
    """Topics of a cluster code that become tables of a database; ``samples`` records of each are looked at."""

    topics: Annotated[tuple[Name, ...], Field(min_length=1, max_length=50)]
    cluster: Name
    database: EntryName = "default"
    samples: Annotated[int, Field(ge=1, le=10_000)] = SAMPLES


class CatalogSetRequest(Request):
    """An entry's new owner, or what is said of it."""

    name: EntryName
    kind: Literal["object", "database"] = "object"
    owner: Name | None = None
    description: Annotated[str, StringConstraints(max_length=2000, pattern=r"^[^\x00-\x1f\x7f]*$")] | None = None


class CatalogGroupRequest(Request):
    """Accounts that come into a group, or leave it."""

    group: Name
    add: tuple[Name, ...] = ()
    remove: tuple[Name, ...] = ()


def _desk(reach: Reach) -> ServiceCatalogDesk:
    return ServiceCatalogDesk(reach.routes.stored, reach.routes.routing, reach.clusters, reach.account)


def _full(request: DropCatalogRequest | CatalogSetRequest) -> str:
    return database_name(request.name) if request.kind == "database" else str(object_name(request.name))


async def _create_plan(reach: Reach, request: CreateCatalogRequest) -> DefinePlan:
    found = definitions(request.definitions.sql)
    return await define.plan(_desk(reach), found, request.topics(), accept_breaking=request.accept_breaking)


async def _create(reach: Reach, _: CreateCatalogRequest, planned: DefinePlan) -> Defined:
    return await define.apply(_desk(reach), planned)


def _create_command(request: CreateCatalogRequest) -> str:
    options: list[tuple[str, object]] = [("--create-topics", request.create_topics)]
    if request.create_topics:
        options += [("--partitions", request.partitions), ("--replication-factor", request.replication_factor)]
        options.append(("--retention", request.retention or None))
    return command("catalog", "create", FILE, options=[*options, ("--accept-breaking", request.accept_breaking)])


def _create_files(request: CreateCatalogRequest) -> Mapping[str, str]:
    return {FILE: request.definitions.sql}


async def _drop_plan(reach: Reach, request: DropCatalogRequest) -> DropPlan:
    return await drop.plan(_desk(reach), _full(request), topic=request.topic)


async def _drop(reach: Reach, _: DropCatalogRequest, planned: DropPlan) -> Dropped:
    return await drop.apply(_desk(reach), planned)


async def _grant_plan(reach: Reach, request: CatalogGrantRequest, *, give: bool) -> GrantPlan:
    on = securable(request.on, request.name)
    privilege = Privilege(request.privilege)
    known = {name for catalogs in reach.jobs.catalogs.values() for name in catalogs}
    return await rights.plan_grant(_desk(reach), on, request.principal, privilege, give=give, attached=known)


async def _give_plan(reach: Reach, request: CatalogGrantRequest) -> GrantPlan:
    return await _grant_plan(reach, request, give=True)


async def _take_plan(reach: Reach, request: CatalogGrantRequest) -> GrantPlan:
    return await _grant_plan(reach, request, give=False)


async def _grant(reach: Reach, _: CatalogGrantRequest, planned: GrantPlan) -> Granted:
    return await rights.apply_grant(_desk(reach), planned)


def _grant_command(word: str, request: CatalogGrantRequest) -> str:
    options = [("--on", request.on)]
    return command("catalog", word, request.privilege, request.name, request.principal, options=options)


async def _import_plan(reach: Reach, request: CatalogImportRequest) -> ImportPlan:
    database = database_name(request.database)
    return await importing.plan(_desk(reach), request.cluster, request.topics, database, request.samples)


async def _import(reach: Reach, _: CatalogImportRequest, planned: ImportPlan) -> Defined:
    return await importing.apply(_desk(reach), planned)


async def _set_plan(reach: Reach, request: CatalogSetRequest) -> EntrySetPlan:
    return await rights.plan_set(_desk(reach), _full(request), request.owner, request.description)


async def _set(reach: Reach, _: CatalogSetRequest, planned: EntrySetPlan) -> EntrySet:
    return await rights.apply_set(_desk(reach), planned)


async def _group_plan(reach: Reach, request: CatalogGroupRequest) -> MembersPlan:
    return await rights.plan_group(_desk(reach), request.group, request.add, request.remove)


async def _group(reach: Reach, _: CatalogGroupRequest, planned: MembersPlan) -> MembersSet:
    return await rights.apply_group(_desk(reach), planned)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "catalog.create",
        "Define databases, tables, views and functions",
        Role.OPERATOR,
        CreateCatalogRequest,
        DefinePlan,
        Defined,
        lambda _: "catalog",
        _create_command,
        _create_plan,
        _create,
        files=_create_files,
        private=True,
    ),
    Verb(
        "catalog.drop",
        "Drop an object of the catalog, and its topic where that is asked for",
        Role.APPROVER,
        DropCatalogRequest,
        DropPlan,
        Dropped,
        lambda request: f"catalog {request.name}",
        lambda request: command(
            "catalog", "drop", request.name, options=[("--kind", request.kind), ("--topic", request.topic)]
        ),
        _drop_plan,
        _drop,
        private=True,
    ),
    Verb(
        "catalog.grant",
        "Give somebody a privilege",
        Role.OPERATOR,
        CatalogGrantRequest,
        GrantPlan,
        Granted,
        lambda request: f"{request.privilege} on {request.name} for {request.principal}",
        lambda request: _grant_command("grant", request),
        _give_plan,
        _grant,
        private=True,
    ),
    Verb(
        "catalog.revoke",
        "Take a privilege back",
        Role.OPERATOR,
        CatalogGrantRequest,
        GrantPlan,
        Granted,
        lambda request: f"{request.privilege} on {request.name} for {request.principal}",
        lambda request: _grant_command("revoke", request),
        _take_plan,
        _grant,
        private=True,
    ),
    Verb(
        "catalog.import",
        "Make tables of topics, with columns that are inferred from samples",
        Role.OPERATOR,
        CatalogImportRequest,
        ImportPlan,
        Defined,
        lambda request: f"catalog {request.database}",
        lambda request: command(
            "catalog",
            "import",
            *request.topics,
            options=[("--cluster", request.cluster), ("--database", request.database), ("--samples", request.samples)],
        ),
        _import_plan,
        _import,
        private=True,
    ),
    Verb(
        "catalog.set",
        "Change an owner or a description",
        Role.OPERATOR,
        CatalogSetRequest,
        EntrySetPlan,
        EntrySet,
        lambda request: f"catalog {request.name}",
        lambda request: command(
            "catalog",
            "set",
            request.name,
            options=[("--kind", request.kind), ("--owner", request.owner), ("--description", request.description)],
        ),
        _set_plan,
        _set,
        private=True,
    ),
    Verb(
        "catalog.group",
        "Have accounts in a group, and others not",
        Role.ADMIN,
        CatalogGroupRequest,
        MembersPlan,
        MembersSet,
        lambda request: f"group {request.group}",
        lambda request: command(
            "catalog", "group", request.group, options=[("--add", request.add), ("--remove", request.remove)]
        ),
        _group_plan,
        _group,
        private=True,
    ),
)
