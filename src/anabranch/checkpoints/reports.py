"""What the operations return, as values: programs read the same fields that people see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.checkpoints.job import CheckpointFormat, Page
from anabranch.checkpoints.position import Position
from anabranch.model.reasons import Reason
from anabranch.model.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a partition's position is behind its log; None if the log cannot be read, for ``why``."""

    source: str
    partition: TopicPartition
    start: int | None
    end: int | None
    records: int | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Inspection:
    """A checkpoint as it is; ``lags`` are against ``cluster``, where one was named.

    ``unfinished`` is the id of a rewrite that broke off, ``backups`` those that can be undone, the newest last.
    ``copied`` are the rewrites that made this path from another one.
    """

    path: str
    page: Page
    newest_write_ms: int
    read_at_ms: int
    cluster: str | None = None
    lags: tuple[Lag, ...] = ()
    unfinished: str | None = None
    backups: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()


class FileEffect(StrEnum):
    """What becomes of a file."""

    CHANGE = "change"
    ADD = "add"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a plan; sizes in bytes, None where there is none."""

    path: str
    effect: FileEffect
    old_bytes: int | None
    new_bytes: int | None


@dataclass(frozen=True, slots=True)
class Proof:
    """One position of the result. ``old`` is the position before, None if not known.

    ``problem`` is why it is wrong, empty if it is right.
    """

    new: Position
    old: Position | None
    start: int | None
    end: int | None
    problem: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """The result, read again on its own; sound where no position has a problem and ``problems`` is empty.

    ``was`` is what it was compared with; ``changed`` are the files that differ from it.
    """

    path: str
    format: CheckpointFormat
    number: int
    was: str | None
    proofs: tuple[Proof, ...]
    problems: tuple[str, ...]
    changed: tuple[str, ...]
    notes: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def sound(self) -> bool:
        """Whether all of it is as it must be."""
        return not self.problems and not any(one.problem for one in self.proofs)


@dataclass(frozen=True, slots=True)
class UndoRewritePlan:
    """What undoing a rewrite in place would do; ``finished`` is False for one that broke off."""

    path: str
    id: str
    at_ms: int
    finished: bool
    files: tuple[FileChange, ...]
    refusals: tuple[Reason, ...]
    hash: str


@dataclass(frozen=True, slots=True)
class UndoRewriteReport:
    """A rewrite that was undone: the checkpoint is as it was before."""

    plan: UndoRewritePlan
