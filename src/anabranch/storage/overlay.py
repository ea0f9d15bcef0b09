"""A tree as it once was: some of its files by their former bytes, all else as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anabranch.checkpoints.errors import FileTooLargeError, MissingFileError
from anabranch.checkpoints.ports import FileEntry, Files


class Overlay:
    """``ports.Files`` of a tree with other bytes at some paths, None for files that are not there."""

    def __init__(self, files: Files, former: Mapping[str, bytes | None]) -> None:
        self._files = files
        self._former = former

    @property
    def root(self) -> str:
        """The tree's root."""
        return self._files.root

    def list(self, path: str = "") -> Sequence[FileEntry]:
        """See ``ports.Files``."""
        found = {entry.name: entry for entry in self._files.list(path)}
        for changed, data in self._former.items():
            directory, _, name = changed.rpartition("/")
            if directory != path:
                continue
            if data is None:
                found.pop(name, None)
            else:
                found[name] = FileEntry(name, len(data), found[name].modified_ms if name in found else 0, False)
        return sorted(found.values(), key=lambda entry: entry.name)

    def beside(self) -> Sequence[FileEntry]:
        """See ``ports.Files``."""
        return self._files.beside()

    def stat(self, path: str) -> FileEntry | None:
        """See ``ports.Files``."""
        if path not in self._former:
            return self._files.stat(path)
        directory, _, name = path.rpartition("/")
        return next((entry for entry in self.list(directory) if entry.name == name), None)

    def read(self, path: str, limit: int) -> bytes:
        """See ``ports.Files``."""
        if path not in self._former:
            return self._files.read(path, limit)
        data = self._former[path]
        if data is None:
            raise MissingFileError(self.root, path)
        if len(data) > limit:
            raise FileTooLargeError(self.root, path, len(data), limit)
        return data

    def read_foreign(self, path: str, limit: int) -> bytes:
        """See ``ports.Files``."""
        return self._files.read_foreign(path, limit)
