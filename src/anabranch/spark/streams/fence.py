"""One driver at a time: the number of the newest start of a stream, in a file beside its checkpoints.

Invariant
    F1  a run that has seen a higher number than its own writes nothing any more.

Between two looks an older driver may still write what its sinks do not refuse by themselves; a sink that keeps the
fence with its rows, or has Kafka fence its transactions, leaves no such gap.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from anabranch.checkpoints.errors import MissingFileError
from anabranch.errors import ProtocolError, RefusedError
from anabranch.storage.files import StoredFiles

FILE = "fence"
LOOK_S = 2.0
_MOST_BYTES = 100


@dataclass(eq=False)
class NewerStartError(RefusedError):
    """The stream was started again since: another driver owns its checkpoints."""

    place: str
    fence: int
    newer: int

    _message = "start {fence} of the stream is over: {place} belongs to start {newer}"
    _hint = "nothing was lost: the newer start goes on; `anabranch stream show NAME` says where it is"


@dataclass(eq=False)
class FenceFileError(ProtocolError):
    """The file does not hold a number."""

    place: str
    text: str

    _message = "{place}/fence holds {text!r} and no number"
    _hint = "see that no run of the stream lives, then take the file away"


@dataclass(slots=True)
class StreamFence:
    """The fence of one run; ``files`` is the directory of its checkpoints."""

    files: StoredFiles
    fence: int
    _next_look: float = field(default=0.0, repr=False)

    def take(self) -> None:
        """Write the number, unless a higher one is there; raises NewerStartError, FenceFileError, StorageError."""
        self.check()
        self.files.put(FILE, str(self.fence).encode(), via=f".{FILE}.{self.fence}")
        self.check()

    def check(self) -> None:
        """Raise NewerStartError where a higher number is there (F1)."""
        found = self._read()
        if found > self.fence:
            raise NewerStartError(self.files.root, self.fence, found)

    def check_at_times(self) -> None:
        """``check``, at most every ``LOOK_S`` seconds."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_S
            self.check()

    def _read(self) -> int:
        try:
            text = self.files.read(FILE, _MOST_BYTES).decode("utf-8", "replace")
        except MissingFileError:
            return 0
        if not text.isascii() or not text.isdigit():
            raise FenceFileError(self.files.root, text)
        return int(text)
