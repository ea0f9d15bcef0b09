"""A directory tree to read and to write, wherever it lies."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import IO

from anabranch.checkpoints.errors import FileTooLargeError, MissingFileError
from anabranch.checkpoints.ports import FileEntry
from anabranch.storage import paths
from anabranch.storage.errors import OutsidePathError

CHUNK = 1 << 20


class StoredFiles(ABC):
    """One tree: ``ports.Files``, and the writes of the workflow.  Paths are relative, with ``/`` between the parts.

    Every method raises OutsidePathError for a path that leads out of the tree, and StorageError.
    """

    is_local: bool = False

    def __init__(self, place: str) -> None:
        self._place = place

    @property
    def root(self) -> str:
        """The place as the user wrote it, without a login in it."""
        return paths.shown(self._place)

    @property
    def place(self) -> str:
        """The place as it is opened again; may hold a login."""
        return self._place

    @property
    @abstractmethod
    def absolute(self) -> str:
        """The place as an engine names it: an absolute path, or a URI."""

    @abstractmethod
    def elsewhere(self, place: str) -> StoredFiles:
        """The tree at another place, which is of this kind or one that a file of this tree may name."""

    def list(self, path: str = "") -> Sequence[FileEntry]:
        """The children of a directory by name, hidden ones too; empty where there is no such directory."""
        return sorted(self._list(self._checked(path)), key=lambda entry: entry.name)

    def beside(self) -> Sequence[FileEntry]:
        """What lies in the directory that the root is in, itself too, by name."""
        return self.elsewhere(paths.beside(self.absolute, "") or "/").list()

    def stat(self, path: str) -> FileEntry | None:
        """One file or directory, None where there is none."""
        return self._stat(self._checked(path))

    def read(self, path: str, limit: int) -> bytes:
        """A whole file; raises MissingFileError, and FileTooLargeError for more than ``limit`` bytes, unread."""
        entry = self.stat(path)
        if entry is None or entry.is_directory:
            raise MissingFileError(self.root, path)
        if entry.size > limit:
            raise FileTooLargeError(self.root, path, entry.size, limit)
        with self.open(path) as stream:
            found = stream.read(limit + 1)
        if len(found) > limit:
            raise FileTooLargeError(self.root, path, len(found), limit)
        return found

    def read_foreign(self, path: str, limit: int) -> bytes:
        """A file outside of the tree by its absolute path or URI; raises as ``read`` does.

        A checkpoint names files of stores only, and one in an object store none of this machine: what it says is not
        to be trusted.
        """
        protocol, rest = paths.split(path)
        if protocol == paths.LOCAL and not (self.is_local and rest.startswith("/")):
            raise OutsidePathError(self.root, path)
        if protocol in _NO_STORES:
            raise OutsidePathError(self.root, path)
        head, _, name = path.rstrip("/").rpartition("/")
        try:
            return self.elsewhere(head or "/").read(name, limit)
        except MissingFileError:
            raise MissingFileError(self.root, paths.shown(path)) from None

    def open(self, path: str) -> IO[bytes]:
        """A file to be read; raises MissingFileError."""
        return self._open(self._checked(path))

    def digest(self, path: str) -> str | None:
        """SHA-256 of a file in hex, None where there is none."""
        entry = self.stat(path)
        if entry is None or entry.is_directory:
            return None
        digest = hashlib.sha256()
        with self.open(path) as stream:
            while part := stream.read(CHUNK):
                digest.update(part)
        return digest.hexdigest()

    def walk(self, path: str = "") -> Iterator[tuple[str, FileEntry]]:
        """Every file below a directory with its path, by name, depth first."""
        for entry in self.list(path):
            inner = f"{path}/{entry.name}" if path else entry.name
            if entry.is_directory:
                yield from self.walk(inner)
            else:
                yield inner, entry

    def put(self, path: str, data: bytes, via: str = "", modified_ms: int | None = None) -> None:
        """Write a file whole or not at all, over one that is there; when it returns a crash cannot lose it.

        ``via`` is the temporary name to use where one is needed; ``modified_ms`` is given to it where that can be done.
        """
        self._put(self._checked(path), data, self._checked(via), modified_ms)

    def delete(self, path: str) -> None:
        """Take a file away; nothing happens where there is none."""
        self._delete(self._checked(path))

    def delete_tree(self, path: str) -> None:
        """Take a directory away with all that is in it; nothing happens where there is none."""
        for inner, _ in list(self.walk(path)):
            self.delete(inner)
        self._prune(self._checked(path))

    def copy(self, path: str, source: StoredFiles) -> None:
        """A copy of another tree's file of the same path, as ``put`` writes it."""
        self._copy(self._checked(path), source)

    def link(self, path: str, source: StoredFiles) -> bool:  # noqa: ARG002  only a directory has links
        """Make another tree's file be in this one, too, without a copy; False where that cannot be."""
        return False

    def alone(self) -> AbstractContextManager[None]:
        """Keep other processes that ask for the same out until it ends, also by a crash; raises InUseError.

        A store has no locks: there two rewrites at once are told by what each reads back.
        """
        return nullcontext()

    def _checked(self, path: str) -> str:
        if not paths.within(path):
            raise OutsidePathError(self.root, path)
        return path

    @abstractmethod
    def _list(self, path: str) -> Iterator[FileEntry]: ...

    @abstractmethod
    def _stat(self, path: str) -> FileEntry | None: ...

    @abstractmethod
    def _open(self, path: str) -> IO[bytes]: ...

    @abstractmethod
    def _put(self, path: str, data: bytes, via: str, modified_ms: int | None) -> None: ...

    @abstractmethod
    def _delete(self, path: str) -> None: ...

    @abstractmethod
    def _copy(self, path: str, source: StoredFiles) -> None: ...

    @abstractmethod
    def _prune(self, path: str) -> None:
        """Take the empty directories at and below a path away."""


_NO_STORES = frozenset(
    {"http", "https", "data", "reference", "simplecache", "filecache", "blockcache", "cached", "git"}
)
"""What fsspec opens too, and where no engine keeps a checkpoint."""
