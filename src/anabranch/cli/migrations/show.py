"""``anabranch migrate status|show``: where waves stand, and how far what is under way has come."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from anabranch.cli.migrations import render_runs
from anabranch.cli.migrations.asking import MigrationArgument, OneWaveOption, path_of
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.service_options import ServiceOption, service_of
from anabranch.model.clock import now_ms

WAIT_S = 1.0


def status(
    ctx: typer.Context,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the migrations of the service, with where each wave stands and what is under way."""
    answer: Any = service_of(ctx, service).get("/migrations")
    emit(answer, render_runs.migrations(answer, now_ms()), output)


def show(
    ctx: typer.Context,
    name: MigrationArgument,
    wave: OneWaveOption = None,
    wait: Annotated[bool, typer.Option("--wait", help="Until nothing is under way any more.")] = False,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show a migration: each wave, and the steps of what is under way for it, or was last."""
    client = service_of(ctx, service)
    answer: Any = client.get(path_of(name))
    while wait and any(one["run"]["is_open"] for one in answer["runs"] if wave in (None, one["run"]["wave"])):
        time.sleep(WAIT_S)
        answer = client.get(path_of(name))
    emit(answer, render_runs.migration(answer, wave, now_ms()), output)
