"""What the service answers of routes and clients, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.config.routes_file import table_fields
from anabranch.model.routing import Client, ClientFacts, ClientReport, Route, RouteQuery
from anabranch.model.security_fields import security_fields
from anabranch.routes.resolve import TopicRoute
from anabranch.routes.table import RouteVersion
from anabranch.service.problems import Problem


@dataclass(frozen=True, slots=True)
class RouteAnswer:
    """Where a client is led; ``security`` is as in a contexts file: references to secrets, and no secret."""

    code: str
    cluster: str
    bootstrap: tuple[str, ...]
    security: Mapping[str, Any]
    topics: Mapping[str, str]
    may_read: bool
    may_write: bool
    rule: str
    since: int
    version: int


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a client is live after it was last seen, how often it reports, and the version that applies."""

    lease_ms: int
    report_ms: int
    version: int


@dataclass(frozen=True, slots=True)
class GoAnswer:
    """How a switch ended: ``starts`` is where the client begins in partitions of which nothing is committed there."""

    switch: str
    starts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RegistrationAnswer:
    """A registered client's route.  ``hold`` is a switch that would move it: it connects when that has ended.

    ``go`` is the end of one that the client may not have heard.
    """

    id: str
    route: RouteAnswer
    hold: str | None
    go: GoAnswer | None
    lease_ms: int
    report_ms: int
    version: int


@dataclass(frozen=True, slots=True)
class ExplainedAnswer:
    """Where a client would be led, or why it is refused, and the way of each of its topics."""

    route: RouteAnswer | None
    problem: Problem | None
    ways: tuple[TopicRoute, ...]


@dataclass(frozen=True, slots=True)
class VersionSummary:
    """A version of the route table without the table."""

    version: int
    at_ms: int
    author: str
    reason: str


@dataclass(frozen=True, slots=True)
class VersionAnswer:
    """A version of the route table; ``table`` has the fields of a routes file."""

    version: int
    at_ms: int
    author: str
    reason: str
    table: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ClientAnswer:
    """A registered client; ``behind`` until it has said that it follows the version that leads it so."""

    id: str
    facts: ClientFacts
    query: RouteQuery
    registered_ms: int
    seen_ms: int
    until_ms: int
    cluster: str
    since: int
    report: ClientReport
    behind: bool
    live: bool


@dataclass(frozen=True, slots=True)
class ClientsPage:
    """Clients from ``offset`` of the ``matching`` ones, of ``total``."""

    total: int
    matching: int
    offset: int
    clients: tuple[ClientAnswer, ...]


def route_answer(route: Route) -> RouteAnswer:
    """A route as it is answered."""
    values = {name: getattr(route, name) for name in RouteAnswer.__slots__ if name != "security"}
    return RouteAnswer(**values, security=security_fields(route.security))


def version_answer(version: RouteVersion) -> VersionAnswer:
    """A version as it is answered."""
    return VersionAnswer(version.version, version.at_ms, version.author, version.reason, table_fields(version.table))


def client_answer(client: Client, *, behind: bool, now_ms: int) -> ClientAnswer:
    """A client as it is answered."""
    values = {name: getattr(client, name) for name in Client.__slots__}
    return ClientAnswer(**values, behind=behind, live=client.is_live(now_ms))
