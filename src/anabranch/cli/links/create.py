"""``anabranch link create``: probe both clusters, say what is missing; store the link with ``--execute``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from anabranch.cli.applying import PlannedChange, apply_change
from anabranch.cli.completing import context_names, source_topics
from anabranch.cli.dryrun import ExecuteOption, PlanOption, typed
from anabranch.cli.hints import typed_target
from anabranch.cli.links import render
from anabranch.cli.links.follow import SyncGroupsOption, SyncIntervalOption, followed
from anabranch.cli.located import contexts
from anabranch.cli.options import TargetOption
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.running import on_context, run
from anabranch.config import link_file, maps_file
from anabranch.config.contexts import Contexts
from anabranch.config.maps_file import StoredMap
from anabranch.config.yaml_file import check
from anabranch.errors import ConfigError, InvalidFieldError
from anabranch.model.cluster import ClusterContext
from anabranch.model.link import LinkSpec


def create(
    ctx: typer.Context,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="Link file (YAML) instead of the flags.")] = None,
    source: Annotated[
        str | None, typer.Option(help="Context of the source.", autocompletion=context_names, show_default=False)
    ] = None,
    target: TargetOption = None,
    id_: Annotated[str | None, typer.Option("--id", help="Default: SOURCE-TARGET.", show_default=False)] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(help="Topics to copy: regular expression, repeatable.", autocompletion=source_topics),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Topics to leave out; wins over --include.", autocompletion=source_topics)
    ] = None,
    naming: Annotated[
        str | None, typer.Option(help="identity, prefix, or a template such as '{source}-{topic}'.")
    ] = None,
    replication_factor: Annotated[int | None, typer.Option(help="Of target topics; default: the brokers' own.")] = None,
    start: Annotated[
        str | None,
        typer.Option(help="earliest, latest, a time, group:NAME, TOPIC-PARTITION:OFFSET[,...], or @FILE."),
    ] = None,
    mode: Annotated[str | None, typer.Option(help="auto or mapped.")] = None,
    rate_limit: Annotated[str | None, typer.Option(help="Bytes a second over all lanes, such as 50MB/s.")] = None,
    lease_seconds: Annotated[int | None, typer.Option(help="How long workers keep their lanes.")] = None,
    sync_groups: SyncGroupsOption = None,
    sync_interval: SyncIntervalOption = None,
    checkpoints: Annotated[
        bool, typer.Option("--checkpoints", help="Publish synced positions as MirrorMaker 2 does, too.")
    ] = False,
    shared_topics: Annotated[
        bool, typer.Option("--shared-topics", help="Copy also into target topics that another link fills.")
    ] = False,
    back_of: Annotated[
        str | None,
        typer.Option(
            help="A paused link from the target into the source: go on where its copies end, with its map.",
            show_default=False,
        ),
    ] = None,
    adopt: Annotated[
        Path | None,
        typer.Option(help="Maps of `offsets rebuild`: go on where another tool's copies end.", show_default=False),
    ] = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Probe both clusters for a link and say everything that is missing; with --execute store it.

    The link comes from a file (docs/reference/link-file.md) or from options. It is stored on the target, if nothing
    forbids it; `link run` starts to copy.

    Shows the mode that each lane would begin with, why it would be mapped, and what changes on target topics that
    exist. A plan's hash covers the clusters, the topics and what is asked for.

    Start positions: docs/reference/offsets-file.md. For --adopt: docs/how-to/take-over-from-mirrormaker.md. Groups that
    are followed: docs/how-to/move-consumer-groups.md.
    """
    known = contexts(ctx)
    flags = {
        "source": source,
        "id": id_,
        "filter": {"include": include, "exclude": exclude} if include or exclude else None,
        "naming": _naming(naming) if naming else None,
        "replication_factor": replication_factor,
        "start": start,
        "mode": mode,
        "rate_limit": rate_limit,
        "lease_seconds": lease_seconds,
        "groups": followed(sync_groups, sync_interval, checkpoints),
        "shared_topics": shared_topics or None,
        "back_of": back_of,
    }
    given: dict[str, Any] = {name: value for name, value in flags.items() if value is not None}
    if file is not None:
        if given or target is not None:
            first = next(iter(given), "target")
            raise InvalidFieldError("link create", f"--{first}", "a link file is given too", f"write {first} in {file}")
        spec = link_file.load(file)
        typed_target.set(_other_than_default(known, spec.target.context))
    else:
        if source is None:
            raise InvalidFieldError("link create", "--source", "missing", "name a context, or a link file with -f")
        typed_target.set(target)
        given["target"] = known.target_context(target, os.environ).name
        spec = link_file.spec_of(check(link_file.LinkShape, given, "link create"), "link create")
    adopted = () if adopt is None else maps_file.load(adopt)
    clusters = known.get(spec.source.context), known.get(spec.target.context)
    run(_create(*clusters, spec, adopted, execute, plan, output))


async def _create(
    source_context: ClusterContext,
    target_context: ClusterContext,
    spec: LinkSpec,
    adopt: Sequence[StoredMap],
    execute: bool,
    wanted: str | None,
    output: Format,
) -> None:
    from anabranch.operations.links import create as operation

    async with on_context(source_context) as source, on_context(target_context) as target:
        change = PlannedChange(
            command=typed(),
            what=f"link {spec.id!r}",
            plan=lambda: operation.plan(source, target, spec, adopt),
            apply=lambda plan: operation.apply(source, target, plan),
            table=render.probe,
            done_table=lambda done: render.created(done.plan.spec.id),
            empty=lambda plan: not plan.ok,
            refuse=operation.check_allowed,
        )
        await apply_change(change, execute=execute, wanted=wanted, output=output)


def _other_than_default(known: Contexts, name: str) -> str | None:
    """A link file's target, where commands would not go there without naming it."""
    try:
        return None if known.target_context(None, os.environ).name == name else name
    except ConfigError:
        return name


def _naming(text: str) -> dict[str, str]:
    return {"kind": "template", "template": text} if "{" in text else {"kind": text}
