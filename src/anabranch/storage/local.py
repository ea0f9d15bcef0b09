"""A directory of this machine: writes survive a crash at any moment, whole or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat as modes
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from anabranch.checkpoints.errors import MissingFileError
from anabranch.checkpoints.ports import FileEntry
from anabranch.model.home import expanded
from anabranch.storage import paths
from anabranch.storage.errors import InUseError, OutsidePathError, StorageError
from anabranch.storage.files import CHUNK, StoredFiles
from anabranch.storage.remote import RemoteFiles


class LocalFiles(StoredFiles):
    """A tree on this machine.

    A write is a new file that is fsynced and renamed over the old one, after which its directory is fsynced; the new
    file gets the mode, and where we may the owner, of the one that it takes the place of.  A symbolic link that leads
    out of the tree is refused, whoever put it there.
    """

    is_local = True

    def __init__(self, place: str, path: str) -> None:
        super().__init__(place)
        self._base = Path(os.path.abspath(expanded(path)))
        self._real: str | None = None
        """The root without symbolic links, once it is there."""

    @property
    def absolute(self) -> str:
        """The absolute path."""
        return str(self._base)

    def below(self, path: str) -> LocalFiles:
        """A tree inside this one."""
        return LocalFiles(f"{self.place}/{path}", f"{self.absolute}/{path}")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """See ``StoredFiles``: a lock on the root itself, which makes no file and which the kernel ends with us."""
        with self._errors("open", ""):
            number = os.open(self._base, os.O_RDONLY)
        try:
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InUseError(self.root) from None
            except OSError:
                pass  # a file system without locks
            yield
        finally:
            os.close(number)

    def elsewhere(self, place: str) -> StoredFiles:
        """A directory of this machine, or a place in a store, where a checkpoint here may keep its state."""
        protocol, rest = paths.split(place)
        return LocalFiles(place, rest) if protocol == paths.LOCAL else RemoteFiles(place, protocol, rest)

    def link(self, path: str, source: StoredFiles) -> bool:
        """See ``StoredFiles``: a hard link."""
        if not isinstance(source, LocalFiles):
            return False
        target = self._at(path)
        with self._errors("link", path):
            target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source._at(path), target, follow_symlinks=True)
        except OSError:
            return False
        return True

    def become(self, place: StoredFiles) -> None:
        """Rename the whole tree to another place, where nothing is, or an empty directory."""
        with self._errors("rename to", place.root):
            for directory, _, _ in os.walk(self._base):
                _sync_directory(Path(directory))
            os.rename(self._base, place.absolute)
            _sync_directory(Path(place.absolute).parent)

    def _list(self, path: str) -> Iterator[FileEntry]:
        directory = self._at(path)
        with self._errors("list", path):
            try:
                found = list(os.scandir(directory))
            except (FileNotFoundError, NotADirectoryError):
                return
            for one in found:
                try:
                    yield _entry(one.name, one.stat())
                except FileNotFoundError:  # gone since, or a link that leads nowhere
                    continue

    def _stat(self, path: str) -> FileEntry | None:
        with self._errors("look at", path):
            try:
                return _entry(path.rpartition("/")[2], self._at(path).stat())
            except (FileNotFoundError, NotADirectoryError):
                return None

    def _open(self, path: str) -> IO[bytes]:
        with self._errors("read", path):
            try:
                return self._at(path).open("rb")
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise MissingFileError(self.root, path) from None

    def _put(self, path: str, data: bytes, via: str, modified_ms: int | None) -> None:
        with self._errors("write", path):
            temporary = self._stage(path, via)
            with temporary.open("wb") as stream:
                stream.write(data)
                self._settle(stream, path, modified_ms)
            self._commit(temporary, self._at(path))

    def _copy(self, path: str, source: StoredFiles) -> None:
        with self._errors("write", path):
            temporary = self._stage(path, "")
            with source.open(path) as old, temporary.open("wb") as stream:
                shutil.copyfileobj(old, stream, CHUNK)
                self._settle(stream, path, None)
            self._commit(temporary, self._at(path))

    def _delete(self, path: str) -> None:
        target = self._at(path)
        with self._errors("delete", path):
            try:
                self._unlink(target)
            except (FileNotFoundError, NotADirectoryError):
                return
            _sync_directory(target.parent)

    def _prune(self, path: str) -> None:
        top = self._at(path)
        with self._errors("delete", path):
            for directory, _, _ in os.walk(top, topdown=False):
                with suppress(FileNotFoundError):
                    os.rmdir(directory)
            if top.parent.is_dir():
                _sync_directory(top.parent)

    def _stage(self, path: str, via: str) -> Path:
        """The temporary file to write; its directory is there, and that of the file itself."""
        target = self._at(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not via:
            return target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
        staged = self._at(via)
        staged.parent.mkdir(parents=True, exist_ok=True)
        return staged

    def _settle(self, stream: IO[bytes], path: str, modified_ms: int | None) -> None:
        """Have the bytes on the disk, with the mode and owner of the file whose place they will take."""
        stream.flush()
        number = stream.fileno()
        with suppress(FileNotFoundError):
            old = self._at(path).stat()
            os.fchmod(number, modes.S_IMODE(old.st_mode))
            with suppress(OSError):  # of another owner: only root may give files away
                os.fchown(number, old.st_uid, old.st_gid)
        if modified_ms is not None:
            os.utime(number, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))
        os.fsync(number)

    def _commit(self, temporary: Path, target: Path) -> None:
        """The one moment at which a write becomes visible."""
        os.replace(temporary, target)
        _sync_directory(target.parent)

    def _unlink(self, target: Path) -> None:
        target.unlink()

    def _at(self, path: str) -> Path:
        at = self._base / path if path else self._base
        if self._real is None and self._base.exists():
            self._real = os.path.realpath(self._base)
        base, real = self._real or os.path.realpath(self._base), os.path.realpath(at)
        if real != base and not real.startswith(base.rstrip("/") + "/"):
            raise OutsidePathError(self.root, path)
        return at

    @contextmanager
    def _errors(self, doing: str, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(self.root, path, doing, error.strerror or str(error)) from error


def _entry(name: str, found: os.stat_result) -> FileEntry:
    directory = modes.S_ISDIR(found.st_mode)
    return FileEntry(name, 0 if directory else found.st_size, found.st_mtime_ns // 1_000_000, directory)


def _sync_directory(directory: Path) -> None:
    """Have renames inside of a directory on the disk; where a file system cannot do that, nothing is lost by it."""
    number = os.open(directory, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(number)
    finally:
        os.close(number)
