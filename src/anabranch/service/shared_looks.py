"""One look for all who ask the same at once: ten thousand clients of one application have one token.

Invariants
    L1  an answer was looked up after whoever is given it had asked: it is as new as one of its own would be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedLooks(Generic[T]):
    """Looks of one event loop, by what is asked: one is under way, and one more waits for it."""

    def __init__(self, look: Callable[[str], Awaitable[T]]) -> None:
        self._look = look
        self._begun: dict[str, asyncio.Task[T]] = {}
        self._next: dict[str, asyncio.Task[T]] = {}

    async def of(self, asked: str) -> T:
        """The answer of a look that begins from now on; raises what that raises."""
        found = self._next.get(asked)
        if found is None or found.cancelled():
            found = self._next[asked] = asyncio.create_task(self._run(asked, self._begun.get(asked)))
            found.add_done_callback(_retrieved)
        return await asyncio.shield(found)  # whoever leaves does not end it for the others

    async def _run(self, asked: str, before: asyncio.Task[T] | None) -> T:
        if before is not None:
            await asyncio.wait([before])
        mine = self._begun[asked] = self._next.pop(asked)
        try:
            return await self._look(asked)
        finally:
            if self._begun.get(asked) is mine:
                del self._begun[asked]


def _retrieved(done: asyncio.Task[T]) -> None:
    """What it raised is told to whoever waits: where nobody does any more, it is no failure."""
    if not done.cancelled():
        done.exception()
