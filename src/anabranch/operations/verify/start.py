"""Comparing both sides of a link: pin its lanes, start the job that compares them.

The job is a process of its own (or a ``spark-submit`` elsewhere); all that is known of it is on the target.
"""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path

from anabranch.config.jobspec import write_spec
from anabranch.config.verifyspec import VerifyOptions, VerifySpec
from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.plans import check_holds, plan_hash
from anabranch.operations.jobs import jobprocess
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.jobs.runlogs import NoLogDirectoryError, lock_of, open_log
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.verify.pinning import pins_of, unmapped
from anabranch.operations.verify.show import status_of
from anabranch.operations.verify.started import StartedComparison
from anabranch.state.codecs.verified import LaneVerified
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.verified import VerifiedTopic
from anabranch.verify.pins import Pin

JOB = "anabranch.spark.jobs.verify"
DEFAULT = VerifyOptions()


@dataclass(eq=False)
class VerifyRunningError(RefusedError):
    """A comparison of the link runs already."""

    link: str
    run: str

    _message = "link {link!r} is being compared already, by {run}"
    _hint = "`anabranch verify show {link} --watch`, or `anabranch verify stop {link}` first"


@dataclass(frozen=True, slots=True)
class VerifyPlan:
    """A comparison of pinned lanes; the fields are those of ``VerifySpec``.

    ``hash`` covers link, options and the last run, and not the pins: logs and maps grow by themselves, and what is
    compared is what was pinned.  ``forgets`` is what earlier ones came to on these lanes, where that is thrown away.
    """

    link: str
    run: str
    pins: tuple[Pin, ...]
    options: VerifyOptions
    hash: str
    since: Mapping[str, tuple[int, int]] = field(default_factory=dict, hash=False)
    again: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict, hash=False)
    doubts: Mapping[str, str] = field(default_factory=dict, hash=False)
    forgets: tuple[LaneVerified, ...] = ()

    def spec(self, source: ClusterContext, target: ClusterContext) -> VerifySpec:
        """The specification that the job reads."""
        return VerifySpec(
            link=self.link,
            run=self.run,
            source=source,
            target=target,
            pins=self.pins,
            reader=self.options.reader,
            levels=self.options.levels,
            rate_limit=self.options.rate_limit,
            samples=self.options.samples,
            values=self.options.values,
            since=self.since,
            again=self.again,
            doubts=self.doubts,
        )


async def plan(source: Cluster, target: Cluster, link_id: str, options: VerifyOptions = DEFAULT) -> VerifyPlan:
    """Pin the link's lanes; raises UnknownLinkError, VerifyRunningError, ClusterError."""
    verified = await idle(target, link_id)
    return await pinned(source, target, verified, link_id, options)


async def apply(target: Cluster, planned: VerifyPlan, job: ReaderJob) -> StartedComparison:
    """Start the job, whose directory gets its specification, log and reports; ``ended`` of the answer follows it.

    Raises what ``check_reader`` and ``prepare`` raise, and NoLogDirectoryError, before anything is done.
    """
    arguments = await asyncio.to_thread(job.arguments)
    _make_directory(job.directory)
    await prepare(target, planned)
    return launch(planned.spec(job.source, job.target), job, arguments)


async def prepare(target: Cluster, planned: VerifyPlan) -> None:
    """Forget earlier comparisons if ``fresh`` is asked for, so that a job begins from the start wherever it runs.

    Raises VerifyRunningError, and PlanChangedError where there was another run since.
    """
    verified = await idle(target, planned.link)
    now = replace(planned, hash=_hash(verified, planned.link, planned.options))
    check_holds(f"the last comparison of link {planned.link!r}", planned, now, f"anabranch verify show {planned.link}")
    if planned.options.fresh:
        await verified.forget([pin.lane for pin in planned.pins if pin.lane in verified.lanes])


def launch(spec: VerifySpec, job: ReaderJob, arguments: Sequence[str]) -> StartedComparison:
    """Start the job of a specification; the arguments are the job's own."""
    directory = job.directory
    _make_directory(directory)
    path = directory / f"{spec.run}.json"
    write_spec(path, spec.to_json())
    outputs = ["--report", str(directory / f"{spec.run}.report.json"), "--page", str(directory / f"{spec.run}.html")]
    log = directory / f"{spec.run}.log"
    command, tied = [str(path), *outputs, *arguments], not job.detached
    with log.open("ab") as out, open_log(lock_of(directory, spec.run)) as held:
        process = jobprocess.start(JOB, command, out=out, err=out, tied=tied, held=held)
    return StartedComparison(spec.link, directory, StartedJob(spec.run, log, process))


def _make_directory(directory: Path) -> None:
    """Have it, and see that files can be made there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        raise NoLogDirectoryError(directory, error.strerror or str(error), "--directory DIRECTORY") from error


async def idle(target: Cluster, link_id: str) -> VerifiedTopic:
    """What was verified on the target; raises VerifyRunningError where a comparison of the link runs."""
    verified = VerifiedTopic(target)
    await verified.sync()
    last = verified.runs.get(link_id)
    if last is not None and status_of(verified, link_id).running:
        raise VerifyRunningError(link_id, last.run)
    return verified


async def pinned(
    source: Cluster, target: Cluster, verified: VerifiedTopic, link_id: str, options: VerifyOptions
) -> VerifyPlan:
    """The lanes from where they were verified to last, or from the start, to where they end now."""
    maps = await read_maps(target, link_id)
    blank = await unmapped(source, maps)
    pins = [pin for pin in await pins_of(source, target, maps) if pin.source not in blank]
    since: dict[str, tuple[int, int]] = {}
    again: dict[str, tuple[tuple[int, int], ...]] = {}
    forgets: list[LaneVerified] = []
    for pin in pins:
        known = verified.lanes.get(pin.lane)
        if known is not None:
            if options.fresh:
                forgets.append(known)
            else:
                since[pin.lane] = (known.source[1], known.target[1])
                again[pin.lane] = known.differs
    doubts = {str(partition): doubt.message for partition, doubt in maps.doubts.items()}
    doubts |= {str(partition): why for partition, why in blank.items()}
    if not pins and not doubts:
        doubts[link_id] = "no lane of the link has begun"
    return VerifyPlan(
        link_id,
        f"verify-{uuid.uuid4().hex[:12]}",
        tuple(pins),
        options,
        _hash(verified, link_id, options),
        since,
        again,
        doubts,
        tuple(forgets),
    )


def _hash(verified: VerifiedTopic, link_id: str, options: VerifyOptions) -> str:
    last = verified.runs.get(link_id)
    return plan_hash(link_id, None if last is None else [last.run, last.state], astuple(options))
