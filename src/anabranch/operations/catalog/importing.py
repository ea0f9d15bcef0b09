"""Import topics as tables: their columns are inferred from samples, and shown before anything is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from anabranch.errors import RefusedError
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.operations.catalog import define
from anabranch.operations.catalog.define import Defined, DefinePlan
from anabranch.operations.catalog.desk import CatalogDesk
from anabranch.operations.catalog.topics import samples
from anabranch.streams.catalog.ddl import Definition
from anabranch.streams.catalog.names import ObjectName, name_of_topic
from anabranch.streams.catalog.objects import Table
from anabranch.streams.inference import SAMPLES, infer
from anabranch.streams.tables import Column, TableDeclaration


@dataclass(frozen=True, slots=True)
class ImportedTable:
    """A table that a topic becomes: ``fit`` of its ``samples`` are JSON objects, ``notes`` say what to look at."""

    name: str
    topic: str
    columns: tuple[Column, ...]
    samples: int
    fit: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """Tables that are made; the hash covers their columns, not the records that happened to be sampled."""

    tables: tuple[ImportedTable, ...]
    hash: str
    defined: DefinePlan = field(metadata=REQUEST)


@dataclass(eq=False)
class NothingInferredError(RefusedError):
    """No column can be inferred of a topic."""

    topic: str
    why: str

    _message = "no column of topic {topic} can be inferred: {why}"
    _hint = "define its table: `anabranch catalog create FILE.sql`"


async def plan(desk: CatalogDesk, code: str, topics: Sequence[str], database: str, most: int = SAMPLES) -> ImportPlan:
    """Sample topics of a cluster code and plan their tables in a database, as ``catalog.database``.

    Raises NothingInferredError, TopicNotThereError, ExistsError, DeniedError, NoDatabaseError, ClusterError,
    StoreError.
    """
    tables: list[ImportedTable] = []
    definitions: list[Definition] = []
    catalog, _, inside = database.partition(".")
    for topic in topics:
        name = ObjectName(catalog, inside, name_of_topic(topic))
        declared = TableDeclaration(str(name), "kafka", (), {"cluster": code, "topic": topic, "format": "json"})
        # Before anything is read: who may not define it sees nothing of its records.
        await define.plan(desk, [Definition(Table(name, declared), 0)])
        found = infer(await samples(desk.cluster(code), topic, most))
        if not found.columns:
            why = f"of {found.samples} samples {found.fit} are JSON objects" if found.samples else "it has no records"
            raise NothingInferredError(topic, why)
        declaration = TableDeclaration(declared.name, "kafka", found.columns, declared.options)
        definitions.append(Definition(Table(name, declaration, f"imported from topic {topic}"), 0))
        tables.append(ImportedTable(str(name), topic, found.columns, found.samples, found.fit, found.notes))
    defined = await define.plan(desk, definitions)
    return ImportPlan(tuple(tables), plan_hash(defined.hash), defined)


async def apply(desk: CatalogDesk, planned: ImportPlan) -> Defined:
    """Keep the tables; raises what ``define.apply`` raises, which plans them again.

    Nothing is sampled again: what is kept are the columns that were shown.
    """
    return await define.apply(desk, planned.defined)
