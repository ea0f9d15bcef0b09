"""``anabranch migrate discover``: a first migration file, from what the source is seen to hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.completing import context_names
from anabranch.cli.located import contexts
from anabranch.cli.migrations import render
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import on_context, run
from anabranch.config.migration_file import migration_fields
from anabranch.config.units import parse_interval
from anabranch.config.yaml_file import check_replaceable, write
from anabranch.model.cluster import ClusterContext

WATCH = "5s"
WatchOption = Annotated[
    str, typer.Option("--watch", help="For how long logs are watched, to learn how fast they grow; 0s: not at all.")
]


def discover(
    ctx: typer.Context,
    source: Annotated[
        str, typer.Option(help="Context of the cluster that is left.", autocompletion=context_names, show_default=False)
    ],
    target: Annotated[
        str,
        typer.Option(help="Context of the cluster that is moved to.", autocompletion=context_names, show_default=False),
    ],
    name: Annotated[str | None, typer.Option(help="Names the migration; default: SOURCE-TARGET.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the migration file there; one that is there stays beside it as .bak."),
    ] = None,
    watch: WatchOption = WATCH,
    output: FormatOption = Format.TABLE,
) -> None:
    """See what the source holds, and suggest a migration: topics that share a group or a transaction are one wave.

    Looks at topics, their configs, sizes and growth, at batches at the beginning and end of their logs, at groups with
    their members, and at producer ids and transactions. Changes nothing. What may not be read is said as a warning.

    The file's format: docs/reference/migration-file.md.
    """
    if out is not None:
        check_replaceable(out)
    known = contexts(ctx)
    clusters = known.get(source), known.get(target)
    watch_s = parse_interval(watch, "migrate discover", "--watch") / 1000
    run(_discover(*clusters, name or f"{source}-{target}", watch_s, out, output))


async def _discover(
    source: ClusterContext, target: ClusterContext, name: str, watch_s: float, out: Path | None, output: Format
) -> None:
    from anabranch.operations.migrations.discover import discover as operation

    async with on_context(source) as here, on_context(target) as there:
        found = await operation(here, there, name, watch_s=watch_s)
    if out is not None:
        write(out, migration_fields(found.migration))
    emit(found, render.discovered(found, out), output)
