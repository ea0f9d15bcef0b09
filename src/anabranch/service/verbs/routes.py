"""Changes of the route table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from anabranch.config.routes_file import RoutesShape, of_shape, table_fields
from anabranch.config.yaml_file import yaml_text
from anabranch.model.accounts import Role
from anabranch.operations.routes import apply, rollback
from anabranch.operations.routes.planning import RoutesPlan, RoutesPublished
from anabranch.routes.table import RouteTable
from anabranch.service.reach import Reach
from anabranch.service.route_desk import ServiceDesk
from anabranch.service.verb import Request, Verb
from anabranch.service.words import command

Why = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f]+$")]
FILE = "routes.yaml"


class ApplyRequest(Request):
    """A whole route table, with the fields of a routes file, and why it is published."""

    table: RoutesShape
    reason: Why


class RollbackRequest(Request):
    """A version whose table is published again, and why."""

    version: Annotated[int, Field(ge=1, lt=2**31)]
    reason: Why


def _table(request: ApplyRequest) -> RouteTable:
    return of_shape(request.table, "table")


def _files(request: ApplyRequest) -> Mapping[str, str]:
    return {FILE: yaml_text(table_fields(_table(request)))}


def _desk(reach: Reach) -> ServiceDesk:
    return replace(reach.routes, author=reach.account)


async def _apply_plan(reach: Reach, request: ApplyRequest) -> RoutesPlan:
    return await apply.plan(_desk(reach), _table(request), request.reason)


async def _apply(reach: Reach, _: ApplyRequest, planned: RoutesPlan) -> RoutesPublished:
    return await apply.apply(_desk(reach), planned)


async def _rollback_plan(reach: Reach, request: RollbackRequest) -> RoutesPlan:
    return await rollback.plan(_desk(reach), request.version, request.reason)


async def _rollback(reach: Reach, _: RollbackRequest, planned: RoutesPlan) -> RoutesPublished:
    return await rollback.apply(_desk(reach), planned)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "routes.apply",
        "Publish a route table, and lead applications by it",
        Role.APPROVER,
        ApplyRequest,
        RoutesPlan,
        RoutesPublished,
        lambda _: "route table",
        lambda request: command("route", "apply", options=[("--file", FILE), ("--reason", request.reason)]),
        _apply_plan,
        _apply,
        files=_files,
    ),
    Verb(
        "routes.rollback",
        "Publish the route table of an earlier version again",
        Role.APPROVER,
        RollbackRequest,
        RoutesPlan,
        RoutesPublished,
        lambda request: f"route table, version {request.version}",
        lambda request: command("route", "rollback", str(request.version), options=[("--reason", request.reason)]),
        _rollback_plan,
        _rollback,
    ),
)
