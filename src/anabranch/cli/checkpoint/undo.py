"""``anabranch checkpoint undo``: take a rewrite in place back, byte for byte."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import port, render_checkpoints
from anabranch.cli.checkpoint.options import CheckpointRefusedError, PathArgument
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format, FormatOption, emit


def undo(
    path: PathArgument,
    execute: Annotated[bool, typer.Option("--execute", help="Do it; without this it is only shown.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Restore the bytes from before the newest rewrite in place, also of one that broke off."""
    found = port.checkpoints().undo(path, execute)
    emit(found, render_checkpoints.undo(found), output)
    if found.refusals:
        raise CheckpointRefusedError("it cannot be undone", len(found.refusals))
    if not execute:
        typer.echo(f"nothing was done; do it with: anabranch checkpoint undo {quoted(path)} --execute", err=True)
