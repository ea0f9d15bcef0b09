"""Compare once: ``spark-submit verify.py SPEC.json`` or ``python -m anabranch.spark.jobs.verify SPEC.json``.

Arguments: the file with a VerifySpec, then ``--master``, ``--report FILE`` (JSON), ``--page FILE`` (HTML) and
``--conf KEY=VALUE`` (Spark settings, repeatable) where wanted.  With ``--master`` Spark's Kafka source is
brought, unless ``spark.jars`` settings bring it; with ``spark-submit`` give it
``--jars $(python -m anabranch.jars.connector)``.  With ``--tied`` the end of standard input ends the job in its round.

SIGTERM, SIGINT and a stored wish to stop end it after the round that runs; what was compared by then is kept.  Each
round is a line of JSON on standard output.

Exits with 0 (equal), 1 (different), 2 (could not tell, or stopped), or the code of the error that ended it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import traceback
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from pyspark import __version__ as spark_version
from pyspark.sql import SparkSession

from anabranch import __version__
from anabranch.config.verifyspec import VerifySpec
from anabranch.errors import AnabranchError, ProtocolError
from anabranch.jars.connector import with_connector
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.model.clock import now_ms
from anabranch.spark.failures import failure
from anabranch.spark.jobs.tied import end_with_command
from anabranch.spark.session import session
from anabranch.spark.verify.run import Comparison, LaneFindings
from anabranch.spark.verify.samples import contents
from anabranch.spark.verify.session import SETTINGS, check_source
from anabranch.state.codecs.verified import LaneVerified, RunState, VerifyRun
from anabranch.state.topics.verified import VerifiedTopic
from anabranch.verify.findings import FindingCounts
from anabranch.verify.page import page
from anabranch.verify.report import ComparisonVerdict, LaneResult, RunDetails, report

COULD_NOT_TELL = ComparisonVerdict.UNKNOWN.exit_code


@dataclass(eq=False)
class CommandGoneError(ProtocolError):
    """The command that started the job was killed."""

    _message = "the command that started it is gone"
    _hint = "anabranch verify resume"


def main(argv: list[str] | None = None) -> int:
    """Run the job."""
    parser = argparse.ArgumentParser(prog="anabranch-verify-job", description=__doc__)
    parser.add_argument("spec", type=Path)
    parser.add_argument("--master")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--conf", action="append", default=[], type=_setting, metavar="KEY=VALUE")
    parser.add_argument("--tied", action="store_true")
    options = parser.parse_args(argv)
    job: _Job | None = None
    try:
        job = _Job(VerifySpec.from_json(options.spec.read_text()))
        if options.tied:
            end_with_command(job.leave)
        return job.run(options.master, dict(options.conf), options.report, options.page)
    except AnabranchError as error:
        code, why, hint = error.exit_code, error.message, error.hint
    except Exception as error:  # 1 would say "different"
        traceback.print_exc()
        code, why, hint = COULD_NOT_TELL, f"{type(error).__name__}: {str(error)[:1000]}", "anabranch verify resume"
        if job is not None and job.is_left:
            why = CommandGoneError().message
        elif job is not None and (known := job.failure(error)) is not None:
            code, why, hint = known.exit_code, known.message, known.hint
    print(json.dumps({"error": why, "hint": hint}), file=sys.stderr, flush=True)
    if job is not None:
        job.fail(why)
    return code


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


class _Job:
    """One comparison with what it keeps on the target."""

    def __init__(self, spec: VerifySpec) -> None:
        self._spec = spec
        self._began = now_ms()
        self._asked: list[int] = []
        self._reported = False
        self._spark: SparkSession | None = None
        self.is_left = False
        self._comparison: Comparison | None = None
        self._loop = asyncio.new_event_loop()
        self._target: Cluster = open_cluster(spec.target)
        self._source: Cluster = open_cluster(spec.source)
        self._verified = VerifiedTopic(self._target)

    def run(self, master: str | None, settings: Mapping[str, str], to: Path | None, page_to: Path | None) -> int:
        """Compare, keep, report; returns the exit code of the verdict."""
        self._keep(RunState.RUNNING)
        wanted = {**SETTINGS, **settings}
        if master is not None:
            wanted = with_connector(wanted, spark_version)
        spark = session(f"anabranch verify {self._spec.link}", master, wanted)
        self._spark = spark
        spark.sparkContext.setJobDescription(f"verify {self._spec.link} {self._spec.run}")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)  # after Spark, which installs handlers of its own
        try:
            if self.is_left:
                raise CommandGoneError
            check_source(spark)
            return self._compare(spark, to, page_to)
        finally:
            spark.stop()

    def _compare(self, spark: SparkSession, to: Path | None, page_to: Path | None) -> int:
        comparison = self._comparison = Comparison(spark, self._spec)
        self._keep(RunState.RUNNING)
        stopped = False
        for work in comparison.rounds():
            self._keep(RunState.RUNNING)
            self._tell(done=work.done, offsets=work.offsets, records=comparison.records, bytes=comparison.bytes)
            if work.done < work.offsets and self._is_to_stop():
                stopped = True
                break
        named = {} if stopped else comparison.findings()
        made = self._report(comparison, named, stopped)
        for path, text in ((to, json.dumps(made, indent=2, ensure_ascii=False) + "\n"), (page_to, page(made))):
            if path is not None:
                path.write_text(text, encoding="utf-8")
        self._keep(RunState.STOPPED if stopped else RunState.DONE, named, made)
        self._reported = True
        self._tell(verdict=made["verdict"], stopped=stopped, counts=made["counts"])
        return ComparisonVerdict(made["verdict"]).exit_code

    def leave(self) -> None:
        """End the round that runs, from another thread: the command that started the job is gone."""
        self.is_left = True
        if self._spark is not None:
            with suppress(Exception):  # it is ending
                self._spark.sparkContext.cancelAllJobs()

    def failure(self, error: Exception) -> AnabranchError | None:
        """What an exception of Spark's means; None for one that is not Spark's."""
        return failure(error, self._spec.source, self._spec.target)

    def fail(self, why: str) -> None:
        """Store that it ended without a verdict; what cannot be stored is lost.  A verdict that is stored stays."""
        if self._reported:
            return
        try:
            self._keep(RunState.FAILED, why=why)
        except (AnabranchError, OSError):
            traceback.print_exc()

    def _ask(self, number: int, _frame: FrameType | None) -> None:
        self._asked.append(number)  # nothing that takes a lock: the handler may interrupt its holder

    def _is_to_stop(self) -> bool:
        if self._asked or not self._spec.keep:
            return bool(self._asked)
        self._do(self._verified.sync())
        return self._verified.stops.get(self._spec.link) == self._spec.run

    def _keep(
        self,
        state: RunState,
        named: Mapping[int, LaneFindings] | None = None,
        made: Mapping[str, Any] | None = None,
        why: str = "",
    ) -> None:
        if not self._spec.keep:
            return
        spec, comparison = self._spec, self._comparison
        work = None if comparison is None else comparison.work
        run = VerifyRun(
            link=spec.link,
            run=spec.run,
            state=state,
            started_at_ms=self._began,
            updated_at_ms=now_ms(),
            offsets=0 if work is None else work.offsets,
            done=0 if work is None else work.done,
            records=0 if comparison is None else comparison.records,
            bytes=0 if comparison is None else comparison.bytes,
            differing=0 if work is None else sum(len(lane.chunks) for lane in work.lanes),
            options={
                "reader": spec.reader.value,
                "levels": spec.levels.value,
                "rate_limit": spec.rate_limit,
                "samples": spec.samples,
                "values": spec.values,
            },
            pins={pin.lane: (pin.source_to, pin.target_to) for pin in spec.pins},
            why=why,
        )
        lanes = [] if state is RunState.FAILED else self._lanes(named)

        async def persist() -> None:
            await self._verified.ensure()
            await self._verified.persist(run, lanes, made)

        self._do(persist())

    def _lanes(self, named: Mapping[int, LaneFindings] | None) -> list[LaneVerified]:
        if self._comparison is None:
            return []
        found = []
        work = self._comparison.work
        for at, lane in enumerate(work.lanes):
            ranges = {*lane.ranges, *(() if work.done >= work.offsets else self._spec.again.get(lane.pin.lane, ()))}
            if named is not None and (at not in named or not (named[at].counts.differences or named[at].doubt)):
                ranges = set() if work.done >= work.offsets else ranges  # what is gone is no reason to look again
            found.append(
                LaneVerified(
                    lane.pin.lane,
                    self._spec.run,
                    (lane.pin.source_from, lane.source_done),
                    (lane.pin.target_from, lane.target_done),
                    tuple(sorted(ranges)),
                    now_ms(),
                )
            )
        return found

    def _report(self, comparison: Comparison, named: Mapping[int, LaneFindings], stopped: bool) -> dict[str, Any]:
        spec = self._spec
        lanes = []
        for at, lane in enumerate(comparison.work.lanes):
            mine = named.get(at)
            lanes.append(
                LaneResult(
                    pin=lane.pin,
                    since=spec.since.get(lane.pin.lane, (lane.pin.source_from, lane.pin.target_from)),
                    done=(lane.source_done, lane.target_done),
                    source=lane.source,
                    target=lane.target,
                    uncommitted=lane.uncommitted if spec.levels.value == "both" else None,
                    counts=FindingCounts() if mine is None else mine.counts,
                    samples=() if mine is None else mine.samples,
                    open_chunks=len(lane.chunks) if stopped else 0,
                    doubt="" if mine is None else mine.doubt,
                )
            )
        samples = [sample for lane in lanes for sample in lane.samples]
        ids = self._do(self._ids())
        how = RunDetails(
            spec.link,
            spec.run,
            self._began,
            now_ms(),
            (spec.source.name, ids[0]),
            (spec.target.name, ids[1]),
            spec.reader.value,
            spec.levels.value,
            comparison.records,
            comparison.bytes,
            {
                "anabranch": __version__,
                "spark": spark_version,
                "python": ".".join(map(str, sys.version_info[:3])),
            },
        )
        shown = contents(spec.source, spec.target, spec.pins, samples, spec.values) if samples else {}
        return report(how, lanes, spec.doubts, shown)

    async def _ids(self) -> tuple[str, str]:
        return await self._source.cluster_id(), await self._target.cluster_id()

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)

    @staticmethod
    def _tell(**fields: Any) -> None:
        print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    sys.exit(main())
