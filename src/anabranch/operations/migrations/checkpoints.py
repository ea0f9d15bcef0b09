"""Steps that move the stored positions of stream jobs: rewritten beside where they will be, later put there.

Staging translates by the leg's link and keeps the result; publishing asks no cluster, and so is refused only where the
checkpoint itself, or what was kept, is no longer as it was.  Nothing that an engine reads changes before it.

The race: a job that was not stopped writes on.  What its translation was made from is digested again by both steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Any

from anabranch.checkpoints.plan import RewriteSpec, Uncommitted
from anabranch.errors import RefusedError
from anabranch.kafka.clusters import OpenClusters
from anabranch.migration.jobs import JobMove, job_move
from anabranch.migration.legs import Leg
from anabranch.migration.lost import DOUBTS
from anabranch.migration.spec import FenceKind
from anabranch.migration.steps import StepKind, translated_by
from anabranch.model.clock import now_ms
from anabranch.model.plans import PlanChangedError
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.activity import running
from anabranch.operations.checkpoints.blocking import in_thread
from anabranch.operations.checkpoints.errors import PathTakenError
from anabranch.operations.checkpoints.live import read_route
from anabranch.operations.checkpoints.planning import PreparedRewrite, prepare
from anabranch.operations.checkpoints.plans import RewriteRequest
from anabranch.operations.checkpoints.routes import MapRoute
from anabranch.operations.checkpoints.staged_copy import publish_copy, stage_copy, unstage_copy
from anabranch.operations.checkpoints.staging import (
    ChangedSinceStagedError,
    NotStagedError,
    backups,
    publish,
    stage,
    unstage,
)
from anabranch.operations.checkpoints.translation_source import ByLinks, LinkAt, TranslationSource
from anabranch.operations.migrations.desk import Result, Scene
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.migrations.jobs import JobPathTakenError, JobRefusedError, SeenJob, look, refuse_past_end
from anabranch.storage.opening import open_files


@dataclass(eq=False)
class JobBlockedError(JobRefusedError):
    """A job's stored positions cannot be translated exactly."""


@dataclass(eq=False)
class JobGoneOnError(RefusedError):
    """After the point of no return a checkpoint, or what was staged of it, was found to be another one."""

    job: str
    what: str
    command: str

    _message = "job {job}: {what}; stop the job, then run: {command}"
    _hint = "the switch goes on by itself once that is done"


async def look_at_jobs(scene: Scene) -> None:
    """Raise JobRefusedError for a job that could not be moved, NotYetError for one that may still run.

    Nobody is held up yet, so here is the place to wait for a job that was just stopped.  A hook may be what stops the
    jobs: with one as a fence they are waited for behind it.
    """
    for job in scene.wave.jobs:
        move = job_move(scene.leg, job)
        seen = await in_thread(partial(look, scene.leg, move, scene.run.id))
        if FenceKind.HOOK not in scene.wave.fences:
            _refuse_running(scene, move, seen)


async def stage_checkpoint(scene: Scene) -> Result:
    """Translate a job's positions and keep them; raises NotYetError while it runs, or not all is copied.

    Raises JobRefusedError where it cannot be done exactly, and what reading and writing there raises.
    """
    return await _staged(scene, is_cut=False)


async def stage_lost_checkpoint(scene: Scene) -> Result:
    """The same where the cluster that is left is gone: a position behind the copies is where they end, and is told.

    A batch that had begun runs again on the other one, with what was copied of it.
    """
    return await _staged(scene, is_cut=True)


async def _staged(scene: Scene, *, is_cut: bool) -> Result:
    move, owner = _move(scene), scene.run.id
    seen = await in_thread(partial(look, scene.leg, move, owner))
    _refuse_running(scene, move, seen)
    if not is_cut:
        await refuse_past_end(scene.here, scene.leg, move, seen.checkpoint.positions())
    prepared = await _prepared(scene, move, seen, is_cut=is_cut)
    _check(scene, move, prepared.planned.refusals, waits=not is_cut)
    before = await in_thread(partial(backups, seen.files))
    halt = Event()
    try:
        if move.to:
            await in_thread(partial(stage_copy, prepared, seen.there, open_files(move.to), owner, halt), halt)
        else:
            await in_thread(partial(stage, prepared, seen.there, owner))
    except (PlanChangedError, ChangedSinceStagedError):
        raise NotYetError(f"job {move.job.name}: {seen.files.root} changed while it was translated") from None
    except PathTakenError as error:
        fix = f"name another path as {move.to_field} of the job"
        raise JobPathTakenError(move.job.name, error.message, fix) from error
    except NotStagedError as error:
        raise JobPathTakenError(move.job.name, error.message, "end or cancel that migration's run first") from error
    kept = {"at": move.at, "to": move.to, "plan": prepared.planned.hash, "before": before}
    return {**kept, DOUBTS: list(_cut_words(scene, move, prepared))} if is_cut else kept


