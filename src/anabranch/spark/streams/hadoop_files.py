"""A tree on a file system of Hadoop's, reached through Spark's JVM: by the same driver and login as Spark reaches it.

Places of this machine are among them (``LocalFileSystem``).  A write is atomic in the way of Spark's own checkpoints
there: by Spark's CheckpointFileManager, the one that replaces a file on HDFS, too.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from anabranch.checkpoints.errors import MissingFileError
from anabranch.checkpoints.ports import FileEntry
from anabranch.storage import paths
from anabranch.storage.errors import StorageError
from anabranch.storage.files import StoredFiles
from anabranch.storage.opening import open_files

MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
"""What Spark takes for itself where a session says nothing.  ``FileSystemBased...``, which links have for the disk of
their driver, renames in a way that HDFS refuses for a file that is there, and Spark only logs that."""
_MANAGER_SETTING = "spark.sql.streaming.checkpointFileManagerClass"
_MISSING = "java.io.FileNotFoundException"


def opener(spark: SparkSession, *places: str) -> Callable[[str], StoredFiles]:
    """How a driver opens places of a stream's checkpoints: all by Hadoop where one is not of this machine.

    So that files are copied from the one to the other within the JVM.
    """
    if all(paths.split(place)[0] == paths.LOCAL for place in places):
        return open_files
    return lambda place: HadoopFiles(spark, place)


def settings_at(place: str) -> dict[str, str]:
    """What Spark has to be told where checkpoints are there."""
    return {} if paths.split(place)[0] == paths.LOCAL else {_MANAGER_SETTING: MANAGER}


class HadoopFiles(StoredFiles):
    """A tree at a URI; all of it through the session's JVM, with the session's settings."""

    def __init__(self, spark: SparkSession, place: str) -> None:
        super().__init__(place)
        jvm: Any = spark._jvm
        self._spark = spark
        self._jvm = jvm
        self._base = paths.uri(place)
        with self._errors("reach", ""):
            self._conf = spark._jsparkSession.sessionState().newHadoopConf()
            self._system = jvm.org.apache.hadoop.fs.Path(self._base).getFileSystem(self._conf)

    @property
    def absolute(self) -> str:
        """The URI."""
        return self._base

    def elsewhere(self, place: str) -> StoredFiles:
        """Another place on any file system of Hadoop's."""
        return HadoopFiles(self._spark, place)

    def _list(self, path: str) -> Iterator[FileEntry]:
        with self._errors("list", path):
            try:
                found = list(self._system.listStatus(self._at(path)))
            except Py4JJavaError as error:
                if _is_missing(error):
                    return
                raise
            yield from map(_entry, found)

    def _stat(self, path: str) -> FileEntry | None:
        with self._errors("look at", path):
            try:
                return _entry(self._system.getFileStatus(self._at(path)))
            except Py4JJavaError as error:
                if _is_missing(error):
                    return None
                raise

    def _open(self, path: str) -> IO[bytes]:
        with self._errors("read", path):
            try:
                stream = self._system.open(self._at(path))
            except Py4JJavaError as error:
                if _is_missing(error):
                    raise MissingFileError(self.root, path) from error
                raise
            try:
                return io.BytesIO(bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)))
            finally:
                stream.close()

    def _put(self, path: str, data: bytes, via: str, modified_ms: int | None) -> None:  # noqa: ARG002  Spark names it
        with self._errors("write", path):
            target = self._at(path)
            self._system.mkdirs(target.getParent())
            manager = getattr(self._jvm, MANAGER)(target.getParent(), self._conf)
            stream = manager.createAtomic(target, True)
            try:
                stream.write(bytearray(data))
            except BaseException:
                stream.cancel()
                raise
            stream.close()

    def _copy(self, path: str, source: StoredFiles) -> None:
        with self._errors("write", path):
            old = self._jvm.org.apache.hadoop.fs.Path(f"{source.absolute}/{path}")
            target = self._at(path)
            self._system.mkdirs(target.getParent())
            system = old.getFileSystem(self._conf)
            self._jvm.org.apache.hadoop.fs.FileUtil.copy(system, old, self._system, target, False, True, self._conf)

    def _delete(self, path: str) -> None:
        with self._errors("delete", path):
            self._system.delete(self._at(path), False)

    def _prune(self, path: str) -> None:
        with self._errors("delete", path):
            self._system.delete(self._at(path), True)

    def _at(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._base}/{path}" if path else self._base)

    @contextmanager
    def _errors(self, doing: str, path: str) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            said = str(error.java_exception.toString()).splitlines()[0]
            raise StorageError(self.root, path, doing, paths.shown(said)) from error
        except CapturedException as error:  # those of Java's that PySpark has a class for
            raise StorageError(self.root, path, doing, paths.shown(str(error).splitlines()[0])) from error


def _entry(status: Any) -> FileEntry:
    directory = bool(status.isDirectory())
    name = str(status.getPath().getName())
    return FileEntry(name, 0 if directory else int(status.getLen()), int(status.getModificationTime()), directory)


def _is_missing(error: Py4JJavaError) -> bool:
    return str(error.java_exception.getClass().getName()) == _MISSING
