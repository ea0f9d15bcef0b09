"""``anabranch artifact upload|delete``: versions of an artifact."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from anabranch.cli.artifacts import render
from anabranch.cli.artifacts.showing import ArtifactArgument, path_of
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.service_change import ServiceChange, ServiceVerb, change_by_service
from anabranch.cli.service_options import ServiceOption, repeated_service, service_of
from anabranch.config.yaml_file import UnreadableFileError
from anabranch.errors import InvalidFieldError
from anabranch.streams.artifacts.values import kind_of

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient

UPLOAD_S = 900.0
"""A service may have to bring what a wheel needs."""


def upload(
    ctx: typer.Context,
    name: ArtifactArgument,
    uploaded: Annotated[Path, typer.Argument(metavar="FILE", help="A .jar, a .whl or a .py.", show_default=False)],
    sha256: Annotated[str | None, typer.Option(help="The hash that it must have, in hex.", show_default=False)] = None,
    description: Annotated[
        str | None, typer.Option(help="What it is for; default: as it was.", show_default=False)
    ] = None,
    note: Annotated[str, typer.Option("--note", help="What is new, for those who look at the versions.")] = "",
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Save a file as a version of an artifact, with what it needs; what runs stays as it was saved.

    Nothing of it is run: its functions are read from its source, or from its class files.
    """
    file = uploaded.name
    kind_of(file)
    try:
        data = uploaded.read_bytes()
    except OSError as error:
        raise UnreadableFileError(str(uploaded), error.strerror or str(error)) from error
    found = hashlib.sha256(data).hexdigest()
    if sha256 not in (None, found):
        fix = "give the file that is meant, or leave --sha256 out"
        raise InvalidFieldError("artifact upload", "--sha256", f"{file} has {found}", fix)
    client = replace(service_of(ctx, service), timeout_s=UPLOAD_S)
    sent = client.upload(path_of(name), data, file=file)
    request: dict[str, Any] = {"artifact": name, "file": file, "sha256": sent["sha256"], "note": note}
    request |= {} if description is None else {"description": description}
    _change(client, "save", request, render.save_plan, render.saved, output)


def delete(
    ctx: typer.Context,
    name: ArtifactArgument,
    version: Annotated[
        int | None, typer.Option("--version", min=1, help="Default: all of them.", show_default=False)
    ] = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Forget versions of an artifact; those that a version of a stream was saved with are kept, and named."""
    request = {"artifact": name} if version is None else {"artifact": name, "version": version}
    only = "" if version is None else f" --version {version}"
    command = f"anabranch artifact delete {quoted(name)}{only}{repeated_service(service)}"
    told = render.delete_plan, render.deleted, output
    _change(service_of(ctx, service), "delete", request, *told, execute=execute, wanted=plan, command=command)


def _change(
    client: ServiceClient,
    verb: str,
    request: Mapping[str, Any],
    table: Callable[[ServiceChange], RenderableType],
    done: Callable[[Any], RenderableType],
    output: Format,
    *,
    execute: bool = True,
    wanted: str | None = None,
    command: str = "",
) -> None:
    name = str(request["artifact"])
    asked = ServiceVerb(
        f"/artifacts/{verb}",
        request,
        command or f"anabranch artifact upload {quoted(name)}",
        f"artifact {name}",
        f"anabranch artifact show {quoted(name)}",
    )
    change_by_service(client, asked, table, done, output, execute=execute, wanted=wanted)
