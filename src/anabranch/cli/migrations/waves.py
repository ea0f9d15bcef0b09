"""``anabranch migrate verify|switch|reverse|complete``: what is done for one wave."""

from __future__ import annotations

import typer

from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.migrations import render_runs
from anabranch.cli.migrations.asking import MigrationArgument, WaveOption, change, command_of, wave_of
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.service_options import ServiceOption, repeated_service, service_of


def verify(
    ctx: typer.Context,
    name: MigrationArgument,
    wave: WaveOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Compare what a wave's link has copied, record by record. Changes nothing."""
    _wave(ctx, "verify", name, wave, True, None, service, output)


def switch(
    ctx: typer.Context,
    name: MigrationArgument,
    wave: WaveOption = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Switch a wave's applications to the target; each step is shown first, with what it would meet now.

    Producers are kept from writing, what they wrote last is copied, groups and checkpoints are translated; then, past
    the point of no return, they are published, and the way back runs. What fails before is taken back; after it the
    service goes on until it is done. Of a wave that is switched in two parts the next one is. Exit code 3: something
    forbids it, or it was taken back.
    """
    _wave(ctx, "switch", name, wave, execute, plan, service, output)


def reverse(
    ctx: typer.Context,
    name: MigrationArgument,
    wave: WaveOption = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Lead a wave's applications back to the source, with all that they have written and read since; as `switch`."""
    _wave(ctx, "reverse", name, wave, execute, plan, service, output)


def complete(
    ctx: typer.Context,
    name: MigrationArgument,
    wave: WaveOption = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Have a wave stay on the target: the way back ends, and its links are deleted, with their offset maps."""
    _wave(ctx, "complete", name, wave, execute, plan, service, output)


def _wave(
    ctx: typer.Context,
    verb: str,
    name: str,
    wave: str | None,
    execute: bool,
    plan: str | None,
    service: str | None,
    output: Format,
) -> None:
    client = service_of(ctx, service)
    chosen = wave_of(client, name, wave)
    change(
        client,
        verb,
        {"migration": name, "wave": chosen},
        command_of(verb, name, wave) + repeated_service(service),
        f"{verb} of wave {chosen} of migration {name}",
        render_runs.wave_plan,
        render_runs.ended,
        execute=execute,
        wanted=plan,
        output=output,
    )
