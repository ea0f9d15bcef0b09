"""Questions that come while others are asked are asked together: of many who come at once few have to ask."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Together(Generic[K, V]):
    """Asks ``ask`` one time after another, for ``most`` keys at most at a time; one event loop.

    Invariant: a key is asked of after its ``of`` was called, never before, so the answer is no older than the question.
    """

    def __init__(self, ask: Callable[[Sequence[K]], Awaitable[Sequence[V]]], most: int) -> None:
        self._ask = ask
        self._most = most
        self._waiting: list[tuple[K, asyncio.Future[V]]] = []
        self._task: asyncio.Task[None] | None = None

    async def of(self, key: K) -> V:
        """The answer for a key; raises what ``ask`` raises, as all whom it was asked for."""
        answered: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, answered))
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await answered

    async def _run(self) -> None:
        try:
            while self._waiting:
                some, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                asked = [one for one in some if not one[1].done()]  # whoever has gone meanwhile needs no answer
                if asked:
                    await self._answer(asked)
        finally:
            self._task = None
            for _, answered in self._waiting:
                answered.cancel()
            self._waiting = []

    async def _answer(self, some: Sequence[tuple[K, asyncio.Future[V]]]) -> None:
        try:
            answers = await self._ask([key for key, _ in some])
            told = list(zip(some, answers, strict=True))
        except BaseException as error:
            for _, answered in some:
                if not answered.done():
                    if isinstance(error, Exception):
                        answered.set_exception(error)
                    else:
                        answered.cancel()
            if not isinstance(error, Exception):
                raise
            return
        for (_, answered), answer in told:
            if not answered.done():
                answered.set_result(answer)
