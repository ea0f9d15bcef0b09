"""A server's connection that takes parts of an answer at once: whole chunks, in order, and only where it may."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from anabranch.service.event_stream import AT_ONCE, StreamingProtocol

pytestmark = pytest.mark.unit


class Wire(asyncio.Transport):
    """A connection that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: Any) -> None:
        """Keep it."""
        self.written += bytes(data)

    def is_closing(self) -> bool:
        """It stays open."""
        return False

    def close(self) -> None:
        """It stays open."""


def served(version: bytes, app: Callable[..., Awaitable[None]]) -> bytes:
    """What an application writes to one who asks."""

    async def run() -> bytes:
        config = uvicorn.Config(app, log_config=None)
        config.load()
        made = StreamingProtocol(config, ServerState(), {})
        wire = Wire()
        made.connection_made(wire)
        made.data_received(b"GET / HTTP/" + version + b"\r\nHost: a\r\n\r\n")
        await asyncio.gather(*made.tasks)
        return wire.written.partition(b"\r\n\r\n")[2]

    return asyncio.run(run())


START = {"type": "http.response.start", "status": 200, "headers": []}


def part(body: bytes, more: bool = True) -> Any:
    """A part of an answer."""
    return {"type": "http.response.body", "body": body, "more_body": more}


def test_a_part_is_written_at_once_between_what_the_task_sends() -> None:
    """S1: as a chunk of its own; before the answer begins and after it has ended nothing is."""

    async def app(scope: Any, _: Any, send: Any) -> None:
        at_once = scope["extensions"][AT_ONCE]
        assert not at_once(b"early")
        await send(START)
        await send(part(b"one"))
        assert at_once(b"a part of 20 letters")
        await send(part(b"two"))
        await send(part(b"", more=False))
        assert not at_once(b"late")

    assert served(b"1.1", app) == b"3\r\none\r\n14\r\na part of 20 letters\r\n3\r\ntwo\r\n0\r\n\r\n"


def test_nothing_is_written_at_once_to_a_connection_that_is_behind_or_has_gone() -> None:
    """S2: whoever answers waits for it, and gives it up after a while."""

    async def app(scope: Any, _: Any, send: Any) -> None:
        at_once = scope["extensions"][AT_ONCE]
        protocol = at_once.__self__
        await send(START)
        protocol.pause_writing()
        assert not at_once(b"behind")
        protocol.resume_writing()
        assert at_once(b"on time")
        protocol.connection_lost(None)
        assert not at_once(b"gone")

    assert served(b"1.1", app) == b"7\r\non time\r\n"


def test_an_answer_that_has_no_chunks_is_left_to_its_task() -> None:
    """To who asks by HTTP/1.0 the end of the connection is the end of the answer."""

    async def app(scope: Any, _: Any, send: Any) -> None:
        assert AT_ONCE not in scope.get("extensions", {})
        await send(START)
        await send(part(b"one", more=False))

    assert served(b"1.0", app) == b"one"
