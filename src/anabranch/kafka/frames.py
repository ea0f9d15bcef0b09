"""Buffers that responses are received into, reused so that bulk copying touches no fresh memory.

A frame is handed out whole and counted: whoever keeps a view into it calls ``retain`` and later ``release``;
at zero the bytes go back to the pool, whose ``lent`` bytes are what all holders together keep.  Single-threaded,
like the event loop that owns it.
"""

from __future__ import annotations

_KEEP_BYTES = 48 << 20
_SMALLEST = 1 << 16


class Frame:
    """One response's bytes; ``view`` is writable and exactly as long as the response."""

    __slots__ = ("_buffer", "_holders", "_pool", "view")

    def __init__(self, buffer: bytearray, size: int, pool: FramePool) -> None:
        self._buffer = buffer
        self._pool = pool
        self._holders = 1
        self.view = memoryview(buffer)[:size]

    def __del__(self) -> None:
        # Whoever was to release it may have been cancelled in the very moment in which it was handed over.
        if self._holders > 0:
            self._pool.lent -= len(self._buffer)

    def retain(self, holders: int = 1) -> None:
        """Count ``holders`` more users."""
        self._holders += holders

    def release(self) -> None:
        """Count one user less; the last one returns the bytes to the pool."""
        self._holders -= 1
        if self._holders == 0:
            self._pool.give_back(self._buffer)


class FramePool:
    """Free buffers by power-of-two size: together with those in use at most 48 MB of them are kept."""

    def __init__(self) -> None:
        self._free: dict[int, list[bytearray]] = {}
        self._held = 0
        self.lent = 0

    def take(self, size: int) -> Frame:
        """A frame of ``size`` bytes; its contents are whatever was there."""
        capacity = max(_SMALLEST, 1 << (size - 1).bit_length()) if size > 1 else _SMALLEST
        self.lent += capacity
        shelf = self._free.get(capacity)
        if shelf:
            self._held -= capacity
            return Frame(shelf.pop(), size, self)
        return Frame(bytearray(capacity), size, self)

    def give_back(self, buffer: bytearray) -> None:
        """Keep a buffer for the next taker, or let it go when enough are kept."""
        self.lent -= len(buffer)
        if self._held + self.lent + len(buffer) <= _KEEP_BYTES:
            self._held += len(buffer)
            self._free.setdefault(len(buffer), []).append(buffer)
