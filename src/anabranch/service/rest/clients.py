"""Registered clients: what they ask, and who is where."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from anabranch.model.accounts import Role
from anabranch.model.clock import now_ms
from anabranch.model.routing import Client, ClientFacts, ClientReport, ClientRole
from anabranch.routes.switch import Ready
from anabranch.service.answers import answered
from anabranch.service.event_stream import AT_ONCE
from anabranch.service.instance import Instance
from anabranch.service.registry import is_behind
from anabranch.service.rest.routes import RouteQuestion, Text
from anabranch.service.route_answers import (
    ClientAnswer,
    ClientsPage,
    Pace,
    RegistrationAnswer,
    client_answer,
    route_answer,
)
from anabranch.service.verb import Name, Offset
from anabranch.service.verb import Request as Body
from anabranch.service.watching import Watcher
from anabranch.service.web import AsClient, AsViewer, Here, address_of, answer, body_of, expects

router = APIRouter(prefix="/api/v1/clients", tags=["clients"])
ClientId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="32 hex digits, which the client has drawn.")]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Positions = Annotated[dict[Name, Offset], Field(max_length=10_000)]
QUIET_S = 20.0
"""How long nothing is sent before a comment is, so that whoever is in between keeps the connection."""
SEND_S = 60.0
MANY_CLIENTS = 2_000
"""With more of them a connection is closed after each answer: kept until the next report, each would hold two open."""
LONGEST_ERROR = 500
"""Characters of a client's last error that are kept."""


