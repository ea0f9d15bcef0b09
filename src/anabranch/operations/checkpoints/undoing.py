"""Undo a rewrite in place, byte for byte: a finished one, and one that broke off at any moment.

Every file must hold its old bytes or its new ones, or be missing, and nothing beside them may be newer than the
rewrite: what an engine has written since rests on the new positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from anabranch.checkpoints.reports import FileChange, FileEffect, UndoRewritePlan, UndoRewriteReport
from anabranch.model.plans import check_holds, plan_hash
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.operations.checkpoints.errors import (
    DamagedBackupError,
    NothingToUndoError,
    PlanRefusedError,
    WrittenOtherwiseError,
)
from anabranch.operations.checkpoints.manifest import (
    HIDDEN,
    Manifest,
    RewriteState,
    SavedFile,
    manifests,
    some,
    written_since,
)
from anabranch.storage.files import StoredFiles

_LARGEST = 1 << 30


def plan(files: StoredFiles) -> UndoRewritePlan:
    """What taking the newest rewrite back would do; raises NothingToUndoError, DamagedBackupError, StorageError."""
    return _plan(files, _newest(files))


def take_back(files: StoredFiles, planned: UndoRewritePlan) -> UndoRewriteReport:
    """Do it; raises PlanChangedError, PlanRefusedError, InUseError and what planning raises before anything is done."""
    with files.alone():
        newest = _newest(files)
        now = _plan(files, newest)
        check_holds(files.root, planned, now, f"anabranch checkpoint undo {files.root}")
        if now.refusals:
            raise PlanRefusedError(files.root, now.refusals, now)
        restore(files, newest)
    return UndoRewriteReport(now)


def _newest(files: StoredFiles) -> Manifest:
    found = [one for one in manifests(files) if one.state is not RewriteState.COPIED]
    if not found:
        raise NothingToUndoError(files.root)
    return found[-1]


def _plan(files: StoredFiles, newest: Manifest) -> UndoRewritePlan:
    now = {one.path: files.digest(one.path) for one in newest.files}
    changes = tuple(_changes(files, newest))
    refusals = () if newest.state is RewriteState.UNDONE else tuple(_refusals(files, newest, now))
    return UndoRewritePlan(
        files.root,
        newest.id,
        newest.at_ms,
        newest.state is RewriteState.DONE,
        changes,
        refusals,
        plan_hash(newest.id, newest.state, now, [[one.why, one.location] for one in refusals]),
    )


def restore(files: StoredFiles, manifest: Manifest) -> None:
    """Restore every old byte, and delete the backup; raises WrittenOtherwiseError, StorageError."""
    if manifest.state is not RewriteState.UNDONE:
        for number, one in reversed(list(enumerate(manifest.files))):
            if one.old is None:
                files.delete(one.path)
            elif files.digest(one.path) != one.old:
                old = files.read(manifest.old(one.path), _LARGEST)
                files.put(one.path, old, f"{manifest.directory}/new/{number}", one.modified_ms)
        for one in manifest.files:
            if files.digest(one.path) != one.old:
                raise WrittenOtherwiseError(files.root, one.path)
        for directory in reversed(manifest.made):
            if not files.list(directory):
                files.delete_tree(directory)
        replace(manifest, state=RewriteState.UNDONE).store(files)
    for inner in ("old", "new"):  # the manifest last: until then this is known to be a backup that was used
        files.delete_tree(f"{manifest.directory}/{inner}")
    files.delete_tree(manifest.directory)
    if not files.list(HIDDEN):
        files.delete_tree(HIDDEN)


def _changes(files: StoredFiles, manifest: Manifest) -> Iterator[FileChange]:
    for one in manifest.files:
        now, old = files.stat(one.path), files.stat(manifest.old(one.path))
        effect = FileEffect.REMOVE if one.old is None else FileEffect.ADD if now is None else FileEffect.CHANGE
        if one.old is None and now is None:
            continue
        yield FileChange(one.path, effect, None if now is None else now.size, None if old is None else old.size)


def _refusals(files: StoredFiles, manifest: Manifest, now: Mapping[str, str | None]) -> Iterator[Reason]:
    for one in manifest.files:
        if one.old is not None and files.digest(manifest.old(one.path)) != one.old:
            raise DamagedBackupError(files.root, manifest.old(one.path), "it is not what was saved")
        yield from _altered(one, now[one.path])
    newer = written_since(files, manifest)
    if newer:
        names = some(newer)
        yield Reason(
            ReasonKind.RUNNING,
            f"the engine has written since the rewrite: {names}",
            "the job goes on from the new positions; to move it back, rewrite it the other way round",
        )


def _altered(one: SavedFile, now: str | None) -> Iterator[Reason]:
    if now is not None and now not in (one.old, one.new):
        what = f"{one.path} holds neither its old bytes nor those of the rewrite: somebody else wrote it"
        yield Reason(ReasonKind.UNKNOWN, what, "see who did; the old bytes stay in the backup", one.path)
