"""Have a batch that has begun end where it began: the operator's own command runs the query on the old cluster.

The command is split as a shell would split it and started without one: nothing of what we know is put into it.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from contextlib import suppress

from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.errors import AnabranchError, InvalidFieldError
from anabranch.model.clock import now_ms
from anabranch.operations.checkpoints.activity import running
from anabranch.operations.checkpoints.errors import MayRunError, NotFinishedError, UnfinishedRewriteError
from anabranch.operations.checkpoints.manifest import unfinished
from anabranch.operations.checkpoints.paths import files_at
from anabranch.operations.checkpoints.planning import opened
from anabranch.storage.files import StoredFiles

_GRACE_S = 10.0


def words(command: str) -> list[str]:
    """The command's words; raises InvalidFieldError."""
    try:
        found = shlex.split(command)
    except ValueError as error:
        raise InvalidFieldError("rewrite", "--finish-command", str(error), "close the quotation") from None
    if not found:
        raise InvalidFieldError("rewrite", "--finish-command", "it is empty", "give the command that runs the query")
    return found


async def finish(path: str, command: str, timeout_s: float = 600.0, stopped: bool = False) -> int | None:
    """Run it where a batch is not committed, until commits equal offsets; returns that batch, None where none was.

    Its output goes to standard error. Ends when the command has ended; raises NotFinishedError where the batch is then
    not committed, or not within the time, in which case what the command has started is stopped. A rewrite that broke
    off has left positions of both clusters: raises UnfinishedRewriteError, and nothing is run. Nor is it where the
    query may still run, unless it is said to be ``stopped``: raises MayRunError.
    """
    files = files_at(path)
    batch = _to_finish(files, stopped)
    if batch is None:
        return None
    argv = words(command)
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=sys.stderr.fileno(), stderr=None, start_new_session=True
        )
    except OSError as error:
        raise NotFinishedError(files.root, batch, f"{argv[0]} cannot be run: {error.strerror}") from error
    try:
        code = await asyncio.wait_for(process.wait(), timeout_s)
    except TimeoutError:
        raise NotFinishedError(files.root, batch, f"the command has not ended within {timeout_s:.0f} s") from None
    finally:
        await _stop(process)
    try:
        left = open_checkpoint(files).uncommitted
    except AnabranchError as error:
        raise NotFinishedError(files.root, batch, error.message) from error
    if left is not None:
        raise NotFinishedError(files.root, left, f"the command ended with code {code}")
    return batch


def _to_finish(files: StoredFiles, stopped: bool) -> int | None:
    """The batch that has begun, None where there is none; raises UnfinishedRewriteError and MayRunError."""
    checkpoint = opened(files)
    begun = unfinished(files)
    if begun is not None:
        raise UnfinishedRewriteError(files.root, begun.id)
    quiet = None if stopped or checkpoint.uncommitted is None else running(checkpoint, now_ms())
    if quiet is not None:
        raise MayRunError(files.root, quiet.what, quiet.fix)
    return checkpoint.uncommitted


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End what was started and still runs, its children too: they are a session of their own."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE_S)
