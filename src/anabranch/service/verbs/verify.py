"""Comparisons of both sides of a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from anabranch.config.units import parse_rate
from anabranch.config.verifyspec import Levels, ReaderKind, VerifyOptions
from anabranch.kafka.security import open_cluster
from anabranch.model.accounts import Role
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.verify import resume, start, stop
from anabranch.operations.verify.shown import ComparisonPlan, shown
from anabranch.operations.verify.start import DEFAULT
from anabranch.operations.verify.stop import VerifyStopPlan, VerifyStopReport
from anabranch.service.reach import Reach
from anabranch.service.verb import LinkRequest, Rate, Verb
from anabranch.service.words import command
from anabranch.state.codecs.verified import RunState, VerifyStatus
from anabranch.store.runs import RunKind
from anabranch.verify.report import ComparisonVerdict

LOOK_S = 5.0
"""How often a comparison is looked at that runs: each look is kept, and told to listeners."""


class StartRequest(LinkRequest):
    """A comparison; the fields are those of ``verify start``."""

    reader: ReaderKind = ReaderKind.RECORDS
    levels: Levels = Levels.BOTH
    rate_limit: Rate | None = None
    samples: Annotated[int, Field(ge=0, le=1000)] = 20
    show_values: bool = False
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """How a comparison ended, which ran as which process; its log, report and page are in a directory.

    It has a verdict unless the service ended before it: then it is ``running``, and goes on.
    """

    link: str
    run: str
    state: RunState
    verdict: ComparisonVerdict | None
    process: int
    directory: str


async def _start_plan(reach: Reach, request: StartRequest) -> ComparisonPlan:
    rate = None if request.rate_limit is None else parse_rate(request.rate_limit)
    options = VerifyOptions(request.reader, request.levels, rate, request.samples, request.show_values, request.fresh)
    clusters = await reach.clusters.pair(request.target, request.link)
    return shown(await start.plan(*clusters, request.link, options))


async def _resume_plan(reach: Reach, request: LinkRequest) -> ComparisonPlan:
    return shown(await resume.plan(*await reach.clusters.pair(request.target, request.link), request.link))


async def _start(reach: Reach, request: LinkRequest, plan: ComparisonPlan) -> ComparisonReport:
    """Have it made, and wait for its end; it outlives the service."""
    source, target = await reach.clusters.pair(request.target, request.link)
    context = reach.clusters.context
    directory = reach.jobs.directory / "verify" / request.link
    master = reach.jobs.reader_master
    job = ReaderJob(context(source.name), context(target.name), master, directory, reach.jobs.settings, True)
    started = await start.apply(target, plan.planned, job)
    run, process = started.run, started.job.pid
    await reach.launched(RunKind.VERIFY, request.target, request.link, reach.account, started.job)
    told: Mapping[str, Any] = {"stage": "Spark starts", "run": run, "process": process}
    await reach.tell(told)

    async def tell(found: VerifyStatus) -> None:
        nonlocal told
        figures = {name: getattr(found.run, name) for name in ("offsets", "done", "records", "differing")}
        now = {"stage": "comparing", "run": run, "process": process, **figures}
        if now != told:
            told = now
            await reach.tell(now)

    async with open_cluster(job.target) as cluster:  # the pool's is closed where its context is changed meanwhile
        ended = await reach.until_ending(started.ended(cluster, tell, LOOK_S))
    state, verdict = RunState.RUNNING, None
    if ended is not None and ended.own_report is not None:
        state, verdict = ended.run.state, ComparisonVerdict(ended.own_report["verdict"])
    return ComparisonReport(request.link, run, state, verdict, process, str(directory))


def _start_words(request: StartRequest) -> str:
    options: list[tuple[str, object]] = [("--target", request.target), ("--detach", True)]
    if request.reader is not ReaderKind.RECORDS:
        options.append(("--reader", request.reader.value))
    if request.levels is not Levels.BOTH:
        options.append(("--levels", request.levels.value))
    if request.samples != DEFAULT.samples:
        options.append(("--samples", request.samples))
    options += [
        ("--rate-limit", request.rate_limit),
        ("--show-values", request.show_values),
        ("--fresh", request.fresh),
    ]
    return command("verify", "start", request.link, options=options)


def _goes_on(request: LinkRequest) -> str:
    return command("verify", "show", request.link, options=[("--target", request.target), ("--watch", True)])


async def _plan(reach: Reach, request: LinkRequest) -> VerifyStopPlan:
    return await stop.plan(reach.clusters.cluster(request.target), request.link)


async def _apply(reach: Reach, request: LinkRequest, planned: VerifyStopPlan) -> VerifyStopReport:
    return await stop.apply(reach.clusters.cluster(request.target), planned)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "verify.start",
        "Compare both sides of a link, record by record, from where that was done last",
        Role.OPERATOR,
        StartRequest,
        ComparisonPlan,
        ComparisonReport,
        lambda request: f"comparison of link {request.link}",
        _start_words,
        _start_plan,
        _start,
        is_shown_first=lambda request: request.fresh,
        goes_on=_goes_on,
    ),
    Verb(
        "verify.resume",
        "Go on with a comparison that was stopped or died, up to the same pins",
        Role.OPERATOR,
        LinkRequest,
        ComparisonPlan,
        ComparisonReport,
        lambda request: f"comparison of link {request.link}",
        lambda request: command(
            "verify", "resume", request.link, options=[("--target", request.target), ("--detach", True)]
        ),
        _resume_plan,
        _start,
        execute="",
        goes_on=_goes_on,
    ),
    Verb(
        "verify.stop",
        "Ask a link's comparison to end; `resume` goes on with it",
        Role.OPERATOR,
        LinkRequest,
        VerifyStopPlan,
        VerifyStopReport,
        lambda request: f"comparison of link {request.link}",
        lambda request: command("verify", "stop", request.link, options=[("--target", request.target)]),
        _plan,
        _apply,
        execute="",
        goes_on=_goes_on,
    ),
)
