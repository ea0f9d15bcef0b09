"""Work on files beside the event loop: it never goes on behind the back of who cancelled it."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from anabranch.operations.checkpoints.blocking import in_thread

pytestmark = pytest.mark.unit


def test_what_it_returns_and_raises_comes_through() -> None:
    """As if it were called."""

    def fail() -> None:
        raise LookupError

    assert asyncio.run(in_thread(lambda: 7)) == 7
    with pytest.raises(LookupError):
        asyncio.run(in_thread(fail))


def test_a_cancelled_caller_waits_until_the_work_has_halted() -> None:
    """It is told to halt, ends in its own way, and only then the caller ends."""
    begun, halt, told = Event(), Event(), []

    def work() -> None:
        begun.set()
        halt.wait()
        told.append("halted")
        raise LookupError

    async def cancelled() -> None:
        task = asyncio.ensure_future(in_thread(work, halt))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert told == ["halted"]

    asyncio.run(cancelled())
