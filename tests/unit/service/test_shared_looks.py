"""One look for all who ask at once, and never one that had begun before they asked."""

from __future__ import annotations

import asyncio

import pytest

from anabranch.service.shared_looks import SharedLooks

pytestmark = pytest.mark.unit


class Slow:
    """Answers what is true as a look begins, once it is let on."""

    def __init__(self) -> None:
        self.truth = 0
        self.looks = 0
        self.goes_on = asyncio.Event()

    async def look(self, asked: str) -> str:
        """One look."""
        self.looks += 1
        seen = self.truth
        await self.goes_on.wait()
        if seen < 0:
            raise ValueError(asked)
        return f"{asked} {seen}"


async def turns() -> None:
    """Whatever may run has run: nothing here waits for more than others' turns."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_who_asks_while_a_look_is_under_way_is_given_a_later_one() -> None:
    """All of them together: L1."""

    async def run() -> None:
        slow = Slow()
        looks = SharedLooks(slow.look)
        first = [asyncio.create_task(looks.of("a")) for _ in range(3)]
        await turns()
        slow.truth = 1
        later = [asyncio.create_task(looks.of("a")) for _ in range(5)]
        other = asyncio.create_task(looks.of("b"))
        await turns()
        assert slow.looks == 2, "of a and of b"
        slow.goes_on.set()
        assert await asyncio.gather(*first) == ["a 0"] * 3
        assert await asyncio.gather(*later, other) == ["a 1"] * 5 + ["b 1"]
        assert slow.looks == 3
        slow.truth = 2
        assert await looks.of("a") == "a 2"

    asyncio.run(run())


def test_a_look_that_fails_fails_for_all_who_waited_and_for_nobody_later() -> None:
    """And who leaves meanwhile takes it from nobody."""

    async def run() -> None:
        slow = Slow()
        looks = SharedLooks(slow.look)
        slow.truth = -1
        asked = [asyncio.create_task(looks.of("a")) for _ in range(3)]
        await turns()
        asked[0].cancel()
        slow.goes_on.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(one) for one in found] == [asyncio.CancelledError, ValueError, ValueError]
        slow.truth = 3
        assert await looks.of("a") == "a 3"

    asyncio.run(run())


def test_a_look_that_was_ended_before_it_began_is_nobody_s() -> None:
    """Whoever asks next begins one of its own."""

    async def run() -> None:
        slow = Slow()
        looks = SharedLooks(slow.look)
        first = asyncio.create_task(looks.of("a"))
        await turns()
        second = asyncio.create_task(looks.of("a"))
        await turns()
        looks._next["a"].cancel()
        await asyncio.wait([second])
        assert second.cancelled()
        slow.goes_on.set()
        assert await looks.of("a") == await first == "a 0"

    asyncio.run(run())
