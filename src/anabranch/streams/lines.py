"""A file of lines that its writer keeps short: once it is full it becomes ``FILE.1``, and a new one is begun."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

FULL_BYTES = 8 << 20


def former(path: Path) -> Path:
    """Where the lines before those of a file are."""
    return path.with_name(path.name + ".1")


@dataclass(slots=True)
class LineFile:
    """The writing half, as a text stream of whole lines; one writer."""

    path: Path
    full: int = FULL_BYTES

    def write(self, text: str) -> int:
        """Append the whole of it, or nothing; raises OSError."""
        data = text.encode()
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            if os.fstat(file).st_size + len(data) > self.full:
                os.close(file)
                file = -1
                os.replace(self.path, former(self.path))
                file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            _append(file, data)
        finally:
            if file >= 0:
                os.close(file)
        return len(text)

    def flush(self) -> None:
        """Nothing waits here."""


def _append(file: int, data: bytes) -> None:
    """Write all of it: a disk that is full takes a part of it first, which would spoil the next line."""
    begin, at = os.fstat(file).st_size, 0
    try:
        while at < len(data):
            at += os.write(file, data[at:])
    except OSError:
        if at:
            with suppress(OSError):
                os.ftruncate(file, begin)
        raise


@dataclass(slots=True)
class LineTail:
    """The reading half: each whole line once, in order, as long as it is read more often than two files fill up."""

    path: Path
    most: int = 1 << 20
    _inode: int = field(default=0, repr=False)
    _at: int = field(default=0, repr=False)

    def lines(self) -> list[str]:
        """The lines that are new since the last call; at the first call only those of the last ``most`` bytes.

        Raises OSError; a file that is not there yet has no lines.
        """
        found: list[str] = []
        try:
            with self.path.open("rb") as file:
                now = os.fstat(file.fileno())
                if self._inode and self._inode != now.st_ino:
                    found += self._rest_of_former()
                    self._at = 0
                elif not self._inode:
                    self._at = max(0, now.st_size - self.most)
                self._inode = now.st_ino
                found += self._read(file)
        except FileNotFoundError:
            return found
        return found

    def _rest_of_former(self) -> list[str]:
        try:
            with former(self.path).open("rb") as file:
                return self._read(file) if os.fstat(file.fileno()).st_ino == self._inode else []
        except FileNotFoundError:
            return []

    def _read(self, stream: IO[bytes]) -> list[str]:
        is_cut = self._at > 0 and not self._is_line_start(stream)
        stream.seek(self._at)
        data = stream.read()
        whole, newline, _ = data.rpartition(b"\n")
        if not newline:
            return []
        self._at += len(whole) + 1
        lines = whole.decode("utf-8", "replace").split("\n")
        return lines[1:] if is_cut else lines

    def _is_line_start(self, stream: IO[bytes]) -> bool:
        stream.seek(self._at - 1)
        return stream.read(1) == b"\n"
