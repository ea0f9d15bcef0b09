"""How an operation tells how far it came."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Tell = Callable[[Mapping[str, Any]], Awaitable[None]]


async def nobody(_: Mapping[str, Any]) -> None:
    """Nobody asks how far a plan came."""
