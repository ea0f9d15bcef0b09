"""One driver at a time: each start of a stream leaves a file named by its number beside its checkpoints.

Invariants
    F1  a run that has seen a higher number than its own writes nothing any more.
    F2  a number that was left is never taken back by a lower one: each run writes a file of its own before it looks, so
        of two that take the fence at once the lower one sees the higher, also one that was held up in between.

Between two looks an older driver may still write what its sinks do not refuse by themselves.  A sink that keeps the
fence with its rows, or has Kafka fence its transactions, leaves no such gap; neither do files where storage renames
atomically: Spark's log of the directory takes a batch once, and the second writer of it fails.  Tables of Iceberg and
Delta take a batch once, too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from anabranch.errors import RefusedError
from anabranch.storage.files import StoredFiles
from anabranch.storage.stream_checkpoints import FENCE

LOOK_S = 2.0


@dataclass(eq=False)
class NewerStartError(RefusedError):
    """The stream was started again since: another driver owns its checkpoints."""

    place: str
    fence: int
    newer: int

    _message = "start {fence} of the stream is over: {place} belongs to start {newer}"
    _hint = "nothing was lost: the newer start goes on; `anabranch stream show NAME` says where it is"


@dataclass(slots=True)
class StreamFence:
    """The fence of one run; ``files`` is the directory of its checkpoints."""

    files: StoredFiles
    fence: int
    _next_look: float = field(default=0.0, repr=False)

    def take(self) -> None:
        """Leave the number, unless a higher one is there; raises NewerStartError, StorageError."""
        self.check()
        self.files.put(f"{FENCE}/{self.fence}", b"", via=f"{FENCE}/.{self.fence}")
        self.check()  # again: another may have left its own meanwhile
        for number in self._numbers():
            if number < self.fence:
                self.files.delete(f"{FENCE}/{number}")

    def check(self) -> None:
        """Raise NewerStartError where a higher number is there (F1)."""
        found = max(self._numbers(), default=0)
        if found > self.fence:
            raise NewerStartError(self.files.root, self.fence, found)

    def check_at_times(self) -> None:
        """``check``, at most every ``LOOK_S`` seconds."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_S
            self.check()

    def _numbers(self) -> list[int]:
        names = [entry.name for entry in self.files.list(FENCE)]
        return [int(name) for name in names if name.isascii() and name.isdigit()]
