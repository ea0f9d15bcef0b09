"""Define databases, tables, views and functions: what changes is planned, with what it breaks, and then kept whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from anabranch.errors import RefusedError
from anabranch.kafka.admin import create_topic
from anabranch.model.clock import now_ms
from anabranch.model.plans import REQUEST, check_holds, plan_hash
from anabranch.model.reasons import Reason, Severity, errors
from anabranch.operations.catalog.desk import CatalogDesk, KnownCatalog, check_database, known
from anabranch.operations.catalog.entries import columns_of, document_of, entry_of, says_the_same
from anabranch.operations.catalog.topics import TopicOptions, exists
from anabranch.operations.streams.lineage import readers_of_columns, readers_of_table, streams_lineage
from anabranch.streams.catalog.compatibility import breaks
from anabranch.streams.catalog.ddl import Definition
from anabranch.streams.catalog.functions import of_artifacts
from anabranch.streams.catalog.kept import EntryChange
from anabranch.streams.catalog.names import CATALOG
from anabranch.streams.catalog.objects import CatalogDatabase, Function, ObjectKind, Table, kind_of
from anabranch.streams.declared import reaches
from anabranch.streams.grants import DeniedError, Privilege
from anabranch.streams.inline import BY_ADDRESS

_INTERNAL = "__"
"""How topics begin that Kafka, or this program, keeps its own state in."""


class ChangeKind(StrEnum):
    """What becomes of an object."""

    CREATE = "create"
    CHANGE = "change"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One object; ``schema`` says that a table's columns change, ``reasons`` what that breaks.

    ``topic`` is one that is made, as ``cluster/topic``; ``readers`` are the streams that read what changes.
    """

    kind: ObjectKind
    name: str
    change: ChangeKind
    schema: bool
    topic: str
    reasons: tuple[Reason, ...]
    readers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DefinePlan:
    """What a script of definitions changes.  The hash covers the revisions that were seen, and what is defined."""

    changes: tuple[ObjectChange, ...]
    topics: TopicOptions | None
    hash: str
    definitions: tuple[Definition, ...] = field(metadata=REQUEST)
    seen: Mapping[str, int] = field(metadata=REQUEST)
    accept_breaking: bool = field(default=False, metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class Defined:
    """What was changed, and the topics that were made."""

    changed: tuple[str, ...]
    topics: tuple[str, ...]
    hash: str


@dataclass(eq=False)
class ExistsError(RefusedError):
    """There is an object of that name."""

    name: str
    kind: str

    _message = "there is a {kind} {name} already"
    _hint = "write CREATE OR REPLACE to change it, or IF NOT EXISTS to leave it"


@dataclass(eq=False)
class BreaksReadersError(RefusedError):
    """A change of schema breaks those who read the table."""

    name: str
    why: str
    readers: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        streams = f" ({', '.join(self.readers)})" if self.readers else ""
        return f"{self.name} would break those who read it{streams}: {self.why}"

    _hint = "change it so that readers go on, or accept it: --accept-breaking"


@dataclass(eq=False)
class DefinedTwiceError(RefusedError):
    """A script defines an object twice."""

    name: str

    _message = "{name} is defined twice"
    _hint = "leave one of them out"


async def plan(
    desk: CatalogDesk,
    definitions: Sequence[Definition],
    topics: TopicOptions | None = None,
    *,
    accept_breaking: bool = False,
) -> DefinePlan:
    """The plan of a script; ``topics`` says how topics that tables name and that are not there are made.

    Raises ExistsError, DeniedError, NoDatabaseError, BreaksReadersError, DefinedTwiceError, ClusterError, StoreError;
    and InvalidFieldError, NoArtifactError, NoArtifactVersionError of a function that comes from no artifact.
    """
    found = await known(desk)
    new_databases = {str(one.object.name) for one in definitions if isinstance(one.object, CatalogDatabase)}
    changes: list[ObjectChange] = []
    seen: dict[str, int] = {}
    for one in definitions:
        name = str(one.object.name)
        if name in seen:
            raise DefinedTwiceError(name)
        before = found.entries.get(name)
        seen[name] = 0 if before is None else before.revision
        if isinstance(one.object, Function):
            for named in of_artifacts(one.object):
                await desk.check_artifact(named)
        change = await _with_readers(desk, found, one, _changed(found, one, new_databases))
        if (bad := errors(change.reasons)) and not accept_breaking:
            raise BreaksReadersError(name, "; ".join(reason.what for reason in bad), change.readers)
        changes.append(await _with_topic(desk, one, change, topics))
    said = [[str(one.object.name), one.object.description, dict(document_of(one.object))] for one in definitions]
    told = [[one.change.value, one.topic] for one in changes]
    options = None if topics is None else [topics.partitions, topics.replication_factor, topics.retention_ms]
    hash_ = plan_hash(seen, said, told, options)
    return DefinePlan(tuple(changes), topics, hash_, tuple(definitions), seen, accept_breaking)


async def apply(desk: CatalogDesk, planned: DefinePlan) -> Defined:
    """Make the topics, then change the catalog in one transaction; run again after a crash it goes on.

    Raises PlanChangedError where the plan is another one by now, and what ``plan`` raises, before anything is made;
    EntryChangedError where somebody changes one of the objects at the same time, ClusterError, StoreError.
    """
    again = await plan(desk, planned.definitions, planned.topics, accept_breaking=planned.accept_breaking)
    check_holds("the catalog", planned, again)
    found = await known(desk)
    made: list[str] = []
    for one, change in zip(planned.definitions, planned.changes, strict=True):
        if change.topic and planned.topics is not None and isinstance(one.object, Table) and one.object.topic:
            code, topic = one.object.topic
            options = planned.topics
            if await create_topic(
                desk.cluster(code), topic, options.partitions, options.replication_factor, options.configs()
            ):
                made.append(change.topic)
    now, changes = now_ms(), list[EntryChange]()
    for one, change in zip(planned.definitions, planned.changes, strict=True):
        if change.change is ChangeKind.KEEP:
            continue
        name = str(one.object.name)
        before = found.entries.get(name)
        entry = entry_of(one.object, desk.account, now, before, made_topic=change.topic in made)
        columns = columns_of(one.object.declaration.columns) if isinstance(one.object, Table) else None
        changes.append(EntryChange(name, planned.seen[name], entry, columns if change.schema else None))
    await desk.change(changes)
    return Defined(tuple(one.name for one in changes), tuple(made), planned.hash)


def _changed(found: KnownCatalog, one: Definition, new_databases: set[str]) -> ObjectChange:
    made, kind, name = one.object, kind_of(one.object), str(one.object.name)
    before = found.entries.get(name)
    _check_may(found, one, new_databases)
    if before is None:
        return ObjectChange(kind, name, ChangeKind.CREATE, isinstance(made, Table), "", ())
    if one.if_not_exists and before.kind == kind:
        return ObjectChange(kind, name, ChangeKind.KEEP, False, "", ())
    if not one.or_replace or before.kind != kind:
        raise ExistsError(name, before.kind)
    if says_the_same(before, made):
        return ObjectChange(kind, name, ChangeKind.KEEP, False, "", ())
    old = found.objects[name]
    if not isinstance(made, Table) or not isinstance(old, Table):
        return ObjectChange(kind, name, ChangeKind.CHANGE, False, "", ())
    reasons = [*breaks(old.declaration.columns, made.declaration.columns), *_elsewhere(old, made)]
    schema = old.declaration.columns != made.declaration.columns
    return ObjectChange(kind, name, ChangeKind.CHANGE, schema, "", tuple(reasons))


def _elsewhere(old: Table, made: Table) -> list[Reason]:
    """What readers notice of a table whose rows are in another place."""
    if (old.topic, old.declaration.provider) == (made.topic, made.declaration.provider):
        return []
    what = "its rows are elsewhere from now on: streams that read it do not go on from their checkpoints"
    return [Reason.found(Severity.ERROR, what, "give the new place a table of its own")]


def _check_may(found: KnownCatalog, one: Definition, new_databases: set[str]) -> None:
    """Raise DeniedError where the one who asks may not define an object, or not over what it names."""
    made = one.object
    if isinstance(made, CatalogDatabase):
        above = made.name.split(".")[0]
        found.need(Privilege.MANAGE, above, made.name)
        return
    catalog, database = made.name.parents
    if str(made.name) in found.entries:
        found.manages(made.name)
    elif database in new_databases:
        found.need(Privilege.MANAGE, catalog, database)
    else:
        check_database(found, made.name)
        found.need(Privilege.MANAGE, catalog, database)
    if not isinstance(made, Table):
        return
    if (why := reaches(made.declaration)) and not found.authority.has([catalog], Privilege.MANAGE):
        denied = f"define {made.name.short} without managing catalog {catalog}: {why}"
        raise DeniedError(found.authority.account, (denied,))
    if made.topic is not None:
        if any(one.strip().startswith(_INTERNAL) for one in made.topic[1].split(",")) and not found.authority.is_admin:
            raise DeniedError(found.authority.account, (f"define a table over topic {made.topic[1]}",))
        topics = [one.strip() for one in made.topic[1].split(",")]
        taken = {name for one in topics for name in found.of_topic(made.topic[0], one)}
        others = sorted(taken - {str(made.name)})
        securables = [above for name in others for above in _securables(name)]
        if others and not found.authority.has(securables, Privilege.MANAGE):
            shown = ", ".join(name.removeprefix(f"{CATALOG}.") for name in others)
            denied = f"define a table over topic {made.topic[1]} of cluster {made.topic[0]}, which is that of {shown}"
            raise DeniedError(found.authority.account, (denied,))
    elif made.declaration.provider not in BY_ADDRESS and not found.authority.has([catalog], Privilege.MANAGE):
        denied = f"define a table of provider {made.declaration.provider} without managing catalog {catalog}"
        raise DeniedError(found.authority.account, (denied,))


def _securables(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


async def _with_readers(desk: CatalogDesk, found: KnownCatalog, one: Definition, change: ObjectChange) -> ObjectChange:
    """The change with the streams that read a column that it changes, or the table where its rows are elsewhere."""
    old, made = found.objects.get(change.name), one.object
    if not change.reasons or not isinstance(old, Table) or not isinstance(made, Table):
        return change
    lineage = streams_lineage(await desk.lineages())
    if _elsewhere(old, made):
        return replace(change, readers=readers_of_table(lineage, old.name.short))
    now = {column.name.lower(): column.type for column in made.declaration.columns}
    changed = [each.name for each in old.declaration.columns if now.get(each.name.lower()) != each.type]
    return replace(change, readers=readers_of_columns(lineage, old.name.short, changed))


async def _with_topic(
    desk: CatalogDesk, one: Definition, change: ObjectChange, topics: TopicOptions | None
) -> ObjectChange:
    """The change with the topic that is made for it."""
    made = one.object
    if topics is None or not isinstance(made, Table) or made.topic is None or change.change is ChangeKind.KEEP:
        return change
    code, topic = made.topic
    if await exists(desk.cluster(code), topic):
        return change
    return replace(change, topic=f"{code}/{topic}")
