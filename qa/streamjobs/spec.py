"""What a job process is to run, as a file; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any


class Kind(StrEnum):
    """Queries over flights, whose final result hangs on their input alone, however it is cut into batches.

    ``windows``: counts in windows of event time, written once a window is over.  ``join``: flights with the weather of
    their hour, or with none.  ``distinct``: one row for each hour, airport and carrier.  ``timers``: a Python
    processor with state and timers by carrier and day.  ``counts``: a running count of each route, rewritten as it
    grows.  ``twice``: windows over one source that is used in two branches of the plan.
    """

    WINDOWS = "windows"
    JOIN = "join"
    DISTINCT = "distinct"
    TIMERS = "timers"
    COUNTS = "counts"
    TWICE = "twice"


class Store(StrEnum):
    """Where state is kept: in memory with deltas in files, RocksDB, or RocksDB with a changelog."""

    DEFAULT = "default"
    ROCKSDB = "rocksdb"
    CHANGELOG = "changelog"


class Sink(StrEnum):
    """Where results go; ``batches`` is a function for each batch that overwrites the batch's own directory."""

    DELTA = "delta"
    ICEBERG = "iceberg"
    FILES = "files"
    BATCHES = "batches"


class Trigger(StrEnum):
    """``following``: until it is stopped; ``available``: to the end of the log; ``once``: one batch, the one begun."""

    FOLLOWING = "following"
    AVAILABLE = "available"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class Reading:
    """A Kafka source; ``topics`` are joined by commas, or a ``pattern``; ``per_batch`` offsets at most in a batch."""

    servers: str
    topics: str = ""
    pattern: str = ""
    per_batch: int = 500


@dataclass(frozen=True, slots=True)
class QuerySpec:
    """One query.  ``flights`` are several sources where it was split.

    ``hold``: where the sink is ``batches``, the function stays for ever behind the writing of that batch, and tells it
    by a file ``<output>.held``.
    """

    name: str
    kind: Kind
    store: Store
    sink: Sink
    flights: tuple[Reading, ...]
    weather: Reading | None
    checkpoint: str
    output: str
    trigger: Trigger = Trigger.AVAILABLE
    hold: int | None = None

    @property
    def held(self) -> Path:
        """The file that tells that the function is held."""
        return Path(f"{self.output}.held")

    def per_batch(self, flights: int, weather: int) -> QuerySpec:
        """The same with other limits."""
        return replace(
            self,
            flights=tuple(replace(one, per_batch=flights) for one in self.flights),
            weather=None if self.weather is None else replace(self.weather, per_batch=weather),
        )


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What one process runs; ``results`` is the directory of what it tells, ``dump`` whether of sinks and state too.

    ``then`` are queries that begin when the others have ended: one process does not run two of one id at a time.
    """

    queries: tuple[QuerySpec, ...]
    results: str
    warehouse: str
    dump: bool = False
    then: tuple[QuerySpec, ...] = ()

    def to_json(self) -> str:
        """As a file holds it."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> JobSpec:
        """Read back what ``to_json`` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, **{name: tuple(map(_query, fields[name])) for name in ("queries", "then")}})


def _query(fields: Mapping[str, Any]) -> QuerySpec:
    return QuerySpec(
        **{
            **fields,
            "kind": Kind(fields["kind"]),
            "store": Store(fields["store"]),
            "sink": Sink(fields["sink"]),
            "trigger": Trigger(fields["trigger"]),
            "flights": tuple(Reading(**one) for one in fields["flights"]),
            "weather": None if fields["weather"] is None else Reading(**fields["weather"]),
        }
    )
