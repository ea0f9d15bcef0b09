"""The queries of a stream: started together, watched, and ended together.

Invariants
    R1  no query is started before every sink has been checked.
    R2  where one query fails, all end, and the error is that query's.
    R3  asked to end, a query ends between two micro-batches; one whose micro-batch takes longer than ``BATCH_S`` is
        ended in it, and does that batch again at its next start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from anabranch.config.streamspec import StreamRunSpec
from anabranch.errors import AnabranchError, InvalidFieldError
from anabranch.spark.streams.analysis import InsertPlan
from anabranch.spark.streams.closing import active
from anabranch.spark.streams.failing import FailedQueryError, query_failure
from anabranch.spark.streams.fence import StreamFence
from anabranch.spark.streams.lake_tables import LAKES
from anabranch.spark.streams.native_tables import FILES
from anabranch.spark.streams.progress import QueryTotals, progress_fields, sink_fields
from anabranch.spark.streams.sinks.port import (
    BatchSink,
    CountedSink,
    NativeSink,
    QueryIdentity,
    Sink,
    SinkCounts,
    SinkKind,
)
from anabranch.spark.streams.written_bytes import WrittenBytes
from anabranch.storage.stream_checkpoints import directory_of
from anabranch.streams.events import StreamEventKind

LOOK_S = 0.2
BATCH_S = 60.0
COUNTS_S = 1.0
"""How often at most the counts of a sink are told while a micro-batch is under way."""
_STOP_LOOK_S = 0.01
COUNTED_BY_SPARK = frozenset({*FILES, *LAKES})
"""Connectors of which Spark alone knows the bytes that are written."""
_AVAILABLE_NOW = "availablenow"
TellProgress = Callable[[StreamEventKind, Mapping[str, Any]], None]


class WatchedQuery(Protocol):
    """A query whose progress is told, and that is ended between two micro-batches."""

    query: StreamingQuery | None

    def new_progress(self) -> Iterable[dict[str, Any]]:
        """The fields of each progress that was not told yet, in order."""

    def new_counts(self, is_last: bool = False, /) -> dict[str, Any] | None:
        """What its sink has counted beside a progress, where that is new."""


def progress_since(query: StreamingQuery, told: str) -> tuple[list[str], str]:
    """(Spark's JSON of each progress after the one of a time, in order, and the time of the last)."""
    fresh: list[Any] = []
    for one in reversed(list(query._jsq.recentProgress())):
        if one.timestamp() == told:
            break
        fresh.append(one)
    return [one.json() for one in reversed(fresh)], fresh[0].timestamp() if fresh else told


@dataclass(slots=True)
class RunningQuery:
    """An INSERT as it runs; ``first_batch`` is one that it is known not to have written yet, None where none is."""

    plan: InsertPlan
    sink: Sink
    checkpoint: str
    query: StreamingQuery | None = None
    error: AnabranchError | None = None
    totals: QueryTotals = field(default_factory=QueryTotals)
    first_batch: int | None = None
    fence: StreamFence | None = None
    """Looked at before each batch that a sink of ours writes, where the run has one."""
    written: WrittenBytes | None = None
    """What the tasks write, where only Spark knows it."""
    _told: str = ""
    _sunk: Mapping[str, int | None] = field(default_factory=dict)
    _sunk_at: float = 0.0

    @property
    def directory(self) -> str:
        """Of its checkpoint, below those of the stream."""
        return directory_in(self.checkpoint)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Hand a micro-batch to its sink; an error of ours is kept, for Spark hands on its text alone."""
        assert isinstance(self.sink, BatchSink)
        counts, errors = self.sink.counts, self.sink.counts.errors
        try:
            if self.fence is not None:
                self.fence.check_at_times()
            self.sink.write(batch, batch_id)
        except Exception as error:
            counts.errors = max(counts.errors, errors + 1)  # a sink may have counted it itself
            if isinstance(error, AnabranchError):
                self.error = error
            raise

    @property
    def counts(self) -> SinkCounts | None:
        """What the sink has counted; None where only Spark knows what it wrote."""
        if isinstance(self.sink, BatchSink):
            return self.sink.counts
        return self.sink.counts_of(str(self.query.id)) if self.query and isinstance(self.sink, CountedSink) else None

    def new_counts(self, is_last: bool = False) -> dict[str, Any] | None:
        """What the sink has counted, where that is new: a batch that fails or takes long has no progress."""
        if is_last:
            self._look_at_written(is_last)
        now, sunk = time.monotonic(), sink_fields(self.totals, self.counts)
        if not self._sunk:
            self._sunk = dict.fromkeys(sunk, 0)
        if all(value in (None, self._sunk[name]) for name, value in sunk.items()):
            return None
        if not is_last and now - self._sunk_at < COUNTS_S:
            return None
        self._sunk, self._sunk_at = sunk, now
        return {"query": self.plan.query, "sink": sunk}

    def new_progress(self) -> Iterable[dict[str, Any]]:
        """The fields of each progress that was not told yet, in order."""
        assert self.query is not None
        fresh, self._told = progress_since(self.query, self._told)
        if fresh:
            self._look_at_written()
        for one in fresh:
            told = progress_fields(self.plan.query, one, self.totals, self.counts)
            self._sunk, self._sunk_at = told["sink"], time.monotonic()
            yield told

    def _look_at_written(self, is_last: bool = False) -> None:
        if self.written is not None:
            self.totals.bytes = self.written.look(is_last)


def checkpoint_at(spec: StreamRunSpec, directory: str) -> str:
    """Where a checkpoint is, by its directory below those of the stream."""
    return f"{spec.checkpoints.rstrip('/')}/{directory}"


def directory_in(checkpoint: str) -> str:
    """The directory of a checkpoint, below those of the stream: what ``checkpoint_at`` was given."""
    return checkpoint.rpartition("/")[2]


def checkpoint_of(spec: StreamRunSpec, query: str) -> str:
    """Where a query's first checkpoint is."""
    return checkpoint_at(spec, directory_of(query))


def open_sinks(
    running: list[RunningQuery], spec: StreamRunSpec, plans: Iterable[InsertPlan], kinds: Mapping[str, SinkKind]
) -> None:
    """Put in each INSERT with its sink, checked (R1); raises what a sink raises, which is kept as its query's error.

    Whoever called closes what is there.
    """
    job = f"{spec.stream}@{spec.made}" if spec.made else spec.stream
    for plan in plans:
        identity = QueryIdentity(job, plan.query, spec.fence)
        sink = kinds[plan.target.provider].open(plan.target, identity)
        one = RunningQuery(plan, sink, checkpoint_of(spec, plan.query))
        running.append(one)
        try:
            sink.check(plan.rows.schema)
        except AnabranchError as error:
            one.error = error
            raise


def start(running: Iterable[RunningQuery], trigger: str) -> None:
    """Start every query; raises FailedQueryError, InvalidFieldError for a trigger that is none."""
    trigger_of(trigger)
    for one in running:
        try:
            writer = _writer(one)
            if one.first_batch is not None and one.plan.target.provider == "kafka":
                writer = writer.option("first.batch", str(one.first_batch))  # nobody has written it by this id
            writer = writer.outputMode(one.plan.mode).queryName(one.plan.query)
            writer = writer.option("checkpointLocation", one.checkpoint).trigger(**trigger_of(trigger))
            with active(one.plan.rows.sparkSession):
                one.query = writer.start()
            if isinstance(one.sink, NativeSink) and one.plan.target.provider in COUNTED_BY_SPARK:
                one.written = WrittenBytes(one.plan.rows.sparkSession, str(one.query.runId))
        except AnabranchError:
            raise
        except Exception as error:
            raise FailedQueryError.of(one.plan, error) from error


def watch(running: list[RunningQuery], is_asked: Callable[[], bool], tell: TellProgress) -> str:
    """Stay until they are asked to end, or have ended by themselves; returns ``stopped`` or ``finished``.

    Raises the error of the first that fails (R2); whoever called stops the others.
    """
    while True:
        tell_all(running, tell)
        # Looked at once: one that fails behind a first look has not finished at a second.
        ended = [one for one in running if one.query is not None and not one.query.isActive]
        for one in ended:
            assert one.query is not None
            if one.query.exception() is not None:
                raise one.error or query_failure(one.plan, one.query)
        if is_asked():
            return "stopped"
        if len(ended) == len(running):
            tell_all(running, tell, is_last=True)
            return "finished"
        time.sleep(LOOK_S)


def stop(running: Iterable[WatchedQuery], tell: TellProgress) -> None:
    """End each query between two micro-batches (R3)."""
    left = [one for one in running if one.query is not None and one.query.isActive]
    batches = {id(one): _last_batch(one) for one in left}
    deadline = time.monotonic() + BATCH_S
    while left:
        is_late = time.monotonic() > deadline
        for one in list(left):
            assert one.query is not None
            # A batch that ended since is as good as none: the next one has written nothing yet.
            if is_late or not _is_in_batch(one) or _last_batch(one) != batches[id(one)]:
                one.query.stop()
                left.remove(one)
        time.sleep(_STOP_LOOK_S)
    tell_all(running, tell, is_last=True)


def close(running: Iterable[RunningQuery]) -> None:
    """Give back what the sinks hold."""
    for one in running:
        if isinstance(one.sink, BatchSink):
            one.sink.close()


def trigger_of(text: str) -> dict[str, Any]:
    """A trigger as Spark's writer takes it; raises InvalidFieldError."""
    if text.replace(" ", "").lower() == _AVAILABLE_NOW:
        return {"availableNow": True}
    number, _, unit = text.strip().partition(" ")
    if not (number.isascii() and number.isdigit()) or unit.rstrip("s") not in (
        "millisecond",
        "second",
        "minute",
        "hour",
    ):
        fix = "write availableNow, or an interval such as '5 seconds'"
        raise InvalidFieldError("stream", "trigger", f"{text!r} is no trigger", fix)
    return {"processingTime": text.strip()}


def _writer(one: RunningQuery) -> DataStreamWriter:
    if isinstance(one.sink, BatchSink):
        return one.plan.rows.writeStream.foreachBatch(one.write)
    return one.sink.writer(one.plan.rows)


def tell_all(running: Iterable[WatchedQuery], tell: TellProgress, is_last: bool = False) -> None:
    """Tell each progress that was not told yet, and counts that are new."""
    for one in running:
        if one.query is not None:
            for fields in one.new_progress():
                tell(StreamEventKind.PROGRESS, fields)
            if (counts := one.new_counts(is_last)) is not None:
                tell(StreamEventKind.COUNTS, counts)


def _is_in_batch(one: WatchedQuery) -> bool:
    assert one.query is not None
    return one.query.isActive and bool(one.query.status["isTriggerActive"])


def _last_batch(one: WatchedQuery) -> str:
    assert one.query is not None
    last = one.query._jsq.lastProgress()
    return "" if last is None else str(last.timestamp())


def is_resumed(spark: SparkSession, checkpoint: str) -> bool:
    """Whether a query has planned a micro-batch before, by the offsets in its checkpoint."""
    jvm = spark._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(f"{checkpoint}/offsets")
    return bool(path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()).exists(path))
