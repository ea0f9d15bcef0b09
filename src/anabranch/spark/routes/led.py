"""Where a Spark job is led, as options of Spark's Kafka source or sink.

A job asks once, when it starts, as a client that registers and takes itself off the list again: so a switch that is
under way holds it, and a group that would be split is refused.  It is told of no later change.

Invariants
    J1  a route of the disk is used only while the service does not answer, and never after a refusal.
    J2  options hold references to secrets, and no secret: Kafka's own client resolves them where it connects.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from anabranch import __version__
from anabranch.errors import AnabranchError
from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import ClientFacts, ClientRole, Route, RouteQuery
from anabranch.sdk.cache import RouteCache
from anabranch.sdk.config import CODE, OURS, PARAMETERS, TOPICS, Settings, split
from anabranch.sdk.errors import (
    MalformedRouteError,
    MayNotError,
    ServiceDownError,
    SettingError,
    UnknownSettingError,
)
from anabranch.sdk.service import RouteService
from anabranch.sdk.wire import query_fields, route_of
from anabranch.spark.routes.errors import HeldBySwitchError
from anabranch.spark.routes.starting import EarlierPositions, starting_offsets
from anabranch.spark.verify.options import TUNED, options

LOG = logging.getLogger("anabranch.spark")
_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LedJob:
    """A job's route, the options that lead there, and how long ago the service told the route."""

    route: Route
    options: Mapping[str, str]
    age_s: float


def kafka_options(
    code: str,
    role: ClientRole | str,
    *,
    topics: Sequence[str],
    group: str = "",
    parameters: Mapping[str, str] = _NONE,
    positions: EarlierPositions | None = None,
    settings: Mapping[str, Any] = _NONE,
) -> dict[str, str]:
    """The options of ``lead``, which says what they are and what it raises."""
    led = lead(code, role, topics=topics, group=group, parameters=parameters, positions=positions, settings=settings)
    return dict(led.options)


def lead(
    code: str,
    role: ClientRole | str,
    *,
    topics: Sequence[str],
    group: str = "",
    parameters: Mapping[str, str] = _NONE,
    positions: EarlierPositions | None = None,
    settings: Mapping[str, Any] = _NONE,
) -> LedJob:
    """Ask where a code leads a job: ``subscribe`` and more for a consumer, ``topic`` and more for a producer.

    ``group`` and ``parameters`` are what rules match; Spark makes a group of its own for each query.  ``positions``
    become ``startingOffsets`` of the cluster where the job is led.  ``settings`` are the client SDK's ``route.*``.
    Where the service does not answer, the last route that it told on this machine is taken, and its age logged.
    Raises MayNotError, RouteProblemError, HeldBySwitchError, NoRouteError, UnreadableByJvmError, ConfigError, and
    what ``starting_offsets`` raises.
    """
    ours, query = _asked(code, role, topics, group, parameters, settings)
    if positions is not None and query.role is ClientRole.PRODUCER:
        raise SettingError("positions", "a producer has none", "leave them out")
    service = RouteService(ours.service, ours.token, ours.ca_file)
    try:
        route, age_s = _route(service, ours, query)
        route = _checked(query, route)
        found = _options(query, route)
        if positions is not None:
            found["startingOffsets"] = starting_offsets(service, route, positions)
        return LedJob(route, found, age_s)
    finally:
        service.close()


def _asked(
    code: str,
    role: ClientRole | str,
    topics: Sequence[str],
    group: str,
    parameters: Mapping[str, str],
    settings: Mapping[str, Any],
) -> tuple[Settings, RouteQuery]:
    for name in settings:
        if name not in OURS:
            raise UnknownSettingError(name, OURS)
    own = {**settings, CODE: code, TOPICS: topics, PARAMETERS: {**settings.get(PARAMETERS, {}), **parameters}}
    ours, _ = split(own)
    try:
        kind = ClientRole(role)
    except ValueError:
        raise SettingError("role", f"{role!r} is none", "give 'consumer' or 'producer'") from None
    if not ours.topics:
        raise SettingError("topics", "none is named", "name what the job reads or writes: topics=['orders']")
    for topic in ours.topics:
        if topic.startswith("^"):
            raise SettingError("topics", f"{topic!r} is a regular expression", "name each topic")
    if kind is ClientRole.PRODUCER and len(ours.topics) > 1:
        raise SettingError("topics", "a sink has one", "ask once for each topic, and write to each by its own options")
    more = {**ours.parameters, "application": ours.application}
    return ours, RouteQuery(code, kind, ours.topics, group, "", more)


def _route(service: RouteService, ours: Settings, query: RouteQuery) -> tuple[Route, float]:
    """The route and its age (J1)."""
    cache = RouteCache(ours.cache, ours.service, LOG)
    try:
        route = _told(service, ours, query)
    except ServiceDownError as error:
        kept = cache.instead(query, error)
        return kept.route, kept.age_s
    cache.keep_told(query, route)
    return route, 0.0


def _told(service: RouteService, ours: Settings, query: RouteQuery) -> Route:
    facts = ClientFacts(ours.application, socket.gethostname(), "", os.getpid(), f"{__version__} (Spark)")
    path = f"/api/v1/clients/{uuid.uuid4().hex}"
    answer = service.ask("PUT", path, query_fields(query, facts))
    with contextlib.suppress(AnabranchError):  # its lease ends by itself
        service.ask("DELETE", path)
    if not isinstance(answer, dict):
        raise MalformedRouteError("registration", "it is no object")
    if answer.get("hold"):
        raise HeldBySwitchError(query.code, str(answer["hold"]))
    return route_of(answer.get("route"))


def _checked(query: RouteQuery, route: Route) -> Route:
    """The route of just the topics that were asked for, if it allows what the job is for."""
    reads = query.role is ClientRole.CONSUMER
    if not (route.may_read if reads else route.may_write):
        raise MayNotError("read" if reads else "write", route.code, route.cluster, route.rule)
    missing = [topic for topic in query.topics if topic not in route.topics]
    if missing:
        raise MalformedRouteError("route", f"it does not say what topic {missing[0]} is called")
    return replace(route, topics={topic: route.topics[topic] for topic in query.topics})


def _options(query: RouteQuery, route: Route) -> dict[str, str]:
    """How the cluster is reached (J2) and what is read or written there; how fast is the job's own matter."""
    found = options(ClusterContext(route.cluster, route.bootstrap, route.security))
    found = {name: value for name, value in found.items() if name not in TUNED}
    names = ",".join(route.topics.values())
    return found | {"subscribe" if query.role is ClientRole.CONSUMER else "topic": names}
