"""A query of a PySpark file: as its writer says, and as it runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from anabranch.spark.streams.progress import QueryTotals, progress_fields
from anabranch.spark.streams.running import directory_in, progress_since


@dataclass(slots=True)
class FileQuery:
    """A query that ``job.start`` has started; ``line`` is where the file did so."""

    name: str
    line: int
    connector: str
    place: str
    mode: str
    checkpoint: str
    resumed: bool
    query: StreamingQuery | None = None
    totals: QueryTotals = field(default_factory=QueryTotals)
    _told: str = ""

    @property
    def directory(self) -> str:
        """Of its checkpoint, below those of the stream."""
        return directory_in(self.checkpoint)

    def new_progress(self) -> Iterable[dict[str, Any]]:
        """The fields of each progress that was not told yet, in order."""
        assert self.query is not None
        fresh, self._told = progress_since(self.query, self._told)
        for one in fresh:
            yield progress_fields(self.name, one, self.totals, None)

    def new_counts(self, _is_last: bool = False, /) -> dict[str, Any] | None:
        """Nothing: a file's sinks are Spark's own to count."""
        return None

    def fields(self) -> dict[str, Any]:
        """As the event ``started`` has them: no statement, and in place of a table the path or topic, where known."""
        return {
            "query": self.name,
            "line": self.line,
            "table": self.place,
            "connector": self.connector,
            "mode": self.mode,
            "checkpoint": self.checkpoint,
            "resumed": self.resumed,
        }


@dataclass(frozen=True, slots=True)
class WriterSays:
    """What a writer was told: its format, its output mode, and its options ``path`` and ``topic``.

    Spark has no public way to ask a writer; its fields are read by their names (DataStreamWriter.scala, 4.1).
    """

    connector: str
    mode: str
    path: str
    topic: str

    @classmethod
    def of(cls, writer: DataStreamWriter) -> WriterSays:
        """By the fields of Spark's own writer."""
        java = writer._jwrite
        options = _field(java, "extraOptions")
        path, topic = (options.get(name) for name in ("path", "topic"))
        return cls(
            str(_field(java, "source")),
            str(_field(java, "outputMode").toString()).lower(),
            str(path.get()) if path.isDefined() else "",
            str(topic.get()) if topic.isDefined() else "",
        )


def _field(java: Any, name: str) -> Any:
    found = java.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found.get(java)
