"""``anabranch link run``: start the link's Spark query here and stay with it, or detach from it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import platformdirs
import typer

from anabranch.cli import port
from anabranch.cli.hints import repeated
from anabranch.cli.jobs import JobFailedError, exit_code, fail, last_error
from anabranch.cli.options import LinkArgument, TargetOption, contexts, target
from anabranch.engine.jobprocess import StartedLink
from anabranch.model.cluster import ClusterContext
from anabranch.model.reports import LinkStatus
from anabranch.model.runevents import LogFormat

_LOOK_S = 0.5


def run(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    master: Annotated[str, typer.Option(help="Spark master.")] = "local[*,8]",
    lease_seconds: Annotated[int | None, typer.Option(help="Instead of the link's own.", show_default=False)] = None,
    log_format: Annotated[LogFormat, typer.Option(help="A line, or a JSON object, for each event.")] = LogFormat.TEXT,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Return once it has begun; it runs on.")] = False,
) -> None:
    """Run a link until Ctrl-C or `link stop`, which end it cleanly; run it again to go on exactly where it stood."""
    cluster = target(ctx, target_name)
    status = port.links().show(cluster, link)
    source = contexts(ctx).get(status.spec.source.context)
    seconds = lease_seconds or status.spec.lease_seconds
    directory = platformdirs.user_state_path("anabranch") / "link" / link
    _warn_of_another(status, target_name, log_format)
    if detach:
        started = port.launcher().start_link(
            cluster, source, link, master, seconds, directory, log_format, detached=True
        )
        _await_begin(started, cluster, link, target_name)
        return
    code = port.launcher().run_link(cluster, source, link, master, seconds, directory, log_format)
    if code == 0 and log_format is LogFormat.TEXT:
        typer.echo(f"go on with: anabranch link run {link}{repeated(target_name)}", err=True)
    if code < 0:
        fix = f"anabranch link run {link}{repeated(target_name)} goes on exactly where it stood"
        fail(JobFailedError(f"link {link}", code, "", fix), exit_code(code))
    raise typer.Exit(code)


def _warn_of_another(status: LinkStatus, target_name: str | None, log_format: LogFormat) -> None:
    """Two runs do no harm, and take lanes from each other."""
    if status.runs and log_format is LogFormat.TEXT:
        command = f"anabranch link stop {status.spec.id}{repeated(target_name)}"
        typer.echo(f"{', '.join(status.runs)} was heard of within the last minute; to end it: {command}", err=True)


def _await_begin(started: StartedLink, cluster: ClusterContext, link: str, target_name: str | None) -> None:
    """Wait until the run has planned its lanes, so that `link stop` finds it; Ctrl-C leaves it alone."""
    typer.echo(f"{started.run} starts as process {started.process.pid}; its log is {started.log}", err=True)
    while started.process.poll() is None:
        plan = port.links().show(cluster, link).plan
        if plan is not None and plan.owner == started.run:
            typer.echo(f"it runs; end it with: anabranch link stop {link}{repeated(target_name)}", err=True)
            return
        time.sleep(_LOOK_S)
    code = started.process.wait()
    if code != 0:  # else it was asked to stop before it began
        why, fix = last_error(Path(started.log))
        fail(JobFailedError(f"{started.run} did not begin", code, why, fix or f"read {started.log}"), exit_code(code))
