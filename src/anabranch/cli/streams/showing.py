"""``anabranch stream list|show|versions|diff|logs``: streams of the service, to look at."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.service_options import ServiceOption, service_of
from anabranch.cli.streams import render
from anabranch.cli.streams.asking import StreamArgument, TargetOfLinkOption, found, found_stream, is_link, path_of
from anabranch.cli.words import printable
from anabranch.errors import InvalidFieldError
from anabranch.model.clock import now_ms

FOLLOW_S = 1.0


def list_(ctx: typer.Context, service: ServiceOption = None, output: FormatOption = Format.TABLE) -> None:
    """List the streams of the service and the links beside them, with their states and how they go."""
    client = service_of(ctx, service)
    answer: Any = client.get("/streams")
    emit(answer, render.streams(answer, now_ms()), output)
    for cluster in client.get("/links")["unread"]:
        why = "" if cluster["problem"] is None else f": {cluster['problem']['detail']}"
        typer.echo(printable(f"links to {cluster['name']} are not known now{why}"), err=True)


def show(
    ctx: typer.Context,
    name: StreamArgument,
    target: TargetOfLinkOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show one stream, or a link: its state and why, each query with its lag, and its newest runs."""
    answer: Any = found(service_of(ctx, service), name, target)
    emit(answer, render.stream(answer, now_ms()), output)


def versions(
    ctx: typer.Context, name: StreamArgument, service: ServiceOption = None, output: FormatOption = Format.TABLE
) -> None:
    """List the versions of a stream, the newest first."""
    answer: Any = found_stream(service_of(ctx, service), name, "versions")
    emit(answer["versions"], render.versions(answer), output)


def diff(
    ctx: typer.Context,
    name: StreamArgument,
    before: Annotated[int, typer.Argument(metavar="VERSION", min=1, show_default=False)],
    after: Annotated[
        int | None,
        typer.Argument(metavar="[VERSION]", min=1, help="Default: the newest version.", show_default=False),
    ] = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show how a version differs from another: its script and its settings."""
    answer: Any = service_of(ctx, service).get(f"{path_of(name)}/diff", before=before, after=after)
    emit(answer, render.diff(answer["lines"]), output)


def logs(
    ctx: typer.Context,
    name: StreamArgument,
    run: Annotated[
        str | None, typer.Option("--run", help="Of this run; default: the newest.", show_default=False)
    ] = None,
    grep: Annotated[str, typer.Option("--grep", metavar="TEXT", help="Only lines with this text.")] = "",
    lines: Annotated[int, typer.Option("--lines", min=1, max=5000, help="At most so many, the newest.")] = 200,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with new lines until Ctrl-C.")] = False,
    target: TargetOfLinkOption = None,
    service: ServiceOption = None,
) -> None:
    """Write what Spark and the job of a run have logged."""
    client = service_of(ctx, service)
    if run is None:
        answer: Any = found(client, name, target)
        runs = answer["runs"]
        if not runs:
            fix = f"start it: anabranch stream start {name}"
            what = f"the service has never started link {name}" if is_link(answer) else f"stream {name} has never run"
            raise InvalidFieldError("stream logs", "STREAM", what, fix)
        run = str(runs[0]["id"])
    written: list[str] = []
    while True:
        most = 5000 if follow else lines
        answer = client.get(f"{path_of(name)}/runs/{run}/log", search=grep, limit=most, target=target)
        read = [str(line) for line in answer["lines"]]
        fresh = read[-lines:] if not written else _after(written, read)
        for line in fresh:
            typer.echo(printable(line))
        written = read
        if not follow:
            return
        time.sleep(FOLLOW_S)


def _after(before: list[str], now: list[str]) -> list[str]:
    """The lines of ``now`` after those of ``before``; both are the end of one growing file."""
    for begin in range(len(before) + 1):
        rest = before[begin:]
        if now[: len(rest)] == rest:
            return now[len(rest) :]
    return now
