"""The log of a run, kept short while others write to it.

A JVM and its workers have the same file open and append to it, so it is copied to ``FILE.1`` and emptied, not renamed.
A line that is written between the copy's end and that is lost; so is what was in ``FILE.1`` before.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.streams.lines import former

FULL_BYTES = 32 << 20
LOOK_S = 5.0


@dataclass(slots=True)
class RunLog:
    """A log that this process writes itself, too, by its standard error."""

    path: Path
    full: int = FULL_BYTES
    _next: float = field(default=0.0, repr=False)

    @classmethod
    def of(cls, path: Path, number: int = 2) -> RunLog | None:
        """The log at a path; None where a descriptor of this process is another file, or none."""
        try:
            here, there = os.fstat(number), path.stat()
        except OSError:
            return None
        is_same = stat.S_ISREG(here.st_mode) and (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
        return cls(path) if is_same else None

    def look(self) -> None:
        """Keep it short, looked at every ``LOOK_S`` seconds; what is refused is tried again."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + LOOK_S
            with suppress(OSError):
                self.keep_short()

    def keep_short(self) -> None:
        """Empty it where it is full, after a copy; without one where there is no room for it.  Raises OSError."""
        size = self.path.stat().st_size
        if size <= self.full:
            return
        copy = self.path.with_name(f".{self.path.name}.1")
        try:
            with self.path.open("rb") as source, open(os.open(copy, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as target:
                shutil.copyfileobj(source, target)
                target.truncate()
            os.replace(copy, former(self.path))
        except OSError:
            copy.unlink(missing_ok=True)
            if size <= 2 * self.full:
                raise
        os.truncate(self.path, 0)


def tail(path: Path, most: int) -> tuple[str, bool]:
    """The last bytes of a log, at most so many, over both its parts; whether there is more.  Raises OSError."""
    end, is_cut = _tail(path, most)
    if is_cut:
        return end.decode("utf-8", "replace"), True
    before = b""
    with suppress(FileNotFoundError):
        before, is_cut = _tail(former(path), most - len(end))
    return (before + end).decode("utf-8", "replace"), is_cut


def _tail(path: Path, most: int) -> tuple[bytes, bool]:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - most))
        return file.read(), size > most
