"""Proving a result: it is read again and held against what it was made from, position by position."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from anabranch.checkpoints.job import Checkpoint, CheckpointFormat
from anabranch.checkpoints.plan import RewriteSpec
from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.checkpoints.reports import VerificationReport
from anabranch.kafka.clusters import Clusters
from anabranch.operations.checkpoints import checking
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.checkpoints.errors import UnfinishedRewriteError, WrittenSinceError
from anabranch.operations.checkpoints.live import read_route
from anabranch.operations.checkpoints.manifest import Manifest, RewriteState, manifests, some, unfinished, written_since
from anabranch.operations.checkpoints.paths import files_at
from anabranch.operations.checkpoints.planning import opened
from anabranch.operations.checkpoints.translation_source import ByLinks, ByMaps, TranslationSource
from anabranch.storage.files import StoredFiles
from anabranch.storage.overlay import Overlay

_LARGEST = 1 << 30


async def verify(
    clusters: Clusters, path: str, rewrite_spec: RewriteSpec, translation: TranslationSource, was: str | None = None
) -> VerificationReport:
    """Read a result again and prove it; ``was`` is the place that it was made from, None for its own backup.

    Raises UnfinishedRewriteError, WrittenSinceError where the job has gone on, and what opening and looking raise.
    """
    files = files_at(path)
    begun = unfinished(files)
    if begun is not None:
        raise UnfinishedRewriteError(files.root, begun.id)
    new = await in_thread(partial(opened, files))
    if was is not None:
        return await _against_place(clusters, files, new, files_at(was), rewrite_spec, translation)
    done = [one for one in manifests(files) if one.state is RewriteState.DONE]
    if done:
        return await _against_backup(clusters, files, new, done[-1], rewrite_spec, translation)
    by_map = isinstance(translation.method, ByLinks | ByMaps)
    route, notes = await read_route(clusters, translation, None if by_map else new.positions())
    of = next((one.of for one in reversed(manifests(files)) if one.state is RewriteState.COPIED), "")
    found = checking.alone(files, new, rewrite_spec, route, of)
    return replace(found, notes=(*found.notes, *notes))


async def _against_place(
    clusters: Clusters,
    files: StoredFiles,
    new: Checkpoint,
    former: StoredFiles,
    rewrite_spec: RewriteSpec,
    translation: TranslationSource,
) -> VerificationReport:
    """Held against the place that it was made from; raises WrittenSinceError."""
    old = await in_thread(partial(open_checkpoint, former))
    if new.format is CheckpointFormat.SPARK:
        checking.refuse_gone_on(former, old, files, new)
    route, notes = await read_route(clusters, translation, old.positions())
    found = checking.against(files, new, old, former.root, rewrite_spec, translation, route, former.absolute)
    changed, wrong = await in_thread(partial(checking.differing, former, files, new.format))
    return replace(found, changed=tuple(changed), problems=(*found.problems, *wrong), notes=(*found.notes, *notes))


async def _against_backup(
    clusters: Clusters,
    files: StoredFiles,
    new: Checkpoint,
    backup: Manifest,
    rewrite_spec: RewriteSpec,
    translation: TranslationSource,
) -> VerificationReport:
    """Held against what a rewrite in place has saved; raises WrittenSinceError."""
    newer = written_since(files, backup)
    if newer:
        raise WrittenSinceError(files.root, new.number, f"rewrite {backup.id}", some(newer), checking.EARLIER)
    saved = {one.path: None if one.old is None else files.read(backup.old(one.path), _LARGEST) for one in backup.files}
    old = open_checkpoint(Overlay(files, saved))
    route, notes = await read_route(clusters, translation, old.positions())
    found = checking.against(files, new, old, f"backup {backup.id}", rewrite_spec, translation, route)
    return replace(found, changed=tuple(sorted(saved)), notes=(*found.notes, *notes))
