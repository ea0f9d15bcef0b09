"""An object store, where a write is one PUT and so whole or not at all; or another file system that fsspec reaches."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, Any, cast

import fsspec
from fsspec.registry import known_implementations

from anabranch.checkpoints.errors import MissingFileError
from anabranch.checkpoints.ports import FileEntry
from anabranch.errors import AnabranchError
from anabranch.storage import paths
from anabranch.storage.errors import LoginInPathError, NoBucketError, NoDriverError, StorageError
from anabranch.storage.files import StoredFiles

_MODIFIED = ("mtime", "LastModified", "last_modified", "updated", "modified", "created")

#: The package of each kind of storage, where it is not one that fsspec brings.
_PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs", "adl": "adlfs"}
_PACKAGES |= {"oss": "ossfs", "hdfs": "pyarrow", "oci": "ocifs", "webhdfs": "requests", "sftp": "paramiko"}


#: Kinds of storage that are file systems: a write there is seen while it goes on.
_FILE_SYSTEMS = frozenset({"hdfs", "arrow_hdfs", "webhdfs", "sftp", "ssh", "ftp", "smb", "dbfs"})

#: Kinds of storage whose places begin with a bucket, whose driver takes a login before it for a part of its name.
_BUCKETS = frozenset({"s3", "gs", "gcs", "oss"})


class RemoteFiles(StoredFiles):
    """A tree that fsspec reaches; credentials are found as the driver finds them, and never shown."""

    def __init__(self, place: str, protocol: str, rest: str) -> None:
        super().__init__(place)
        self.renames = protocol in _FILE_SYSTEMS
        """Whether a write needs a temporary name, because half of a file can be seen there."""
        self._uri = f"{protocol}://{rest}".rstrip("/")
        if protocol not in known_implementations and protocol not in fsspec.registry:
            raise NoDriverError(self.root, protocol, "")
        if protocol in _BUCKETS:
            bucket = rest.lstrip("/").partition("/")[0]
            if "@" in bucket:
                raise LoginInPathError(self.root, protocol)
            if not bucket:  # the driver would not be asked: without one it is a path of this machine
                raise NoBucketError(self.root, protocol)
        with self._errors("reach", ""):
            try:
                self._fs, base = fsspec.core.url_to_fs(self._uri)
            except ImportError:
                raise NoDriverError(self.root, protocol, _package(protocol)) from None
        self._base = str(base).rstrip("/")

    @property
    def absolute(self) -> str:
        """The URI."""
        return self._place.rstrip("/")

    def elsewhere(self, place: str) -> StoredFiles:
        """A place in a store: none of this machine."""
        protocol, rest = paths.split(place)
        return RemoteFiles(place, protocol, rest)

    def _list(self, path: str) -> Iterator[FileEntry]:
        with self._errors("list", path):
            try:
                self._fs.invalidate_cache()
                found = self._fs.ls(self._at(path), detail=True)
            except (FileNotFoundError, NotADirectoryError) as error:
                if _without_bucket(error):
                    raise
                return
            for one in found:
                at = str(one["name"]).rstrip("/")
                if at != self._at(path).rstrip("/"):  # some stores list the directory's own marker
                    yield self._entry(at, one)

    def _stat(self, path: str) -> FileEntry | None:
        with self._errors("look at", path):
            try:
                self._fs.invalidate_cache()
                return self._entry(self._at(path), self._fs.info(self._at(path)))
            except FileNotFoundError:
                return None

    def _open(self, path: str) -> IO[bytes]:
        with self._errors("read", path):
            try:
                self._fs.invalidate_cache()  # else its size and version are those of the last listing
                return cast(IO[bytes], self._fs.open(self._at(path), "rb"))
            except (FileNotFoundError, IsADirectoryError):
                raise MissingFileError(self.root, path) from None

    def _put(self, path: str, data: bytes, via: str, modified_ms: int | None) -> None:  # noqa: ARG002  no store takes one
        with self._errors("write", path):
            if not self.renames:
                self._fs.pipe_file(self._at(path), data)
                return
            target = self._at(path)
            directory, _, name = target.rpartition("/")
            temporary = self._at(via) if via else f"{directory}/.{name}.{uuid.uuid4().hex}.tmp"
            for needed in {directory, temporary.rpartition("/")[0]}:
                self._fs.makedirs(needed, exist_ok=True)
            self._fs.pipe_file(temporary, data)
            if self._fs.exists(target):  # none of these replaces a file by a rename; undo brings back what is missing
                self._fs.rm_file(target)
            self._rename(temporary, target)

    def _rename(self, temporary: str, target: str) -> None:
        self._fs.mv(temporary, target)
        if self._fs.exists(temporary):  # WebHDFS refuses a rename by an answer that its driver does not read
            raise FileExistsError(f"{target} was written by somebody else")

    def _copy(self, path: str, source: StoredFiles) -> None:
        with self._errors("write", path):
            if isinstance(source, RemoteFiles) and source._fs is self._fs:
                self._fs.cp_file(source._at(path), self._at(path))
                return
            with source.open(path) as old, self._fs.open(self._at(path), "wb") as new:
                while part := old.read(1 << 22):
                    new.write(part)

    def _delete(self, path: str) -> None:
        with self._errors("delete", path):
            try:
                self._fs.rm_file(self._at(path))
            except FileNotFoundError:
                return

    def _prune(self, path: str) -> None:
        with self._errors("delete", path):
            try:
                self._fs.invalidate_cache()
                if not self._fs.find(self._at(path)):  # else somebody wrote there meanwhile
                    self._fs.rm(self._at(path), recursive=True)
            except FileNotFoundError:
                return  # a store that knows objects only has no empty directories

    def _at(self, path: str) -> str:
        return f"{self._base}/{path}" if path else self._base

    def _entry(self, at: str, info: Mapping[str, Any]) -> FileEntry:
        directory = info.get("type") == "directory"
        size = 0 if directory else int(info.get("size") or 0)
        return FileEntry(at.rpartition("/")[2], size, 0 if directory else self._modified(at, info), directory)

    def _modified(self, at: str, info: Mapping[str, Any]) -> int:
        """When a file was written, in ms; a store that does not tell in its listing is asked."""
        if isinstance(info.get("modificationTime"), int):  # of WebHDFS; asked, its driver tells it in the local time
            return int(info["modificationTime"])
        for name in _MODIFIED:
            if info.get(name) is not None:
                return _milliseconds(info[name])
        try:
            return _milliseconds(self._fs.modified(at))
        except NotImplementedError:
            return 0

    @contextmanager
    def _errors(self, doing: str, path: str) -> Iterator[None]:
        """Drivers raise what they like: all of it means that the storage did not do it."""
        try:
            yield
        except AnabranchError:
            raise
        except Exception as error:
            reason = paths.shown(str(error)) or type(error).__name__
            raise StorageError(self.root, path, doing, reason.replace(self._uri, self.root)) from error


def _package(protocol: str) -> str:
    return _PACKAGES.get(protocol, "")


def _without_bucket(error: OSError) -> bool:
    """Whether S3 said that there is no such bucket; its driver says the same of that and of an empty directory."""
    response = getattr(error.__cause__, "response", None)
    return isinstance(response, Mapping) and response.get("Error", {}).get("Code") == "NoSuchBucket"


def _milliseconds(value: Any) -> int:
    if isinstance(value, datetime):
        return round((value if value.tzinfo is not None else value.replace(tzinfo=UTC)).timestamp() * 1000)
    if isinstance(value, str):
        return _milliseconds(datetime.fromisoformat(value))
    return round(float(value) * 1000)
