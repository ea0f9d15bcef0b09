"""Rewrites of checkpoints and savepoints below the directories that the service was given."""

from __future__ import annotations

from typing import Any

from anabranch.checkpoints.reports import UndoRewritePlan, UndoRewriteReport
from anabranch.kafka.clusters import Clusters
from anabranch.model.accounts import Role
from anabranch.operations.checkpoints import rewrite, undo
from anabranch.operations.checkpoints.plans import RewritePlan, RewriteReport
from anabranch.service.reach import Reach
from anabranch.service.verb import Place, Request, Verb
from anabranch.service.verbs.rewrite_request import RewritePositions, as_rewrite, files, words
from anabranch.service.words import command


class UndoPositions(Request):
    """The newest rewrite in place of a checkpoint."""

    path: Place


async def _plan(reach: Reach, request: RewritePositions) -> RewritePlan:
    asked = await as_rewrite(reach, request)
    async with Clusters(reach.clusters.context) as clusters:
        return await rewrite.plan(clusters, asked)


async def _apply(reach: Reach, _: RewritePositions, planned: RewritePlan) -> RewriteReport:
    async with Clusters(reach.clusters.context) as clusters:
        return await rewrite.apply(clusters, planned)


async def _undo_plan(reach: Reach, request: UndoPositions) -> UndoRewritePlan:
    return await undo.plan(reach.place(request.path))


async def _undo(_: Reach, __: UndoPositions, planned: UndoRewritePlan) -> UndoRewriteReport:
    return await undo.apply(planned)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "checkpoints.rewrite",
        "Write translated positions into a checkpoint, in place with a backup, or to a new path",
        Role.APPROVER,
        RewritePositions,
        RewritePlan,
        RewriteReport,
        lambda request: f"checkpoint {request.path}",
        words,
        _plan,
        _apply,
        files=files,
    ),
    Verb(
        "checkpoints.undo",
        "Take the newest rewrite in place back, byte for byte",
        Role.APPROVER,
        UndoPositions,
        UndoRewritePlan,
        UndoRewriteReport,
        lambda request: f"checkpoint {request.path}",
        lambda request: command("checkpoint", "undo", request.path),
        _undo_plan,
        _undo,
    ),
)
