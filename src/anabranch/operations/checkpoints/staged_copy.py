"""A rewrite to a new path in two halves: made whole beside it, and later had there by one step.

On a local file system it is made at ``.NAME.anabranch-OWNER`` next to the path, and renamed to it.  In an object store,
which knows no renames, it is made at the path itself under the marker of a copy that is under way, which is then
deleted.  The marker says what the copy was made from.  ``owner`` is who has staged it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from threading import Event
from typing import Any, cast

from anabranch.operations.checkpoints.copying import contents, fill, refuse_inside, refuse_moved, sign
from anabranch.operations.checkpoints.errors import DamagedBackupError, PathTakenError
from anabranch.operations.checkpoints.manifest import COPYING, HIDDEN, RewriteState, manifests
from anabranch.operations.checkpoints.planning import PreparedRewrite
from anabranch.operations.checkpoints.staging import NotStagedError, refuse_changed
from anabranch.storage import paths
from anabranch.storage.files import StoredFiles
from anabranch.storage.local import LocalFiles
from anabranch.storage.opening import open_files

_NEXT = f"{HIDDEN}/copying.next"
_LIMIT = 1 << 24


def refuse_taken(destination: StoredFiles, owner: str = "") -> None:
    """Raise PathTakenError where something is there that ``owner`` has not staged, or no directory to put it into."""
    if destination.is_local:
        above = open_files(paths.beside(destination.absolute, "") or "/").stat("")
        if above is None or not above.is_directory:
            raise PathTakenError(destination.root, "the directory that it would be in is not there")
        if destination.list() or (destination.stat("") is not None and not _is_directory(destination)):
            raise PathTakenError(destination.root, "something is there already")
    elif not _is_ours(destination, owner) and next(iter(destination.walk()), None) is not None:
        raise PathTakenError(destination.root, "something is there already")


def stage_copy(
    prepared: PreparedRewrite, there: Sequence[str], destination: StoredFiles, owner: str, halt: Event
) -> None:
    """Make it, from its beginning where some of it is there, until ``halt`` is set.

    ``there`` are ``names`` of before the plan was made.  Raises PathTakenError, InUseError, PlanChangedError,
    ChangedSinceStagedError, StorageError, and UnfinishedCopyError where it was halted.
    """
    prepared.allow()
    refuse_inside(prepared.files, destination)
    refuse_taken(destination, owner)
    writes, copies = contents(prepared)
    with prepared.files.alone():
        unstage_copy(destination, owner)
        tree = _tree(destination, owner)
        mark = {
            "version": 1,
            "owner": owner,
            "plan": prepared.planned.hash,
            "from": prepared.files.root,
            "reads": dict(prepared.rewrite.reads),
            "there": list(there),
        }
        tree.put(COPYING, (json.dumps(mark) + "\n").encode("utf-8"), via=_NEXT)
        fill(prepared, tree, writes, copies, halt)
        refuse_moved(prepared, None)
        refuse_changed(prepared.files, {}, there)
        sign(prepared, tree, writes)


def publish_copy(files: StoredFiles, destination: StoredFiles, owner: str, route: str) -> None:
    """Have it at its path; nothing happens where a copy by that route is, this one or one that was made by hand.

    Raises ChangedSinceStagedError where ``files`` are no longer what it was made from, NotStagedError, PathTakenError
    and StorageError.
    """
    if not _is_there(destination, route):
        tree = _tree(destination, owner)
        if not _is_signed(tree, route):
            raise NotStagedError(destination.root, "the copy that was made for it is no longer there")
        mark = _mark(tree)
        if mark is not None:
            if mark.get("owner") != owner:
                raise NotStagedError(destination.root, "the copy that is under way there is somebody else's")
            refuse_changed(files, mark["reads"], mark["there"])
        if destination.is_local:
            refuse_taken(destination)
            tree.delete(COPYING)
            cast(LocalFiles, tree).become(destination)
        else:
            tree.delete(COPYING)
    if destination.is_local:
        unstage_copy(destination, owner)


def unstage_copy(destination: StoredFiles, owner: str) -> None:
    """Delete what an owner has staged, in part or in whole; its marker last, so that it stays known until then."""
    tree = _tree(destination, owner)
    if destination.is_local:
        tree.delete_tree("")
    elif _is_ours(tree, owner):
        for path, _ in list(tree.walk()):
            if path != COPYING:
                tree.delete(path)
        tree.delete(COPYING)
        tree.delete_tree("")


def _tree(destination: StoredFiles, owner: str) -> StoredFiles:
    """Where it is made."""
    if not destination.is_local:
        return destination
    name = destination.absolute.rpartition("/")[2]
    return open_files(paths.beside(destination.absolute, f".{name}.anabranch-{owner}"))


def _is_ours(tree: StoredFiles, owner: str) -> bool:
    """Whether an owner has begun to stage there; a marker that is not whole yet is all that there is."""
    mark = _mark(tree)
    return [path for path, _ in tree.walk()] == [_NEXT] if mark is None else mark.get("owner") == owner


def _is_there(destination: StoredFiles, route: str) -> bool:
    return destination.stat(COPYING) is None and _is_signed(destination, route)


def _is_signed(tree: StoredFiles, route: str) -> bool:
    return any(one.state is RewriteState.COPIED and one.route == route for one in manifests(tree))


def _is_directory(files: StoredFiles) -> bool:
    found = files.stat("")
    return found is not None and found.is_directory


def _mark(tree: StoredFiles) -> dict[str, Any] | None:
    if tree.stat(COPYING) is None:
        return None
    try:
        found: dict[str, Any] = json.loads(tree.read(COPYING, _LIMIT))
    except ValueError:
        raise DamagedBackupError(tree.root, COPYING, "it is no marker of a copy") from None
    return found
