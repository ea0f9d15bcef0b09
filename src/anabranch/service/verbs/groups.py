"""Changes of consumer groups' positions."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from anabranch.groups.baseline import BaselinePlan, BaselineReport
from anabranch.groups.create import CreatePlan, GroupCreated
from anabranch.groups.plan import GroupsMoved, GroupsPlan
from anabranch.groups.select import GroupSelection
from anabranch.groups.undo import GroupsUndone, UndoPlan
from anabranch.model.accounts import Role
from anabranch.model.start import StartPosition
from anabranch.operations.groups import baseline, create, sync, undo
from anabranch.service.reach import Reach
from anabranch.service.verb import LinkRequest, Name, Request, Start, Verb
from anabranch.service.words import command

Patterns = Annotated[tuple[Name, ...], Field(max_length=1000)]


class GroupsRequest(LinkRequest):
    """Groups of a link's source by patterns that match whole names; none for all that committed what it copies.

    With ``topics``, patterns too, only their commits of these source topics count.
    """

    groups: Patterns = ()
    exclude: Patterns = ()
    topics: Patterns = ()

    @property
    def selection(self) -> GroupSelection:
        """As the operations want it."""
        return GroupSelection(self.groups, self.exclude, self.topics)


class BeginRequest(Request):
    """A group that begins in some topics of a cluster.

    ``start`` is earliest, latest, a time with its zone, group:NAME, or the next offsets to read, given as
    TOPIC-PARTITION:OFFSET with commas between them.
    """

    target: Name
    group: Name
    topics: Annotated[tuple[Name, ...], Field(min_length=1, max_length=1000)]
    start: Start = "earliest"


class UndoRequest(Request):
    """A change of groups' positions on a cluster, by the id of its undo record."""

    target: Name
    undo: Name


def _subject(request: LinkRequest) -> str:
    return f"groups of link {request.link}"


def _words(verb: str, request: GroupsRequest) -> str:
    options = [("--exclude", request.exclude), ("--topics", request.topics), ("--target", request.target)]
    return command("groups", verb, request.link, *request.groups, options=options)


async def _baseline_plan(reach: Reach, request: GroupsRequest) -> BaselinePlan:
    clusters = await reach.clusters.pair(request.target, request.link)
    return await baseline.plan(*clusters, request.link, request.selection)


async def _baseline(reach: Reach, request: GroupsRequest, planned: BaselinePlan) -> BaselineReport:
    return await baseline.apply(*await reach.clusters.pair(request.target, request.link), planned)


async def _sync_plan(reach: Reach, request: GroupsRequest) -> GroupsPlan:
    clusters = await reach.clusters.pair(request.target, request.link)
    return await sync.plan(*clusters, request.link, request.selection)


async def _sync(reach: Reach, request: GroupsRequest, planned: GroupsPlan) -> GroupsMoved:
    return await sync.apply(*await reach.clusters.pair(request.target, request.link), planned)


async def _create_plan(reach: Reach, request: BeginRequest) -> CreatePlan:
    return await create.plan(
        reach.clusters.cluster(request.target), request.group, request.topics, StartPosition.parse(request.start)
    )


async def _create(reach: Reach, request: BeginRequest, planned: CreatePlan) -> GroupCreated:
    return await create.apply(reach.clusters.cluster(request.target), planned)


def _create_words(request: BeginRequest) -> str:
    options = [("--topic", request.topics), ("--start", request.start), ("--target", request.target)]
    return command("groups", "create", request.group, options=options)


async def _undo_plan(reach: Reach, request: UndoRequest) -> UndoPlan:
    return await undo.plan(reach.clusters.cluster(request.target), request.undo)


async def _undo(reach: Reach, request: UndoRequest, planned: UndoPlan) -> GroupsUndone:
    return await undo.apply(reach.clusters.cluster(request.target), planned)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "groups.baseline",
        "Remember what groups have committed, so that a later move can tell who has gone on",
        Role.OPERATOR,
        GroupsRequest,
        BaselinePlan,
        BaselineReport,
        _subject,
        lambda request: _words("baseline", request),
        _baseline_plan,
        _baseline,
        execute="",
    ),
    Verb(
        "groups.sync",
        "Move groups to exactly the same place on the target",
        Role.APPROVER,
        GroupsRequest,
        GroupsPlan,
        GroupsMoved,
        _subject,
        lambda request: _words("sync", request),
        _sync_plan,
        _sync,
    ),
    Verb(
        "groups.create",
        "Begin a group before its consumers are started there",
        Role.APPROVER,
        BeginRequest,
        CreatePlan,
        GroupCreated,
        lambda request: f"group {request.group}",
        _create_words,
        _create_plan,
        _create,
    ),
    Verb(
        "groups.undo",
        "Take a move of groups back",
        Role.APPROVER,
        UndoRequest,
        UndoPlan,
        GroupsUndone,
        lambda request: f"groups' move {request.undo}",
        lambda request: command("groups", "undo", request.undo, options=[("--target", request.target)]),
        _undo_plan,
        _undo,
    ),
)
