"""Run a link until it is told to stop: ``spark-submit link.py SPEC.json`` or ``python -m anabranch.spark.jobs.link``.

Arguments: the file with a LinkJob, then ``--master``, ``--checkpoint``, ``--slots`` and ``--conf KEY=VALUE``
(Spark settings, repeatable; they win over the job's own) where wanted.  SIGTERM and SIGINT end the leases
cleanly, then the query.  Each finished micro-batch is a line of JSON on standard output, each error one on
standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # comes with pyspark
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.config.jobspec import LinkJob
from anabranch.errors import AnabranchError, ProtocolError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import passing
from anabranch.kafka.security import open_cluster
from anabranch.model.reports import LinkPlan
from anabranch.replicate.control import now_ms
from anabranch.replicate.planner import Plan, Planner
from anabranch.spark.replicate import COPIED, start
from anabranch.spark.session import session

SURVEY_S = 2.0
STOP_S = 15.0
PATIENCE_S = 300.0


class Survey:
    """Looks for new topics, partitions and configurations while leases run, and has the link planned anew."""

    def __init__(self, job: LinkJob) -> None:
        self._job = job
        self._source: Cluster = open_cluster(job.source)
        self._target: Cluster = open_cluster(job.target)
        self._planner = Planner(job.link, self._source, self._target)
        self._seen: frozenset[str] | None = None
        self._loop = asyncio.new_event_loop()

    def look(self) -> None:
        """Plan; where other lanes come out than the last time, tell the workers that their leases are over."""
        self._loop.run_until_complete(self._look())

    async def _look(self) -> None:
        plan = await self._planner.plan()
        lanes = frozenset(str(lane.lane) for lane in plan.lanes)
        if self._seen is not None and lanes != self._seen:
            await self._tell(plan)
        self._seen = lanes

    def finish(self) -> None:
        """Tell the workers to end their leases now."""
        self._loop.run_until_complete(self._tell(None))

    async def _tell(self, plan: Plan | None) -> None:
        lanes, findings = (len(plan.lanes), plan.findings) if plan else (0, ())
        await self._planner.progress.plan(LinkPlan(self._job.link, self._job.run, now_ms(), now_ms(), lanes, findings))


def main(argv: list[str] | None = None) -> int:
    """Run the job; 0 after a clean stop, else the error's exit code."""
    parser = argparse.ArgumentParser(prog="anabranch-link-job", description=__doc__)
    parser.add_argument("spec", type=Path)
    parser.add_argument("--master")
    parser.add_argument("--checkpoint")
    parser.add_argument("--slots", type=int)
    parser.add_argument("--conf", action="append", default=[], type=_setting, metavar="KEY=VALUE")
    options = parser.parse_args(argv)
    try:
        job = LinkJob.from_json(options.spec.read_text())
        return _run(job, options.master, options.checkpoint, options.slots, dict(options.conf))
    except AnabranchError as error:
        print(json.dumps({"error": error.message, "hint": error.hint}), file=sys.stderr, flush=True)
        return error.exit_code
    except (Py4JError, ConnectionError) as error:
        why = f"Spark's JVM is gone: {str(error)[:500]}"
        lost = {"error": why, "hint": "run the link again: it goes on where it stood"}
        print(json.dumps(lost), file=sys.stderr, flush=True)
        return ProtocolError.exit_code


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def _run(
    job: LinkJob, master: str | None, checkpoint: str | None, slots: int | None, settings: Mapping[str, str]
) -> int:
    asked: list[int] = []

    def ask(number: int, _frame: FrameType | None) -> None:
        asked.append(number)  # nothing that takes a lock: the handler may interrupt its holder

    survey = Survey(job)
    _wait_for(survey)
    spark = session(f"anabranch link {job.link}", master, settings)
    signal.signal(signal.SIGTERM, ask)  # after Spark, which installs a handler of its own
    signal.signal(signal.SIGINT, ask)
    with tempfile.TemporaryDirectory(prefix="anabranch-") as scratch:
        query = start(spark, job, checkpoint or scratch, slots)
        try:
            reported = -1
            looked = time.monotonic()
            while query.isActive and not asked:
                time.sleep(0.2)
                reported = _report(query, reported)
                if time.monotonic() - looked > SURVEY_S:
                    looked = time.monotonic()
                    _patiently(survey.look)
            failure = query.exception()
            if failure is not None:
                print(json.dumps({"error": str(failure)[:2000], "hint": ""}), file=sys.stderr, flush=True)
                return 5
            if asked:
                _patiently(survey.finish)
                deadline = time.monotonic() + STOP_S
                before = _newest(query)
                while query.isActive and _newest(query) == before and time.monotonic() < deadline:
                    time.sleep(0.05)
                _report(query, reported)
        finally:
            query.stop()
            spark.stop()
    return 0


def _report(query: StreamingQuery, after: int) -> int:
    """Print the micro-batches that ended after one; returns the last that was printed."""
    for progress in query.recentProgress:
        if progress["batchId"] > after:
            after = int(progress["batchId"])
            copied = progress.get("observedMetrics", {}).get(COPIED)
            figures = {} if copied is None else copied.asDict()
            print(json.dumps({"batch": after, "duration_ms": progress["batchDuration"], **figures}), flush=True)
    return after


def _newest(query: StreamingQuery) -> int:
    """The last micro-batch that ended; Spark keeps a few reports only, so that their number stops growing."""
    progress = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])


def _wait_for(survey: Survey) -> None:
    """The first look, again and again while a cluster is away: who starts a link at night need not stand by."""
    deadline = time.monotonic() + PATIENCE_S
    said = ""
    while True:
        try:
            survey.look()
        except AnabranchError as error:
            if not passing(error) or time.monotonic() > deadline:
                raise
            if error.message != said:
                said = error.message
                print(json.dumps({"waiting": said}), file=sys.stderr, flush=True)
            time.sleep(1.0)
        else:
            return


def _patiently(call: object) -> None:
    """A survey that fails for a passing reason is done again the next time."""
    assert callable(call)
    try:
        call()
    except AnabranchError as error:
        if not passing(error):
            raise


if __name__ == "__main__":
    sys.exit(main())
