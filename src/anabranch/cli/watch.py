"""The live view of a link: redrawn in a terminal, a line each time in a pipe, until it is detached.

Detaching (Ctrl-C) touches nothing: the link goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.live import Live

from anabranch.cli import render
from anabranch.model.reports import LinkStatus

INTERVAL_S = 1.0
_LINES_AROUND_LANES = 8


def watch(read: Callable[[], LinkStatus], console: Console, sleep: Callable[[float], None] = time.sleep) -> None:
    """Show what ``read`` answers every second; returns when interrupted."""
    try:
        if console.is_terminal:
            with Live(console=console, auto_refresh=False) as live:
                while True:
                    room = max(1, console.height - _LINES_AROUND_LANES)
                    live.update(render.status(read(), limit=room), refresh=True)
                    sleep(INTERVAL_S)
        while True:
            console.print(render.line(read()), markup=False, highlight=False, soft_wrap=True)
            sleep(INTERVAL_S)
    except KeyboardInterrupt:
        console.print("detached; the link is as it was")
