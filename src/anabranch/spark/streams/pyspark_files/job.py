"""What a PySpark file is handed: ``def main(job)``; docs/how-to/keep-pyspark-running.md shows one.

Invariants
    J1  a query of a file has its checkpoint below those of the stream, under its name.
    J2  no query is started by a run that ends, or whose name another query of the run has.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from anabranch.config.jobspec import entry_of
from anabranch.config.offsets_file import start_of
from anabranch.config.streamspec import StreamRunSpec
from anabranch.model.routing import ClientRole
from anabranch.spark.streams import file_logs
from anabranch.spark.streams.closing import active
from anabranch.spark.streams.clusters import ClusterCodes
from anabranch.spark.streams.kafka_sink import FORMAT, register
from anabranch.spark.streams.kafka_tables import check_topics, starting_options
from anabranch.spark.streams.native_tables import FILES
from anabranch.spark.streams.pyspark_files.errors import JobUseError
from anabranch.spark.streams.pyspark_files.queries import FileQuery, WriterSays
from anabranch.spark.streams.running import checkpoint_at, is_resumed, trigger_of
from anabranch.storage.files import StoredFiles
from anabranch.storage.saved_checkpoints import first_batch_of, stage, take
from anabranch.storage.stream_checkpoints import Beginning, begin, directory_of, is_reserved, own

if TYPE_CHECKING:
    from types import FrameType

START_S = 30.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}")


class FileJob:
    """The job of one run of a PySpark file; its methods may be called from any thread of it.

    ``next_`` are batches that checkpoints have not written, where that is known.
    """

    def __init__(
        self,
        spark: SparkSession,
        spec: StreamRunSpec,
        clusters: ClusterCodes,
        files: StoredFiles,
        file: str,
        next_: Mapping[str, int],
    ) -> None:
        self.spark = spark
        """The session: all of PySpark works in it."""
        self._spec = spec
        self._clusters = clusters
        self._files = files
        self._file = file
        self._next = next_
        self._lock = threading.Lock()
        self._queries: list[FileQuery] = []
        self._is_ending = False

    @property
    def stream(self) -> str:
        """The stream's name."""
        return self._spec.stream

    @property
    def version(self) -> int:
        """The version that runs."""
        return self._spec.version

    def kafka_source(self, cluster: str, *topics: str) -> dict[str, str]:
        """Options of ``readStream.format("kafka")`` for topics of a cluster by its code.

        Where a person starts the stream at a position, that is among them: set ``startingOffsets`` before these.
        Raises ConfigError for a cluster or a topic that is not there, ClusterError.
        """
        if not topics:
            raise JobUseError("job.kafka_source", "it names no topic", 'job.kafka_source("CLUSTER", "TOPIC", ...)')
        led = self._clusters.lead(cluster, topics, ClientRole.CONSUMER)
        check_topics(led)
        found = {**led.options(ClientRole.CONSUMER), "subscribe": ",".join(led.topics)}
        if self._spec.begin.start:
            names = dict(zip(topics, led.topics, strict=True))
            found |= starting_options(led.context, start_of(self._spec.begin.start), names)
        return found

    def kafka_sink(self, cluster: str, topic: str) -> dict[str, str]:
        """Options of ``writeStream.format("anabranch-kafka")``, which writes each record once, to a topic of a cluster.

        Raises what ``kafka_source`` raises.
        """
        led = self._clusters.lead(cluster, (topic,), ClientRole.PRODUCER)
        check_topics(led)
        register(self.spark)
        return {"context": json.dumps(entry_of(led.context)), "topic": led.topics[0]}

    def checkpoint(self, name: str) -> str:
        """Where the checkpoint of a query of that name is (J1)."""
        return checkpoint_at(self._spec, self._directory(name))

    def start(self, writer: DataStreamWriter, name: str) -> StreamingQuery:
        """Start a query with its checkpoint, its name, and the trigger of the version.

        Raises JobUseError (J2), ForeignFilesError, and what Spark raises.
        """
        line = self._caller_line()
        if not isinstance(writer, DataStreamWriter):
            fix = f"job.start(rows.writeStream.format(...), {name!r}): without start() at its end"
            raise JobUseError("job.start", f"{type(writer).__name__} is no writer of a stream", fix)
        with self._lock:
            self._check_name(name)
            says = WriterSays.of(writer)
            directory = self._directory(name)
            looked_at = self._staged(directory, name)
            if says.connector.lower() in FILES and says.path:
                file_logs.check_path(self.spark, f"query {name}", says.path, looked_at, self._files)
            self._begin(directory, name)
            first = self._next.get(directory, first_batch_of(self._files, directory))
            if first is not None and says.connector == FORMAT:
                writer = writer.option("first.batch", str(first))
            at = checkpoint_at(self._spec, directory)
            place, resumed = says.path or says.topic, is_resumed(self.spark, at)
            made = FileQuery(name, line, says.connector, place, says.mode, at, resumed)
            trigger = trigger_of(self._spec.trigger)
            with active(writer._spark):
                made.query = writer.queryName(name).option("checkpointLocation", at).trigger(**trigger).start()
            self._queries.append(made)
            return made.query

    # -- for who watches -------------------------------------------------------------------------------

    @property
    def queries(self) -> Sequence[FileQuery]:
        """Those that were started so far, in order."""
        return tuple(self._queries)

    def unknown(self) -> str:
        """The name of a query that was not started here; empty where there is none."""
        if not self._lock.acquire(blocking=False):  # one is being started
            return ""
        try:
            known = {one.query.id for one in self._queries if one.query is not None}
            left = [one for one in self.spark.streams.active if one.id not in known]
        finally:
            self._lock.release()
        return str(left[0].name or left[0].id) if left else ""

    def end(self) -> None:
        """Let no further query be started; waits for one that is being started, as long as Spark may take to stop."""
        self._is_ending = True
        if self._lock.acquire(timeout=START_S):
            self._lock.release()

    def _check_name(self, name: str) -> None:
        if self._is_ending:
            raise JobUseError("job.start", f"the run ends, and query {name} is not started", "start the stream again")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            fix = "use letters, digits, spaces, '.', '_' and '-', at most 100"
            raise JobUseError("job.start", f"{name!r} is no name of a query", fix)
        if is_reserved(name):
            problem = f"query {name} would have the directory of something else beside its checkpoints"
            raise JobUseError("job.start", problem, "call it otherwise")
        if any(one.name == name for one in self._queries):
            fix = "give each query a name of its own: its checkpoint has it"
            raise JobUseError("job.start", f"there is a query {name} already", fix)

    def _directory(self, name: str) -> str:
        """Of the query's own checkpoint; another one where a person begins every query anew."""
        directory, number = own(self._files, name)
        asked = self._spec.begin
        is_anew = (asked.start or asked.checkpoint) and number < asked.number
        return directory_of(name, asked.number) if is_anew else directory

    def _staged(self, directory: str, name: str) -> str:
        """A copy of a saved checkpoint where the query is to begin from one, else its own."""
        asked = self._spec.begin
        if not asked.checkpoint or directory == own(self._files, name)[0]:
            return directory
        return stage(self._files, self._spec.stream, asked.checkpoint, name, directory)

    def _begin(self, directory: str, name: str) -> None:
        """Make what another checkpoint begins with, before Spark writes there."""
        asked = self._spec.begin
        if directory == own(self._files, name)[0]:
            return
        if asked.checkpoint:
            take(self._files, directory)
        elif asked.start:
            begin(self._files, directory, Beginning(start=asked.start))

    def _caller_line(self) -> int:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self._file:
                return frame.f_lineno
            frame = frame.f_back
        return 0
