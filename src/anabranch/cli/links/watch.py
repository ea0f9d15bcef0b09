"""The live view of a link: redrawn in a terminal, a line each time in a pipe, until Ctrl-C.

Ctrl-C ends only the view: the link goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NoReturn

from rich.console import Console
from rich.live import Live

from anabranch.cli.links import render
from anabranch.model.reports import LinkStatus

INTERVAL_S = 1.0
_LINES_AROUND_LANES = 8


async def watch(
    read: Callable[[], Awaitable[LinkStatus]],
    console: Console,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> NoReturn:
    """Show what ``read`` answers every second, until it is cancelled."""
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                room = max(1, console.height - _LINES_AROUND_LANES)
                live.update(render.status(await read(), limit=room), refresh=True)
                await sleep(INTERVAL_S)
    while True:
        console.print(render.line(await read()), highlight=False, soft_wrap=True)
        await sleep(INTERVAL_S)
