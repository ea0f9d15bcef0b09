"""What happens, as it happens: server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from anabranch.service.answers import answered
from anabranch.service.caller import Caller
from anabranch.service.hub import ENDING, Event, Listener
from anabranch.service.instance import Instance
from anabranch.service.web import AsViewer, Here

router = APIRouter(prefix="/api/v1", tags=["events"])
QUIET_S = 10.0
"""How long nothing is sent before a comment is, so that whoever is in between keeps the connection."""
KNOWN_S = 30.0
"""How long a listener may go on whose token has ended since."""


@router.get(
    "/events",
    responses=answered(
        str,
        description="Events: cluster, operation, process, routes, switch, migration, audit",
        media="text/event-stream",
    ),
)
async def events(here: Here, request: Request, caller: AsViewer) -> Response:
    """Listen; what is shown is asked for again where an event names it.

    The first event says that the stream is open, ``lost`` that this listener was too slow: it reads everything again.
    ``ending`` is the last one of an instance that ends.
    """
    return StreamingResponse(
        _told(here, caller, request),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _told(here: Instance, caller: Caller, request: Request) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    with here.hub.listening() as listener:
        yield event("open", {"instance": here.name, "acts": here.acting.acts})
        known_until = loop.time() + KNOWN_S
        while True:
            if loop.time() >= known_until:
                if not await here.tokens.is_known_now(caller, request):
                    yield event("signed-out", {})
                    return
                known_until = loop.time() + KNOWN_S
            told = await _next(listener)
            if listener.is_dropped and told is None:
                yield event("lost", {})
                return
            yield ": quiet\n\n" if told is None else event(told.kind, told.data)
            if told is not None and told.kind == ENDING:
                return


async def _next(listener: Listener) -> Event | None:
    """The next event, None where there was none for ``QUIET_S``."""
    try:
        return await asyncio.wait_for(listener.events.get(), 0.01 if listener.is_dropped else QUIET_S)
    except TimeoutError:
        return None


def event(kind: str, data: object) -> str:
    """An event as it is sent."""
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
