"""Reading a log's batch headers backwards, as the walk to a lane's last batch does: in windows that grow.

A broker sends whole batches and only forwards, so a look at one batch costs some round trips.  Behind a hundred
thousand batches of another writer that is minutes.  A window is read at once; it answers every look inside it.

Invariant: a window is what one leader had under one epoch, which it confirmed after the window was read (R8).  It
serves one walk alone: whatever else is asked or written makes it void (``forget``), since the end of the log is to be
read after the fences.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from anabranch.records.header import BatchHeader

LEAST_BYTES, MOST_BYTES = 1 << 10, 1 << 20
"""What one fetch of a window asks for; a broker sends at least one whole batch."""
ENOUGH_HEADERS, ENOUGH_BYTES = 2_000, 4 << 20
"""A window with more than that is large enough: the next one is no larger."""
GROWTH = 4

Fetch = Callable[[int, int], Awaitable[Sequence[BatchHeader]]]
"""(offset, bytes): the headers from the batch on that holds the offset or comes after it; none at the log's end."""


@dataclass(slots=True)
class Backwards:
    """The window ``[start, end)`` of a log that was read last, and how many offsets the next one is to have."""

    fetch: Fetch
    headers: list[BatchHeader] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    start: int = 0
    end: int = 0
    span: int = 1

    def forget(self) -> None:
        """Read the log again from here on."""
        self.headers, self.starts, self.start, self.end, self.span = [], [], 0, 0, 1

    def known(self, below: int) -> BatchHeader | None:
        """The last batch that begins below an offset, if the window has it."""
        if not self.start < below <= self.end:
            return None
        at = bisect_left(self.starts, below) - 1
        return self.headers[at] if at >= 0 else None

    async def read(self, first: int, below: int) -> BatchHeader | None:
        """The same from the log, which begins at ``first``; None where there is none.  A gap that compaction left is
        passed over.  The caller has the leader confirmed before it uses the answer."""
        if self.start < below <= self.end:
            below = self.start  # the window has none below it
        while below > first:
            start = max(first, below - self.span)
            headers, size = await self._window(start, below)
            if len(headers) < ENOUGH_HEADERS and size < ENOUGH_BYTES:
                self.span *= GROWTH
            self.headers, self.starts = headers, [header.base_offset for header in headers]
            self.start, self.end = min([start, *self.starts[:1]]), below
            if headers:
                return headers[-1]
            below = start
        return None

    async def _window(self, start: int, below: int) -> tuple[list[BatchHeader], int]:
        headers: list[BatchHeader] = []
        wish = LEAST_BYTES if self.span == 1 else MOST_BYTES
        at, size = start, 0
        while at < below:
            found = await self.fetch(at, wish)
            for header in found:
                if header.base_offset < below:
                    headers.append(header)
                    size += header.size
                at = header.last_offset + 1
            if not found:
                break
        return headers, size
