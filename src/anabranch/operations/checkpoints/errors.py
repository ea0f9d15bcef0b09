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

    @property
    def message(self) -> str:
        return f"{self.path}: rewrite {self.id} has begun here and did not end"

    @property
    def hint(self) -> str:
        return f"take it back: anabranch checkpoint undo {self.path} --execute"


@dataclass(eq=False)
class UnfinishedCopyError(RefusedError):
    """A copy to this place broke off."""

    path: str

    @property
    def message(self) -> str:
        return f"{self.path}: a copy to this place has begun and did not end"

    @property
    def hint(self) -> str:
        return "run the same `anabranch checkpoint rewrite ... --to` again: it goes on where it stopped"


@dataclass(eq=False)
class JobStillWritingError(RefusedError):
    """Two listings of a checkpoint of a job that is said to be stopped differ."""

    path: str
    changed: str

    @property
    def message(self) -> str:
        return f"{self.path}: the job still writes: {self.changed} changed while it was looked at"

    @property
    def hint(self) -> str:
        return "nothing was written; stop the job for good, then plan again"


@dataclass(eq=False)
class WrittenSinceError(RefusedError):
    """The job has gone on since the rewrite: its positions of now prove nothing about the rewrite."""

    path: str
    number: int
    since: str
    names: str
    fix: str

    @property
    def message(self) -> str:
        return (
            f"{self.path}: the job has written since {self.since}: {self.names}; it is at number {self.number} now, "
            "and no longer where it was"
        )

    @property
    def hint(self) -> str:
        return self.fix


@dataclass(eq=False)
class MayRunError(RefusedError):
    """A query that may still run is not started a second time: two on one checkpoint ruin it."""

    path: str
    why: str
    fix: str

    @property
    def message(self) -> str:
        return f"{self.path}: {self.why}; the command was not started"

    @property
    def hint(self) -> str:
        return self.fix


@dataclass(eq=False)
class PathTakenError(RefusedError):
    """The new place has something in it, or is a part of the old one."""

    path: str
    why: str

    @property
    def message(self) -> str:
        return f"{self.path}: {self.why}"

    @property
    def hint(self) -> str:
        return "nothing was written; give --to a place where nothing is"


@dataclass(eq=False)
class NothingToUndoError(RefusedError):
    """No rewrite in place has left a backup here."""

    path: str

    @property
    def message(self) -> str:
        return f"{self.path}: nothing to undo: there is no backup of a rewrite in place"

    @property
    def hint(self) -> str:
        return "a rewrite with --to never changes the original: delete its new place to be rid of it"


@dataclass(eq=False)
class DamagedBackupError(ProtocolError):
    """A backup that does not hold what its manifest says; nothing was written."""

    path: str
    name: str
    what: str

    @property
    def message(self) -> str:
        return f"{self.path}: {self.name}: {self.what}"

    @property
    def hint(self) -> str:
        return "nothing was written; take the checkpoint from a backup of your own, or an older one of the job"


@dataclass(eq=False)
class WrittenOtherwiseError(ProtocolError):
    """A file that was written reads back otherwise."""

    path: str
    name: str

    @property
    def message(self) -> str:
        return f"{self.path}: {self.name} reads back otherwise than it was written"

    @property
    def hint(self) -> str:
        return "somebody else writes there; take it back: `anabranch checkpoint undo`"


@dataclass(eq=False)
class NotFinishedError(RefusedError):
    """The operator's command has not brought the batch to its end."""

    path: str
    batch: int
    why: str

    @property
    def message(self) -> str:
        return f"{self.path}: batch {self.batch} is still not committed: {self.why}"

    @property
    def hint(self) -> str:
        return "nothing was written; the command must run the query once on the old cluster, as trigger(once=True) does"
