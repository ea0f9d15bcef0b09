"""``anabranch verify stop``: end a comparison after its round; what was compared is kept."""

from __future__ import annotations

import typer

from anabranch.cli import port
from anabranch.cli.hints import repeated
from anabranch.cli.options import LinkArgument, TargetOption, target
from anabranch.cli.verify.guard import no_false_verdict


def stop(ctx: typer.Context, link: LinkArgument, target_name: TargetOption = None) -> None:
    """Have a running comparison stop within a round, less than half a minute; one that does not run is left alone."""
    with no_false_verdict():
        found = port.verify().stop(target(ctx, target_name), link)
        if found.running:
            command = f"anabranch verify resume {link}{repeated(target_name)}"
            typer.echo(f"{found.run.run} stops after its round; go on with: {command}")
        else:
            typer.echo(f"{found.run.run} does not run: it is {found.run.state.value}")
