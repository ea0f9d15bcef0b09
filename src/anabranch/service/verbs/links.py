"""Changes of links."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from anabranch.config import group_rules, link_file, maps_file
from anabranch.config.link_file import LinkShape
from anabranch.config.units import parse_rate
from anabranch.kafka.cluster import Cluster
from anabranch.model.accounts import Role
from anabranch.model.decisions import AcceptPlan, AcceptReport
from anabranch.model.reports import DeletePlan, DeleteReport, StopPlan, StopReport
from anabranch.model.transactions import AbortPlan, AbortReport
from anabranch.operations.links import abort_transaction, accept, change, create, delete, run, stop
from anabranch.operations.links.change import PAUSE, RESUME, ChangeLinkPlan, ChangeLinkReport, WantedChanges
from anabranch.operations.links.create import CreateLinkPlan, CreateLinkReport
from anabranch.operations.links.run import RunPlan, RunReport
from anabranch.operations.links.show import show
from anabranch.service.reach import Reach
from anabranch.service.stream_links import check_no_stream
from anabranch.service.verb import LinkRequest, Name, Offset, Place, Rate, Request, Verb
from anabranch.service.verbs import create_words
from anabranch.service.verbs.link_wait import WAIT, shown
from anabranch.service.words import command

Patterns = Annotated[tuple[Name, ...], Field(min_length=1, max_length=1000)]
_PLACE = "create"


class CreateRequest(Request):
    """A link as in a link file, which names no other file: that would be one of the service's machine.

    ``adopt`` is a file of maps, as `offsets.rebuild` made it or below the service's own directories: the link goes on
    where what another tool has copied ends.
    """

    link: LinkShape
    adopt: Place | None = None

    @field_validator("link")
    @classmethod
    def _names_no_file(cls, link: LinkShape) -> LinkShape:
        if isinstance(link.start, str) and link.start.startswith("@"):
            raise ValueError("start: a file cannot be named here; give the offsets themselves")
        return link


class SetRequest(LinkRequest):
    """What becomes of a link's filter, rate limit and continuous sync of groups; what is None stays.

    A rate limit of ``none`` takes it away, and ``none`` alone in place of groups ends their sync.
    """

    include: Patterns | None = None
    exclude: Patterns | None = None
    rate_limit: Rate | None = None
    sync_groups: Patterns | None = None
    sync_interval: Rate | None = None
    checkpoints: bool | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if all(getattr(self, name) is None for name in type(self).model_fields if name not in LinkRequest.model_fields):
            raise ValueError("nothing to change was given")
        return self

    @property
    def refilters(self) -> bool:
        """Whether other topics are copied."""
        return self.include is not None or self.exclude is not None

    @property
    def follows(self) -> bool:
        """Whether groups are synced otherwise."""
        return self.sync_groups is not None or self.sync_interval is not None or self.checkpoints is not None


class PlaceRequest(LinkRequest):
    """Pending decisions of a link: of a topic, or of a partition as ``TOPIC-PARTITION``; None for all."""

    where: Name | None = None
    at: Offset | None = None


class AbortRequest(LinkRequest):
    """A transaction of the source that holds a lane up, as ``TOPIC-PARTITION``."""

    where: Name
    producer_id: Offset | None = None


class LinkStopRequest(LinkRequest):
    """A link's runs, and for how many seconds their end is waited for."""

    wait_s: Annotated[float, Field(ge=0, le=600)] = 60.0


def _subject(request: LinkRequest) -> str:
    return f"link {request.link}"


def _target(request: LinkRequest) -> tuple[str, object]:
    return "--target", request.target


async def _create_clusters(reach: Reach, request: CreateRequest) -> tuple[Cluster, Cluster, Any]:
    spec = link_file.spec_of(request.link, _PLACE)
    return reach.clusters.cluster(spec.source.context), reach.clusters.cluster(spec.target.context), spec


async def _create_plan(reach: Reach, request: CreateRequest) -> CreateLinkPlan:
    source, target, spec = await _create_clusters(reach, request)
    await check_no_stream(reach.migrating.stored.streams, spec.id)
    adopted = () if request.adopt is None else await asyncio.to_thread(maps_file.load, reach.maps_file(request.adopt))
    return await create.plan(source, target, spec, adopted)


async def _create_apply(reach: Reach, request: CreateRequest, planned: CreateLinkPlan) -> CreateLinkReport:
    source, target, spec = await _create_clusters(reach, request)
    await check_no_stream(reach.migrating.stored.streams, spec.id)
    return await create.apply(source, target, planned)


async def _pause(reach: Reach, request: LinkRequest) -> ChangeLinkPlan:
    return await change.plan(reach.clusters.cluster(request.target), request.link, PAUSE)


async def _resume(reach: Reach, request: LinkRequest) -> ChangeLinkPlan:
    return await change.plan(reach.clusters.cluster(request.target), request.link, RESUME)


async def _change(reach: Reach, request: LinkRequest, planned: ChangeLinkPlan) -> ChangeLinkReport:
    return await change.apply(reach.clusters.cluster(request.target), planned)


