"""``anabranch stream create|edit|publish|rollback|delete``: versions of a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.service_options import ServiceOption, repeated_service, service_of
from anabranch.cli.streams import render
from anabranch.cli.streams.asking import StreamArgument, change
from anabranch.cli.streams.local import text_of_script
from anabranch.errors import InvalidFieldError
from anabranch.streams.kinds import StreamKind, kind_of_file
from anabranch.streams.versions import StreamSettings

ScriptArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The script.", show_default=False)]
NoteOption = Annotated[str, typer.Option("--note", help="What is new, for those who look at the versions.")]
KindOption = Annotated[
    StreamKind | None,
    typer.Option(help="What the file is; default: pyspark where it ends with .py, else sql.", show_default=False),
]
_RESTARTS = "How often it is started again by itself within an hour."
_LAUNCHER = "Where it runs: a launcher of the service's file, or `default`, the service's own master."
_TRIGGER = "How often a micro-batch begins: '5 seconds'; or availableNow, which ends by itself."


def create(
    ctx: typer.Context,
    name: StreamArgument,
    file: ScriptArgument,
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
    note: NoteOption = "",
    kind: KindOption = None,
    trigger: Annotated[str, typer.Option(help=_TRIGGER)] = StreamSettings().trigger,
    restarts: Annotated[int, typer.Option(min=0, max=100, help=_RESTARTS)] = StreamSettings().restarts,
    launcher: Annotated[str, typer.Option(help=_LAUNCHER)] = StreamSettings().launcher,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Save a script, or a PySpark file, as a new stream; its first version is published, and nothing runs yet.

    Spark looks at a script first, which takes some seconds: one that it refuses is not saved, and is shown with its
    line. A PySpark file (.py) is compiled and not run: it has `def main(job)`. See
    docs/how-to/keep-pyspark-running.md.
    """
    request: dict[str, Any] = {"stream": name, "script": text_of_script(file), "description": description, "note": note}
    request |= {"kind": (kind or kind_of_file(file)).value}
    request |= {"trigger": trigger, "restarts": restarts, "launcher": launcher}
    client = service_of(ctx, service)
    change(client, "create", request, render.save_plan, lambda done: render.created(done, service), output)


def edit(
    ctx: typer.Context,
    name: StreamArgument,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The script; default: it stays.", show_default=False)
    ] = None,
    note: NoteOption = "",
    kind: KindOption = None,
    trigger: Annotated[str | None, typer.Option(help=_TRIGGER, show_default=False)] = None,
    restarts: Annotated[int | None, typer.Option(min=0, max=100, help=_RESTARTS, show_default=False)] = None,
    launcher: Annotated[str | None, typer.Option(help=_LAUNCHER, show_default=False)] = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Save another version of a stream; what runs goes on, and the next start runs what is published.

    Spark looks at the script first, or Python compiles the file, as for `stream create`.
    """
    if file is None and (trigger, restarts, launcher) == (None, None, None):
        raise InvalidFieldError(
            "stream edit", "FILE", "nothing to change was given", "give FILE, --trigger, --restarts, --launcher"
        )
    given: dict[str, Any] = {"trigger": trigger, "restarts": restarts, "launcher": launcher}
    given["script"] = None if file is None else text_of_script(file)
    given["kind"] = kind.value if kind else None if file is None else kind_of_file(file).value
    request = {"stream": name, "note": note, **{key: value for key, value in given.items() if value is not None}}
    client = service_of(ctx, service)
    change(client, "edit", request, render.save_plan, lambda done: render.saved(done, service), output)


def publish(
    ctx: typer.Context,
    name: StreamArgument,
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, show_default=False)],
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Have the next start of a stream run a version; what runs goes on with its own until `stream restart`."""
    request = {"stream": name, "version": version}
    change(service_of(ctx, service), "publish", request, render.publish_plan, render.published, output)


def rollback(
    ctx: typer.Context, name: StreamArgument, service: ServiceOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Have the next start of a stream run the version that was published before."""
    change(service_of(ctx, service), "rollback", {"stream": name}, render.publish_plan, render.published, output)


def delete(
    ctx: typer.Context,
    name: StreamArgument,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Forget a stream that is stopped, with its versions and runs; its checkpoints stay."""
    change(
        service_of(ctx, service),
        "delete",
        {"stream": name},
        render.delete_plan,
        render.deleted,
        output,
        execute=execute,
        wanted=plan,
        command=f"anabranch stream delete {quoted(name)}{repeated_service(service)}",
    )
