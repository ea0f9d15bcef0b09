"""How a Spark job ended: its last error as text, and what a verb that waited for it exits with."""

from __future__ import annotations

import json
import os
import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from anabranch.errors import AnabranchError, ProtocolError

_LOG_LINES = 5
_LOG_BYTES = 1 << 20
"""So much of a log is read, from its end."""
_KILLED = -9
FULL_BYTES = 1 << 20
"""A disk that has less room than this is full: a job could not say why it failed."""


@dataclass(eq=False)
class JobFailedError(AnabranchError):
    """A Spark job ended, or was killed, without the answer that it was started for."""

    what: str
    code: int | None
    why: str
    fix: str = ""

    @property
    def message(self) -> str:
        return f"{self.what}: {how_it_ended(self.code)}" + (f": {self.why}" if self.why else "")

    _hint = "{fix}"

    exit_code: ClassVar[int] = ProtocolError.exit_code
    """Of a job that was killed; one that ended has its own, and never 0."""

    def __post_init__(self) -> None:
        if self.code is not None and self.code > 0:
            vars(self)["exit_code"] = self.code


def not_begun(what: str, code: int | None, log: Path) -> JobFailedError:
    """The error of a job that ended before it began its work, as its log has it, or with where to read."""
    why, fix = last_error(log)
    return JobFailedError(f"{what} did not begin", code, why, fix or f"read {log}")


def how_it_ended(code: int | None) -> str:
    """An exit code of a process in words."""
    if code is None:
        return "the job has not ended"
    if code >= 0:
        return f"the job ended with {code}"
    try:
        return f"the job was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"the job was killed by signal {-code}"


def last_error(log: Path, code: int | None = None) -> tuple[str, str]:
    """The last error of a job and its hint, as its log has them; else the log's last lines, all in one.

    Whoever killed the job (``code``) left no words in its log: then only an error is one.
    """
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_BYTES))
            lines = file.read().decode("utf-8", "replace").strip().splitlines()
    except OSError as error:
        return str(error), ""
    hint = ""
    for line in reversed(lines):
        if line.startswith("hint: "):
            hint = line.removeprefix("hint: ")
        if line.startswith("error: "):
            return _one_line(line.removeprefix("error: ")), hint
        try:
            fields = json.loads(line)
            return _one_line(str(fields["error"])), str(fields.get("hint", ""))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return "" if code is not None and code < 0 else _one_line(" ".join(lines[-_LOG_LINES:])), ""


def unsaid(log: Path, code: int | None) -> str:
    """What is known of why a job ended that told nobody: what is said in its log, or that its disk is full."""
    why, hint = last_error(log, _KILLED if code is None else code)
    said = f"{why} ({hint})" if why and hint else why
    with suppress(OSError):
        free = shutil.disk_usage(log.parent).free
        if free < FULL_BYTES:
            full = f"the disk of {log.parent} is full, {free:,} bytes are free: make room, and start it again"
            said = f"{full}; {said}" if said else full
    return said


def _one_line(text: str) -> str:
    return " ".join(text.split())
