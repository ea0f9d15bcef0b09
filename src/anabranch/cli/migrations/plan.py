"""``anabranch migrate plan``: each step of a migration, and every reason against it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.located import contexts
from anabranch.cli.migrations import render
from anabranch.cli.migrations.asking import loaded
from anabranch.cli.migrations.discover import WATCH, WatchOption
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import on_context, run
from anabranch.config.units import parse_interval
from anabranch.migration.spec import Migration
from anabranch.model.cluster import ClusterContext


def plan(
    ctx: typer.Context,
    file: Annotated[Path, typer.Option("-f", "--file", help="Migration file (YAML).", show_default=False)],
    steps: Annotated[bool, typer.Option("--steps", help="Show each step of each wave.")] = False,
    watch: WatchOption = WATCH,
    output: FormatOption = Format.TABLE,
) -> None:
    """Look at both clusters and plan a migration: its waves, their steps, about how long, and every reason against it.

    Changes nothing. The plan's hash covers the file, the clusters, the topics and the kinds of groups. Exit code 3:
    something forbids to start it.

    The file's format: docs/reference/migration-file.md. What is looked at: docs/how-to/migrate.md.
    """
    migration = loaded(file)
    known = contexts(ctx)
    clusters = known.get(migration.source), known.get(migration.target)
    watch_s = parse_interval(watch, "migrate plan", "--watch") / 1000
    run(_plan(*clusters, migration, watch_s, steps, output))


async def _plan(
    source: ClusterContext, target: ClusterContext, migration: Migration, watch_s: float, steps: bool, output: Format
) -> None:
    from anabranch.operations.migrations import plan as operation

    async with on_context(source) as here, on_context(target) as there:
        planned = await operation.plan(here, there, migration, watch_s=watch_s)
    planned = operation.compared(planned, (source, target))
    emit(planned, render.planned(planned, steps=steps), output)
    operation.check_allowed(planned)
