"""Lineage as run events of OpenLineage 2-0-2: plain dicts, ready to be written as JSON.

An event has the inputs and outputs of one INSERT, each with a ``schema`` facet, the output with a ``columnLineage``
facet (1-2-0): ``fields`` has what makes each column, ``dataset`` what decides on whole rows.

Invariants
    L12  each edge is one transformation of the facet, and each transformation one edge.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from anabranch.streams.lineage.edges import Edge, InsertLineage
from anabranch.streams.lineage.values import LineageKind

NAMESPACE = "anabranch"
PRODUCER = "urn:x-anabranch:streams"
_SPEC = "https://openlineage.io/spec"
EVENT_SCHEMA = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
SCHEMA_FACET = f"{_SPEC}/facets/1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet"
LINEAGE_FACET = f"{_SPEC}/facets/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet"

ERROR_FACET = f"{_SPEC}/facets/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet"


class RunEventType(StrEnum):
    """What became of a run."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    ABORT = "ABORT"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class LineageDataset:
    """What the world calls a table: a namespace, such as ``kafka://CODE``, and a name there, such as the topic's.

    ``types`` are those of its columns where they are known.
    """

    namespace: str
    name: str
    types: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LineageRun:
    """A run of a stream's query: ``time`` in ISO 8601 with its zone, ``run_id`` a UUID; ``error`` is why it failed."""

    type: RunEventType
    time: str
    run_id: str
    namespace: str
    job: str
    error: str = ""


def lineage_run(type: RunEventType, time: str, stream: str, run: str, number: int, error: str = "") -> LineageRun:
    """The run of a query of a stream: its id is the same wherever it is told, of a run's id and the INSERT's number."""
    run_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{run}/{number}"))
    return LineageRun(type, time, run_id, NAMESPACE, f"{stream}.{number}", error)


def run_event(run: LineageRun, insert: InsertLineage, datasets: Mapping[str, LineageDataset]) -> dict[str, Any]:
    """The event of one INSERT; a table that ``datasets`` lacks is named by itself in the job's namespace."""

    def known(table: str) -> LineageDataset:
        return datasets.get(table) or LineageDataset(run.namespace, table)

    target = known(insert.target)
    facets = {"schema": _schema(target, insert.columns), "columnLineage": _lineage(insert, known)}
    sources = ((known(table), columns) for table, columns in insert.sources.items())
    return {
        "eventType": run.type.value,
        "eventTime": run.time,
        "producer": PRODUCER,
        "schemaURL": EVENT_SCHEMA,
        "run": {"runId": run.run_id, "facets": {"errorMessage": _error(run.error)} if run.error else {}},
        "job": {"namespace": run.namespace, "name": run.job, "facets": {}},
        "inputs": [_dataset(dataset, {"schema": _schema(dataset, columns)}) for dataset, columns in sources],
        "outputs": [_dataset(target, facets)],
    }


def _dataset(dataset: LineageDataset, facets: Mapping[str, Any]) -> dict[str, Any]:
    return {"namespace": dataset.namespace, "name": dataset.name, "facets": dict(facets)}


def _facet(schema: str) -> dict[str, Any]:
    return {"_producer": PRODUCER, "_schemaURL": schema}


def _error(message: str) -> dict[str, Any]:
    return {**_facet(ERROR_FACET), "message": message, "programmingLanguage": "SQL"}


def _schema(dataset: LineageDataset, columns: Iterable[str]) -> dict[str, Any]:
    fields = []
    for at, name in enumerate(columns, 1):
        found: dict[str, Any] = {"name": name, "ordinal_position": at}
        if kind := dataset.types.get(name):
            found["type"] = kind
        fields.append(found)
    return {**_facet(SCHEMA_FACET), "fields": fields}


def _lineage(insert: InsertLineage, known: Callable[[str], LineageDataset]) -> dict[str, Any]:
    def of(column: str | None) -> list[dict[str, Any]]:
        return _inputs((one for one in insert.edges if one.target_column == column), known)

    fields = {name: {"inputFields": inputs} for name in insert.columns if (inputs := of(name))}
    rows = of(None)
    return {**_facet(LINEAGE_FACET), "fields": fields, **({"dataset": rows} if rows else {})}


def _inputs(edges: Iterable[Edge], known: Callable[[str], LineageDataset]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for edge in edges:
        dataset = known(edge.source_table)
        column = ".".join((edge.source_column, *edge.path))
        start = {"namespace": dataset.namespace, "name": dataset.name, "field": column, "transformations": []}
        found.setdefault((edge.source_table, column), start)["transformations"].append(_transformation(edge.kind))
    return list(found.values())


def _transformation(kind: LineageKind) -> dict[str, Any]:
    """OpenLineage has no word for watermarks: rows that come too late are left out, as by a filter."""
    subtype = LineageKind.FILTER if kind is LineageKind.WATERMARK else kind
    found = {"type": "DIRECT" if kind.is_direct else "INDIRECT", "subtype": subtype.name}
    return {**found, "description": "watermark"} if kind is LineageKind.WATERMARK else found
