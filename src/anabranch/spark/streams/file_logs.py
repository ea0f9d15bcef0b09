"""The log that Spark keeps in a directory of files that it writes: which micro-batches are there.

The log counts batches and does not say whose they are.  A query with another checkpoint counts anew, and Spark takes
its first batches for ones that the log has, and writes none of their rows, without a word (FileStreamSink.addBatch).

Invariant
    G1  a query whose next micro-batch the log of its directory already has is not started.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from anabranch.errors import RefusedError
from anabranch.spark.streams.native_tables import FILES
from anabranch.spark.streams.running import RunningQuery
from anabranch.storage.files import StoredFiles
from anabranch.storage.stream_checkpoints import batches
from anabranch.streams.connectors import option

_LOG = "_spark_metadata"


@dataclass(eq=False)
class ForeignFilesError(RefusedError):
    """A directory of files has more micro-batches than the checkpoint of the query that is to write there."""

    table: str
    path: str
    logged: int
    planned: int

    @property
    def message(self) -> str:
        own = f"its checkpoint ends with {self.planned}" if self.planned >= 0 else "its checkpoint is new"
        return (
            f"{self.table}: {self.path} has micro-batches up to {self.logged} of another checkpoint, and {own}: "
            "Spark would write no row of those that it takes for the same"
        )

    _hint = (
        "give the table another path, which its readers read beside the first; or move the files away with their log"
    )


def check(spark: SparkSession, one: RunningQuery, files: StoredFiles) -> None:
    """Raise ForeignFilesError for a query that writes files to a directory that is not its own (G1)."""
    target = one.plan.target
    if target.provider not in FILES:
        return
    check_path(spark, f"table {target.name}", option(target, "path"), one.directory, files)


def check_path(spark: SparkSession, name: str, path: str, directory: str, files: StoredFiles) -> None:
    """The same for what has a name and writes to a path, with a checkpoint in a directory."""
    planned = max(batches(files, directory, "offsets"), default=-1)
    logged = _last(spark, path)
    if logged > planned:
        raise ForeignFilesError(name, path, logged, planned)


def _last(spark: SparkSession, path: str) -> int:
    """The last micro-batch in a directory's log, -1 where it has none."""
    jvm = spark._jvm
    assert jvm is not None
    log = jvm.org.apache.hadoop.fs.Path(path, _LOG)
    system = log.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    if not system.exists(log):
        return -1
    names = (str(entry.getPath().getName()).removesuffix(".compact") for entry in system.listStatus(log))
    return max((int(name) for name in names if name.isascii() and name.isdigit()), default=-1)
