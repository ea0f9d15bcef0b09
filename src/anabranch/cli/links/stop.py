"""``anabranch link stop``: end the runs of a link, wherever they run."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.hints import repeated
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.running import on_target, run


def stop(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for the end; 0 does not wait.")] = 120,
) -> None:
    """End a link's runs cleanly, from anywhere, and wait until they have ended; one that does not run is left alone."""
    run(_stop(ctx, link, target_name, wait))


async def _stop(ctx: typer.Context, link: str, target_name: str | None, wait_s: float) -> None:
    from anabranch.operations.links import stop as operation

    async with on_target(ctx, target_name) as target:
        report = await operation.apply(target, await operation.plan(target, link, wait_s))
    runs, one = ", ".join(report.runs), len(report.runs) == 1
    if not report.runs:
        typer.echo(f"link {link} does not run")
    elif report.ended:
        typer.echo(
            f"{runs} {'has' if one else 'have'} ended; go on with: anabranch link run {link}{repeated(target_name)}"
        )
    else:
        typer.echo(f"{runs} {'is' if one else 'are'} asked to stop")
