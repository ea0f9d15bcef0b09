"""The driver of a link's run: it looks at the clusters, starts the query, and stays until that ends or is to end."""

from __future__ import annotations

import json
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import TypeVar

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark

from anabranch.config.jobsettings import master_name
from anabranch.config.jobspec import LinkJob
from anabranch.errors import AnabranchError
from anabranch.kafka.errors import passing
from anabranch.model.link import UnknownLinkError
from anabranch.model.runevents import CopiedByRun, RunEvent, RunEventKind
from anabranch.spark.jobs.ending import JobFaultError, LinkDeletedError, QueryEndedError
from anabranch.spark.jobs.events import EventLog
from anabranch.spark.jobs.link_options import LinkOptions
from anabranch.spark.jobs.tied import name_of
from anabranch.spark.jobs.watching import RunWatcher
from anabranch.spark.link import ready
from anabranch.spark.link.group_sync import GroupSyncThread
from anabranch.spark.link.query import COPIED, start
from anabranch.spark.link.restarting import RestartingQuery
from anabranch.spark.link.slots import Slots, cores
from anabranch.spark.link.survey import STOP_S, Survey
from anabranch.spark.quickjvm import QuickJvm
from anabranch.spark.scratch import ScratchDirectory
from anabranch.spark.session import session

SURVEY_S = 2.0
SLICE_S = 0.8
"""How long a look at the clusters holds up what is told of the run: a source that hangs answers after half a minute."""
TELL_S = 1.0
GIVE_BACK_S = 8.0
FIRST_SURVEY_TIMEOUT_S = 300.0
INTERRUPTED = 130
_MOST_WORDS = 1000
T = TypeVar("T")


def run(options: LinkOptions, events: EventLog, jvm: QuickJvm) -> int:
    """Run the job; 0 after a clean stop, else the error's exit code."""
    try:
        job = LinkJob.from_json(options.spec.read_text()).named()
        events = events.of(job.link, job.run)
        where = f"; Spark's log is {options.log}" if options.log is not None else ""
        fields = {"master": options.master, "spark_log": options.log and str(options.log)}
        what = f"{job.run} starts on {master_name(options.master)}{where}"
        events.tell(RunEvent(RunEventKind.STARTING, what, fields))
        return _run(job, options, events, jvm)
    except AnabranchError as error:
        return events.fail(error)
    except KeyboardInterrupt:  # before there is a query that could end cleanly
        return INTERRUPTED
    except Py4JJavaError as error:  # Java answers: it could not do what it was asked for
        return events.fail(QueryEndedError(ready.failure_message(error)))
    except (Py4JError, ConnectionError) as error:
        return events.fail(QueryEndedError(f"Spark's JVM is gone: {str(error)[:500]}"))
    except Exception as error:
        traceback.print_exc()
        return events.fail(JobFaultError(f"{type(error).__name__}: {str(error)[:500]}"))


@dataclass(slots=True)
class _Copied:
    """What the run has copied: as all micro-batches tell, or more, as is persisted where a worker was killed."""

    records: int = 0
    bytes: int = 0
    began: float = field(default_factory=time.monotonic)

    def settle(self, persisted: CopiedByRun | None) -> None:
        """Go by what is persisted, where that is known: the figures of a worker that was killed are in no batch."""
        if persisted is not None:
            self.records, self.bytes = max(self.records, persisted.records), max(self.bytes, persisted.bytes)

    def stopped(self, held: int | None) -> RunEvent:
        """The last event of a run that ended as it was told to; ``held`` lanes were not given back, None is unknown."""
        seconds = time.monotonic() - self.began
        what = "stopped cleanly"
        if held != 0:
            lanes = "not known" if held is None else f"{held:,}"
            what = f"stopped; lanes that were not given back and that the next run takes over: {lanes}"
        message = f"{what}: {self.records:,} records copied in {seconds:,.0f} s"
        fields = {"records": self.records, "bytes": self.bytes, "seconds": round(seconds, 1), "held": held}
        return RunEvent(RunEventKind.STOPPED, message, fields)


