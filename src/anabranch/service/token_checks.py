"""Whether tokens of open streams still are somebody's: asked once in a while for each, however many streams it has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.requests import Request

from anabranch.errors import AnabranchError
from anabranch.service.caller import Caller
from anabranch.service.identity import Identity

KNOWN_S = 30.0
_MOST = 10_000


class TokenChecks:
    """The tokens of one event loop."""

    def __init__(self, identity: Identity, origin: Callable[[Request], str]) -> None:
        self._identity = identity
        self._origin = origin
        self._asked: dict[str, tuple[float, asyncio.Task[bool]]] = {}

    async def is_known(self, caller: Caller, request: Request) -> bool:
        """Whether a caller's token lets in; also where the store cannot be asked just now, for a while."""
        key = caller.account.id if caller.token is None else caller.token.id
        now = asyncio.get_running_loop().time()
        at, asked = self._asked.get(key, (0.0, None))
        if asked is None or now - at >= KNOWN_S:
            if len(self._asked) >= _MOST:
                self._asked.clear()
            asked = asyncio.create_task(self.is_known_now(caller, request))
            self._asked[key] = now, asked
        return await asyncio.shield(asked)

    async def is_known_now(self, caller: Caller, request: Request) -> bool:
        """The same, asked again."""
        try:
            await self._identity.caller("GET", request.headers, request.cookies, caller.address, self._origin(request))
        except AnabranchError as error:
            return error.retryable
        return True
