"""``anabranch checkpoint inspect``: what a checkpoint holds, without its engine."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import port
from anabranch.cli.checkpoints import render as render_checkpoints
from anabranch.cli.checkpoints.options import PathArgument
from anabranch.cli.completing import context_names
from anabranch.cli.options import contexts
from anabranch.cli.output import Format, FormatOption, emit


def inspect(
    ctx: typer.Context,
    path: PathArgument,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="Context of the cluster that it reads, for its lag.",
            autocompletion=context_names,
            show_default=False,
        ),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show engine, sources with their positions, the last batches, state and sinks; nothing is written."""
    found = port.checkpoints().inspect(path, None if cluster is None else contexts(ctx).get(cluster))
    emit(found, render_checkpoints.page(found), output)
