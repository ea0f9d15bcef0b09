"""The directories of a rehearsal, beside checkpoints: told from what somebody else has put there, and removed.

    rehearsal.MIGRATION.JOB/rehearsal.json    whose it is; written first, and deleted last
    rehearsal.MIGRATION.JOB/checkpoint        the copy of the job's checkpoint
    rehearsal.MIGRATION.JOB/moved             where the switch puts it, for a job whose checkpoint goes to a new path

Invariant
    M11 also of files: nothing is deleted outside of a directory with that marker, nor what else is in one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.migration.rehearsal import CHECKPOINT, MOVED, Rehearsal, ScratchJob
from anabranch.storage.files import StoredFiles
from anabranch.storage.opening import open_files

MARKER = "rehearsal.json"
_NEXT = "rehearsal.next"
_LIMIT = 1 << 16
_OURS = frozenset({MARKER, _NEXT, CHECKPOINT, MOVED})
_STAGED = (f".{CHECKPOINT}.anabranch-", f".{MOVED}.anabranch-")
"""How names begin of what is made before it is put to one of the two."""


@dataclass(eq=False)
class ForeignDirectoryError(RefusedError):
    """A directory has the name of one that a rehearsal makes, and was not made by one: it would be deleted."""

    path: str
    why: str

    _message = "{path} was not made by a rehearsal: {why}"
    _hint = "see whose it is, and delete it by hand if nobody needs it; a rehearsal would delete it"


def refuse_foreign_files(planned: Rehearsal) -> None:
    """Raise ForeignDirectoryError for a directory of a rehearsal's name that no rehearsal made, and StorageError."""
    for job, tree in _trees(planned):
        why = _foreign(tree, _mark(planned, job))
        if why:
            raise ForeignDirectoryError(tree.root, why)


def mark_files(planned: Rehearsal, job: ScratchJob) -> None:
    """Make a job's directories, each with its marker; raises StorageError."""
    for directory in job.directories:
        open_files(directory).put(MARKER, _mark(planned, job), via=_NEXT)


def clean_files(planned: Rehearsal) -> None:
    """Delete what a rehearsal has made, also in part; what is foreign stays.  Raises StorageError."""
    for job, tree in _trees(planned):
        if _foreign(tree, _mark(planned, job)):
            continue
        for entry in tree.list():
            if entry.is_directory:
                tree.delete_tree(entry.name)
        for name in (_NEXT, MARKER):
            tree.delete(name)
        if not tree.list():
            tree.delete_tree("")


def _trees(planned: Rehearsal) -> Iterator[tuple[ScratchJob, StoredFiles]]:
    for job in planned.jobs:
        for directory in job.directories:
            yield job, open_files(directory)


def _foreign(tree: StoredFiles, mark: bytes) -> str:
    """Why a directory is none of this rehearsal's; one that is not there, or whose marker is not whole, is."""
    root = tree.stat("") if tree.is_local else None
    if root is not None and not root.is_directory:
        return "it is a file"
    names = {entry.name for entry in tree.list()}
    if names <= {_NEXT}:
        return ""
    if MARKER not in names or tree.read(MARKER, _LIMIT) != mark:
        return f"it has no {MARKER} of this one"
    others = sorted(name for name in names - _OURS if not name.startswith(_STAGED))
    return f"{others[0]} is in it" if others else ""


def _mark(planned: Rehearsal, job: ScratchJob) -> bytes:
    value = {"version": 1, "migration": planned.real.migration.name, "job": job.real.name}
    return (json.dumps(value) + "\n").encode("utf-8")
