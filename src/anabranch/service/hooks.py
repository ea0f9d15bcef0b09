"""Running a hook of the operator's: to its end, or until it is not wanted any more.

A hook has a process group of its own, so that what it has started ends with it.  One that was told to end has
not ended well, whatever it says of itself.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog

from anabranch.errors import RefusedError

HOOK_S = 600.0
"""How long a hook may take."""
GRACE_S = 10.0
"""How long one that was told to end has for it."""
LOOK_S = 0.5
"""How often it is asked whether it is still wanted."""
_HANDED_ON = ("PATH", "HOME", "LANG", "TZ", "USER")
"""What a hook is told of the service's own environment, which has secrets."""

log = structlog.get_logger()

Unwanted = Callable[[], Awaitable[str]]
"""Why a hook is not wanted any more, empty while it is, or that is not known."""


@dataclass(eq=False)
class HookFailedError(RefusedError):
    """A hook of the operator's did not end well."""

    name: str
    how: str

    _message = "hook {name!r} {how}"
    _hint = "see what it wrote in the service's log"


async def run_hook(
    name: str, command: Sequence[str], told: Mapping[str, str], unwanted: Unwanted, grace_s: float = GRACE_S
) -> None:
    """Run a command without a shell; raises HookFailedError unless it ends with 0 by itself.

    ``told`` are variables of its environment.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**{name: os.environ[name] for name in _HANDED_ON if name in os.environ}, **told},
            start_new_session=True,
        )
    except OSError as error:
        raise HookFailedError(name, f"cannot be started: {error.strerror or error}") from error
    ending = asyncio.create_task(process.communicate())
    try:
        why = await _why_not_ended(ending, unwanted)
        how = "" if not why else f"{await _end(process, ending, grace_s)}: {why}"
    finally:
        if not ending.done():
            _signal(process, signal.SIGKILL)
            ending.cancel()
            await asyncio.wait({ending})
            await process.wait()
    written = ending.result()[0].decode(errors="replace")[-2000:] if not ending.cancelled() else ""
    log.info("a hook has ended", hook=name, code=process.returncode, why=how, wrote=written)
    if how or process.returncode:
        raise HookFailedError(name, how or f"ended with {process.returncode}: what it wrote is in the service's log")


async def _why_not_ended(ending: asyncio.Task[tuple[bytes, bytes]], unwanted: Unwanted) -> str:
    """Why it is to be ended, empty where it has ended."""
    clock = asyncio.get_running_loop().time
    until = clock() + HOOK_S
    while True:
        await asyncio.wait({ending}, timeout=LOOK_S)
        if ending.done():
            return ""
        if clock() >= until:
            return f"it took longer than {HOOK_S:g} s"
        if why := await unwanted():
            return why


async def _end(process: asyncio.subprocess.Process, ending: asyncio.Task[tuple[bytes, bytes]], grace_s: float) -> str:
    """End it with all that it has started; returns how, in words."""
    _signal(process, signal.SIGTERM)
    await asyncio.wait({ending}, timeout=grace_s)
    if ending.done():
        return "was ended by SIGTERM"
    _signal(process, signal.SIGKILL)
    await process.wait()
    await asyncio.wait({ending}, timeout=LOOK_S)  # somebody outside of its group may have its output open
    return f"did not end within {grace_s:g} s of SIGTERM, and was ended by SIGKILL"


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
