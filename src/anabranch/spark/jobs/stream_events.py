"""Writes the events of a stream's job, a line of JSON each, on what was standard output when the job began.

Where they cannot be written (a disk is full) those that come once are tried again before the next one, and at the end
for some seconds; why the job failed is in its log, too.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, TextIO

from pyspark.sql import Row

from anabranch.config.streamspec import StreamRunSpec
from anabranch.errors import AnabranchError
from anabranch.model.clock import now_ms
from anabranch.streams.errors import ScriptError
from anabranch.streams.events import StreamEventKind

_OFTEN = frozenset({StreamEventKind.PROGRESS, StreamEventKind.COUNTS, StreamEventKind.ROWS})
"""Events that another one of their kind makes up for."""
LAST_TRIES, LAST_WAIT_S = 5, 0.5


def take_output(log: Path | None) -> TextIO:
    """Standard output for events alone: what others print there goes to standard error, or all of it to ``log``.

    By the descriptors, since a JVM and the workers inherit those.
    """
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    if log is None:
        os.dup2(2, 1)
        return events
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)
    return events


class EventLines(Protocol):
    """What takes the lines of events."""

    def write(self, text: str, /) -> int:
        """Append."""

    def flush(self) -> None:
        """Have them written."""


@dataclass(frozen=True, slots=True)
class StreamEvents:
    """Events of one run, from any thread; a reader who is gone ends no run."""

    stream: EventLines
    spec: StreamRunSpec | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _unwritten: list[str] = field(default_factory=list, repr=False, compare=False)

    def tell(self, kind: StreamEventKind, **fields: Any) -> None:
        """Write a line, after those that could not be written before."""
        stamp = datetime.fromtimestamp(now_ms() / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        head: dict[str, Any] = {"event": kind.value, "time": stamp}
        if (spec := self.spec) is not None:
            head |= {"stream": spec.stream, "version": spec.version, "run": spec.run, "fence": spec.fence}
        text = json.dumps({**head, **fields}, ensure_ascii=False, default=str)
        with self._lock:
            if kind not in _OFTEN:
                self._unwritten.append(text)
            for attempt in range(LAST_TRIES if kind is StreamEventKind.ENDED else 1):
                time.sleep(LAST_WAIT_S if attempt else 0)
                if self._write_all():
                    break
            else:
                return
            if kind in _OFTEN:
                self._write(text)

    def fail(self, error: AnabranchError, **fields: Any) -> int:
        """Tell of an error; returns its exit code."""
        condition: str = getattr(error, "condition", "") or type(error).__name__
        said = {"error": error.message, "hint": error.hint, "exit_code": error.exit_code, "condition": condition}
        if isinstance(error, ScriptError):
            place = {"statement": error.number, "line": error.line, "column": error.column, "excerpt": error.excerpt}
            said |= place
        self.tell(StreamEventKind.FAILED, **said, **fields)
        if self._unwritten:
            with suppress(OSError, ValueError):
                print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr, flush=True)
        return error.exit_code

    def _write_all(self) -> bool:
        """Write those that wait, in order; whether none waits any more."""
        while self._unwritten:
            if not self._write(self._unwritten[0]):
                return False
            del self._unwritten[0]
        return True

    def _write(self, text: str) -> bool:
        """Whether it is written, or nobody will ever read it."""
        try:
            self.stream.write(text + "\n")
            self.stream.flush()
        except BrokenPipeError:
            return True
        except OSError:
            return False
        except ValueError:  # it was closed
            return True
        return True


def shown(value: Any) -> Any:
    """A value of a row as JSON has it."""
    if isinstance(value, datetime):
        moment = value.astimezone(UTC) if value.tzinfo is None else value
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, Row):
        return {name: shown(one) for name, one in zip(value.__fields__, value, strict=True)}
    if isinstance(value, dict):
        return {str(shown(name)): shown(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [shown(one) for one in value]
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, date | timedelta | Decimal):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
