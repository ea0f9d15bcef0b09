"""``anabranch link run``: start the link's Spark query here and stay with it."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import port
from anabranch.cli.hints import repeated
from anabranch.cli.jobs import JobFailedError, exit_code, fail
from anabranch.cli.options import LinkArgument, TargetOption, contexts, target


def run(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    master: Annotated[str, typer.Option(help="Spark master.")] = "local[*,8]",
    lease_seconds: Annotated[int | None, typer.Option(help="Instead of the link's own.", show_default=False)] = None,
) -> None:
    """Run a link until Ctrl-C, which ends its leases cleanly; run it again to go on exactly where it stood."""
    cluster = target(ctx, target_name)
    spec = port.links().show(cluster, link).spec
    source = contexts(ctx).get(spec.source.context)
    code = port.launcher().run_link(cluster, source, link, master, lease_seconds or spec.lease_seconds)
    if code == 0:
        typer.echo(f"stopped cleanly; go on with: anabranch link run {link}{repeated(target_name)}", err=True)
    if code < 0:
        fix = f"anabranch link run {link}{repeated(target_name)} goes on exactly where it stood"
        fail(JobFailedError(f"link {link}", code, "", fix), exit_code(code))
    raise typer.Exit(code)