async def publish_checkpoint(scene: Scene) -> Result:
    """Put what was staged in place; what is there already stays.

    Raises JobGoneOnError where the checkpoint has changed since, and says what to do; once that is done it goes on.
    """
    staged = _kept(scene)
    at, to = str(staged["at"]), str(staged["to"])
    route = f"link {_by(scene).link}"
    files, owner = open_files(at), scene.run.id
    try:
        if not to:
            undo = await in_thread(partial(publish, files, owner, route, staged["before"]))
            return None if undo is None else {"undo": undo}
        await in_thread(partial(publish_copy, files, open_files(to), owner, route))
    except (ChangedSinceStagedError, NotStagedError, PlanChangedError) as error:
        raise JobGoneOnError(scene.subject, error.message, _command(scene, at, to)) from error
    return {"moved": to}


async def put_back_checkpoint(scene: Scene) -> None:
    """Delete what was staged, in part or in whole, and nothing else."""
    move, staged = _move(scene), _kept(scene)
    await _unstage(str(staged.get("at", move.at)), str(staged.get("to", move.to)), scene.run.id)


async def _unstage(at: str, to: str, owner: str) -> None:
    if to:
        await in_thread(partial(unstage_copy, open_files(to), owner))
    else:
        await in_thread(partial(unstage, open_files(at), owner))


def _kept(scene: Scene) -> Mapping[str, Any]:
    """What staging has written down, with that cluster or without."""
    with_source = scene.run.result(StepKind.STAGE_CHECKPOINTS, scene.subject)
    return with_source or scene.run.result(StepKind.LOST_CHECKPOINTS, scene.subject)


def _refuse_running(scene: Scene, move: JobMove, seen: SeenJob) -> None:
    """Raise NotYetError where a job's checkpoint was written too short a time ago."""
    quiet = running(seen.checkpoint, now_ms(), scene.leg.migration.limits.job_quiet_ms)
    if quiet is not None:
        raise NotYetError(f"job {move.job.name}: {seen.files.root}: {quiet.what}")


def _by(scene: Scene) -> Leg:
    """The leg whose link translates; without the cluster that is left only the other one can be asked."""
    return scene.leg if scene.run.goes_without else translated_by(scene.leg, scene.run.part)


def _move(scene: Scene) -> JobMove:
    job = next(job for job in scene.wave.jobs if job.name == scene.subject)
    return job_move(scene.leg, job)


async def _prepared(scene: Scene, move: JobMove, seen: SeenJob, *, is_cut: bool) -> PreparedRewrite:
    leg = scene.leg
    clusters = OpenClusters({leg.here: scene.here, leg.there: scene.there})
    by, there = _by(scene), clusters.context(leg.there)
    link = LinkAt(by.link, there) if by == leg else LinkAt(by.link, there, clusters.context(leg.here))
    way = TranslationSource(ByLinks((link,)))
    spec = RewriteSpec(uncommitted=Uncommitted.TRANSLATE if is_cut else Uncommitted.REFUSE)
    request = RewriteRequest(move.at, spec, way, move.to or None)
    route, _ = await read_route(clusters, way, seen.checkpoint.positions())
    if isinstance(route, MapRoute):
        route = replace(route, is_cut=is_cut)
    return await in_thread(partial(prepare, seen.files, seen.checkpoint, request, route))


def _cut_words(scene: Scene, move: JobMove, prepared: PreparedRewrite) -> Iterator[str]:
    """What a job has read that is not on the target, partition by partition."""
    read: dict[TopicPartition, int] = {}
    for change in prepared.rewrite.changes:
        offset, at = change.old.offset, change.old.partition
        if change.moved is not None and isinstance(offset, int):
            read[at] = max(offset, read.get(at, 0))
    for at, offset in sorted(read.items()):
        end = prepared.route.cut_at(at) if isinstance(prepared.route, MapRoute) else None
        if end is not None and offset > end:
            yield (
                f"job {move.job.name} is at {offset:,} of {at}, and goes on where the copies end: what it has of "
                f"{end:,} to {offset - 1:,} is not on {scene.there.name}"
            )


def _check(scene: Scene, move: JobMove, refusals: tuple[Reason, ...], *, waits: bool) -> None:
    """Raise NotYetError where only copying is waited for, else JobBlockedError with all reasons."""
    if not refusals:
        return
    told = "; ".join(reason.what for reason in refusals)
    if waits and {reason.why for reason in refusals} == {ReasonKind.NOT_COPIED}:
        raise NotYetError(f"job {move.job.name}: {refusals[0].what}")
    by = _by(scene)
    shows = f"see every reason: anabranch checkpoint plan {move.at} --link {by.link} --target {scene.leg.there}"
    if by != scene.leg:  # whose map no command reads backwards
        shows = f"see where it stands: anabranch checkpoint inspect {move.at}"
    if not waits:
        shows += f"; where it cannot be determined without {scene.leg.here} "
        shows += "take the job out of the wave: anabranch migrate set"
    raise JobBlockedError(move.job.name, f"{move.at}: {told}", shows)


def _command(scene: Scene, at: str, to: str) -> str:
    by = _by(scene)
    words = ["anabranch checkpoint rewrite", at, "--link", by.link, "--target", scene.leg.there]
    if by != scene.leg:
        back = f"anabranch offsets translate {by.link} --target {scene.leg.here} --reverse --out offsets.yaml POSITIONS"
        words = [back, "; anabranch checkpoint rewrite", at, "--offsets offsets.yaml --target", scene.leg.there]
    return " ".join([*words, *(["--to", to] if to else []), "--execute"])
