"""Temporary directories of a link's driver, which the next driver on this machine removes where one was killed.

Each has a file that its owner holds a lock on, and that the kernel releases however the owner ends.  A process id would
not do: it is used again, and means another process in another container or on another machine that has the same
directory.  Whoever has the lock and finds the file in its place owns the directory, or may remove it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

PREFIX = "anabranch-d-"
_OWNER = ".owner"


class ScratchDirectory:
    """A directory of this process, until ``remove`` or the end of its ``with`` block."""

    def __init__(self, purpose: str) -> None:
        self.path, self._lock = _made(purpose)

    def remove(self) -> None:
        """Remove it with all that it holds; a fork of the owner may, too."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            with suppress(OSError):  # a fork that has closed what it inherited
                self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def remove_abandoned() -> None:
    """Remove this user's directories whose owners have ended without removing them."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # its owner lives, is another user's, or has just removed it
            if path.lstat().st_uid == os.getuid():
                with (path / _OWNER).open("r+b") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
                    if path.exists():  # the JVM of its owner, which ends with it, still wrote: the next driver's
                        (path / _OWNER).touch()


def _made(purpose: str) -> tuple[Path, BinaryIO | None]:
    """A new directory, and the file that is locked; where files cannot be locked it has none, and nobody removes it."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-"))
        owner = path / _OWNER
        file = owner.open("x+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # somebody takes it for one that was left behind, and removes it
            file.close()
            continue
        except OSError:
            file.close()
            owner.unlink(missing_ok=True)
            return path, None
        if owner.exists():
            return path, file
        file.close()
