"""``anabranch migrate cancel``: take back what is under way for a wave, or have the wave stay on the source."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted
from anabranch.cli.migrations import render_runs
from anabranch.cli.migrations.asking import MigrationArgument, WaveOption, change, command_of, path_of, wave_of
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.service_options import ServiceOption, repeated_service, service_of
from anabranch.errors import InvalidFieldError
from anabranch.migration.ends import End
from anabranch.migration.left_out import LEADS_FROM


def cancel(
    ctx: typer.Context,
    name: MigrationArgument,
    wave: WaveOption = None,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Why what is under way is taken back.", show_default=False)
    ] = None,
    source_lost: Annotated[
        bool,
        typer.Option("--source-lost", help="Of --reason: the source is gone; end what is under way without asking it."),
    ] = False,
    target_lost: Annotated[
        bool,
        typer.Option("--target-lost", help="Of --reason: the target is gone; end what is under way without asking it."),
    ] = False,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge", help="Also delete the topics that the migration made on the target, and its copies in others."
        ),
    ] = False,
    confirm: Annotated[
        str | None,
        typer.Option("--confirm", metavar="WAVE", help="Of --purge: the wave, typed again.", show_default=False),
    ] = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Take back what is under way for a wave; where nothing is, have the wave stay on the source: its links go.

    What is under way is taken back with --reason, before its point of no return: all is as before it then. With
    --source-lost or --target-lost it ends after that, too: what only the lost cluster would hear of is left out, and
    named.

    A wave that is not switched stays on the source; --purge, also later, deletes the copies, and asks for the wave's
    name: then the wave can be started over.
    """
    client = service_of(ctx, service)
    chosen = wave_of(client, name, wave)
    (found,) = [one for one in client.get(path_of(name))["migration"]["waves"] if one["name"] == chosen] or [{}]
    run: Any = found.get("run") or {}
    request: dict[str, Any] = {"migration": name, "wave": chosen}
    typed = command_of("cancel", name, wave)
    if run.get("is_open"):
        if reason is None:
            raise InvalidFieldError(
                "migrate cancel", "--reason", f"{run['what']} is under way: say why it is taken back"
            )
        if source_lost and target_lost:
            raise InvalidFieldError("migrate cancel", "--target-lost", "--source-lost is given too", "name one of them")
        flags = {"source_lost": source_lost, "target_lost": target_lost}
        lost = "".join(f" --{flag.replace('_', '-')}" for flag, given in flags.items() if given)
        change(
            client,
            "give-up",
            {**request, "reason": reason, **{flag: True for flag, given in flags.items() if given}},
            f"{typed} --reason {quoted(reason)}{lost}{repeated_service(service)}",
            f"{run['what']} of wave {chosen} of migration {name}",
            render_runs.give_up_plan,
            render_runs.ended,
            execute=execute,
            wanted=plan,
            output=output,
        )
        return
    if source_lost or target_lost:
        verb, flag = LEADS_FROM[End.SOURCE if source_lost else End.TARGET]
        fix = f"lead its applications: anabranch migrate {verb} {name} --wave {chosen} {flag}"
        raise InvalidFieldError("migrate cancel", flag, "nothing is under way", fix)
    if purge and execute and confirm is None and sys.stdin.isatty():
        confirm = typer.prompt(f"Topics of the target are deleted. Type the wave's name, {chosen}, to go on", err=True)
    if purge and execute and confirm != chosen:
        raise InvalidFieldError("migrate cancel", "--confirm", "--purge deletes topics", f"add: --confirm {chosen}")
    purged = f" --purge --confirm {quoted(chosen)}" if purge else ""
    change(
        client,
        "cancel",
        {**request, **({"purge": True} if purge else {})},
        typed + purged + repeated_service(service),
        f"giving up wave {chosen} of migration {name}",
        render_runs.wave_plan,
        render_runs.ended,
        execute=execute,
        wanted=plan,
        output=output,
    )
