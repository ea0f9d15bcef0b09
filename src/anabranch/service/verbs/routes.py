"""Changes of the route table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from anabranch.config.routes_file import RoutesShape, of_shape, table_fields
from anabranch.config.yaml_file import yaml_text
from anabranch.model.accounts import Role
from anabranch.model.routing import Stragglers, WhenLost
from anabranch.operations.routes import apply, cancel, rollback
from anabranch.operations.routes.cancel import CancelledSwitch, CancelSwitchPlan
from anabranch.operations.routes.planning import RoutesPlan, RoutesPublished
from anabranch.routes.switch import DEADLINE_MS, SwitchPolicy
from anabranch.routes.table import RouteTable
from anabranch.service.reach import Reach
from anabranch.service.route_desk import ServiceDesk
from anabranch.service.verb import Request, Verb
from anabranch.service.words import command

Why = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f]+$")]
SwitchId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
FILE = "routes.yaml"


class ChangeRequest(Request):
    """How live clients are moved to another cluster.

    ``stragglers`` is what becomes of it when one has not paused after ``timeout_s`` seconds: it is given up, or
    producers are left behind; ``when_lost`` what becomes of it when the cluster that they leave does not answer.  With
    ``at_once`` nothing is coordinated, and no position is moved.
    """

    stragglers: Literal["cancel", "leave"] = "cancel"
    when_lost: Literal["wait", "go"] = "wait"
    timeout_s: Annotated[int, Field(ge=1, le=3600)] = DEADLINE_MS // 1000
    at_once: bool = False

    def policy(self) -> SwitchPolicy:
        """As it is planned."""
        return SwitchPolicy(Stragglers(self.stragglers), WhenLost(self.when_lost), self.timeout_s * 1000, self.at_once)

    def options(self) -> list[tuple[str, object]]:
        """As options of the command line."""
        timeout = None if self.timeout_s * 1000 == DEADLINE_MS else self.timeout_s
        stragglers = None if self.stragglers == "cancel" else self.stragglers
        when_lost = None if self.when_lost == "wait" else self.when_lost
        found = [("--stragglers", stragglers), ("--when-lost", when_lost)]
        return [*found, ("--timeout", timeout), ("--at-once", self.at_once)]


class ApplyRequest(ChangeRequest):
    """A whole route table, with the fields of a routes file, and why it is published."""

    table: RoutesShape
    reason: Why


class RollbackRequest(ChangeRequest):
    """A version whose table is published again, and why."""

    version: Annotated[int, Field(ge=1, lt=2**31)]
    reason: Why


class CancelSwitchRequest(Request):
    """A switch that is given up, and why."""

    switch: SwitchId
    reason: Why


def _table(request: ApplyRequest) -> RouteTable:
    return of_shape(request.table, "table")


def _files(request: ApplyRequest) -> Mapping[str, str]:
    return {FILE: yaml_text(table_fields(_table(request)))}


def _desk(reach: Reach) -> ServiceDesk:
    return replace(reach.routes, author=reach.account, tell=reach.tell)


async def _apply_plan(reach: Reach, request: ApplyRequest) -> RoutesPlan:
    return await apply.plan(_desk(reach), _table(request), request.reason, request.policy())


async def _apply(reach: Reach, _: ApplyRequest, planned: RoutesPlan) -> RoutesPublished:
    return await apply.apply(_desk(reach), planned)


async def _rollback_plan(reach: Reach, request: RollbackRequest) -> RoutesPlan:
    return await rollback.plan(_desk(reach), request.version, request.reason, request.policy())


async def _rollback(reach: Reach, _: RollbackRequest, planned: RoutesPlan) -> RoutesPublished:
    return await rollback.apply(_desk(reach), planned)


async def _cancel_plan(reach: Reach, request: CancelSwitchRequest) -> CancelSwitchPlan:
    return await cancel.plan(_desk(reach), request.switch, request.reason)


async def _cancel(reach: Reach, _: CancelSwitchRequest, planned: CancelSwitchPlan) -> CancelledSwitch:
    return await cancel.apply(_desk(reach), planned)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "routes.apply",
        "Publish a route table, and lead applications by it",
        Role.APPROVER,
        ApplyRequest,
        RoutesPlan,
        RoutesPublished,
        lambda _: "route table",
        lambda request: command(
            "route",
            "apply",
            options=[("--file", FILE), ("--reason", request.reason), *request.options()],
        ),
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
        lambda request: command(
            "route",
            "rollback",
            str(request.version),
            options=[("--reason", request.reason), *request.options()],
        ),
        _rollback_plan,
        _rollback,
    ),
    Verb(
        "routes.cancel",
        "Give a switch up: every client goes on where it was",
        Role.APPROVER,
        CancelSwitchRequest,
        CancelSwitchPlan,
        CancelledSwitch,
        lambda request: f"switch {request.switch}",
        lambda request: command("route", "cancel", request.switch, options=[("--reason", request.reason)]),
        _cancel_plan,
        _cancel,
    ),
)
