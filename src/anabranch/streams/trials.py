"""A trial of a script: one look at it, as a validation or a preview, that leaves nothing behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from anabranch.streams.artifacts.values import ArtifactPin
from anabranch.streams.grants import DeniedError


class TrialKind(StrEnum):
    """What is looked at: whether a script can be run, rows of one of its SELECTs, whether it goes on with the
    checkpoints of its stream; or, without a script, which tables catalogs of Spark's own have.
    """

    VALIDATION = "validation"
    PREVIEW = "preview"
    CHECKPOINTS = "checkpoints"
    TABLES = "tables"

    @property
    def has_script(self) -> bool:
        """Whether a script is looked at."""
        return self is not TrialKind.TABLES


class TrialState(StrEnum):
    """How far a trial has come; ``running`` is only a preview, once it reads."""

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self in (TrialState.FINISHED, TrialState.FAILED, TrialState.STOPPED)


class TrialLimit(StrEnum):
    """Which of its limits has ended a preview whose rows are right: there may be more."""

    ROWS = "rows"
    BYTES = "bytes"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class TrialQuestion:
    """What is asked: a script, and where it is that of a saved stream its name and version.

    The rest is a preview's: ``select`` is a statement's number, 0 for the first that has rows; ``start`` a position in
    Kafka tables, None for what each table says; ``rows`` and ``seconds`` are its limits.  ``artifacts`` are what its
    functions come from; ``author`` saved it, empty for a text of who asks.  ``checkpoints`` is where those of the
    stream are, and ``launcher`` the one that runs it, where these are looked at; or whose catalogs are, empty for the
    service's own.
    """

    kind: TrialKind
    script: str
    stream: str = ""
    version: int | None = None
    select: int = 0
    start: str | None = None
    rows: int = 100
    seconds: float = 60.0
    artifacts: tuple[ArtifactPin, ...] = ()
    author: str = ""
    checkpoints: str = ""
    launcher: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """What its answer depends on: that of a validation on no name, so that what was validated may be saved."""
        if self.kind is TrialKind.VALIDATION:
            return self.kind, self.script
        named = self.stream, self.version, self.checkpoints, self.launcher
        return self.kind, self.script, *named, self.select, self.start, self.rows, self.seconds

    @property
    def subject(self) -> str:
        """What it is about, as the audit has it."""
        if not self.kind.has_script:
            return "catalogs of Spark's own"
        if not self.stream:
            return "a script"
        return f"stream {self.stream}" + (f" version {self.version}" if self.version is not None else " (a draft)")


@dataclass(frozen=True, slots=True)
class ScriptProblem:
    """What is wrong, as the event ``failed`` has it; ``statement`` is None where it is not a script's error.

    ``line`` and ``column`` count from 1, and are None where it has no place; ``excerpt`` is the line with a caret.
    """

    message: str
    hint: str
    condition: str
    exit_code: int
    statement: int | None = None
    line: int | None = None
    column: int | None = None
    excerpt: str = ""

    @property
    def is_of_script(self) -> bool:
        """Whether the script is wrong, and not what was to look at it."""
        return self.statement is not None

    @property
    def is_denied(self) -> bool:
        """Whether no grant allows what the script uses."""
        return self.condition == DeniedError.__name__

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> ScriptProblem:
        """The event ``failed``."""
        statement = fields.get("statement")
        return cls(
            str(fields.get("error", "")),
            str(fields.get("hint") or ""),
            str(fields.get("condition", "")),
            int(fields.get("exit_code") or 1),
            None if statement is None else int(statement),
            int(fields.get("line") or 0) or None,
            int(fields.get("column") or 0) or None,
            str(fields.get("excerpt") or ""),
        )
