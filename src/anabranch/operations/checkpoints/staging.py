"""A rewrite in place in two halves: kept beside the checkpoint's files, and later put among them.

    .anabranch/staged.json    the new bytes of each file, and what they were made from

No engine reads it.  It is one file, written whole or not at all; putting it in place asks no cluster.  ``owner`` is who
has staged it: what is of another one is neither used nor deleted.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.errors import RefusedError
from anabranch.operations.checkpoints import undoing
from anabranch.operations.checkpoints.activity import modified
from anabranch.operations.checkpoints.errors import DamagedBackupError, UnfinishedRewriteError
from anabranch.operations.checkpoints.manifest import HIDDEN, Manifest, RewriteState, listing, manifests, some
from anabranch.operations.checkpoints.planning import PreparedRewrite
from anabranch.operations.checkpoints.rewriting import ReadyWrites, ready, write_in_place
from anabranch.storage.files import StoredFiles

STAGED = f"{HIDDEN}/staged.json"
_NEXT = f"{HIDDEN}/staged.next"
_LIMIT = 1 << 30
_FIELDS = {"owner", "plan", "route", "writes", "reads", "there", "moved"}


@dataclass(eq=False)
class ChangedSinceStagedError(RefusedError):
    """The checkpoint is no longer what was translated: its job has gone on."""

    path: str
    names: str

    _message = "{path} has changed since its positions were translated: {names}"
    _hint = "stop the job"


@dataclass(eq=False)
class NotStagedError(RefusedError):
    """What was kept to be put in place is not there, or is somebody else's."""

    path: str
    why: str

    _message = "{path}: {why}"
    _hint = "rewrite it by hand: anabranch checkpoint rewrite"


def names(files: StoredFiles) -> list[str]:
    """The files of an engine's logs, and of the root: a job that goes on adds some, of which no digest tells."""
    return sorted(listing(files, ()))


def refuse_changed(files: StoredFiles, reads: Mapping[str, str], there: Collection[str]) -> None:
    """Raise ChangedSinceStagedError where a file is not as it was read, or others are there than then."""
    if changed := [*modified(files, reads), *sorted({*names(files)} ^ {*there})]:
        raise ChangedSinceStagedError(files.root, some(changed))


def backups(files: StoredFiles) -> list[str]:
    """The ids of the rewrites that are there; what is put in place later has another one."""
    return [one.id for one in manifests(files)]


def stage(prepared: PreparedRewrite, there: Sequence[str], owner: str) -> None:
    """Keep a plan's writes; the same owner's are replaced.  ``there`` are ``names`` of before the plan was made.

    Raises InUseError, ChangedSinceStagedError, NotStagedError where another owner has staged here, and StorageError.
    """
    files, wanted = prepared.files, ready(prepared)
    with files.alone():
        kept = _read(files)
        if kept is not None and kept["owner"] != owner:
            raise NotStagedError(files.root, f"{STAGED} is of {kept['owner']}, which has not ended")
        refuse_changed(files, wanted.reads, there)
        value = {
            "version": 1,
            "owner": owner,
            "plan": wanted.plan,
            "route": wanted.route,
            "writes": [[path, None if data is None else _text(data)] for path, data in wanted.writes.items()],
            "reads": dict(wanted.reads),
            "there": list(there),
            "moved": sorted(map(list, wanted.moved)),
        }
        files.put(STAGED, (json.dumps(value) + "\n").encode("utf-8"), via=_NEXT)


def publish(files: StoredFiles, owner: str, route: str, before: Collection[str]) -> str | None:
    """Put it in place; returns the backup's id, None where nothing had to be written.

    ``before`` are the rewrites that were there as it was staged: a finished one by the same route that is none of them
    is this one, or has been made by hand instead.  One of ours that broke off is taken back and done again.  Raises
    ChangedSinceStagedError, NotStagedError, UnfinishedRewriteError, InUseError, PlanRefusedError, StorageError.
    """
    done = _settled(files, route, before)
    if done is None:
        kept = _read(files)
        if kept is None or kept["owner"] != owner:
            raise NotStagedError(files.root, f"{STAGED} is no longer there")
        refuse_changed(files, kept["reads"], kept["there"])
        writes = {str(path): None if text is None else base64.b64decode(text) for path, text in kept["writes"]}
        moved = frozenset((str(source), str(topic)) for source, topic in kept["moved"])
        if writes:
            done = write_in_place(files, ReadyWrites(kept["plan"], kept["route"], writes, kept["reads"], moved))
    unstage(files, owner)
    return done


def unstage(files: StoredFiles, owner: str) -> None:
    """Delete what an owner has staged, in part or in whole; nothing happens where there is nothing of it."""
    files.delete(_NEXT)
    kept = _read(files)
    if kept is not None and kept["owner"] == owner:
        files.delete(STAGED)
    if not files.list(HIDDEN):
        files.delete_tree(HIDDEN)


def _settled(files: StoredFiles, route: str, before: Collection[str]) -> str | None:
    """The backup of what is in place already; what has begun of it is taken back before."""
    mine = [one for one in manifests(files) if one.id not in before]
    for one in mine:
        if one.route != route:
            if one.state is RewriteState.BEGUN:
                raise UnfinishedRewriteError(files.root, one.id)
        elif one.state is RewriteState.DONE:
            return one.id
        elif one.state in (RewriteState.BEGUN, RewriteState.UNDONE):
            _take_back(files, one)
    return None


def _take_back(files: StoredFiles, begun: Manifest) -> None:
    planned = undoing.plan(files)
    if planned.id != begun.id:
        raise UnfinishedRewriteError(files.root, begun.id)
    undoing.take_back(files, planned)


def _read(files: StoredFiles) -> dict[str, Any] | None:
    if files.stat(STAGED) is None:
        return None
    try:
        value: dict[str, Any] = json.loads(files.read(STAGED, _LIMIT))
        if value["version"] != 1 or not value.keys() >= _FIELDS:
            raise DamagedBackupError(files.root, STAGED, "it is of another version")
    except (ValueError, KeyError, TypeError):
        raise DamagedBackupError(files.root, STAGED, "it is no staged rewrite") from None
    return value


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
