"""Proving a result: it is read again and held against what it was made from, position by position."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from anabranch.checkpoints.job import Checkpoint, Format
from anabranch.checkpoints.plan import Wish
from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.checkpoints.reports import Verified
from anabranch.kafka.clusters import Clusters
from anabranch.operations.checkpoints import checking
from anabranch.operations.checkpoints.asked import Asked, ByLinks, ByMaps
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.checkpoints.errors import UnfinishedRewriteError, WrittenSinceError
from anabranch.operations.checkpoints.live import look
from anabranch.operations.checkpoints.manifest import Manifest, State, manifests, some, unfinished, written_since
from anabranch.operations.checkpoints.place import files_at
from anabranch.operations.checkpoints.planning import opened
from anabranch.storage.files import StoredFiles
from anabranch.storage.overlay import Overlay

_LARGEST = 1 << 30


async def verify(clusters: Clusters, place: str, wish: Wish, asked: Asked, was: str | None = None) -> Verified:
    """Read a result again and prove it; ``was`` is the place that it was made from, None for its own backup.

    Raises UnfinishedRewriteError, WrittenSinceError where the job has gone on, and what opening and looking raise.
    """
    files = files_at(place)
    begun = unfinished(files)
    if begun is not None:
        raise UnfinishedRewriteError(files.root, begun.id)
    new = await in_thread(partial(opened, files))
    if was is not None:
        return await _against_place(clusters, files, new, files_at(was), wish, asked)
    done = [one for one in manifests(files) if one.state is State.DONE]
    if done:
        return await _against_backup(clusters, files, new, done[-1], wish, asked)
    by_map = isinstance(asked.way, ByLinks | ByMaps)
    route, notes = await look(clusters, asked, None if by_map else new.positions())
    of = next((one.of for one in reversed(manifests(files)) if one.state is State.COPIED), "")
    found = checking.alone(files, new, wish, route, of)
    return replace(found, notes=(*found.notes, *notes))


async def _against_place(
    clusters: Clusters, files: StoredFiles, new: Checkpoint, former: StoredFiles, wish: Wish, asked: Asked
) -> Verified:
    """Held against the place that it was made from; raises WrittenSinceError."""
    old = await in_thread(partial(open_checkpoint, former))
    if new.format is Format.SPARK:
        checking.refuse_gone_on(former, old, files, new)
    route, notes = await look(clusters, asked, old.positions())
    found = checking.against(files, new, old, former.root, wish, asked, route, former.absolute)
    changed, wrong = await in_thread(partial(checking.differing, former, files, new.format))
    return replace(found, changed=tuple(changed), problems=(*found.problems, *wrong), notes=(*found.notes, *notes))


async def _against_backup(
    clusters: Clusters, files: StoredFiles, new: Checkpoint, backup: Manifest, wish: Wish, asked: Asked
) -> Verified:
    """Held against what a rewrite in place has saved; raises WrittenSinceError."""
    newer = written_since(files, backup)
    if newer:
        raise WrittenSinceError(files.root, new.number, f"rewrite {backup.id}", some(newer), checking.EARLIER)
    saved = {one.path: None if one.old is None else files.read(backup.old(one.path), _LARGEST) for one in backup.files}
    old = open_checkpoint(Overlay(files, saved))
    route, notes = await look(clusters, asked, old.positions())
    found = checking.against(files, new, old, f"backup {backup.id}", wish, asked, route)
    return replace(found, changed=tuple(sorted(saved)), notes=(*found.notes, *notes))
