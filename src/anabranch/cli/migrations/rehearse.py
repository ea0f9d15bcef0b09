"""``anabranch migrate rehearse``: the whole path of a wave, on topics and groups that are made for it."""

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


def rehearse(
    ctx: typer.Context,
    wave: Annotated[str, typer.Option(help="The wave.", autocompletion=wave_names, show_default=False)],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[MIGRATION]",
            help="One that the service has.",
            autocompletion=migration_names,
            show_default=False,
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="Migration file.", show_default=False)] = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Try the whole path of a wave: start, compare, switch, and reverse, on topics and groups that are made for it.

    They are like the wave's own, begin with `rehearsal.`, and are removed at the end, whatever comes of it. So are
    copies of its jobs' checkpoints, which are moved in their place. No real application hears of it; what is left out
    for that is said. The pauses that it measures are those to be expected.
    """
    client = service_of(ctx, service)
    fields, typed = document_of(client, "migrate rehearse", name, file)
    change(
        client,
        "rehearse",
        {"migration": fields, "wave": wave},
        f"anabranch migrate rehearse {typed} --wave {quoted(wave)}{repeated_service(service)}",
        f"the rehearsal of wave {wave}",
        render_runs.rehearsal_plan,
        render_runs.rehearsed,
        execute=execute,
        wanted=plan,
        output=output,
    )
