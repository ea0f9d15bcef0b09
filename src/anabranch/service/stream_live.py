"""What the run of a stream tells, read from the file of its events as it grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch.operations.jobs.streamjob import events_of
from anabranch.streams.events import StreamEvent, StreamEventKind, read_event
from anabranch.streams.lines import LineTail


@dataclass(slots=True)
class LiveRun:
    """A run as its events tell it: ``queries`` has the last progress of each, ``failed`` and ``ended`` those events."""

    run: str
    stream: str
    tail: LineTail
    has_started: bool = False
    queries: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    failed: Mapping[str, Any] | None = None
    ended: Mapping[str, Any] | None = None
    told_at: str = ""
    lineage: Mapping[str, Any] | None = None
    """As its job told it."""
    is_kept: bool = False
    """Whether the store has its lineage."""

    @classmethod
    def of(cls, directory: str, run: str, stream: str = "") -> LiveRun:
        """Of a run that keeps its files in a directory."""
        return cls(run, stream, LineTail(events_of(Path(directory), run)))

    def read(self) -> bool:
        """Take in what is new; whether there was something.  Raises OSError."""
        lines = self.tail.lines()
        for line in lines:
            if (event := read_event(line)) is not None:
                self._take(event)
        return bool(lines)

    @property
    def is_finished(self) -> bool:
        """Whether its queries have read all that there was."""
        return self.ended is not None and self.ended.get("outcome") == "finished"

    @property
    def exit_code(self) -> int | None:
        """What it says that it ends with."""
        return None if self.ended is None else int(self.ended.get("exit_code", 0))

    @property
    def why(self) -> str:
        """Why it has failed, with what to do; empty where it has not said so."""
        if self.failed is None:
            return ""
        said, hint = str(self.failed.get("error", "")), str(self.failed.get("hint") or "")
        return f"{said} ({hint})" if hint else said

    def _take(self, event: StreamEvent) -> None:
        fields = event.fields
        self.told_at = str(fields.get("time", self.told_at))
        if event.kind is StreamEventKind.STARTED:
            self.has_started = True
            self.queries = {str(one["query"]): one for one in fields.get("queries", ())}
        elif event.kind in (StreamEventKind.PROGRESS, StreamEventKind.COUNTS):
            self.has_started = True  # the first lines may be in a file that is gone
            query = str(fields.get("query"))
            self.queries[query] = {**self.queries.get(query, {}), **fields}
        elif event.kind is StreamEventKind.LINEAGE:
            self.is_kept = False
            self.lineage = {name: fields[name] for name in ("inserts", "datasets") if name in fields}
        elif event.kind is StreamEventKind.FAILED:
            self.failed = fields
        elif event.kind is StreamEventKind.ENDED:
            self.ended = fields
