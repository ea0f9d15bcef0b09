"""``anabranch migrate hold|release|set|approve``: when switches are made, by which file, and by whose word."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted
from anabranch.cli.migrations import render_runs
from anabranch.cli.migrations.asking import (
    FileOption,
    MigrationArgument,
    MigrationChange,
    OneWaveOption,
    apply_planned,
    change,
    command_of,
    loaded,
)
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.service_options import ServiceOption, repeated_service, service_of
from anabranch.config import migration_file
from anabranch.errors import InvalidFieldError


def hold(
    ctx: typer.Context,
    name: MigrationArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why, for whoever would switch it.", show_default=False)],
    wave: OneWaveOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Have switches of a migration, or of a wave, wait until it is released; copying goes on, and what has begun."""
    _held(ctx, "hold", name, wave, {"reason": reason}, service, output)


def release(
    ctx: typer.Context,
    name: MigrationArgument,
    wave: OneWaveOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Have switches of a migration, or of a wave, wait no more."""
    _held(ctx, "release", name, wave, {}, service, output)


def throttle(
    ctx: typer.Context,
    name: MigrationArgument,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            help="Bytes a second of all its links together that read the source, such as 10MB/s.",
            show_default=False,
        ),
    ] = None,
    pause: Annotated[bool, typer.Option("--pause", help="Have copying stand still.")] = False,
    wave: OneWaveOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Have a migration, or a wave, copy more slowly, or not at all, until `migrate resume`.

    Links obey within some seconds. A pause ends by itself before the source deletes what is not copied.
    """
    if (rate is None) is not pause:
        raise InvalidFieldError("migrate throttle", "--rate", "give a rate, or --pause")
    _held(ctx, "throttle", name, wave, {"pause": True} if pause else {"rate": rate}, service, output)


def resume(
    ctx: typer.Context,
    name: MigrationArgument,
    wave: OneWaveOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Have a migration copy again as fast as its file and the clusters allow; without --wave each wave of it."""
    _held(ctx, "resume", name, wave, {}, service, output)


def set_(
    ctx: typer.Context,
    file: FileOption,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Change a migration's file: limits, fences, groups, jobs; of waves that are started the topics stay."""
    migration = loaded(file)
    change(
        service_of(ctx, service),
        "set",
        {"migration": migration_file.migration_fields(migration)},
        f"anabranch migrate set -f {quoted(str(file))}{repeated_service(service)}",
        f"migration {migration.name}",
        render_runs.set_plan,
        lambda done: render_runs.said(f"migration {done['migration']} is kept as the file says"),
        execute=execute,
        wanted=plan,
        output=output,
    )


def approve(
    ctx: typer.Context,
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The id of a plan that was shown.", show_default=False)],
    execute: ExecuteOption = False,
    hash_: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Approve what somebody else has planned: shows the plan, and applies exactly that one with --execute."""
    client = service_of(ctx, service)
    answer: Any = client.get(f"/plans/{quote(plan, safe='')}")

    async def planned() -> MigrationChange:
        return MigrationChange(answer["id"], answer["hash"], answer["plan"])

    apply_planned(
        client,
        planned,
        f"anabranch migrate approve {quoted(plan)}{repeated_service(service)}",
        f"plan {plan}",
        lambda shown: render_runs.plan_of(answer["verb"], shown),
        render_runs.ended,
        execute=execute,
        wanted=hash_,
        output=output,
    )


def _held(
    ctx: typer.Context,
    verb: str,
    name: str,
    wave: str | None,
    more: dict[str, Any],
    service: str | None,
    output: Format,
) -> None:
    request = {"migration": name, **({} if wave is None else {"wave": wave}), **more}
    _at_once(ctx, verb, name, request, service, output, wave)


def _at_once(
    ctx: typer.Context,
    verb: str,
    name: str,
    request: dict[str, Any],
    service: str | None,
    output: Format,
    wave: str | None = None,
) -> None:
    """What the same verb, or its opposite, undoes needs no ``--execute``."""
    change(
        service_of(ctx, service),
        verb,
        request,
        command_of(verb, name, wave) + repeated_service(service),
        f"migration {name}",
        lambda shown: render_runs.plan_of(f"migrations.{verb}", shown),
        lambda _: render_runs.said("done"),
        execute=True,
        wanted=None,
        output=output,
    )
