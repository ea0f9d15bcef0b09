"""``anabranch artifact list|show|download``: what there is, and its bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from anabranch.cli.artifacts import render
from anabranch.cli.completing import artifact_names
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.service_options import ServiceOption, service_of
from anabranch.errors import ConfigError
from anabranch.streams.artifacts.errors import ArtifactKeptBadlyError, NoArtifactVersionError

ArtifactArgument = Annotated[str, typer.Argument(metavar="ARTIFACT", autocompletion=artifact_names, show_default=False)]


@dataclass(eq=False)
class UnwritableFileError(ConfigError):
    """A file cannot be written."""

    path: str
    why: str

    _message = "{path} cannot be written: {why}"
    _hint = "name another one: --out PATH"


def path_of(name: str) -> str:
    """The address of an artifact."""
    return f"/artifacts/{quote(name, safe='')}"


def list_(ctx: typer.Context, service: ServiceOption = None, output: FormatOption = Format.TABLE) -> None:
    """List the artifacts."""
    found = service_of(ctx, service).get("/artifacts")
    emit(found, render.artifacts(found), output)


def show(
    ctx: typer.Context, name: ArtifactArgument, service: ServiceOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Show an artifact: its versions, the functions of the newest, and which streams were saved with it."""
    found = service_of(ctx, service).get(path_of(name))
    emit(found, render.artifact(found), output)


def download(
    ctx: typer.Context,
    name: ArtifactArgument,
    version: Annotated[
        int | None, typer.Option("--version", min=1, help="Default: the newest.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Default: the file's own name, here.", show_default=False)
    ] = None,
    service: ServiceOption = None,
) -> None:
    """Download a version; its hash is looked at before it is written."""
    client = service_of(ctx, service)
    found: Any = client.get(path_of(name))["versions"]
    wanted = next((one["version"] for one in found if version in (None, one["version"]["number"])), None)
    if wanted is None:
        raise NoArtifactVersionError(name, version or 0)
    data = client.download(f"{path_of(name)}/versions/{wanted['number']}/content")
    content = wanted["content"]
    digest = hashlib.sha256(data).hexdigest()
    if digest != content["sha256"]:
        raise ArtifactKeptBadlyError(f"{name}@{wanted['number']}", content["file"], content["sha256"], digest)
    path = out or Path(content["file"])
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UnwritableFileError(str(path), error.strerror or str(error)) from error
    typer.echo(f"{path}: version {wanted['number']} of artifact {name}, {len(data):,} bytes", err=True)
