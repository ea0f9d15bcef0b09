"""Tasks that run until they are ended, and must not fail unseen."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any


class Tasks:
    """Supervised tasks: what one of them raised, ``check`` raises."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def __iter__(self) -> Iterator[asyncio.Task[None]]:
        return iter(self._tasks)

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run this beside the others."""
        self._tasks.append(asyncio.create_task(work, name=name))

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def clear(self) -> None:
        """Forget all, which were ended."""
        self._tasks = []

    def check(self) -> None:
        """Raise what a task raised."""
        for task in self._tasks:
            if task.done():
                task.result()


async def cancelled(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks, and wait until they are over."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
