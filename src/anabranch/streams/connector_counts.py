"""What the queries of a stream have counted at their sources and sinks, by the events of its runs.

Invariant
    M1  what a connector does not know is None and stays so in sums; it is never 0 in place of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple


class ConnectorSide(StrEnum):
    """Whether a query reads there or writes there."""

    SOURCE = "source"
    SINK = "sink"


class ConnectorKey(NamedTuple):
    """One end of a query; ``name`` is what is read (topics, a path) or the table that is written."""

    query: str
    side: ConnectorSide
    connector: str
    name: str


@dataclass(frozen=True, slots=True)
class ConnectorCounts:
    """Totals, but for ``lag``, which is of the last micro-batch; None is not known."""

    records: int | None = None
    bytes: int | None = None
    errors: int | None = None
    retries: int | None = None
    lag: int | None = None

    def after(self, ended: ConnectorCounts) -> ConnectorCounts:
        """With what earlier runs have counted; the lag is this one's."""
        return ConnectorCounts(
            _sum(self.records, ended.records),
            _sum(self.bytes, ended.bytes),
            _sum(self.errors, ended.errors),
            _sum(self.retries, ended.retries),
            self.lag,
        )


Counts = Mapping[ConnectorKey, ConnectorCounts]


def counts_of(queries: Mapping[str, Mapping[str, Any]]) -> dict[ConnectorKey, ConnectorCounts]:
    """By the last progress of each query of a run, as its events have it."""
    return {key: counts for query, told in queries.items() for key, counts in _of_query(query, told)}


def joined(ended: Counts, running: Counts) -> dict[ConnectorKey, ConnectorCounts]:
    """Of runs that have ended, and the one that runs: what does not run has no lag."""
    found = {key: replace(counts, lag=None) for key, counts in ended.items()}
    for key, counts in running.items():
        found[key] = counts.after(found.get(key, ConnectorCounts()))
    return found


def _of_query(query: str, told: Mapping[str, Any]) -> Iterator[tuple[ConnectorKey, ConnectorCounts]]:
    for source in _objects(told.get("sources")):
        key = ConnectorKey(query, ConnectorSide.SOURCE, str(source.get("connector")), str(source.get("name", "")))
        yield key, ConnectorCounts(records=_whole(source, "records"), lag=_whole(source, "lag"))
    for sink in _objects([told.get("sink")]):
        key = ConnectorKey(query, ConnectorSide.SINK, str(told.get("connector", "")), str(told.get("table", "")))
        yield key, ConnectorCounts(*(_whole(sink, name) for name in ("records", "bytes", "errors", "retries")))


def _objects(values: Any) -> Iterable[Mapping[str, Any]]:
    return [one for one in values if isinstance(one, Mapping)] if isinstance(values, list) else ()


def _whole(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _sum(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else one + other
