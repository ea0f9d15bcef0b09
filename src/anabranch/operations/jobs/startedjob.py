"""A Spark job that was started, as a value: whoever has it waits for its end, ends it, or lets it go."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch.config.jobsettings import DETACH, INTERRUPT

END_S = 30.0
"""How long a job that is about to end is waited for: one that has said why it failed still has to stop its JVM."""
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class StartedJob:
    """The name of its run, and the file with what it prints.

    Its process is known here alone.  A job that is tied to this process ends with it; one that is detached does
    not.
    """

    run: str
    log: Path
    _process: subprocess.Popen[Any] = field(repr=False, compare=False)

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """What it has ended with: the number of a signal that killed it is negative.  None while it runs."""
        return self._process.poll()

    async def ended(self) -> int:
        """Wait for its end; returns its ``code``."""
        while (code := self.code) is None:
            await asyncio.sleep(_LOOK_S)
        return code

    async def ended_within(self, seconds: float) -> int | None:
        """Wait for its end so long; returns its ``code``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self.ended()
        return self.code

    async def lines(self) -> AsyncIterator[str]:
        """What it prints on its standard output, where that was kept apart, until it closes that."""
        out = self._process.stdout
        while out is not None and (line := await asyncio.to_thread(out.readline)):
            yield line

    async def lines_within(self, longest: int) -> AsyncIterator[str]:
        """``lines`` without a thread that waits for them, to be read once.

        Raises ValueError for a line of more than ``longest`` bytes.
        """
        out = self._process.stdout
        if out is None:
            return
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=longest)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), out)
        try:
            while line := await reader.readline():
                yield line.decode("utf-8", "replace")
        finally:
            transport.close()

    def end(self, *, interrupted: bool = False) -> None:
        """Have it end cleanly; does not wait.  ``interrupted`` by Ctrl-C: a tied job says so."""
        if self.code is not None:
            return
        if interrupted and self._process.stdin is not None:
            with suppress(OSError, ValueError):  # it has ended, or was detached
                os.write(self._process.stdin.fileno(), INTERRUPT)
        self._process.terminate()

    async def stop(self) -> int:
        """Have it end, by force where it does not end in ``END_S``; returns its ``code``."""
        self.end()
        if await self.ended_within(END_S) is None:
            self._process.kill()
        return await self.ended()

    def detach(self) -> None:
        """Let a tied job run on without this process."""
        if self._process.stdin is not None:
            with suppress(OSError):  # it has ended
                os.write(self._process.stdin.fileno(), DETACH)
                self._process.stdin.close()
