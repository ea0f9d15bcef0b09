"""Following a comparison until it ends; Ctrl-C detaches, and the comparison goes on."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live

from anabranch.cli.verify import render
from anabranch.state.codecs.verified import NeverVerifiedError, RunState, VerifyStatus

INTERVAL_S = 1.0
_ENDINGS = {RunState.DONE, RunState.STOPPED, RunState.FAILED}


@dataclass(frozen=True, slots=True)
class Followed:
    """How following ended: ``status`` is what is known at the end, if anything; ``left`` after Ctrl-C."""

    status: VerifyStatus | None
    left: bool = False


def follow(
    read: Callable[[], VerifyStatus],
    run: str | None,
    console: Console,
    process: subprocess.Popen[bytes] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Followed:
    """Show the run (None: whichever is the last) until it ends, is left, or its process is dead.

    Until the job of ``process`` has filed its first state, that of an earlier run is passed over.
    """
    try:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            while True:
                dead = process is not None and process.poll() is not None
                found = _read(read, run)
                if found is not None:
                    if found.run.state in _ENDINGS:
                        return Followed(found)
                    if console.is_terminal:
                        live.update(render.status(found), refresh=True)
                    else:
                        console.print(render.line(found), markup=False, highlight=False, soft_wrap=True)
                if dead or (process is None and (found is None or not found.running)):
                    return Followed(found)
                sleep(INTERVAL_S)
    except KeyboardInterrupt:
        console.print("detached; the comparison goes on")
        return Followed(None, left=True)


def _read(read: Callable[[], VerifyStatus], run: str | None) -> VerifyStatus | None:
    try:
        found = read()
    except NeverVerifiedError:
        return None
    return found if run is None or found.run.run == run else None
