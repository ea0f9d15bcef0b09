"""Rewrites of checkpoints and savepoints below the directories that the service was given."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from anabranch.checkpoints.plan import PendingTransactions, RewriteSpec, StopSavepoint, Uncommitted
from anabranch.checkpoints.reports import UndoRewritePlan, UndoRewriteReport
from anabranch.kafka.clusters import Clusters
from anabranch.model.accounts import Role
from anabranch.model.start import StartPosition
from anabranch.operations.checkpoints import rewrite, undo
from anabranch.operations.checkpoints.plans import RewritePlan, RewriteReport, RewriteRequest
from anabranch.operations.checkpoints.translation_source import ByLinks, ByStart, LinkAt, TranslationSource
from anabranch.service.reach import Reach
from anabranch.service.verb import Name, Request, Start, Verb
from anabranch.service.words import command

Place = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00-\x1f\x7f]+$")]
Names = Annotated[tuple[Name, ...], Field(max_length=1000)]


class RewritePositions(Request):
    """A rewrite, by the maps of links into ``target`` or by a start position there; in place, or ``to`` a new path.

    ``stopped`` says that the job is stopped although it has written lately.
    """

    path: Place
    target: Name
    links: Names = ()
    start: Start | None = None
    stay: Names = ()
    sources: Names | None = None
    uncommitted: Uncommitted = Uncommitted.REFUSE
    transactions: PendingTransactions = PendingTransactions.REFUSE
    stop_savepoint: StopSavepoint = StopSavepoint.REFUSE
    to: Place | None = None
    stopped: bool = False

    @model_validator(mode="after")
    def _leads_somewhere(self) -> Self:
        if bool(self.links) == (self.start is not None):
            raise ValueError("give either links or a start position")
        return self


class UndoPositions(Request):
    """The newest rewrite in place of a checkpoint."""

    path: Place


def as_rewrite(reach: Reach, request: RewritePositions) -> RewriteRequest:
    """As the operation wants it; raises PathNotOpenError, ConfigError."""
    target = reach.clusters.context(request.target)
    method: ByLinks | ByStart
    if request.start is None:
        method = ByLinks(tuple(LinkAt(link, target) for link in request.links))
    else:
        method = ByStart(StartPosition.parse(request.start), target)
    spec = RewriteSpec(
        sources=None if request.sources is None else frozenset(request.sources),
        uncommitted=request.uncommitted,
        transactions=request.transactions,
        stop_savepoint=request.stop_savepoint,
    )
    return RewriteRequest(
        reach.place(request.path),
        spec,
        TranslationSource(method, stay=frozenset(request.stay)),
        None if request.to is None else reach.place(request.to),
        request.stopped,
    )


async def _plan(reach: Reach, request: RewritePositions) -> RewritePlan:
    asked = as_rewrite(reach, request)
    async with Clusters(reach.clusters.context) as clusters:
        return await rewrite.plan(clusters, asked)


async def _apply(reach: Reach, _: RewritePositions, planned: RewritePlan) -> RewriteReport:
    async with Clusters(reach.clusters.context) as clusters:
        return await rewrite.apply(clusters, planned)


async def _undo_plan(reach: Reach, request: UndoPositions) -> UndoRewritePlan:
    return await undo.plan(reach.place(request.path))


async def _undo(_: Reach, __: UndoPositions, planned: UndoRewritePlan) -> UndoRewriteReport:
    return await undo.apply(planned)


def _words(request: RewritePositions) -> str:
    options: list[tuple[str, object]] = [
        ("--link", request.links),
        ("--start", request.start),
        ("--target", request.target),
        ("--stay", request.stay),
        ("--source", request.sources),
    ]
    if request.uncommitted is not Uncommitted.REFUSE:
        options.append(("--uncommitted", request.uncommitted.value))
    if request.transactions is not PendingTransactions.REFUSE:
        options.append(("--transactions", request.transactions.value))
    if request.stop_savepoint is not StopSavepoint.REFUSE:
        options.append(("--stop-savepoint", request.stop_savepoint.value))
    options += [("--to", request.to), ("--stopped", request.stopped)]
    return command("checkpoint", "rewrite", request.path, options=options)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "checkpoints.rewrite",
        "Write translated positions into a checkpoint, in place with a backup, or to a new path",
        Role.APPROVER,
        RewritePositions,
        RewritePlan,
        RewriteReport,
        lambda request: f"checkpoint {request.path}",
        _words,
        _plan,
        _apply,
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
