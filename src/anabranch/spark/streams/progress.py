"""What Spark tells of a micro-batch, as the fields of our event."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.spark.streams.sinks.port import OBSERVED, SinkCounts

_NONE_YET = "1970-01-01T00:00:00.000Z"
_SOURCE = re.compile(r"(?:[\w.]+\.)?(\w+)(?:\[(.*)\]|@[0-9a-f]+)?")
_SUBSCRIBED = re.compile(r"Subscribe\[(.*)\]")
_CONNECTORS = {
    "KafkaV2": "kafka",
    "FileStreamSource": "files",
    "RateStreamV2": "rate",
    "DeltaSource": "delta",
    "SparkMicroBatchStream": "iceberg",
}
_NAMED = frozenset({"kafka", "files", "delta"})
"""Connectors whose sources Spark names by their topics or their path, and not by their options."""


@dataclass(slots=True)
class QueryTotals:
    """Of one query since the job began; ``sunk`` is what its sink had counted with the last progress.

    ``sources`` are the records of each source, by its connector and name.  ``told`` are the rows that Spark says it
    wrote, None where it has never said; ``bytes`` those that its tasks wrote, None where nobody has looked.
    """

    batches: int = 0
    rows_in: int = 0
    rows_out: int = 0
    sunk: int = 0
    told: int | None = None
    bytes: int | None = None
    sources: dict[tuple[str, str], int] = field(default_factory=dict)

    def fields(self) -> dict[str, int]:
        """As the last event has them."""
        return {"batches": self.batches, "rows_in": self.rows_in, "rows_out": self.rows_out}


def progress_fields(query: str, told: str, totals: QueryTotals, counts: SinkCounts | None) -> dict[str, Any]:
    """The event of a progress as Spark's JSON has it, added to the totals; ``counts`` of a sink that counts itself."""
    fields = json.loads(told)
    rows_in = int(fields.get("numInputRows") or 0)
    rows_out: int | None = int((fields.get("sink") or {}).get("numOutputRows", -1))
    if counts is not None:
        rows_out, totals.sunk = counts.records - totals.sunk, counts.records
    else:
        rows_out = _written(fields) if rows_out is None or rows_out < 0 else rows_out
        if rows_out is not None:
            totals.told = (totals.told or 0) + rows_out
    states = fields.get("stateOperators") or []
    durations = fields.get("durationMs") or {}
    watermark = (fields.get("eventTime") or {}).get("watermark")
    totals.batches += "addBatch" in durations
    totals.rows_in += rows_in
    totals.rows_out += rows_out or 0
    sources = fields.get("sources") or []
    return {
        "query": query,
        "batch": fields.get("batchId"),
        "rows_in": rows_in,
        "rows_out": rows_out,
        "rows_late": sum(int(one.get("numRowsDroppedByWatermark") or 0) for one in states),
        "rows_per_second": round(float(fields.get("processedRowsPerSecond") or 0.0), 1),
        "batch_ms": int(fields.get("batchDuration") or durations.get("triggerExecution") or 0),
        "lag": lag(sources),
        "watermark": None if watermark == _NONE_YET else watermark,
        "state_rows": sum(int(one.get("numRowsTotal") or 0) for one in states),
        "sources": _sources(sources, totals),
        "sink": sink_fields(totals, counts),
    }


def _written(fields: Mapping[str, Any]) -> int | None:
    """The records that Spark has seen go by on their way to a sink of which it does not say how many it took."""
    seen = (fields.get("observedMetrics") or {}).get(OBSERVED)
    return None if seen is None else int(seen.get("records") or 0)


def sink_fields(totals: QueryTotals, counts: SinkCounts | None) -> dict[str, int | None]:
    """What a sink has counted since the job began; of one that does not count only what Spark knows."""
    if counts is None:
        return {"records": totals.told, "bytes": totals.bytes, "errors": None, "retries": None}
    return {"records": counts.records, "bytes": counts.bytes, "errors": counts.errors, "retries": counts.retries}


def lag(sources: list[dict[str, Any]]) -> int | None:
    """Records between what a batch ended with and what Kafka had when it was planned; None without Kafka."""
    found: int | None = None
    for source in sources:
        end, latest = source.get("endOffset"), source.get("latestOffset")
        if not isinstance(end, dict) or not isinstance(latest, dict):
            continue
        for topic, partitions in latest.items():
            read = end.get(topic)
            if isinstance(partitions, dict) and isinstance(read, dict):
                pairs = ((int(at), int(read.get(partition) or 0)) for partition, at in partitions.items())
                found = (found or 0) + sum(max(0, last - done) for last, done in pairs)
    return found


def source_name(description: str) -> tuple[str, str]:
    """Connector and name of a source as Spark describes it: ``KafkaV2[Subscribe[orders]]`` is kafka, orders."""
    match = _SOURCE.fullmatch(description)
    if match is None:
        return "other", ""
    connector = _CONNECTORS.get(match[1], match[1])
    name = (match[2] or "") if connector in _NAMED else ""
    topics = _SUBSCRIBED.fullmatch(name)
    return connector, name if topics is None else topics[1]


def _sources(sources: list[dict[str, Any]], totals: QueryTotals) -> list[Mapping[str, Any]]:
    """Each source once, also where a query reads it several times; records are since the job began."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for source in sources:
        found.setdefault(source_name(str(source.get("description") or "")), []).append(source)
    for key, parts in found.items():
        records = sum(int(one.get("numInputRows") or 0) for one in parts)
        totals.sources[key] = totals.sources.get(key, 0) + records
    return [
        {"connector": key[0], "name": key[1], "records": totals.sources[key], "lag": lag(parts)}
        for key, parts in found.items()
    ]
