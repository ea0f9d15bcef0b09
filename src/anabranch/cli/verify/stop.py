"""``anabranch verify stop``: end a comparison after its round; what was compared is kept."""

from __future__ import annotations

import typer

from anabranch.cli.hints import repeated
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.running import on_target, run


def stop(ctx: typer.Context, link: LinkArgument, target_name: TargetOption = None) -> None:
    """Have a running comparison stop within a round, less than half a minute; one that does not run is left alone."""
    run(_stop(ctx, link, target_name))


async def _stop(ctx: typer.Context, link: str, target_name: str | None) -> None:
    from anabranch.operations.verify import stop as operation

    async with on_target(ctx, target_name) as target:
        done = await operation.apply(target, await operation.plan(target, link))
    found = done.status
    if done.asked:
        command = f"anabranch verify resume {link}{repeated(target_name)}"
        typer.echo(f"{found.run.run} stops after its round; go on with: {command}")
    else:
        typer.echo(f"{found.run.run} does not run: it is {found.run.state.value}")
