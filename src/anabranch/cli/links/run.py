"""``anabranch link run``: start the link's Spark query here and stay with it, or detach from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import platformdirs
import typer

from anabranch.cli.hints import repeated
from anabranch.cli.jobs import Tied, fail
from anabranch.cli.located import contexts, target
from anabranch.cli.options import LinkArgument, TargetOption, settings_of
from anabranch.cli.running import on_context
from anabranch.cli.running import run as run_verb
from anabranch.config.jobspec import write_spec
from anabranch.errors import ProtocolError
from anabranch.model.cluster import ClusterContext
from anabranch.model.runevents import LogFormat
from anabranch.operations.jobs.outcome import JobFailedError, not_begun
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.submission import Submission

if TYPE_CHECKING:
    from anabranch.kafka.cluster import Cluster
    from anabranch.operations.links.run import RunOptions, RunPlan

_NOT_FOUND_YET = (
    "`link stop` finds a driver once `link show` names its plan; before that end it where it waits, on YARN by: "
    "yarn application -kill ID"
)
_ENDED = (130, 143)


class DeployMode(StrEnum):
    """Where the driver runs."""

    CLIENT = "client"
    CLUSTER = "cluster"


def run(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    master: Annotated[str, typer.Option(help="Spark master.")] = "local[*,8]",
    deploy_mode: Annotated[
        DeployMode, typer.Option(help="Where the driver runs: here, or in the cluster (YARN, Kubernetes).")
    ] = DeployMode.CLIENT,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark; repeatable.", show_default=False)
    ] = None,
    archive: Annotated[
        Path | None,
        typer.Option(help="What `link package` wrote, for machines that have only Python.", show_default=False),
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            help="A file that the contexts name, sent to driver and executors; repeatable.", show_default=False
        ),
    ] = None,
    only_spec: Annotated[
        Path | None,
        typer.Option("--spec", help="Only write the job's specification there, for spark-submit.", show_default=False),
    ] = None,
    lease_seconds: Annotated[int | None, typer.Option(help="Instead of the link's own.", show_default=False)] = None,
    log_format: Annotated[LogFormat, typer.Option(help="A line, or a JSON object, for each event.")] = LogFormat.TEXT,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return once the link has planned its lanes; it runs on.")
    ] = False,
) -> None:
    """Run a link until Ctrl-C or `link stop`, which end it cleanly; run it again to continue exactly at its positions.

    SIGTERM and SIGHUP end it cleanly, too. Its Spark job ends with it, also where it is killed. Each event is a line on
    standard error (docs/how-to/watch-a-link.md); what Spark prints is in a file that the first line names.

    In local[*,8] Spark uses all cores, and a task may fail seven times; the eighth time ends the query. For
    --deploy-mode, --archive, --file and --spec see docs/how-to/run-on-a-cluster.md.
    """
    from anabranch.operations.jobs import launcher
    from anabranch.operations.links.run import RunOptions

    how = Submission(master, settings_of(conf), archive, tuple(file or ()), deploy_mode is DeployMode.CLUSTER)
    cluster = target(ctx, target_name)
    options = RunOptions(beside=True, lease_seconds=lease_seconds, detached=detach, log_format=log_format)
    planned = run_verb(_plan(cluster, link, how, options))
    source = contexts(ctx).get(planned.source)
    if only_spec is not None:
        how.check()
        how.check_named(source, cluster)
        write_spec(only_spec, launcher.job_spec(how.sent(cluster), how.sent(source), link, planned.lease_seconds))
        typer.echo(f"the link's job is described in {only_spec}", err=True)
        return
    _warn_of_another(planned, target_name)
    start = _Start(cluster, source, planned, how, platformdirs.user_state_path("anabranch") / "link" / link)
    if detach:
        run_verb(_until_begun(start, target_name))
        return
    code = run_verb(stay(start.alone))
    if how.in_cluster:
        _left(link, code, repeated(target_name))
    if code == 0 and log_format is LogFormat.TEXT:
        typer.echo(f"go on with: anabranch link run {link}{repeated(target_name)}", err=True)
    if code < 0:
        fix = f"anabranch link run {link}{repeated(target_name)} continues exactly at its positions"
        raise JobFailedError(f"link {link}", code, "", fix)
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class _Start:
    """A planned run of a link, and what it is started with."""

    target: ClusterContext
    source: ClusterContext
    planned: RunPlan
    how: Submission
    directory: Path

    async def on(self, cluster: Cluster) -> StartedJob:
        """Start it; raises what ``operations.links.run.apply`` raises."""
        from anabranch.operations.links import run

        return await run.apply(cluster, (self.source, self.target), self.planned, self.how, self.directory)

    async def alone(self) -> StartedJob:
        """Start it, and ask the target nothing more: the job has connections of its own."""
        async with on_context(self.target) as cluster:
            return await self.on(cluster)


async def stay(start: Callable[[], Awaitable[StartedJob]]) -> int:
    """Start the link's job, and stay until it ends or is interrupted; returns its exit code.

    Ctrl-C, SIGTERM and SIGHUP end the leases cleanly: requests in flight are answered, claims are released.
    """
    async with Tied() as tied:
        code = await tied.take(await start()).ended()
    # Told to end before it could do so cleanly, as Spark was starting: what any program exits with then.
    return 128 + tied.asked[0] if tied.asked and code < 0 else code


async def _plan(target: ClusterContext, link: str, how: Submission, options: RunOptions) -> RunPlan:
    from anabranch.operations.links import run

    async with on_context(target) as cluster:
        return await run.plan(cluster, link, how.master, options)


def _warn_of_another(planned: RunPlan, target_name: str | None) -> None:
    """Warn of another run: two do no harm, but take lanes from each other."""
    if planned.runs and planned.options.log_format is LogFormat.TEXT:
        command = f"anabranch link stop {planned.link}{repeated(target_name)}"
        have = "has" if len(planned.runs) == 1 else "have"
        typer.echo(f"{', '.join(planned.runs)} {have} reported within the last minute; to end it: {command}", err=True)


async def _until_begun(start: _Start, target_name: str | None) -> None:
    """Start it, and wait until it has planned its lanes, so that `link stop` finds it; Ctrl-C leaves it alone.

    A driver in the cluster chooses the name of its run itself: it is any run that had not planned before.
    """
    from anabranch.operations.links.run import BegunRun, begun

    how, link, typed = start.how, start.planned.link, repeated(target_name)
    async with on_context(start.target) as cluster:
        started = await start.on(cluster)
        name = "spark-submit" if how.in_cluster else started.run
        typer.echo(f"{name} starts as process {started.pid}; its log is {started.log}", err=True)
        began = await begun(cluster, link, started, in_cluster=how.in_cluster, planner_before=start.planned.planner)
    if began is BegunRun.PLANNED:
        typer.echo(f"it runs; end it with: anabranch link stop {link}{typed}", err=True)
    elif began is BegunRun.SUBMITTED:
        _not_planned(link, typed)
    elif (code := started.code) != 0:  # else it was asked to stop before it began
        raise not_begun(name, code, started.log)


def _not_planned(link: str, target: str) -> None:
    """Leave a driver in the cluster: it may wait for resources, or may have failed; that is not known here."""
    typer.echo("submitted; it has not planned yet", err=True)
    typer.echo(f"see it with: anabranch link show {link}{target}; on YARN: yarn application -list", err=True)
    typer.echo(_NOT_FOUND_YET, err=True)


def _left(link: str, code: int, target: str) -> NoReturn:
    """End as ``spark-submit`` did; it may not have waited for the driver in the cluster."""
    if code in {0, *_ENDED}:
        typer.echo("spark-submit has ended, the driver may run on", err=True)
        typer.echo(f"see it with: anabranch link show {link}{target}", err=True)
        typer.echo(f"end it with: anabranch link stop {link}{target}", err=True)
        typer.echo(_NOT_FOUND_YET, err=True)
        raise typer.Exit(code)
    fix = "read the driver's output, on YARN by: yarn logs -applicationId ID -log_files stdout"
    fail(JobFailedError(f"link {link}", code, "", fix), ProtocolError.exit_code)
