"""Rewriting a checkpoint: planned with every reason against it, and applied only as it was planned."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from threading import Event

from anabranch.kafka.clusters import Clusters
from anabranch.model.clock import now_ms
from anabranch.model.plans import check_holds
from anabranch.operations.checkpoints.activity import running, watch
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.checkpoints.copying import copy_to
from anabranch.operations.checkpoints.errors import PlanRefusedError
from anabranch.operations.checkpoints.planning import PLAN_COMMAND, PreparedRewrite, build_plan
from anabranch.operations.checkpoints.plans import RewritePlan, RewriteReport, RewriteRequest
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.storage.opening import open_files


async def plan(clusters: Clusters, request: RewriteRequest) -> RewritePlan:
    """What a rewrite would do, with every reason against it; that the job may still run is only noted.

    Raises what opening the checkpoint raises, UnknownLinkError, ClusterError and ConfigError.
    """
    prepared = await build_plan(clusters, request)
    quiet = running(prepared.checkpoint, prepared.planned.read_at_ms)
    if quiet is None:
        return prepared.planned
    return replace(prepared.planned, notes=(*prepared.planned.notes, f"{quiet.what}; {quiet.fix}"))


async def apply(clusters: Clusters, planned: RewritePlan) -> RewriteReport:
    """Carry it out.

    Raises PlanChangedError where the plan is another one by now, PlanRefusedError where something forbids it,
    StillRunningError, PlaceTakenError, and what planning raises; then nothing was written.
    """
    begun, request = time.monotonic(), planned.request
    prepared = await build_plan(clusters, request)
    check_holds(prepared.files.root, planned, prepared.planned, PLAN_COMMAND)
    stopped = request.stopped or request.finished is not None
    quiet = None if stopped else running(prepared.checkpoint, now_ms())
    if quiet is not None:
        prepared = replace(
            prepared, planned=replace(prepared.planned, refusals=(*prepared.planned.refusals, quiet), files=())
        )
    if prepared.planned.refusals:
        raise PlanRefusedError(prepared.files.root, prepared.planned.refusals, prepared.planned)
    path = prepared.files.root if request.to is None else open_files(request.to).root
    if prepared.planned.empty:
        return RewriteReport(prepared.planned, path)
    if stopped:
        await in_thread(partial(watch, prepared.files, prepared.rewrite.reads))
    undo = await _write(prepared, request.to)
    took = round((time.monotonic() - begun) * 1000)
    finished = request.finished
    notes = () if finished is None else (f"batch {finished} was finished on the old cluster first",)
    return RewriteReport(prepared.planned, path, undo, took, notes)


async def _write(prepared: PreparedRewrite, to: str | None) -> str | None:
    """Write a plan without refusals; returns the backup's id where that was in place."""
    if to is None:
        return await in_thread(partial(in_place, prepared))
    halt = Event()
    await in_thread(partial(copy_to, prepared, open_files(to), halt), halt)
    return None
