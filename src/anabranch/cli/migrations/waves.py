"""``anabranch migrate verify|switch|reverse|reconcile|complete``: what is done for one wave."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import typer

from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.migrations import render_runs
from anabranch.cli.migrations.asking import MigrationArgument, WaveOption, change, command_of, wave_of
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.service_options import ServiceOption, repeated_service, service_of
from anabranch.errors import InvalidFieldError
from anabranch.migration.options import TailChoice, UnknownGroups


def verify(
    ctx: typer.Context,
    name: MigrationArgument,
    wave: WaveOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Compare what a wave's link has copied, record by record, at once.

    Writes nothing but progress and a report, to __anabranch_verified on the target.
    """
    _wave(ctx, "verify", name, wave, True, None, service, output)


def switch(
    ctx: typer.Context,
    name: MigrationArgument,
    wave: WaveOption = None,
    source_lost: Annotated[
        bool,
        typer.Option("--source-lost", help="The source is gone for good, or for too long: go on from what was copied."),
    ] = False,
    unknown_groups: Annotated[
        UnknownGroups,
        typer.Option(help="Of --source-lost: what becomes of groups whose positions nothing tells without the source."),
    ] = UnknownGroups.REFUSE,
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

    With --source-lost nothing is asked of the source, which must not answer. What of each partition may be lost is
    named, and there is no way back until `migrate reconcile`. See docs/how-to/migrate.md.
    """
    asked, typed = _without("switch", "source-lost", source_lost, unknown_groups)
    _wave(ctx, "switch", name, wave, execute, plan, service, output, asked, typed)


def reconcile(
    ctx: typer.Context,
    name: MigrationArgument,
    wave: WaveOption = None,
    tail: Annotated[
        TailChoice,
        typer.Option(
            help="What becomes of records that the lost cluster has and the other has not: keep leaves them there, "
            "append copies them after what was written on the other since."
        ),
    ] = TailChoice.REFUSE,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Once a lost cluster is back, see what it has that was not copied; where it has nothing, make the way there.

    For a wave that was switched with --source-lost, or led back with --target-lost. What a `cancel` with one of these
    left there is put back. Exit code 3: something forbids it, such as records that were not
    copied; --tail says what becomes of these.
    """
    asked = {} if tail is TailChoice.REFUSE else {"tail": tail.value}
    typed = "" if tail is TailChoice.REFUSE else f" --tail {tail.value}"
    _wave(ctx, "reconcile", name, wave, execute, plan, service, output, asked, typed)


def reverse(
    ctx: typer.Context,
    name: MigrationArgument,
    wave: WaveOption = None,
    target_lost: Annotated[
        bool,
        typer.Option(
            "--target-lost", help="The target is gone for good, or for too long: go on from what was copied back."
        ),
    ] = False,
    unknown_groups: Annotated[
        UnknownGroups,
        typer.Option(help="Of --target-lost: what becomes of groups whose positions nothing tells without the target."),
    ] = UnknownGroups.REFUSE,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Lead a wave's applications back to the source, with all that they have written and read since; as `switch`.

    With --target-lost nothing is asked of the target, which must not answer. What of each partition may be lost is
    named, and there is no way there until `migrate reconcile`. See docs/how-to/migrate.md.
    """
    asked, typed = _without("reverse", "target-lost", target_lost, unknown_groups)
    _wave(ctx, "reverse", name, wave, execute, plan, service, output, asked, typed)


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


def _without(verb: str, flag: str, is_lost: bool, groups: UnknownGroups) -> tuple[dict[str, Any], str]:
    """What is asked for, and typed, where a verb goes without the cluster that is left; raises InvalidFieldError."""
    if groups is not UnknownGroups.REFUSE and not is_lost:
        raise InvalidFieldError(f"migrate {verb}", "--unknown-groups", f"it is for --{flag}")
    asked: dict[str, Any] = {flag.replace("-", "_"): True} if is_lost else {}
    typed = f" --{flag}" if is_lost else ""
    if groups is not UnknownGroups.REFUSE:
        asked["unknown_groups"] = groups.value
        typed += f" --unknown-groups {groups.value}"
    return asked, typed


def _wave(
    ctx: typer.Context,
    verb: str,
    name: str,
    wave: str | None,
    execute: bool,
    plan: str | None,
    service: str | None,
    output: Format,
    asked: Mapping[str, Any] = MappingProxyType({}),
    typed: str = "",
) -> None:
    client = service_of(ctx, service)
    chosen = wave_of(client, name, wave)
    change(
        client,
        verb,
        {"migration": name, "wave": chosen, **asked},
        command_of(verb, name, wave) + typed + repeated_service(service),
        f"{verb} of wave {chosen} of migration {name}",
        render_runs.wave_plan,
        render_runs.ended,
        execute=execute,
        wanted=plan,
        output=output,
    )
