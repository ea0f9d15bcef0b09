"""Undo the newest rewrite in place, byte for byte: planned first, applied only as it was planned."""

from __future__ import annotations

from functools import partial

from anabranch.checkpoints.reports import UndoRewritePlan, UndoRewriteReport
from anabranch.operations.checkpoints import undoing
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.checkpoints.paths import files_at


async def plan(path: str) -> UndoRewritePlan:
    """What would be put back, with every reason against it.

    Raises NothingToUndoError, DamagedBackupError, StorageError.
    """
    return await in_thread(partial(undoing.plan, files_at(path)))


async def apply(planned: UndoRewritePlan) -> UndoRewriteReport:
    """Put it back.

    Raises PlanChangedError where the plan is another one by now, PlanRefusedError where something forbids it,
    InUseError, and what planning raises; then nothing was written.
    """
    return await in_thread(partial(undoing.take_back, files_at(planned.path), planned))
