"""``anabranch link delete``: show what deleting a link does, and with ``--execute`` do it."""

from __future__ import annotations

import typer
from rich.text import Text

from anabranch.cli import port, render
from anabranch.cli.dryrun import ExecuteOption, say_dry_run
from anabranch.cli.hints import repeated
from anabranch.cli.options import LinkArgument, TargetOption, target
from anabranch.cli.output import Format, FormatOption, console, emit


def delete(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    execute: ExecuteOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Forget a link and give its target topics their configs back; topics and records stay."""
    cluster = target(ctx, target_name)
    engine = port.links()
    plan = engine.delete(cluster, link, execute=False)
    if not execute:
        emit(plan, render.delete_plan(plan), output)
        say_dry_run(f"anabranch link delete {link}{repeated(target_name)} --execute")
        return
    if output is Format.TABLE:
        console().print(render.delete_plan(plan))
    elif plan.running:
        typer.echo(f"link {link} is running: its workers stop within seconds", err=True)
    done = engine.delete(cluster, link, execute=True, fingerprint=plan.fingerprint)
    was = "; it was running, and its job ends by itself" if done.running else ""
    emit(done, Text(f"done: link {link} is deleted{was}"), output)
