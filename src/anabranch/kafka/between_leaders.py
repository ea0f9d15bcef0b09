"""Asking brokers again where one is behind the other: what they say of leaders settles within moments."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from anabranch.kafka.errors import BrokerRefusedError

_BETWEEN_LEADERS = frozenset({6, 74, 75})
"""Not the leader, an older and a newer leader epoch than the broker's: one of two brokers is behind the other."""
_AGAIN_S, _PAUSE_S = 10.0, 0.1

T = TypeVar("T")


def is_between_leaders(error: Exception) -> bool:
    """Whether it is an answer of brokers that do not agree on a leader yet, and will."""
    return isinstance(error, BrokerRefusedError) and error.code in _BETWEEN_LEADERS


async def until_agreed(ask: Callable[[], Awaitable[T]]) -> T:
    """What ``ask`` returns, which looks up leaders each time.

    A broker that began just now tells of leaders before it is one (KIP-631): it is asked again, for 10 s at most, then
    BrokerRefusedError is raised.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _AGAIN_S
    while True:
        try:
            return await ask()
        except BrokerRefusedError as error:
            if not is_between_leaders(error) or loop.time() > deadline:
                raise
        await asyncio.sleep(_PAUSE_S)
