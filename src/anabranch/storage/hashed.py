"""Files by their content: each is named by its SHA-256, so that what is read is what was written.

Invariants
    H1  a file is there whole or not at all, whoever is killed as it is written.
    H2  bytes are handed out only where their hash is the name of their file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container
from dataclasses import dataclass

from anabranch.errors import ProtocolError
from anabranch.storage.files import StoredFiles

_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(eq=False)
class OtherBytesError(ProtocolError):
    """A file that is named by its content has another one."""

    root: str
    wanted: str
    found: str

    _message = "the file {wanted} in {root} has other bytes: their SHA-256 is {found}"
    _hint = "bring it back from a copy; nothing was changed"


class HashedFiles:
    """The files of one directory, wherever it is."""

    def __init__(self, files: StoredFiles) -> None:
        self._files = files

    @property
    def place(self) -> str:
        """The directory as it is opened again; may hold a login."""
        return self._files.place

    def put(self, data: bytes) -> str:
        """Keep bytes (H1), and return their name; what is there already is written again, and is new.

        Raises StorageError.
        """
        name = hashlib.sha256(data).hexdigest()
        self._files.put(name, data)
        return name

    def has(self, name: str, size: int) -> bool:
        """Whether a file of that size is there; raises StorageError."""
        entry = self._files.stat(name)
        return entry is not None and not entry.is_directory and entry.size == size

    def read(self, name: str, size: int) -> bytes:
        """The bytes of a name (H2), which are ``size``; raises MissingFileError, OtherBytesError, StorageError."""
        with self._files.open(name) as stream:
            data = stream.read(size + 1)
        found = hashlib.sha256(data).hexdigest()
        if found != name:
            raise OtherBytesError(self._files.root, name, found)
        return data

    def sweep(self, kept: Container[str], before_ms: int) -> int:
        """Take away what was written before that time and is not kept; returns how many.  Raises StorageError.

        What a writer that was killed has left is among it, under whatever name.
        """
        gone = 0
        for entry in self._files.list():
            is_named = _NAME.fullmatch(entry.name) is not None
            is_ours = is_named or (entry.name.startswith(".") and _NAME.search(entry.name) is not None)
            if entry.is_directory or not is_ours or entry.name in kept or entry.modified_ms >= before_ms:
                continue
            again = self._files.stat(entry.name)  # it may have been written again since
            if again is not None and again.modified_ms < before_ms:
                self._files.delete(entry.name)
                gone += 1
        return gone
