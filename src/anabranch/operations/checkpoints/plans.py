"""A rewrite of a checkpoint as data: the request, the plan, and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.checkpoints.job import CheckpointFormat
from anabranch.checkpoints.plan import PositionChange, RewriteSpec
from anabranch.checkpoints.reports import FileChange
from anabranch.model.plans import REQUEST
from anabranch.model.reasons import Reason
from anabranch.operations.checkpoints.translation_source import TranslationSource


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """Which checkpoint is rewritten, and how.

    ``to`` is the new path, None for in place with a backup.  ``stopped`` says that the job is stopped, although it
    has written lately.  ``finished`` is the batch that was finished on the old cluster just before.
    """

    path: str
    spec: RewriteSpec
    translation: TranslationSource
    to: str | None = None
    stopped: bool = False
    finished: int | None = None


@dataclass(frozen=True, slots=True)
class RewritePlan:
    """What a rewrite would do; ``hash`` covers all that it was made from.

    ``repeated`` and ``skipped`` are what an unmodified restart would do in all.  ``uncounted`` are the positions where
    this is not known, because the old offset is not in the target's log.  ``names`` are the sources' readable names.
    """

    request: RewriteRequest = field(metadata=REQUEST)
    path: str
    format: CheckpointFormat
    number: int
    route: str
    hash: str
    changes: tuple[PositionChange, ...]
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
    """A plan that was applied at ``path``; ``undo`` is the backup's id, None if another path was written."""

    plan: RewritePlan
    path: str
    undo: str | None = None
    took_ms: int = 0
    notes: tuple[str, ...] = ()
