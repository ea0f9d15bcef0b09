"""A rewrite of a checkpoint as data: what was asked for, what it would do, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.checkpoints.job import Format
from anabranch.checkpoints.plan import Change, Wish
from anabranch.checkpoints.reports import FileChange
from anabranch.model.plans import REQUEST
from anabranch.model.reasons import Reason
from anabranch.operations.checkpoints.asked import Asked


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """Which checkpoint is rewritten, and how.

    ``to`` is the new place, None for in place with a backup.  ``stopped`` says that the job is stopped, although it
    has written lately.  ``finished`` is the batch that was finished on the old cluster just before.
    """

    place: str
    wish: Wish
    asked: Asked
    to: str | None = None
    stopped: bool = False
    finished: int | None = None


@dataclass(frozen=True, slots=True)
class RewritePlan:
    """What a rewrite would do; ``hash`` is of all that it rests on.

    ``repeated`` and ``skipped`` are what a naive move would do in all, ``uncounted`` the positions where nobody can
    count, because the old offset is not even in the target's log.  ``names`` are what people know the sources by.
    """

    request: RewriteRequest = field(metadata=REQUEST)
    place: str
    format: Format
    number: int
    route: str
    hash: str
    changes: tuple[Change, ...]
    refusals: tuple[Reason, ...]
    notes: tuple[str, ...]
    files: tuple[FileChange, ...]
    untouched: tuple[str, ...]
    repeated: int
    skipped: int
    uncounted: int
    newest_write_ms: int
    read_at_ms: int
    names: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def empty(self) -> bool:
        """Whether it would write nothing: it is refused, or all is as it should be."""
        return bool(self.refusals) or not (self.files or self.request.to)


@dataclass(frozen=True, slots=True)
class RewriteReport:
    """A plan that was applied at ``place``; ``undo`` is the backup's id, None where another place was written."""

    plan: RewritePlan
    place: str
    undo: str | None = None
    took_ms: int = 0
    notes: tuple[str, ...] = ()
