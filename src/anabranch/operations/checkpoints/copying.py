"""Apply a plan to a new path, and leave the old one as it is.

Flink's ``_metadata`` goes there alone and names the files of its state where they are. Of a Spark checkpoint all is
copied; on one file system its state is hard-linked, as engines never change a file of it in place.

On a local file system the new path appears whole, by a rename. In an object store a marker file says that the copy is
unfinished. Both can be started again after a crash, with the same result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Protocol, cast

from anabranch.checkpoints.job import Checkpoint, CheckpointFormat
from anabranch.model.clock import now_ms
from anabranch.model.plans import PlanChangedError
from anabranch.operations.checkpoints.activity import modified
from anabranch.operations.checkpoints.errors import PathTakenError, UnfinishedCopyError, WrittenOtherwiseError
from anabranch.operations.checkpoints.manifest import COPYING, HIDDEN, Manifest, RewriteState, SavedFile, new_id
from anabranch.operations.checkpoints.planning import PLAN_COMMAND, PreparedRewrite
from anabranch.operations.checkpoints.rewriting import moved_sources, sha256
from anabranch.storage import paths
from anabranch.storage.files import StoredFiles
from anabranch.storage.local import LocalFiles
from anabranch.storage.opening import open_files

_METADATA = "_metadata"
_LARGEST = 1 << 30
_AT_ONCE = 16


class Relocatable(Protocol):
    """What a checkpoint of Flink can do, beside what all can."""

    def relocated(self, data: bytes, root: str) -> bytes:
        """A ``_metadata`` for another place."""


def copy_to(prepared: PreparedRewrite, destination: StoredFiles, halt: Event | None = None) -> None:
    """Write the result there, until ``halt`` is set.

    Raises PathTakenError, InUseError, PlanChangedError, StorageError, and UnfinishedCopyError where it was halted.
    """
    prepared.allow()
    halt = Event() if halt is None else halt
    old = prepared.files
    refuse_inside(old, destination)
    writes, copies = contents(prepared)
    with old.alone():  # two copies to one place would empty the part of each other
        if destination.is_local:
            _whole(prepared, destination, writes, copies, halt)
        else:
            _marked(prepared, destination, writes, copies, halt)


def contents(prepared: PreparedRewrite) -> tuple[dict[str, bytes | None], list[str]]:
    """What a copy is made of: files that are written, and those that are taken as they are."""
    old, writes = prepared.files, dict(prepared.rewrite.writes)
    if prepared.checkpoint.format is CheckpointFormat.FLINK:
        return {**relocated(old, prepared.checkpoint, writes)}, []
    return writes, [path for path, _ in old.walk() if path not in writes and not is_litter(path)]


def relocated(old: StoredFiles, checkpoint: Checkpoint, writes: Mapping[str, bytes | None]) -> dict[str, bytes]:
    """All that is written of a snapshot of Flink to another place: its state stays where it is."""
    data = writes.get(_METADATA)
    if data is None:
        data = old.read(_METADATA, _LARGEST)
    return {_METADATA: cast(Relocatable, checkpoint).relocated(data, old.absolute)}


def _whole(
    prepared: PreparedRewrite, destination: StoredFiles, writes: dict[str, bytes | None], copies: list[str], halt: Event
) -> None:
    if destination.list():
        raise PathTakenError(destination.root, "something is there already")
    name = destination.absolute.rpartition("/")[2]
    part = cast(LocalFiles, open_files(paths.beside(destination.absolute, f".{name}.anabranch-part")))
    part.delete_tree("")
    fill(prepared, part, writes, copies, halt)
    refuse_moved(prepared, part)
    sign(prepared, part, writes)
    part.become(destination)


def _marked(
    prepared: PreparedRewrite, destination: StoredFiles, writes: dict[str, bytes | None], copies: list[str], halt: Event
) -> None:
    there = {path for path, _ in destination.walk()}
    if there and COPYING not in there:
        raise PathTakenError(destination.root, "something is there already")
    strays = sorted(path for path in there - {*writes, *copies} if not path.startswith(f"{HIDDEN}/"))
    if strays:
        raise PathTakenError(destination.root, f"beside an unfinished copy there is {strays[0]}, which is not of it")
    mark = {"version": 1, "plan": prepared.planned.hash, "from": prepared.files.root}
    destination.put(COPYING, (json.dumps(mark) + "\n").encode("utf-8"))
    fill(prepared, destination, writes, copies, halt)
    refuse_moved(prepared, None)
    sign(prepared, destination, writes)
    destination.delete(COPYING)


def sign(prepared: PreparedRewrite, destination: StoredFiles, writes: Mapping[str, bytes | None]) -> None:
    """Leave word of what was moved by which route: nothing in the bytes would tell that from what was not."""
    at = now_ms()
    saved = tuple(SavedFile(path, prepared.files.digest(path), sha256(data), None) for path, data in writes.items())
    of, plan = prepared.files.root, prepared.planned
    done = Manifest(
        new_id(at), RewriteState.COPIED, plan.hash, plan.route, at, saved, {}, (), moved_sources(prepared), {}, of
    )
    done.store(destination)


def fill(
    prepared: PreparedRewrite, destination: StoredFiles, writes: dict[str, bytes | None], copies: list[str], halt: Event
) -> None:
    """State first and the log of offsets last: a part of a copy that is started all the same has no log to go by."""
    ordered = sorted(copies, key=lambda path: (path.startswith("offsets/"), path))
    state = [path for path in ordered if path.startswith("state/")]
    rest = [path for path in ordered if not path.startswith("state/")]

    def copy(path: str) -> None:
        if halt.is_set():
            raise UnfinishedCopyError(destination.root)
        if not (path.startswith("state/") and destination.link(path, prepared.files)):
            destination.copy(path, prepared.files)

    if destination.is_local:
        for path in state:
            copy(path)
    else:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(copy, state):
                pass
    for path in rest:
        copy(path)
    for path, data in writes.items():
        if data is None:
            continue
        destination.put(path, data)
        if destination.digest(path) != sha256(data):
            raise WrittenOtherwiseError(destination.root, path)


def refuse_moved(prepared: PreparedRewrite, part: StoredFiles | None) -> None:
    """What was copied is what the plan was made from."""
    moved = modified(prepared.files, prepared.rewrite.reads)
    if moved:
        if part is not None:
            part.delete_tree("")
        raise PlanChangedError(f"{prepared.files.root}: {moved[0]}", prepared.planned.hash, "", PLAN_COMMAND)


def refuse_inside(old: StoredFiles, destination: StoredFiles) -> None:
    """A copy and what it is made of are two trees; raises PathTakenError."""
    here, there = f"{old.absolute.rstrip('/')}/", f"{destination.absolute.rstrip('/')}/"
    if here == there:
        raise PathTakenError(destination.root, "it is the checkpoint itself; leave --to away to rewrite it in place")
    if there.startswith(here) or here.startswith(there):
        raise PathTakenError(destination.root, f"it and {old.root} are one inside of the other")


def is_litter(path: str) -> bool:
    """What no copy needs: backups of ours, and files that an engine had not finished."""
    name = path.rpartition("/")[2]
    return path.startswith(f"{HIDDEN}/") or (name.startswith(".") and name.endswith(".tmp"))
