"""What the runs of streams have counted since this instance began: those that have ended, and the one that runs.

So a counter of Prometheus does not go back where a run ends, and an error that ended it is still counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from anabranch.service.stream_live import LiveRun
from anabranch.streams.connector_counts import ConnectorCounts, ConnectorKey, Counts, counts_of, joined


class StreamTotals:
    """Of all streams whose runs this instance looks after."""

    def __init__(self) -> None:
        self._ended: dict[str, Counts] = {}
        self._failures: Counter[tuple[str, str]] = Counter()

    def end(self, stream: str, live: LiveRun) -> None:
        """A run is over: all that it has told was read."""
        self._ended[stream] = joined(self._ended.get(stream, {}), counts_of(live.queries))

    def fail(self, stream: str, live: LiveRun | None) -> None:
        """A run has failed: by the query that it has named, or by none."""
        failed = None if live is None else live.failed
        self._failures[stream, str((failed or {}).get("query") or "")] += 1

    def counts(self, stream: str, live: LiveRun | None) -> dict[ConnectorKey, ConnectorCounts]:
        """Of a stream's connectors, with those of its open run."""
        return joined(self._ended.get(stream, {}), {} if live is None else counts_of(live.queries))

    def failures(self, stream: str) -> dict[str, int]:
        """How many runs have failed, by query; empty for those that no query is known to have failed."""
        return {query: count for (name, query), count in self._failures.items() if name == stream}

    def keep(self, streams: Collection[str]) -> None:
        """Forget the streams that are no more."""
        for gone in self._ended.keys() - set(streams):
            del self._ended[gone]
        for key in [one for one in self._failures if one[0] not in streams]:
            del self._failures[key]
