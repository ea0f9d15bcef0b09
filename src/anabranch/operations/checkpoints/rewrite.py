"""Rewriting a checkpoint: planned with every reason against it, and applied only as it was planned."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from threading import Event

from anabranch.kafka.clusters import Clusters
from anabranch.model.clock import now_ms
from anabranch.model.plans import check_holds
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.checkpoints.copying import to_place
from anabranch.operations.checkpoints.errors import PlanRefusedError
from anabranch.operations.checkpoints.planning import LOOK_AGAIN, Drawn, draw
from anabranch.operations.checkpoints.plans import RewritePlan, RewriteReport, RewriteRequest
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.operations.checkpoints.stillness import running, watch
from anabranch.storage.opening import open_files


async def plan(clusters: Clusters, request: RewriteRequest) -> RewritePlan:
    """What a rewrite would do, with every reason against it; that the job may still run is only noted.

    Raises what opening the checkpoint raises, UnknownLinkError, ClusterError and ConfigError.
    """
    found = await draw(clusters, request)
    quiet = running(found.checkpoint, found.planned.read_at_ms)
    if quiet is None:
        return found.planned
    return replace(found.planned, notes=(*found.planned.notes, f"{quiet.what}; {quiet.fix}"))


async def apply(clusters: Clusters, planned: RewritePlan) -> RewriteReport:
    """Carry it out.

    Raises PlanChangedError where the plan is another one by now, PlanRefusedError where something forbids it,
    StillRunningError, PlaceTakenError, and what planning raises; then nothing was written.
    """
    begun, request = time.monotonic(), planned.request
    found = await draw(clusters, request)
    check_holds(found.files.root, planned, found.planned, LOOK_AGAIN)
    stopped = request.stopped or request.finished is not None
    quiet = None if stopped else running(found.checkpoint, now_ms())
    if quiet is not None:
        found = replace(found, planned=replace(found.planned, refusals=(*found.planned.refusals, quiet), files=()))
    if found.planned.refusals:
        raise PlanRefusedError(found.files.root, found.planned.refusals, found.planned)
    place = found.files.root if request.to is None else open_files(request.to).root
    if found.planned.empty:
        return RewriteReport(found.planned, place)
    if stopped:
        await in_thread(partial(watch, found.files, found.rewrite.reads))
    undo = await _write(found, request.to)
    took = round((time.monotonic() - begun) * 1000)
    finished = request.finished
    notes = () if finished is None else (f"batch {finished} was finished on the old cluster first",)
    return RewriteReport(found.planned, place, undo, took, notes)


async def _write(found: Drawn, to: str | None) -> str | None:
    """Write a plan without refusals; returns the backup's id where that was in place."""
    if to is None:
        return await in_thread(partial(in_place, found))
    halt = Event()
    await in_thread(partial(to_place, found, open_files(to), halt), halt)
    return None
