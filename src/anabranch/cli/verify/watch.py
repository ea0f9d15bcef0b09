"""Following a comparison until it ends; Ctrl-C detaches, and the comparison goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live

from anabranch.cli.verify import render
from anabranch.state.codecs.verified import VerifyStatus

if TYPE_CHECKING:  # imported when a verb runs, so that ``--help`` and completion stay quick
    from anabranch.operations.verify.show import TellStatus


async def followed(follow: Callable[[TellStatus], Awaitable[VerifyStatus]], console: Console) -> VerifyStatus | None:
    """Show what ``follow`` tells until it answers; None after Ctrl-C.  Raises what ``follow`` raises."""
    last = ""

    async def tell(found: VerifyStatus) -> None:
        nonlocal last
        if console.is_terminal:
            live.update(render.status(found), refresh=True)
        elif (line := render.line(found)) != last:
            console.print(line, highlight=False, soft_wrap=True)
            last = line

    try:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            return await follow(tell)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()  # Ctrl-C, which ends the watch and not the verb
        console.print("detached; the comparison goes on")
        return None
