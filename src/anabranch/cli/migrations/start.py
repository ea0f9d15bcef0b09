"""``anabranch migrate start``: begin to copy the waves of a migration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.completing import migration_names, wave_names
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted
from anabranch.cli.migrations import render_runs
from anabranch.cli.migrations.asking import change, document_of
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.service_options import ServiceOption, repeated_service, service_of


def start(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[MIGRATION]",
            help="One that the service has, whose waves are not all started.",
            autocompletion=migration_names,
            show_default=False,
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="Migration file.", show_default=False)] = None,
    wave: Annotated[
        list[str] | None,
        typer.Option(help="Only this wave. Repeatable.", autocompletion=wave_names, show_default=False),
    ] = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Hand a migration to the service, and have its waves copied: links are made, run, and have caught up.

    No application hears of it. Looks at both clusters first, as `migrate plan` does, and refuses what must not begin.
    Waves whose copying has begun stay as they are. See docs/how-to/migrate.md.
    """
    client = service_of(ctx, service)
    fields, typed = document_of(client, "migrate start", name, file)
    what = fields["name"]
    waves = "".join(f" --wave {quoted(one)}" for one in wave or ())
    change(
        client,
        "start",
        {"migration": fields, **({"waves": wave} if wave else {})},
        f"anabranch migrate start {typed}{waves}{repeated_service(service)}",
        f"migration {what}",
        render_runs.start_plan,
        render_runs.started,
        execute=execute,
        wanted=plan,
        output=output,
    )