async def _accept_plan(reach: Reach, request: PlaceRequest) -> AcceptPlan:
    return await accept.plan(
        *await reach.clusters.pair(request.target, request.link), request.link, request.where, request.at
    )


async def _accept(reach: Reach, request: PlaceRequest, planned: AcceptPlan) -> AcceptReport:
    return await accept.apply(*await reach.clusters.pair(request.target, request.link), planned)


async def _abort_plan(reach: Reach, request: AbortRequest) -> AbortPlan:
    clusters = await reach.clusters.pair(request.target, request.link)
    return await abort_transaction.plan(*clusters, request.link, request.where, request.producer_id)


async def _abort(reach: Reach, request: AbortRequest, planned: AbortPlan) -> AbortReport:
    return await abort_transaction.apply(*await reach.clusters.pair(request.target, request.link), planned)


async def _stop_plan(reach: Reach, request: LinkStopRequest) -> StopPlan:
    return await stop.plan(reach.clusters.cluster(request.target), request.link, request.wait_s)


async def _stop(reach: Reach, request: LinkStopRequest, planned: StopPlan) -> StopReport:
    return await stop.apply(reach.clusters.cluster(request.target), planned)


async def _delete_plan(reach: Reach, request: LinkRequest) -> DeletePlan:
    return await delete.plan(reach.clusters.cluster(request.target), request.link)


async def _delete(reach: Reach, request: LinkRequest, planned: DeletePlan) -> DeleteReport:
    return await delete.apply(reach.clusters.cluster(request.target), planned)


async def _set_plan(reach: Reach, request: SetRequest) -> ChangeLinkPlan:
    target = reach.clusters.cluster(request.target)
    changes: dict[str, Any] = {}
    if request.rate_limit is not None:
        changes["rate_limit"] = None if request.rate_limit == "none" else parse_rate(request.rate_limit)
    if request.refilters or request.follows:
        before = (await show(target, request.link)).spec
        if request.refilters:
            changes["filter"] = change.refiltered(request.link, before.filter, request.include, request.exclude)
        if request.follows:
            changes["groups"] = group_rules.changed(
                request.link, before.groups, request.sync_groups, request.sync_interval, request.checkpoints
            )
    return await change.plan(target, request.link, WantedChanges(**changes))


async def _run_plan(reach: Reach, request: LinkRequest) -> RunPlan:
    return await run.plan(reach.clusters.cluster(request.target), request.link, reach.jobs.master)


async def _run(reach: Reach, request: LinkRequest, planned: RunPlan) -> RunReport:
    started = await reach.launching.link(request.target, planned, reach.account, reach.tell)
    return RunReport(request.link, started.run, started.pid, str(started.log))


def _set_words(request: SetRequest) -> str:
    options: list[tuple[str, object]] = [
        ("--include", request.include),
        ("--exclude", request.exclude),
        ("--rate-limit", request.rate_limit),
        ("--sync-groups", request.sync_groups),
        ("--sync-interval", request.sync_interval),
    ]
    if request.checkpoints is not None:
        options.append(("--checkpoints" if request.checkpoints else "--no-checkpoints", True))
    return command("link", "set", request.link, options=[*options, _target(request)])


def _accept_words(request: PlaceRequest) -> str:
    where = [request.where] if request.where is not None else []
    return command("link", "accept", request.link, *where, options=[("--at", request.at), _target(request)])


def _abort_words(request: AbortRequest) -> str:
    options = [("--producer-id", request.producer_id), _target(request)]
    return command("link", "abort-transaction", request.link, request.where, options=options)


def _stop_words(request: LinkStopRequest) -> str:
    return command("link", "stop", request.link, options=[("--wait", f"{request.wait_s:g}"), _target(request)])


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "links.create",
        "Store a link, where nothing forbids it",
        Role.APPROVER,
        CreateRequest,
        CreateLinkPlan,
        CreateLinkReport,
        lambda request: f"link {request.link.id or f'{request.link.source}-{request.link.target}'}",
        lambda request: create_words.words(request.link, request.adopt),
        _create_plan,
        _create_apply,
        files=lambda request: create_words.files(request.link),
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
        "links.set",
        "Change a link's filter, rate limit or continuous sync of groups; its workers obey within two seconds",
        Role.APPROVER,
        SetRequest,
        ChangeLinkPlan,
        ChangeLinkReport,
        _subject,
        _set_words,
        _set_plan,
        _change,
        execute="",
    ),
    Verb(
        "links.run",
        "Start a link; it goes on exactly at its positions",
        Role.OPERATOR,
        LinkRequest,
        RunPlan,
        RunReport,
        _subject,
        lambda request: command("link", "run", request.link, options=[("--detach", True), _target(request)]),
        _run_plan,
        _run,
        execute="",
        goes_on=shown,
    ),
    Verb(
        "links.stop",
        "Ask a link's runs to end, wherever they are",
        Role.OPERATOR,
        LinkStopRequest,
        StopPlan,
        StopReport,
        _subject,
        _stop_words,
        _stop_plan,
        _stop,
        execute="",
        goes_on=shown,
    ),
    WAIT,
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
