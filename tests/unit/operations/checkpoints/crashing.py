"""A storage whose machine goes away at one of its writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import IO

from anabranch.checkpoints.ports import FileEntry
from anabranch.storage.files import StoredFiles
from anabranch.storage.local import LocalFiles
from anabranch.storage.opening import open_files


class Crash(BaseException):
    """The machine went away."""


class Crashing(StoredFiles):
    """Another storage that dies before the step of this number, of which each write has some; ``steps`` counts them.

    A file that is put has three: nothing is there yet, its bytes are there under the temporary name only, and it is
    there as a whole.
    """

    def __init__(self, place: object, at: int | None = None) -> None:
        super().__init__(str(place))
        self.files = open_files(str(place))
        self.is_local = self.files.is_local
        self.at = at
        self.steps = 0

    def die(self) -> None:
        """What dying is."""
        raise Crash

    def _step(self) -> None:
        if self._is_last():
            self.die()
        self.steps += 1

    def _is_last(self) -> bool:
        return self.steps == self.at

    @property
    def absolute(self) -> str:
        return self.files.absolute

    def elsewhere(self, place: str) -> StoredFiles:
        return self.files.elsewhere(place)

    def alone(self) -> AbstractContextManager[None]:
        return self.files.alone()

    def link(self, path: str, source: StoredFiles) -> bool:
        return self.files.link(path, source)

    def become(self, place: StoredFiles) -> None:
        assert isinstance(self.files, LocalFiles)
        self.files.become(place)

    def _list(self, path: str) -> Iterator[FileEntry]:
        listed: Sequence[FileEntry] = self.files.list(path)
        return iter(listed)

    def _stat(self, path: str) -> FileEntry | None:
        return self.files.stat(path)

    def _open(self, path: str) -> IO[bytes]:
        return self.files.open(path)

    def _put(self, path: str, data: bytes, via: str, modified_ms: int | None) -> None:
        self._step()
        self._half(path, data, via)
        self.files.put(path, data, via, modified_ms)
        self._step()

    def _copy(self, path: str, source: StoredFiles) -> None:
        self._step()
        self._half(path, b"", "")
        self.files.copy(path, source)
        self._step()

    def _half(self, path: str, data: bytes, via: str) -> None:
        """The step at which there is only the temporary file."""
        if self._is_last():
            directory, slash, name = path.rpartition("/")
            self.files.put(via or f"{directory}{slash}.{name}.0.tmp", data)
        self._step()

    def _delete(self, path: str) -> None:
        self._step()
        self.files.delete(path)

    def _prune(self, path: str) -> None:
        self._step()
        self.files.delete_tree(path)
