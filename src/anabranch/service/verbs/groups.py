"""Changes of consumer groups' positions."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from anabranch.groups.baseline import BaselinePlan, BaselineReport
from anabranch.groups.plan import GroupsMoved, GroupsPlan
from anabranch.groups.select import GroupSelection
from anabranch.groups.undo import GroupsUndone, UndoPlan
from anabranch.model.accounts import Role
from anabranch.operations.groups import baseline, sync, undo
from anabranch.service.clusters import ClusterPool
from anabranch.service.verb import LinkRequest, Name, Request, Verb
from anabranch.service.words import command

Patterns = Annotated[tuple[Name, ...], Field(max_length=1000)]


class GroupsRequest(LinkRequest):
    """Groups of a link's source by patterns that match whole names; none for all that committed what it copies."""

    groups: Patterns = ()
    exclude: Patterns = ()


class SyncRequest(GroupsRequest):
    """Groups whose commits of some source topics alone count, by patterns too."""

    topics: Patterns = ()


class UndoRequest(Request):
    """A change of groups' positions on a cluster, by the id of its undo record."""

    target: Name
    undo: Name


def _subject(request: LinkRequest) -> str:
    return f"groups of link {request.link}"


def _words(verb: str, request: GroupsRequest, *options: tuple[str, object]) -> str:
    every = [("--exclude", request.exclude), *options, ("--target", request.target)]
    return command("groups", verb, request.link, *request.groups, options=every)


async def _baseline_plan(pool: ClusterPool, request: GroupsRequest) -> BaselinePlan:
    selection = GroupSelection(request.groups, request.exclude)
    return await baseline.plan(*await pool.pair(request.target, request.link), request.link, selection)


async def _baseline(pool: ClusterPool, request: GroupsRequest, planned: BaselinePlan) -> BaselineReport:
    return await baseline.apply(*await pool.pair(request.target, request.link), planned)


async def _sync_plan(pool: ClusterPool, request: SyncRequest) -> GroupsPlan:
    selection = GroupSelection(request.groups, request.exclude, request.topics)
    return await sync.plan(*await pool.pair(request.target, request.link), request.link, selection)


async def _sync(pool: ClusterPool, request: SyncRequest, planned: GroupsPlan) -> GroupsMoved:
    return await sync.apply(*await pool.pair(request.target, request.link), planned)


async def _undo_plan(pool: ClusterPool, request: UndoRequest) -> UndoPlan:
    return await undo.plan(pool.cluster(request.target), request.undo)


async def _undo(pool: ClusterPool, request: UndoRequest, planned: UndoPlan) -> GroupsUndone:
    return await undo.apply(pool.cluster(request.target), planned)


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
        SyncRequest,
        GroupsPlan,
        GroupsMoved,
        _subject,
        lambda request: _words("sync", request, ("--topics", request.topics)),
        _sync_plan,
        _sync,
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
