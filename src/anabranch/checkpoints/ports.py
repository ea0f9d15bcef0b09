"""What the formats need of storage: listings and contents of files. Only the operations write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A child of a directory; ``name`` is its last part, ``size`` in bytes (0 for directories)."""

    name: str
    size: int
    modified_ms: int
    is_directory: bool


class Files(Protocol):
    """A directory tree; paths are relative to its root, with ``/`` between the parts, "" is the root itself."""

    @property
    def root(self) -> str:
        """The root as the user wrote it, for messages."""

    def list(self, path: str = "") -> Sequence[FileEntry]:
        """The children of a directory by name, hidden ones too; empty where there is no such directory."""

    def beside(self) -> Sequence[FileEntry]:
        """What lies in the directory that the root is in, itself too, by name."""

    def stat(self, path: str) -> FileEntry | None:
        """One file or directory, None where there is none."""

    def read(self, path: str, limit: int) -> bytes:
        """A whole file. Raises MissingFileError, and FileTooLargeError for one of more than ``limit`` bytes, unread."""

    def read_foreign(self, path: str, limit: int) -> bytes:
        """A file outside of the tree by its absolute path or URI, as a savepoint names it; raises as ``read`` does."""
