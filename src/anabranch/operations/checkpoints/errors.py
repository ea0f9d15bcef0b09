"""Why a verb about checkpoints ends without having done it."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.checkpoints.reports import UndoRewritePlan
from anabranch.errors import ProtocolError, RefusedError
from anabranch.model.reasons import Reason
from anabranch.operations.checkpoints.plans import RewritePlan


@dataclass(eq=False)
class PlanRefusedError(RefusedError):
    """A plan with reasons against it is never applied; nothing was written."""

    path: str
    refusals: tuple[Reason, ...]
    plan: RewritePlan | UndoRewritePlan

    @property
    def message(self) -> str:
        more = f", and {len(self.refusals) - 1:,} more" if len(self.refusals) > 1 else ""
        return f"{self.path}: {self.refusals[0].what}{more}"

    @property
    def hint(self) -> str:
        return self.refusals[0].fix


@dataclass(eq=False)
class UnfinishedRewriteError(RefusedError):
    """A rewrite has begun here and broke off, so that the checkpoint is neither the old one nor the new one."""

    path: str
    id: str

    _message = "{path}: rewrite {id} has begun here and did not end"
    _hint = "take it back: anabranch checkpoint undo {path} --execute"


@dataclass(eq=False)
class UnfinishedCopyError(RefusedError):
    """A copy to this place broke off."""

    path: str

    _message = "{path}: a copy to this place has begun and did not end"
    _hint = "run the same `anabranch checkpoint rewrite ... --to` again: it goes on where it stopped"


@dataclass(eq=False)
class JobStillWritingError(RefusedError):
    """Two listings of a checkpoint of a job that is said to be stopped differ."""

    path: str
    changed: str

    _message = "{path}: the job still writes: {changed} changed while it was looked at"
    _hint = "nothing was written; stop the job for good, then plan again"


@dataclass(eq=False)
class WrittenSinceError(RefusedError):
    """The job has gone on since the rewrite: its positions of now prove nothing about the rewrite."""

    path: str
    number: int
    since: str
    names: str
    fix: str

    _message = (
        "{path}: the job has written since {since}: {names}; it is at number {number} now, and no longer where it was"
    )
    _hint = "{fix}"


@dataclass(eq=False)
class MayRunError(RefusedError):
    """A query that may still run is not started a second time: two on one checkpoint ruin it."""

    path: str
    why: str
    fix: str

    _message = "{path}: {why}; the command was not started"
    _hint = "{fix}"


@dataclass(eq=False)
class PathTakenError(RefusedError):
    """The new place has something in it, or is a part of the old one."""

    path: str
    why: str

    _message = "{path}: {why}"
    _hint = "nothing was written; give --to a place where nothing is"


@dataclass(eq=False)
class NothingToUndoError(RefusedError):
    """No rewrite in place has left a backup here."""

    path: str

    _message = "{path}: nothing to undo: there is no backup of a rewrite in place"
    _hint = "a rewrite with --to never changes the original: delete its new place to be rid of it"


@dataclass(eq=False)
class DamagedBackupError(ProtocolError):
    """A backup that does not hold what its manifest says; nothing was written."""

    path: str
    name: str
    what: str

    _message = "{path}: {name}: {what}"
    _hint = "nothing was written; take the checkpoint from a backup of your own, or an older one of the job"


@dataclass(eq=False)
class WrittenOtherwiseError(ProtocolError):
    """A file that was written reads back otherwise."""

    path: str
    name: str

    _message = "{path}: {name} reads back otherwise than it was written"
    _hint = "somebody else writes there; take it back: `anabranch checkpoint undo`"


@dataclass(eq=False)
class NotFinishedError(RefusedError):
    """The operator's command has not brought the batch to its end."""

    path: str
    batch: int
    why: str

    _message = "{path}: batch {batch} is still not committed: {why}"
    _hint = "nothing was written; the command must run the query once on the old cluster, as trigger(once=True) does"
