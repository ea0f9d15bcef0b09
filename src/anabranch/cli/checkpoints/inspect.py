"""``anabranch checkpoint inspect``: what a checkpoint holds, without its engine."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.checkpoints.reports import Inspection
from anabranch.cli.checkpoints import render as render_checkpoints
from anabranch.cli.checkpoints.options import PathArgument
from anabranch.cli.completing import context_names
from anabranch.cli.located import contexts
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import on_context, run
from anabranch.model.cluster import ClusterContext


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
    """Show engine, sources with their positions, the last batches, state and sinks; nothing is written.

    --cluster adds the lag against the cluster that the job reads.
    """
    found = run(_inspect(path, None if cluster is None else contexts(ctx).get(cluster)))
    emit(found, render_checkpoints.page(found), output)


async def _inspect(path: str, context: ClusterContext | None) -> Inspection:
    from anabranch.operations.checkpoints import inspect as operation

    if context is None:
        return await operation.inspect(path)
    async with on_context(context) as cluster:
        return await operation.inspect(path, cluster)
