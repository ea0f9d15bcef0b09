"""Blocking work on files beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T], halt: Event | None = None) -> T:
    """What comes of ``work``.  Where this is cancelled ``halt`` is set, and the end of ``work`` is waited for.

    A thread cannot be ended from outside, and what it writes must not go on after the caller was cancelled.
    """
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        if halt is not None:
            halt.set()
        await asyncio.wait([working])
        if not working.cancelled():
            working.exception()  # retrieved, so that asyncio does not log it as lost
        raise
