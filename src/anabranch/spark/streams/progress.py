"""What Spark tells of a micro-batch, as the fields of our event."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from anabranch.spark.streams.sinks.port import SinkCounts

_NONE_YET = "1970-01-01T00:00:00.000Z"


@dataclass(slots=True)
class QueryTotals:
    """Of one query since the job began; ``last_batch`` is the last that had rows or ended."""

    batches: int = 0
    rows_in: int = 0
    rows_out: int = 0
    sunk: int = 0

    def fields(self) -> dict[str, int]:
        """As the last event has them."""
        return {"batches": self.batches, "rows_in": self.rows_in, "rows_out": self.rows_out}


def progress_fields(query: str, told: str, totals: QueryTotals, counts: SinkCounts | None) -> dict[str, Any]:
    """The event of a progress as Spark's JSON has it, added to the totals; ``counts`` of a sink of ours."""
    fields = json.loads(told)
    rows_in = int(fields.get("numInputRows") or 0)
    rows_out: int | None = int((fields.get("sink") or {}).get("numOutputRows", -1))
    if counts is not None:
        rows_out, totals.sunk = counts.records - totals.sunk, counts.records
    elif rows_out is not None and rows_out < 0:
        rows_out = None
    states = fields.get("stateOperators") or []
    durations = fields.get("durationMs") or {}
    watermark = (fields.get("eventTime") or {}).get("watermark")
    totals.batches += "addBatch" in durations
    totals.rows_in += rows_in
    totals.rows_out += rows_out or 0
    return {
        "query": query,
        "batch": fields.get("batchId"),
        "rows_in": rows_in,
        "rows_out": rows_out,
        "rows_late": sum(int(one.get("numRowsDroppedByWatermark") or 0) for one in states),
        "rows_per_second": round(float(fields.get("processedRowsPerSecond") or 0.0), 1),
        "batch_ms": int(fields.get("batchDuration") or durations.get("triggerExecution") or 0),
        "lag": lag(fields.get("sources") or []),
        "watermark": None if watermark == _NONE_YET else watermark,
        "state_rows": sum(int(one.get("numRowsTotal") or 0) for one in states),
        "sink": counts
        and {"records": counts.records, "bytes": counts.bytes, "errors": counts.errors, "retries": counts.retries},
    }


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
