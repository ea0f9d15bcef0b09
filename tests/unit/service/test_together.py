"""Questions that are asked together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from anabranch.service.together import Together

pytestmark = pytest.mark.unit


def test_who_comes_while_others_are_asked_is_asked_next_and_together() -> None:
    """So many at a time at most; each has the answer for its own key."""
    asked: list[list[int]] = []

    async def doubled(keys: Sequence[int]) -> list[int]:
        asked.append(list(keys))
        await asyncio.sleep(0)
        return [2 * key for key in keys]

    async def run() -> None:
        together = Together(doubled, 4)
        found = await asyncio.gather(*(together.of(key) for key in range(10)))
        assert found == [2 * key for key in range(10)]
        assert await together.of(10) == 20
        assert asked == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], [10]]

    asyncio.run(run())


def test_a_question_that_fails_is_told_to_those_who_asked_it_and_to_nobody_else() -> None:
    """The next ones are asked as ever."""

    async def even(keys: Sequence[int]) -> Sequence[int]:
        await asyncio.sleep(0)
        if 1 in keys:
            raise ValueError(keys)
        return keys

    async def run() -> None:
        together = Together(even, 2)
        found = await asyncio.gather(*(together.of(key) for key in range(4)), return_exceptions=True)
        assert [type(one) for one in found] == [ValueError, ValueError, int, int]
        assert await together.of(4) == 4

    asyncio.run(run())


def test_an_answer_that_is_too_short_is_told_to_all_who_asked() -> None:
    """It is the fault of whoever answers; nobody waits for ever because of it."""

    async def short(keys: Sequence[int]) -> Sequence[int]:
        return keys[1:]

    async def run() -> None:
        together = Together(short, 2)
        found = await asyncio.gather(*(together.of(key) for key in range(2)), return_exceptions=True)
        assert [type(one) for one in found] == [ValueError, ValueError]

    asyncio.run(run())


def test_whoever_has_gone_is_not_asked_for() -> None:
    """Nor is anybody else lost by it."""
    asked: list[int] = []

    async def same(keys: Sequence[int]) -> Sequence[int]:
        asked.extend(keys)
        await asyncio.sleep(0)
        return keys

    async def run() -> None:
        together = Together(same, 1)
        waiting = [asyncio.create_task(together.of(key)) for key in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        waiting[1].cancel()
        assert await waiting[2] == 2
        assert 1 not in asked

    asyncio.run(run())
