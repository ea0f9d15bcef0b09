"""Changes of links."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from anabranch.config import link_file
from anabranch.config.link_file import LinkShape
from anabranch.kafka.cluster import Cluster
from anabranch.model.accounts import Role
from anabranch.model.decisions import AcceptPlan, AcceptReport
from anabranch.model.reports import DeletePlan, DeleteReport, StopPlan, StopReport
from anabranch.model.transactions import AbortPlan, AbortReport
from anabranch.operations.links import abort_transaction, accept, change, create, delete, stop
from anabranch.operations.links.change import PAUSE, RESUME, ChangeLinkPlan, ChangeLinkReport
from anabranch.operations.links.create import CreateLinkPlan, CreateLinkReport
from anabranch.service.clusters import ClusterPool
from anabranch.service.verb import LinkRequest, Name, Request, Verb
from anabranch.service.words import command

Offset = Annotated[int, Field(ge=0, lt=2**63)]
_PLACE = "create"


class CreateRequest(Request):
    """A link as in a link file."""

    link: LinkShape


class PlaceRequest(LinkRequest):
    """Pending decisions of a link: of a topic, or of a partition as ``TOPIC-PARTITION``; None for all."""

    where: Name | None = None
    at: Offset | None = None


class AbortRequest(LinkRequest):
    """A transaction of the source that holds a lane up, as ``TOPIC-PARTITION``."""

    where: Name
    producer_id: Offset | None = None


class StopRequest(LinkRequest):
    """A link's runs, and for how many seconds their end is waited for."""

    wait_s: Annotated[float, Field(ge=0, le=600)] = 60.0


def _subject(request: LinkRequest) -> str:
    return f"link {request.link}"


def _target(request: LinkRequest) -> tuple[str, object]:
    return "--target", request.target


async def _create_clusters(pool: ClusterPool, request: CreateRequest) -> tuple[Cluster, Cluster, Any]:
    spec = link_file.spec_of(request.link, _PLACE)
    return pool.cluster(spec.source.context), pool.cluster(spec.target.context), spec


async def _create_plan(pool: ClusterPool, request: CreateRequest) -> CreateLinkPlan:
    source, target, spec = await _create_clusters(pool, request)
    return await create.plan(source, target, spec)


async def _create_apply(pool: ClusterPool, request: CreateRequest, planned: CreateLinkPlan) -> CreateLinkReport:
    source, target, _ = await _create_clusters(pool, request)
    return await create.apply(source, target, planned)


async def _pause(pool: ClusterPool, request: LinkRequest) -> ChangeLinkPlan:
    return await change.plan(pool.cluster(request.target), request.link, PAUSE)


async def _resume(pool: ClusterPool, request: LinkRequest) -> ChangeLinkPlan:
    return await change.plan(pool.cluster(request.target), request.link, RESUME)


async def _change(pool: ClusterPool, request: LinkRequest, planned: ChangeLinkPlan) -> ChangeLinkReport:
    return await change.apply(pool.cluster(request.target), planned)


async def _accept_plan(pool: ClusterPool, request: PlaceRequest) -> AcceptPlan:
    return await accept.plan(*await pool.pair(request.target, request.link), request.link, request.where, request.at)


async def _accept(pool: ClusterPool, request: PlaceRequest, planned: AcceptPlan) -> AcceptReport:
    return await accept.apply(*await pool.pair(request.target, request.link), planned)


async def _abort_plan(pool: ClusterPool, request: AbortRequest) -> AbortPlan:
    clusters = await pool.pair(request.target, request.link)
    return await abort_transaction.plan(*clusters, request.link, request.where, request.producer_id)


async def _abort(pool: ClusterPool, request: AbortRequest, planned: AbortPlan) -> AbortReport:
    return await abort_transaction.apply(*await pool.pair(request.target, request.link), planned)


async def _stop_plan(pool: ClusterPool, request: StopRequest) -> StopPlan:
    return await stop.plan(pool.cluster(request.target), request.link, request.wait_s)


async def _stop(pool: ClusterPool, request: StopRequest, planned: StopPlan) -> StopReport:
    return await stop.apply(pool.cluster(request.target), planned)


async def _delete_plan(pool: ClusterPool, request: LinkRequest) -> DeletePlan:
    return await delete.plan(pool.cluster(request.target), request.link)


async def _delete(pool: ClusterPool, request: LinkRequest, planned: DeletePlan) -> DeleteReport:
    return await delete.apply(pool.cluster(request.target), planned)


def _accept_words(request: PlaceRequest) -> str:
    where = [request.where] if request.where is not None else []
    return command("link", "accept", request.link, *where, options=[("--at", request.at), _target(request)])


def _abort_words(request: AbortRequest) -> str:
    options = [("--producer-id", request.producer_id), _target(request)]
    return command("link", "abort-transaction", request.link, request.where, options=options)


def _create_words(request: CreateRequest) -> str:
    name = request.link.id or f"{request.link.source}-{request.link.target}"
    return command("link", "create", options=[("--file", f"{name}.yaml")])


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "links.create",
        "Store a link, where nothing forbids it",
        Role.APPROVER,
        CreateRequest,
        CreateLinkPlan,
        CreateLinkReport,
        lambda request: f"link {request.link.id or f'{request.link.source}-{request.link.target}'}",
        _create_words,
        _create_plan,
        _create_apply,
    ),
    Verb(
        "links.pause",
        "Have a link's workers stop reading; they keep their lanes",
        Role.OPERATOR,
        LinkRequest,
        ChangeLinkPlan,
        ChangeLinkReport,
        _subject,
        lambda request: command("link", "pause", request.link, options=[_target(request)]),
        _pause,
        _change,
        execute="",
    ),
    Verb(
        "links.resume",
        "Have a paused link, and lanes of it that had stopped, go on",
        Role.OPERATOR,
        LinkRequest,
        ChangeLinkPlan,
        ChangeLinkReport,
        _subject,
        lambda request: command("link", "resume", request.link, options=[_target(request)]),
        _resume,
        _change,
        execute="",
    ),
    Verb(
        "links.accept",
        "Let lanes go on that wait for a person's decision",
        Role.APPROVER,
        PlaceRequest,
        AcceptPlan,
        AcceptReport,
        _subject,
        _accept_words,
        _accept_plan,
        _accept,
    ),
    Verb(
        "links.abort-transaction",
        "End a transaction of the source that holds a lane up",
        Role.APPROVER,
        AbortRequest,
        AbortPlan,
        AbortReport,
        _subject,
        _abort_words,
        _abort_plan,
        _abort,
    ),
    Verb(
        "links.stop",
        "Ask a link's runs to end, wherever they are",
        Role.OPERATOR,
        StopRequest,
        StopPlan,
        StopReport,
        _subject,
        lambda request: command("link", "stop", request.link, options=[_target(request)]),
        _stop_plan,
        _stop,
        execute="",
    ),
    Verb(
        "links.delete",
        "Forget a link; what it copied stays",
        Role.APPROVER,
        LinkRequest,
        DeletePlan,
        DeleteReport,
        _subject,
        lambda request: command("link", "delete", request.link, options=[_target(request)]),
        _delete_plan,
        _delete,
    ),
)
