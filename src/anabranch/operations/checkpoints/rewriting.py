"""Apply a plan in place: the backup first, then each file by one rename or PUT, then a look at what was written.

    old bytes saved -> manifest begun -> reads digested again -> files replaced in the plan's order -> read back -> done

A crash before ``begun`` has changed nothing. After it the checkpoint is refused until ``undo`` has given every old byte
back, whatever was written by then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.errors import AnabranchError
from anabranch.model.clock import now_ms
from anabranch.model.plans import PlanChangedError
from anabranch.operations.checkpoints.activity import modified
from anabranch.operations.checkpoints.errors import WrittenOtherwiseError
from anabranch.operations.checkpoints.manifest import Manifest, RewriteState, SavedFile, fresh_id, listing, litter
from anabranch.operations.checkpoints.planning import PLAN_COMMAND, PreparedRewrite
from anabranch.operations.checkpoints.undoing import restore
from anabranch.storage.errors import StorageError
from anabranch.storage.files import StoredFiles
from anabranch.storage.overlay import Overlay

_LARGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class ReadyWrites:
    """All of a plan that applying it needs: what is written where, and what it was made from."""

    plan: str
    route: str
    writes: Mapping[str, bytes | None]
    reads: Mapping[str, str]
    moved: frozenset[tuple[str, str]]


def ready(prepared: PreparedRewrite) -> ReadyWrites:
    """A plan that nothing speaks against; raises ValueError for another one."""
    prepared.allow()
    planned, rewrite = prepared.planned, prepared.rewrite
    return ReadyWrites(planned.hash, planned.route, rewrite.writes, rewrite.reads, moved_sources(prepared))


def in_place(prepared: PreparedRewrite) -> str:
    """Do it; returns the backup's id.

    Raises InUseError and PlanChangedError, before anything changed, and StorageError.
    """
    prepared.allow()
    with prepared.files.alone():
        return _write(prepared.files, ready(prepared))


def write_in_place(files: StoredFiles, wanted: ReadyWrites) -> str:
    """``in_place`` of a plan that was kept; returns the backup's id, and raises the same."""
    with files.alone():
        return _write(files, wanted)


def _write(files: StoredFiles, wanted: ReadyWrites) -> str:
    writes = wanted.writes
    for directory in litter(files):
        files.delete_tree(directory)
    at = now_ms()
    saved = []
    id_ = fresh_id(files, at)
    for path, data in writes.items():
        entry = files.stat(path)
        old = None if entry is None else files.read(path, _LARGEST)
        if old is not None:
            files.put(f".anabranch/{id_}/old/{path}", old)
        saved.append(SavedFile(path, sha256(old), sha256(data), None if entry is None else entry.modified_ms))
    seen = listing(files, [*wanted.reads, *writes])
    manifest = Manifest(
        id_,
        RewriteState.BEGUN,
        wanted.plan,
        wanted.route,
        at,
        tuple(saved),
        {path: what for path, what in seen.items() if path not in writes},
        tuple(_missing_directories(files, writes)),
        wanted.moved,
        {path: digest for path, digest in wanted.reads.items() if path in seen and path not in writes},
    )
    _refuse_moved(files, wanted, manifest)
    manifest.store(files)
    try:
        for number, (path, data) in enumerate(writes.items()):
            if data is None:
                files.delete(path)
            else:
                files.put(path, data, via=f"{manifest.directory}/new/{number}")
    except StorageError:  # a full disk, a directory that is not ours: what was written so far is taken back
        with suppress(AnabranchError):
            restore(files, manifest)
        raise
    for one in saved:
        if files.digest(one.path) != one.new:
            raise WrittenOtherwiseError(files.root, one.path)
    replace(manifest, state=RewriteState.DONE).store(files)
    return id_


def _refuse_moved(files: StoredFiles, wanted: ReadyWrites, manifest: Manifest) -> None:
    """The last look before the first write: all that the plan read, and all that was saved, is as it was."""
    moved = modified(files, wanted.reads)
    moved += [one.path for one in manifest.files if files.digest(one.path) != one.old]
    moved += [
        one.path for one in manifest.files if one.old is not None and files.digest(manifest.old(one.path)) != one.old
    ]
    if moved:
        files.delete_tree(manifest.directory)
        raise PlanChangedError(f"{files.root}: {moved[0]}", wanted.plan, "", PLAN_COMMAND)


def moved_sources(prepared: PreparedRewrite) -> frozenset[tuple[str, str]]:
    """The sources as the result numbers them, each with the topics that it reads on the target."""
    changes = (one.moved for one in prepared.rewrite.changes if one.moved is not None)
    there = {(one.partition, one.offset) for one in changes if one.offset is not None}
    result = open_checkpoint(Overlay(prepared.files, prepared.rewrite.writes))
    return frozenset(
        (one.source, one.partition.topic) for one in result.positions() if (one.partition, one.offset) in there
    )


def _missing_directories(files: StoredFiles, paths: Iterable[str]) -> list[str]:
    """The directories that writing these files makes, the outermost first."""
    found: dict[str, None] = {}
    for path in paths:
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            directory = "/".join(parts[:depth])
            if files.is_local and files.stat(directory) is None:
                found[directory] = None
    return list(found)


def sha256(data: bytes | None) -> str | None:
    """A digest in hex, None of no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()