class ToldFacts(Body):
    """What a client tells of itself; its address is that of its connection."""

    application: Text = ""
    host: Text = ""
    pid: Annotated[int, Field(ge=0, lt=2**31)] = 0
    sdk: Annotated[str, StringConstraints(max_length=60, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""


class Registration(RouteQuestion):
    """A client that registers, or asks for other topics than before."""

    facts: ToldFacts = ToldFacts()


class ToldReport(Body):
    """What a client tells again and again; counts are since it began, positions those of partitions that it has."""

    version: Annotated[int, Field(ge=0, lt=2**31)] = 0
    records: Count = 0
    bytes: Count = 0
    errors: Count = 0
    lag: Count | None = None
    positions: Positions = {}
    last_error: Annotated[str, StringConstraints(max_length=20_000)] = ""


class HandedOver(Body):
    """A client's answer to ``prepare``: next offsets, and how many messages of each partition are in doubt.

    ``static_member`` is its ``group.instance.id``, by which it stays in its group.
    """

    switch: Name
    positions: Positions = {}
    uncertain: Positions = {}
    static_member: Annotated[str, Field(max_length=249)] = ""


@router.put("/{client_id}", responses=answered(RegistrationAnswer), openapi_extra=expects(Registration))
async def register(here: Here, client_id: ClientId, request: Request, caller: AsClient) -> JSONResponse:
    """Register a client, and be told its route; again with the same id: it asks for something else."""
    body = await body_of(request, Registration)
    told = body.facts
    facts = ClientFacts(told.application, told.host, address_of(request), told.pid, told.sdk)
    await here.switching.look()
    client, route = await here.registry.register(caller.account, client_id, body.query(), facts)
    pace, hold = _pace(here), here.switching.hold(client_id, client.query)
    go = None
    if hold is None:
        await here.switch_steps.hear_late(client_id)
        go = here.switching.go(client_id)
    made = RegistrationAnswer(client.id, route_answer(route), hold, go, pace.lease_ms, pace.report_ms, pace.version)
    return _of_many(here, answer(made))


@router.post("/{client_id}/report", responses=answered(Pace), openapi_extra=expects(ToldReport))
async def report(here: Here, client_id: ClientId, request: Request, caller: AsClient) -> JSONResponse:
    """Hear of a client, so that it stays live."""
    body = await body_of(request, ToldReport)
    error = "".join(one if one.isprintable() else " " for one in body.last_error[:LONGEST_ERROR])
    counts = body.version, body.records, body.bytes, body.errors, body.lag
    here.registry.report(caller.account, client_id, ClientReport(*counts, dict(body.positions), error))
    here.switching.follows(client_id, body.version)
    return _of_many(here, answer(_pace(here)))


@router.post("/{client_id}/ready", responses=answered(Pace), openapi_extra=expects(HandedOver))
async def ready(here: Here, client_id: ClientId, request: Request, caller: AsClient) -> JSONResponse:
    """A client has paused, as a switch asked it to."""
    body = await body_of(request, HandedOver)
    here.registry.of(caller.account, client_id)
    handed = Ready(dict(body.positions), dict(body.uncertain), body.static_member)
    await here.switching.ready(client_id, body.switch, handed)
    return answer(_pace(here))


@router.delete("/{client_id}", status_code=204, responses=answered(None, 204, "It is forgotten"))
async def remove(here: Here, client_id: ClientId, caller: AsClient) -> Response:
    """Forget a client."""
    removed = await here.registry.remove(caller.account, client_id)
    if caller.account.role is Role.ADMIN:
        await here.acting.note(caller, "client.remove", f"client {client_id}", detail=removed.words)
    return Response(status_code=204)


@router.get(
    "/{client_id}/watch",
    responses=answered(
        str, description="Events: route, refused, prepare, go, cancel, ending", media="text/event-stream"
    ),
)
async def watch(here: Here, client_id: ClientId, request: Request, caller: AsClient) -> Response:
    """Be told the route, and each change of it; a client has one stream, the last that it opened."""
    known = here.registry.of(caller.account, client_id)
    watcher = here.watching.open(client_id)
    watcher.events.put_nowait(here.registry.told(known))
    missed = here.switching.missed(client_id, known.client.query)
    if missed is not None:
        watcher.events.put_nowait(missed)
    return _Stream(here, client_id, watcher, lambda: here.tokens.is_known(caller, request))


@router.get("", responses=answered(ClientsPage))
async def clients(
    here: Here,
    _: AsViewer,
    code: Annotated[str | None, Query(max_length=249)] = None,
    group: Annotated[str | None, Query(max_length=249)] = None,
    cluster: Annotated[str | None, Query(max_length=249)] = None,
    application: Annotated[str | None, Query(max_length=249)] = None,
    role: Annotated[ClientRole | None, Query()] = None,
    behind: bool = False,
    offset: Annotated[int, Query(ge=0, lt=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> JSONResponse:
    """Who is where, and who lags behind a change; of other instances' clients what they wrote some seconds ago."""

    def matches(client: Client) -> bool:
        query = client.query
        asked = (
            (code, query.code),
            (group, query.group),
            (cluster, client.cluster),
            (application, client.facts.application),
            (role, query.role),
        )
        return all(wanted in (None, found) for wanted, found in asked) and (not behind or is_behind(client))

    every = await here.registry.every()
    found = sorted((one for one in every if matches(one)), key=_order)
    now = now_ms()
    page = tuple(client_answer(one, behind=is_behind(one), now_ms=now) for one in found[offset : offset + limit])
    return answer(ClientsPage(len(every), len(found), offset, page))


@router.get("/{client_id}", responses=answered(ClientAnswer))
async def client(here: Here, client_id: ClientId, _: AsViewer) -> JSONResponse:
    """One client."""
    found = await here.registry.get(client_id)
    return answer(client_answer(found, behind=is_behind(found), now_ms=now_ms()))


def _order(client: Client) -> tuple[str, ...]:
    query, facts = client.query, client.facts
    return (query.code, query.group, facts.application, query.client_id, facts.host, client.id)


def _pace(here: Instance) -> Pace:
    return Pace(here.registry.lease_ms, here.registry.report_ms, here.routing.number)


def _of_many(here: Instance, made: JSONResponse) -> JSONResponse:
    """The answer to one of the clients."""
    if len(here.registry) > MANY_CLIENTS:
        made.headers["Connection"] = "close"
    return made


class _Stream(Response):
    """A watcher's events as they come.  One task does it all: of ten thousand streams each has but one.

    Where the server can, it sleeps through events that the connection takes at once.
    """

    media_type = "text/event-stream"

    def __init__(
        self, here: Instance, client_id: str, watcher: Watcher, is_known: Callable[[], Awaitable[bool]]
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._here = here
        self._client_id = client_id
        self._watcher = watcher
        self._is_known = is_known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until it is over, the client has gone, or its token is nobody's any more."""
        at_once = scope.get("extensions", {}).get(AT_ONCE)
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            with suppress(TimeoutError):
                await self._send(receive, send, at_once)
        finally:
            self._here.watching.close(self._client_id, self._watcher)

    async def _send(self, receive: Receive, send: Send, at_once: Callable[[bytes], bool] | None) -> None:
        events = self._watcher.events
        while not (self._watcher.is_over and events.empty()):
            try:
                self._watcher.at_once = at_once
                async with asyncio.timeout(QUIET_S):
                    told = await events.get()
            except TimeoutError:
                self._watcher.at_once = None
                if await _is_gone(receive) or not await self._is_known():
                    break
                told = b": quiet\n\n"
            finally:
                self._watcher.at_once = None  # what is told now waits until this one was sent
            if told:
                async with asyncio.timeout(SEND_S):  # one that takes nothing for so long is given up
                    await send({"type": "http.response.body", "body": told, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _is_gone(receive: Receive) -> bool:
    """Whether the client has closed the connection; it is not waited for."""
    try:
        async with asyncio.timeout(0):
            return bool((await receive())["type"] == "http.disconnect")
    except TimeoutError:
        return False