def _run(job: LinkJob, options: LinkOptions, events: EventLog, jvm: QuickJvm) -> int:
    asked: list[str | int] = []

    def ask(number: int, _frame: FrameType | None) -> None:
        asked.append(number)  # nothing that takes a lock: the handler may interrupt its holder

    survey = Survey(job)
    watching = RunWatcher(survey, job.run, events.tell)
    _wait_for(survey, watching)
    watching.begin()
    jvm.connect()
    spark = session(f"anabranch link {job.link}", options.master, options.settings)
    if ready.is_needed(spark):
        # Before the handlers: without an executor it waits for one, and whoever ends it then has nothing to give back.
        ready.check(spark, job, cores(spark) or 1)
    signal.signal(signal.SIGTERM, ask)  # after Spark, which installs a handler of its own
    signal.signal(signal.SIGINT, ask)
    copied = _Copied()
    held: int | None = None
    with ScratchDirectory("link") as scratch:
        # Of this machine, whatever file system the cluster's default is: only the driver writes there.
        place = options.checkpoint or (scratch.path / "checkpoint").as_uri()
        slots = Slots(scratch.path, options.slots)
        slots.follow(cores(spark))
        query = RestartingQuery(lambda: start(spark, job, place, slots.file), events.tell)
        events.tell(RunEvent(RunEventKind.STARTED, f"started: Spark {spark.version} runs the link's query"))
        following = GroupSyncThread(job, events.tell)
        following.start()
        try:
            looked = time.monotonic()
            while not asked and query.goes_on():
                time.sleep(0.2)
                _report(query, copied)
                if slots.follow(cores(spark)) and _unless_retryable(survey.replan):
                    slots.told()
                if watching.look():
                    asked.append("anabranch link stop")
                elif time.monotonic() - looked > SURVEY_S and _look(survey, job.link, SLICE_S):
                    looked = time.monotonic()
            if asked and query.failure() is None:
                by = asked[0] if isinstance(asked[0], str) else name_of(asked[0])
                message = f"stopping ({by}): what is in flight is answered, and lanes are given back"
                events.tell(RunEvent(RunEventKind.STOPPING, message, {"asked": by}))
                held = _finish(query, survey, copied)
                copied.settle(_unless_retryable(watching.copied))
            if not asked or query.failure() is not None:
                raise _ending(query.failure(), survey, job.link)
        finally:
            following.stop()
            query.stop()
            spark.stop()
            jvm.end()
    events.tell(copied.stopped(held))
    return 0


def _look(survey: Survey, link: str, within_s: float | None = None) -> bool:
    """Look again; False where it takes longer than that.  Raises LinkDeletedError where there is no link any more."""
    try:
        return _unless_retryable(lambda: survey.look(within_s)) is not False
    except UnknownLinkError as error:
        raise LinkDeletedError(link) from error


def _ending(failure: Exception | None, survey: Survey, link: str) -> AnabranchError:
    """Why a query ended that nobody told to end: its link was deleted, or what Spark says, without Java's stack."""
    try:
        _look(survey, link)
    except LinkDeletedError as error:
        return error
    except AnabranchError:
        pass  # the query's own failure says more
    said = str(failure).partition("\n=== Streaming Query ===")[0].strip() if failure is not None else ""
    if "\n" in said:  # the stack of a task that failed
        said = ready.failure_message(RuntimeError(said))
    return QueryEndedError(said[:_MOST_WORDS] or "Spark stopped it, and does not say why")


def _finish(query: RestartingQuery, survey: Survey, copied: _Copied) -> int | None:
    """Have the workers end, and wait until a micro-batch has ended; told again, since another may just have begun.

    Returns how many lanes were not given back, None where the target does not tell.

    Those that end meanwhile are printed: Spark remembers the last twenty, and leases that end at once are short.
    A micro-batch may also end by itself before its workers have read that, which then copy on between two leases: so
    their lanes are waited for, too, but not for long, since a lane whose last batch is in doubt is never given back.
    Leases that were being planned meanwhile may be told of after that: so it is told once more when nobody plans.
    """
    deadline = time.monotonic() + STOP_S
    before, told, ended = query.newest, -TELL_S, 0.0
    while query.is_active and time.monotonic() < deadline:
        if time.monotonic() - told >= TELL_S:
            _unless_retryable(survey.finish)
            told = time.monotonic()
        _report(query, copied)
        if query.newest != before:
            ended = ended or time.monotonic()
            if time.monotonic() - ended > GIVE_BACK_S or _unless_retryable(survey.held) == 0:
                break
        time.sleep(0.05)
    _report(query, copied)
    query.stop()
    _unless_retryable(survey.finish)
    return _unless_retryable(survey.held)


def _report(query: RestartingQuery, copied: _Copied) -> None:
    """Print and count the micro-batches that have ended since the last call."""
    for progress in query.ended():
        observed = progress.get("observedMetrics", {}).get(COPIED)
        figures = {} if observed is None else observed.asDict()
        copied.records += figures.get("records") or 0
        copied.bytes += figures.get("bytes") or 0
        batch = {"batch": progress["batchId"], "duration_ms": progress["batchDuration"]}
        print(json.dumps(batch | figures), flush=True)


def _wait_for(survey: Survey, watching: RunWatcher) -> None:
    """The first survey, retried while a cluster cannot be reached."""
    deadline = time.monotonic() + FIRST_SURVEY_TIMEOUT_S
    while True:
        try:
            survey.look()
        except AnabranchError as error:
            if not passing(error) or time.monotonic() > deadline:
                raise
            watching.problem(error.message)
            time.sleep(1.0)
        else:
            watching.problem("")
            return


def _unless_retryable(call: Callable[[], T]) -> T | None:
    """The answer, or None where the call fails for a reason that passes: the next survey tries again."""
    try:
        return call()
    except AnabranchError as error:
        if not passing(error):
            raise
        return None
