"""Following a comparison until it ends; Ctrl-C detaches, and the comparison goes on."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live

from anabranch.cli.verify import render
from anabranch.state.codecs.verified import NeverVerifiedError, RunState, VerifyStatus

INTERVAL_S = 1.0
_ENDINGS = {RunState.DONE, RunState.STOPPED, RunState.FAILED}


@dataclass(frozen=True, slots=True)
class Watched:
    """How following ended: ``status`` is what is known at the end, if anything; ``left`` after Ctrl-C."""

    status: VerifyStatus | None
    left: bool = False


async def follow(
    read: Callable[[], Awaitable[VerifyStatus]],
    run: str | None,
    console: Console,
    process: subprocess.Popen[bytes] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Watched:
    """Show the run (None: whichever is the last) until it ends, is left, or its process is dead.

    Until the job of ``process`` has persisted its first state, that of an earlier run is passed over.
    """
    told = ""
    try:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            while True:
                dead = process is not None and process.poll() is not None
                found = await _read(read, run)
                if found is not None:
                    if found.run.state in _ENDINGS:
                        return Watched(found)
                    if console.is_terminal:
                        live.update(render.status(found), refresh=True)
                    elif (line := render.line(found)) != told:
                        console.print(line, markup=False, highlight=False, soft_wrap=True)
                        told = line
                if dead or (process is None and (found is None or not found.running)):
                    return Watched(found)
                await sleep(INTERVAL_S)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()  # Ctrl-C, which ends the watch and not the verb
        console.print("detached; the comparison goes on")
        return Watched(None, left=True)


async def _read(read: Callable[[], Awaitable[VerifyStatus]], run: str | None) -> VerifyStatus | None:
    try:
        found = await read()
    except NeverVerifiedError:
        return None
    return found if run is None or found.run.run == run else None
