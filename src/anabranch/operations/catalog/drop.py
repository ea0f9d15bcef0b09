"""Drop an object of the catalog; its topic is deleted only where that is asked for, and shown before."""

from __future__ import annotations

import re
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.admin import delete_topic
from anabranch.model.plans import check_holds, plan_hash
from anabranch.operations.catalog.desk import CatalogDesk, KnownCatalog, known
from anabranch.operations.catalog.entries import MADE_TOPIC
from anabranch.operations.catalog.topics import TopicSeen, exists, seen
from anabranch.operations.streams.lineage import readers_of_table, streams_lineage, writers_of_table
from anabranch.streams.catalog.kept import EntryChange
from anabranch.streams.catalog.objects import CatalogObject, Function, ObjectKind, Table, View
from anabranch.streams.grants import Privilege
from anabranch.streams.lineage.document import short as object_short


@dataclass(frozen=True, slots=True)
class DropPlan:
    """What goes: the entry, its schema versions and grants.  ``topic`` is one that is deleted with all its records.

    ``mentioned`` are views and functions whose text has its name, which fail then; ``readers`` and ``writers`` are
    streams that read and write it, through views as well, or whose published version is pinned to it as a function of
    an artifact.  The hash does not cover the count of records.
    """

    name: str
    kind: str
    revision: int
    grants: int
    mentioned: tuple[str, ...]
    topic: TopicSeen | None
    code: str
    hash: str
    readers: tuple[str, ...] = ()
    writers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """What is gone; ``topic`` is empty where none was deleted."""

    name: str
    topic: str
    hash: str


@dataclass(eq=False)
class NotEmptyError(RefusedError):
    """A database has objects."""

    name: str
    objects: int

    _message = "database {name} has {objects} objects"
    _hint = "drop these first: `anabranch catalog list {name}`"


@dataclass(eq=False)
class NoTopicToDeleteError(RefusedError):
    """A topic is to be deleted that is not this object's alone, or is none."""

    name: str
    why: str

    _message = "the topic of {name} is not deleted: {why}"
    _hint = "drop {name} without its topic"


async def plan(desk: CatalogDesk, name: str, *, topic: bool = False) -> DropPlan:
    """What dropping an object by its full name does; ``topic`` deletes its topic too.

    Raises NoEntryError, DeniedError, NotEmptyError, NoTopicToDeleteError, TopicNotThereError, ClusterError, StoreError.
    """
    found = await known(desk)
    entry = found.visible(name)
    parts = name.split(".")
    found.need(Privilege.MANAGE, *(".".join(parts[:count]) for count in range(1, len(parts) + 1)))
    inside = [one for one in found.entries if one.startswith(f"{name}.")]
    if entry.kind == ObjectKind.DATABASE and inside:
        raise NotEmptyError(name, len(inside))
    seen_topic, code = await _topic(desk, found, name) if topic else (None, "")
    grants = sum(one.securable == name for one in await desk.grants())
    mentioned = _mentioned(found, name)
    told = None if seen_topic is None else [seen_topic.cluster, seen_topic.topic, seen_topic.partitions]
    lineage, short = streams_lineage(await desk.lineages()), object_short(name)
    readers, writers = readers_of_table(lineage, short), writers_of_table(lineage, short)
    if entry.kind == ObjectKind.FUNCTION:
        readers = tuple(await desk.callers(short))
    hash_ = plan_hash(name, entry.revision, grants, list(mentioned), told, [*readers, "", *writers])
    shown = entry.kind, entry.revision, grants, mentioned, seen_topic, code, hash_
    return DropPlan(name, *shown, readers, writers)


async def apply(desk: CatalogDesk, planned: DropPlan) -> Dropped:
    """Drop it, and then its topic: a topic that could not be deleted stays without a table.

    Raises PlanChangedError where it is another one by now, or others read or name it, and what ``plan`` raises;
    EntryChangedError where somebody changes it at the same time, ClusterError, StoreError.
    """
    check_holds(planned.name, planned, await plan(desk, planned.name, topic=planned.topic is not None))
    await desk.change([EntryChange(planned.name, planned.revision, None)])
    if planned.topic is None:
        return Dropped(planned.name, "", planned.hash)
    cluster = desk.cluster(planned.code)
    if await exists(cluster, planned.topic.topic):
        await delete_topic(cluster, planned.topic.topic)
    return Dropped(planned.name, planned.topic.topic, planned.hash)


async def _topic(desk: CatalogDesk, found: KnownCatalog, name: str) -> tuple[TopicSeen, str]:
    table = found.objects[name]
    if not isinstance(table, Table) or table.topic is None:
        raise NoTopicToDeleteError(name, "it has none")
    if not found.entries[name].document.get(MADE_TOPIC) and not found.authority.is_admin:
        raise NoTopicToDeleteError(name, "it was there before the table, so an admin alone may delete it")
    code, topic = table.topic
    others = [one for one in found.of_topic(code, topic) if one != name]
    if others:
        raise NoTopicToDeleteError(name, f"it is that of {', '.join(others)} too")
    return await seen(desk.cluster(code), topic), code


def _mentioned(found: KnownCatalog, name: str) -> tuple[str, ...]:
    """Views and functions that have the last part of a name in their text: Spark alone knows what it means there."""
    word = re.compile(rf"\b{re.escape(name.rpartition('.')[2])}\b", re.IGNORECASE)
    return tuple(sorted(other for other, one in found.objects.items() if other != name and word.search(_text_of(one))))


def _text_of(found: CatalogObject) -> str:
    """What an object says in SQL that Spark reads; of a function after its own name."""
    if isinstance(found, Function):
        return found.statement.partition("(")[2]
    return found.query if isinstance(found, View) else ""
