"""Run a stream: ``spark-submit stream.py SPEC.json`` or ``python -m anabranch.spark.jobs.stream SPEC.json``.

Arguments: the file with a StreamRunSpec, then ``--mode`` (``run``, ``validate``, ``preview``, ``try``), ``--master``,
``--log FILE``, ``--events FILE`` and ``--conf KEY=VALUE`` (Spark settings, repeatable) where wanted; to validate
``--plans``, to preview ``--select N``, ``--rows N``, ``--bytes N`` (of rows), ``--seconds S``, ``--start POSITION``.
With ``--master`` Spark's Kafka source is brought, unless ``spark.jars`` settings bring it; with ``spark-submit`` give
it ``--jars $(python -m anabranch.jars.connector)``.  With ``--tied`` the end of standard input ends the job, too.
With ``--memory BYTES`` neither this process nor any that it starts may have more memory of its own for data.

Each event is a line of JSON on standard output, or of the events file, which becomes ``FILE.1`` once it is full:
docs/reference/stream-events.md.  SIGTERM and SIGINT end each query after the micro-batch that runs.  Exits with 0 where
it was ended so or has finished, else with the error's code.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from types import FrameType
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark
from pyspark import __version__ as spark_version
from pyspark.sql import Row, SparkSession

from anabranch.config.offsets_file import start_of
from anabranch.config.streamspec import StreamRunSpec
from anabranch.errors import AnabranchError
from anabranch.jars.connector import with_connector
from anabranch.model.start import StartPosition
from anabranch.spark.archived_classes import ArchivedClasses
from anabranch.spark.errors import JvmGoneError
from anabranch.spark.jobs.ending import JobFaultError
from anabranch.spark.jobs.limits import RoomForRows, limit_memory
from anabranch.spark.jobs.stream_events import StreamEvents, shown, take_output
from anabranch.spark.jobs.stream_told import analysed_fields, columns_fields
from anabranch.spark.jobs.tied import end_with_command, name_of, terminate
from anabranch.spark.session import session
from anabranch.spark.streams import beginning, executors, file_logs
from anabranch.spark.streams import running as queries
from anabranch.spark.streams.analysis import AnalysedScript, analyse
from anabranch.spark.streams.artifacts.environment import RunEnvironment
from anabranch.spark.streams.artifacts.functions import ScriptFunctions
from anabranch.spark.streams.attached_tables import AttachedTable, attached_tables
from anabranch.spark.streams.bringing import Bringing
from anabranch.spark.streams.clusters import ClusterCodes, ContextClusters, RoutedClusters, UnaskedClusters
from anabranch.spark.streams.failing import FailedQueryError
from anabranch.spark.streams.fence import NewerStartError, StreamFence
from anabranch.spark.streams.hadoop_files import opener, settings_at
from anabranch.spark.streams.kafka_tables import KafkaReading
from anabranch.spark.streams.kafka_writing import kafka_kind
from anabranch.spark.streams.preview import MOST_PER_BATCH, preview
from anabranch.spark.streams.pyspark_files.errors import FileError
from anabranch.spark.streams.pyspark_files.job import FileJob
from anabranch.spark.streams.pyspark_files.queries import FileQuery
from anabranch.spark.streams.pyspark_files.running import FileRun
from anabranch.spark.streams.running import RunningQuery
from anabranch.spark.streams.settings import SETTINGS
from anabranch.spark.streams.sinks.console import console_kind
from anabranch.spark.streams.sinks.kinds import sink_kinds
from anabranch.spark.streams.told_lineage import lineage_of_script
from anabranch.spark.streams.trial import tried
from anabranch.storage.errors import StorageError
from anabranch.storage.files import StoredFiles
from anabranch.storage.stream_checkpoints import Beginning, NotedScript, note_script, noted
from anabranch.storage.stream_ends import note_ends, take_next
from anabranch.streams.errors import NoSelectError
from anabranch.streams.events import StreamEventKind
from anabranch.streams.kinds import ONLY_RUNS, RUN_IT, NotOfPySparkError, StreamKind
from anabranch.streams.lineage.document import document_of
from anabranch.streams.lines import LineFile
from anabranch.streams.pyspark_file import check_file
from anabranch.streams.run_log import RunLog
from anabranch.streams.script import split
from anabranch.streams.state.results import QueryTrial, TrialResult

MODES = ("run", "validate", "preview", "try", "tables")
INTERRUPTED = 130


def main(argv: list[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    options = _options(argv)
    output = take_output(options.log)
    events = StreamEvents(output if options.events is None else LineFile(options.events))
    job = JobOfStream(events, options)
    try:
        code = job.run()
    except AnabranchError as error:
        code = job.failed(error)
    except KeyboardInterrupt:  # before there is a query that could end cleanly
        code, job.outcome = INTERRUPTED, "stopped"
    except (Py4JError, ConnectionError) as error:
        traceback.print_exc()
        is_java = isinstance(error, Py4JJavaError)
        code = job.failed(JobFaultError(str(error)[:500]) if is_java else JvmGoneError.of(error))
    except Exception as error:
        traceback.print_exc()
        code = job.failed(JobFaultError(f"{type(error).__name__}: {str(error)[:500]}"))
    job.end(code)
    if code == 0:
        job.classes.end()
    return code


class JobOfStream:
    """One run, validation or preview."""

    def __init__(self, events: StreamEvents, options: argparse.Namespace) -> None:
        self._events = events
        self._options = options
        self._began = time.monotonic()
        self._asked: list[int] = []
        self._running: list[RunningQuery] = []
        self._file: FileJob | None = None
        self._fence: StreamFence | None = None
        self._environment: RunEnvironment | None = None
        self._more: dict[str, Any] = {}
        self._next: Mapping[str, int] = {}
        self._log = RunLog.of(options.log or options.spec.with_suffix(".log"))
        self.classes = ArchivedClasses("streams")
        self.outcome = "failed"

    def run(self) -> int:
        """Do what the mode says; raises AnabranchError."""
        options = self._options
        spec = StreamRunSpec.from_json(options.spec.read_text(encoding="utf-8"))
        self._events = replace(self._events, spec=spec)
        log = None if options.log is None else str(options.log)
        self._events.tell(StreamEventKind.STARTING, master=options.master, spark_log=log)
        if options.memory:
            limit_memory(options.memory)
        self._check_text(spec)
        is_file = spec.kind is StreamKind.PYSPARK
        named = replace(spec, files="") if is_file else spec  # it declares no function by a path
        self._environment = RunEnvironment.of(named, options.spec.with_suffix(""))
        os.environ.update(self._environment.variables())  # the JVM inherits it, and hands it on to its workers
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
        if options.tied:
            end_with_command(terminate)
        settings = {**SETTINGS, **settings_at(spec.checkpoints), **dict(options.conf)}
        if options.master is not None:
            settings = with_connector(settings, spark_version)
        settings = self._environment.settings(options.master, settings)
        self.classes.begin(makes=options.mode == "run")
        spark = session(f"anabranch stream {spec.stream}", options.master, settings)
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._ask)  # after Spark, which installs handlers of its own
            if options.mode == "validate":
                return self._validate(spark, spec)
            if options.mode == "preview":
                return self._preview(spark, spec)
            if options.mode == "try":
                return self._try(spark, spec)
            if options.mode == "tables":
                return self._tables(spark, spec)
            return self._run_file(spark, spec) if is_file else self._run(spark, spec)
        finally:
            queries.close(self._running)
            with suppress(Py4JError, ConnectionError):  # a JVM that is gone is told of by what met it first
                spark.stop()

    def failed(self, error: AnabranchError) -> int:
        """Tell of what ended it; returns the exit code."""
        if isinstance(error, FileError):
            return self._events.fail(error, line=error.line, excerpt=error.excerpt)
        if isinstance(error, FailedQueryError):
            return self._events.fail(error, query=error.query, statement=error.statement, line=error.line)
        plan = next((one.plan for one in self._running if one.error is error), None)
        if plan is None:
            return self._events.fail(error)
        return self._events.fail(error, query=plan.query, statement=plan.number, line=plan.line)

    def end(self, code: int) -> None:
        """The last event, and the end of what was laid out for this run."""
        if self._environment is not None:
            self._environment.remove()
        totals = {one.plan.query: one.totals.fields() for one in self._running}
        if self._file is not None:
            totals |= {one.name: one.totals.fields() for one in self._file.queries}
        seconds = round(time.monotonic() - self._began, 1)
        fields = {"outcome": self.outcome, "exit_code": code, "seconds": seconds, "queries": totals, **self._more}
        self._events.tell(StreamEventKind.ENDED, **fields)

    def _check_text(self, spec: StreamRunSpec) -> None:
        """What needs no Spark is told before it has started; raises ScriptError, NotOfPySparkError."""
        if self._options.mode == "tables":
            return
        if spec.kind is StreamKind.SQL:
            split(spec.script)
            return
        check_file(spec.script)
        if self._options.mode != "run":
            raise NotOfPySparkError(self._options.mode, ONLY_RUNS, RUN_IT)

    def _run_file(self, spark: SparkSession, spec: StreamRunSpec) -> int:
        """Run a PySpark file as a script is run: fenced, watched, and ended between two micro-batches."""
        queries.trigger_of(spec.trigger)
        files, bringing = _places(spark, spec)
        self._take(files, bringing, spec)
        note_script(files, spec.version, spec.script)
        file = f"{spec.stream}.py"
        self._next = take_next(files)
        self._file = job = FileJob(spark, spec, _clusters(spec), files, file, self._next)
        run = FileRun(job, spec.script, file)

        def started(found: Sequence[FileQuery]) -> None:
            application, told = spark.sparkContext.applicationId, [one.fields() for one in found]
            self._events.tell(StreamEventKind.STARTED, application=application, spark=spark.version, queries=told)

        try:
            self.outcome = run.watch(self._is_asked, self._progress, started)
        except AnabranchError as error:
            self._stop_file(run, "failed")
            self._note_ends(files, job.queries)
            self._check_newest(error)
            raise
        if self.outcome == "stopped":
            self._stop_file(run, name_of(self._asked[0]))
        self._note_ends(files, job.queries)
        return 0

    def _stop_file(self, run: FileRun, reason: str) -> None:
        self._events.tell(StreamEventKind.STOPPING, reason=reason)
        run.job.end()
        queries.stop(run.job.queries, self._progress)
        run.join()

    def _validate(self, spark: SparkSession, spec: StreamRunSpec) -> int:
        clusters = UnaskedClusters() if spec.routes else _clusters(spec)
        kafka = KafkaReading(clusters, looks_up=False)
        found = self._analysed(spark, spec, kafka)
        self._check_asked()
        self._events.tell(StreamEventKind.ANALYSED, **analysed_fields(found, self._options.plans))
        self.outcome = "finished"
        return 0

    def _preview(self, spark: SparkSession, spec: StreamRunSpec) -> int:
        start: StartPosition | None = None if self._options.start is None else start_of(self._options.start)
        found = self._analysed(spark, spec, KafkaReading(_clusters(spec), start=start, most=MOST_PER_BATCH))
        number = self._options.select or next(iter(found.selects), 0)
        rows = found.selects.get(number)
        if rows is None:
            raise NoSelectError(number, tuple(found.selects))
        self._check_asked()
        self._events.tell(StreamEventKind.COLUMNS, statement=number, columns=columns_fields(rows.schema))

        room = RoomForRows(self._options.bytes)

        def show(batch: int, found: Sequence[Row]) -> int:
            told = room.take([[shown(one) for one in row] for row in found])
            if told:
                self._events.tell(StreamEventKind.ROWS, batch=batch, rows=told)
            return len(told)

        self.outcome, limit, count = preview(rows, self._options.rows, self._options.seconds, self._is_asked, show)
        self._more = {"rows": count, "limit": limit}
        return 0

    def _run(self, spark: SparkSession, spec: StreamRunSpec) -> int:
        queries.trigger_of(spec.trigger)
        kafka = KafkaReading(_clusters(spec))
        found = self._analysed(spark, spec, kafka)
        files, bringing = _places(spark, spec)
        trials = self._tried(spark, spec, found, bringing.home)
        if any(one.result not in (TrialResult.NEW, TrialResult.SAME) for one in trials):
            self._events.tell(StreamEventKind.TRIED, queries=[asdict(one) for one in trials])
        beginning.check(spec, trials)
        self._events.tell(StreamEventKind.LINEAGE, **document_of(lineage_of_script(found, spec)))
        queries.open_sinks(self._running, spec, found.inserts, self._kinds(spec))
        has_python = self._environment is not None and self._environment.has_python
        executors.check(spark, self._running, has_python=has_python)
        if self._is_asked():
            self.outcome = "stopped"
            return 0
        self._take(files, bringing, spec)
        beginning.prepare(
            *(self._running, trials, spec, files),
            lambda begun: self._analysed_at(spark, spec, begun),
            lambda one: file_logs.check(spark, one, files),
        )
        note_script(files, spec.version, spec.script, spec.artifacts)
        resumed = {one.plan.query: queries.is_resumed(spark, one.checkpoint) for one in self._running}
        self._next = take_next(files)
        for one in self._running:
            one.first_batch = self._next.get(one.directory, one.first_batch)
            one.fence = self._fence
        try:
            queries.start(self._running, spec.trigger)
            told = [_query_fields(one, resumed[one.plan.query]) for one in self._running]
            application = spark.sparkContext.applicationId
            self._events.tell(StreamEventKind.STARTED, application=application, spark=spark.version, queries=told)
            self.outcome = queries.watch(self._running, self._is_asked, self._progress)
        except AnabranchError as error:
            self._stop("failed")
            self._note_ends(files, self._running)
            self._check_newest(error)
            raise
        if self.outcome == "stopped":
            self._stop(name_of(self._asked[0]))
        self._note_ends(files, self._running)
        return 0

    def _take(self, files: StoredFiles, bringing: Bringing, spec: StreamRunSpec) -> None:
        """Be the run that writes, with the checkpoints of the stream at hand; raises NewerStartError."""
        self._fence = StreamFence(files, spec.fence)
        self._fence.take()
        if count := bringing.bring(self._fence):
            print(f"{count} files of checkpoints came from {bringing.home.root} to {files.root}", file=sys.stderr)

    def _check_newest(self, error: AnabranchError) -> None:
        """Raise NewerStartError for a run that failed by what the next start did: Spark tells of a race alone."""
        if self._fence is None or isinstance(error, NewerStartError):
            return
        with suppress(StorageError):
            try:
                self._fence.check()
            except NewerStartError as newer:
                raise newer from error

    def _note_ends(self, files: StoredFiles, ended: Iterable[RunningQuery | FileQuery]) -> None:
        """Of a run that is still the newest one; what cannot be noted is asked of the cluster by the next start."""
        assert self._fence is not None
        with suppress(AnabranchError):
            self._fence.check()
            note_ends(files, {*self._next, *(one.directory for one in ended)})

    def _try(self, spark: SparkSession, spec: StreamRunSpec) -> int:
        found = self._analysed(spark, spec, KafkaReading(_clusters(spec)))
        trials = self._tried(spark, spec, found, opener(spark, spec.checkpoints)(spec.checkpoints))
        self._check_asked()
        self._events.tell(StreamEventKind.TRIED, queries=[asdict(one) for one in trials])
        self.outcome = "finished"
        return 0

    def _tables(self, spark: SparkSession, spec: StreamRunSpec) -> int:
        names = [one.name for one in fields(AttachedTable)]
        columns = [{"name": name, "type": "string"} for name in names]
        self._events.tell(StreamEventKind.COLUMNS, statement=0, columns=columns)
        count, limit = 0, None
        for one in () if spec.catalog is None else attached_tables(spark, spec.catalog):
            if count == self._options.rows:
                limit = "rows"
                break
            self._events.tell(StreamEventKind.ROWS, batch=0, rows=[[getattr(one, name) for name in names]])
            count += 1
        self.outcome, self._more = "finished", {"rows": count, "limit": limit}
        return 0

    def _tried(
        self, spark: SparkSession, spec: StreamRunSpec, found: AnalysedScript, files: StoredFiles
    ) -> tuple[QueryTrial, ...]:
        def analysed(before: NotedScript) -> AnalysedScript:
            former = replace(spec, script=before.script, artifacts=before.artifacts)
            environment = RunEnvironment.of(former, self._options.spec.with_suffix("") / "former")
            try:
                kafka, functions = KafkaReading(UnaskedClusters(), looks_up=False), ScriptFunctions(environment)
                # In a session of its own: what the script declares is no other script's.
                own = spark.newSession()
                return analyse(before.script, own, self._kinds(spec), kafka, catalog=spec.catalog, functions=functions)
            finally:
                environment.remove()

        return tried(found, spec.script, noted(files), files, analysed)

    def _analysed_at(self, spark: SparkSession, spec: StreamRunSpec, begun: Beginning) -> AnalysedScript:
        start, is_partial = beginning.positions(begun, start_of)
        kafka = KafkaReading(_clusters(spec), start=start, is_partial=is_partial)
        return self._analysed(spark.newSession(), spec, kafka)  # that of the first look has its functions already

    def _stop(self, reason: str) -> None:
        self._events.tell(StreamEventKind.STOPPING, reason=reason)
        queries.stop(self._running, self._progress)

    def _analysed(self, spark: SparkSession, spec: StreamRunSpec, kafka: KafkaReading) -> AnalysedScript:
        functions = ScriptFunctions(self._environment)
        return analyse(spec.script, spark, self._kinds(spec), kafka, catalog=spec.catalog, functions=functions)

    def _kinds(self, spec: StreamRunSpec) -> Any:
        return sink_kinds((kafka_kind(_clusters(spec)), console_kind(self._show)))

    def _show(self, query: str, batch: int, columns: Sequence[str], rows: Sequence[Row], more: bool) -> None:
        told = [[shown(one) for one in row] for row in rows]
        fields = {"query": query, "batch": batch, "columns": list(columns), "rows": told, "more": more}
        self._events.tell(StreamEventKind.ROWS, **fields)

    def _progress(self, kind: StreamEventKind, fields: Any) -> None:
        self._events.tell(kind, **fields)

    def _is_asked(self) -> bool:
        if self._log is not None:
            self._log.look()
        if self._fence is not None and not self._asked:
            self._fence.check_at_times()
        return bool(self._asked)

    def _check_asked(self) -> None:
        """Raise KeyboardInterrupt where it was asked to end before it has an answer."""
        if self._asked:
            raise KeyboardInterrupt

    def _ask(self, number: int, _frame: FrameType | None) -> None:
        self._asked.append(number)  # nothing that takes a lock: the handler may interrupt its holder


def _clusters(spec: StreamRunSpec) -> ClusterCodes:
    return RoutedClusters(spec.routes, spec.stream) if spec.routes else ContextClusters(spec.clusters)


def _places(spark: SparkSession, spec: StreamRunSpec) -> tuple[StoredFiles, Bringing]:
    """Where the checkpoints are to be, and where they are."""
    open_place = opener(spark, spec.checkpoints, *spec.former)
    files = open_place(spec.checkpoints)
    places = spec.stream, files, spec.fence, spec.former, open_place
    return files, Bringing.look(*places, has_run=spec.has_run, begins=bool(spec.begin.start))


def _query_fields(one: RunningQuery, resumed: bool) -> dict[str, Any]:
    plan = one.plan
    return {
        "query": plan.query,
        "statement": plan.number,
        "line": plan.line,
        "table": plan.target.name,
        "connector": plan.target.provider,
        "mode": plan.mode,
        "checkpoint": one.checkpoint,
        "resumed": resumed,
    }


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="anabranch-stream-job", description=__doc__)
    parser.add_argument("spec", type=Path)
    parser.add_argument("--mode", choices=MODES, default="run")
    parser.add_argument("--master")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--events", type=Path)
    parser.add_argument("--conf", action="append", default=[], type=_setting, metavar="KEY=VALUE")
    parser.add_argument("--plans", action="store_true")
    parser.add_argument("--select", type=int, default=0)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--bytes", type=int, default=0, help="of rows, 0 for any number")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--memory", type=int, default=0)
    parser.add_argument("--start")
    parser.add_argument("--tied", action="store_true")
    return parser.parse_args(argv)


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


if __name__ == "__main__":
    sys.exit(main())
