"""The events of a run, a line each on standard error; what Spark, its JVM and its workers say goes elsewhere."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from anabranch.errors import AnabranchError
from anabranch.model.clock import now_ms
from anabranch.model.runevents import LogFormat, RunEvent, RunEventKind


def keep_apart(log: Path | None) -> TextIO:
    """Standard error for events alone; all else that this process and its children print goes to ``log``.

    By the descriptors, since a JVM and the workers inherit those. Without ``log`` everything stays as it is.
    """
    if log is None:
        return sys.stderr
    events = os.fdopen(os.dup(2), "w", encoding="utf-8")
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)
    return events


@dataclass(frozen=True, slots=True)
class EventLog:
    """Writes events of one run of a link; a reader who is gone, or a terminal that is closed, ends no run."""

    stream: TextIO
    form: LogFormat = LogFormat.TEXT
    link: str = ""
    run: str = ""

    def of(self, link: str, run: str) -> EventLog:
        """The same for a run that is known by now."""
        return replace(self, link=link, run=run)

    def tell(self, event: RunEvent) -> None:
        """Write a line."""
        self._write(self._line(event))

    def fail(self, error: AnabranchError) -> int:
        """Tell of an error and its hint, as every verb does; returns its exit code."""
        if self.form is LogFormat.JSON:
            fields = {"error": error.message, "hint": error.hint, "exit_code": error.exit_code}
            self.tell(RunEvent(RunEventKind.FAILED, error.message, fields))
        else:
            self._write("\n".join([f"error: {error.message}", *([f"hint: {error.hint}"] if error.hint else [])]))
        return error.exit_code

    def _line(self, event: RunEvent) -> str:
        time = datetime.fromtimestamp(now_ms() / 1000, UTC)
        if self.form is LogFormat.TEXT:
            return f"{time:%Y-%m-%d %H:%M:%S}Z  {self.link}: {' '.join(event.message.split())}"
        stamp = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        head = {"time": stamp, "event": event.kind.value, "link": self.link, "run": self.run}
        return json.dumps({**head, "message": event.message, **event.fields}, ensure_ascii=False)

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            print(text, file=self.stream, flush=True)
