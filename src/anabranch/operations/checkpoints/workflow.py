"""The verbs: inspect, plan, rewrite, verify, undo.  Looking changes nothing; what is done is exactly what was shown."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from anabranch.checkpoints.errors import NoCheckpointError
from anabranch.checkpoints.job import Format
from anabranch.checkpoints.plan import Wish
from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.checkpoints.reports import Inspection, Planned, Rewritten, Undone, Verified
from anabranch.errors import InvalidFieldError
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.operations.checkpoints import checking, finishing, looking, undoing
from anabranch.operations.checkpoints.asked import Asked, ByLinks, ByMaps, How
from anabranch.operations.checkpoints.copying import to_place
from anabranch.operations.checkpoints.errors import CheckpointMovedError, UnfinishedRewriteError, WrittenSinceError
from anabranch.operations.checkpoints.live import look
from anabranch.operations.checkpoints.manifest import State, manifests, some, unfinished, written_since
from anabranch.operations.checkpoints.planning import Drawn, draw, opened
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.operations.checkpoints.stillness import running, watch
from anabranch.storage.files import StoredFiles, open_files
from anabranch.storage.overlay import Overlay

_LARGEST = 1 << 30
_METADATA = "_metadata"


def inspect(place: str, cluster: ClusterContext | None = None) -> Inspection:
    """A checkpoint as it stands."""
    return looking.inspect(_at(place), cluster)


def plan(place: str, wish: Wish, asked: Asked) -> Planned:
    """What a rewrite would do, with every reason against it."""
    found = draw(_at(place), wish, asked)
    quiet = running(found.checkpoint, found.planned.read_at_ms)
    if quiet is None:
        return found.planned
    return replace(found.planned, notes=(*found.planned.notes, f"{quiet.what}; {quiet.fix}"))


def rewrite(place: str, wish: Wish, asked: Asked, how: How) -> Rewritten:
    """Carry it out where nothing forbids it; the answer's plan has the refusals where something does.

    Raises CheckpointMovedError where the plan is not the one of ``how.fingerprint``, StillRunningError, MayRunError,
    NotFinishedError, PlaceTakenError, and what planning raises.
    """
    begun = time.monotonic()
    files = _at(place)
    finished = None
    if how.finish is not None:
        finished = finishing.finish(files, how.finish, how.finish_s, how.stopped)
    found = draw(files, wish, asked)
    if how.fingerprint is not None and how.fingerprint != found.planned.hash:
        raise CheckpointMovedError(files.root, how.fingerprint, found.planned.hash)
    stopped = how.stopped or finished is not None
    quiet = None if stopped else running(found.checkpoint, now_ms())
    if quiet is not None:
        found = replace(found, planned=replace(found.planned, refusals=(*found.planned.refusals, quiet), files=()))
    target = files.root if how.to is None else open_files(how.to).root
    if found.planned.refusals or (not found.rewrite.writes and how.to is None):
        return Rewritten(found.planned, target, False)
    if stopped:
        watch(files, found.rewrite.reads)
    notes = () if finished is None else (f"batch {finished} was finished on the old cluster first",)
    undo_id = carry_out(found, None if how.to is None else open_files(how.to))
    took = round((time.monotonic() - begun) * 1000)
    return Rewritten(found.planned, target, True, undo_id, took, notes)


def carry_out(found: Drawn, to: StoredFiles | None) -> str | None:
    """Write a plan without refusals; returns the backup's id where that was in place."""
    if to is None:
        return in_place(found)
    to_place(found, to)
    return None


def verify(place: str, wish: Wish, asked: Asked, was: str | None = None) -> Verified:
    """Read a result again and prove it.

    Raises UnfinishedRewriteError, WrittenSinceError where the job has gone on, and what opening and looking raise.
    """
    files = _at(place)
    begun = unfinished(files)
    if begun is not None:
        raise UnfinishedRewriteError(files.root, begun.id)
    new = opened(files)
    if was is not None:
        former = _at(was)
        old = open_checkpoint(former)
        if new.format is Format.SPARK:
            checking.refuse_gone_on(former, old, files, new)
        route, notes = asyncio.run(look(asked, old.positions()))
        found = checking.against(files, new, old, former.root, wish, asked, route, former.absolute)
        changed, wrong = checking.differing(former, files, new.format)
        found = replace(found, changed=tuple(changed), problems=(*found.problems, *wrong))
        return replace(found, notes=(*found.notes, *notes))
    done = [one for one in manifests(files) if one.state is State.DONE]
    if not done:
        by_map = isinstance(asked.way, ByLinks | ByMaps)
        route, notes = asyncio.run(look(asked, None if by_map else new.positions()))
        of = next((one.of for one in reversed(manifests(files)) if one.state is State.COPIED), "")
        found = checking.alone(files, new, wish, route, of)
        return replace(found, notes=(*found.notes, *notes))
    backup = done[-1]
    newer = written_since(files, backup)
    if newer:
        raise WrittenSinceError(files.root, new.number, f"rewrite {backup.id}", some(newer), checking.EARLIER)
    saved = {one.path: None if one.old is None else files.read(backup.old(one.path), _LARGEST) for one in backup.files}
    old = open_checkpoint(Overlay(files, saved))
    route, notes = asyncio.run(look(asked, old.positions()))
    found = checking.against(files, new, old, f"backup {backup.id}", wish, asked, route)
    return replace(found, changed=tuple(sorted(saved)), notes=(*found.notes, *notes))


def undo(place: str, execute: bool) -> Undone:
    """Plan to take the newest rewrite in place back; do it with ``execute``."""
    return undoing.undo(_at(place), execute)


def _at(place: str) -> StoredFiles:
    """The tree at a place; that of a savepoint also by the name of its ``_metadata``, as Flink takes it."""
    head, slash, name = place.rpartition("/")
    if name == _METADATA:
        place = head or slash or "."
    if not place:
        raise InvalidFieldError("checkpoint", "PATH", "it is empty", "give the checkpoint's directory, or its URI")
    files = open_files(place)
    if files.is_local:
        root = files.stat("")
        if root is None or not root.is_directory:
            raise NoCheckpointError(files.root, "there is no such directory" if root is None else "it is a file")
    return files
