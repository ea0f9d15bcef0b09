"""What the job of a stream tells while it runs; docs/reference/stream-events.md has the fields of each event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class StreamEventKind(StrEnum):
    """The values of the field ``event``."""

    STARTING = "starting"
    TRIED = "tried"
    STARTED = "started"
    PROGRESS = "progress"
    COUNTS = "counts"
    ROWS = "rows"
    ANALYSED = "analysed"
    LINEAGE = "lineage"
    COLUMNS = "columns"
    STOPPING = "stopping"
    FAILED = "failed"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event as it was read: its kind and all of its fields."""

    kind: StreamEventKind
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)


def read_event(line: str) -> StreamEvent | None:
    """The event of a line; None for a line that is none, or of a kind that this version does not know."""
    try:
        fields = json.loads(line)
        return StreamEvent(StreamEventKind(fields["event"]), fields)
    except (ValueError, KeyError, TypeError):
        return None
