"""``anabranch checkpoint advise``: the ways to move a job, ranked by what is seen of it and of both clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from anabranch.checkpoints.advice import Advice, ResumeOffsets
from anabranch.checkpoints.plan import RewriteSpec
from anabranch.cli import words
from anabranch.cli.checkpoints import render_advice
from anabranch.cli.checkpoints.options import (
    CheckpointRefusedError,
    DynamicOption,
    LinkOption,
    MapsOption,
    OffsetsOption,
    PathArgument,
    RenameOption,
    RewriteFlags,
    RouteFlags,
    SourceOption,
    StartOption,
    StayOption,
    TargetOption,
    rewrite_spec,
    translation_source,
)
from anabranch.cli.completing import context_names
from anabranch.cli.located import contexts
from anabranch.cli.output import Format, FormatOption, console, emit
from anabranch.cli.running import run
from anabranch.config import offsets_file
from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.model.cluster import ClusterContext
from anabranch.model.reasons import Reason
from anabranch.operations.checkpoints.advice_input import AdviceInput
from anabranch.operations.checkpoints.translation_source import ByLinks, TranslationSource


@dataclass(eq=False)
class NoOffsetsFileError(RefusedError):
    """The offsets at which the job resumes were to be written, and are not all exact."""

    file: str
    why: str
    fix: str = ""

    _message = "{file} was not written: {why}"
    _hint = "{fix}"


def advise(
    ctx: typer.Context,
    path: PathArgument,
    link: LinkOption = None,
    maps: MapsOption = None,
    offsets: OffsetsOption = None,
    start: StartOption = None,
    target_name: TargetOption = None,
    rename: RenameOption = None,
    stay: StayOption = None,
    source: SourceOption = None,
    dynamic: DynamicOption = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="Context of the old cluster, where no link tells it.",
            autocompletion=context_names,
            show_default=False,
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option("--group", help="The job's consumer group: held against the checkpoint.", show_default=False),
    ] = None,
    downtime: Annotated[
        float | None,
        typer.Option("--downtime", metavar="SECONDS", min=0, help="The longest downtime of the job."),
    ] = None,
    sql: Annotated[
        bool | None, typer.Option("--sql/--no-sql", help="Flink: the job is of SQL or the Table API.")
    ] = None,
    uids: Annotated[
        bool | None, typer.Option("--uids/--no-uids", help="Flink: every operator has a uid; told by Flink 2.0 on.")
    ] = None,
    measure: Annotated[
        float, typer.Option("--measure", metavar="SECONDS", min=0, help="Time between two looks, to tell rates.")
    ] = 5.0,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the offsets at which the job resumes as an offsets file, if all are exact."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show the steps of every way, not only of the first.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Rank the ways to move a job, each with its conditions, steps, and what it would repeat or lose.

    Exit code 3 where no way is possible. --downtime is what is allowed. See docs/reference/checkpoints.md.
    """
    route = RouteFlags(link, maps, offsets, start, target_name, rename, stay)
    flags = RewriteFlags(source=source, dynamic=dynamic)
    if out is not None and not route:
        fix = "add --link LINK, --maps FILE, --offsets FILE or --start POSITION"
        raise InvalidFieldError("checkpoint advise", "--out", "no route says where positions lead", fix)
    by = translation_source(ctx, route) if route else None
    if out is not None and by is not None and isinstance(by.method, ByLinks) and len(_targets(by.method)) > 1:
        fix = "name the links of one cluster at a time, with --stay for the topics of the others"
        what = f"the links lead to {' and '.join(_targets(by.method))}, and an offsets file is of one cluster"
        raise InvalidFieldError("checkpoint advise", "--out", what, fix)
    inputs = AdviceInput(tuple(_typed(route, flags)), group, uids, sql, downtime, measure)
    old = None if cluster is None else contexts(ctx).get(cluster)
    found, exact = run(_advise(ctx, path, inputs, rewrite_spec(flags), by, old))
    if output is Format.TABLE:
        console().print(render_advice.advice(found, every), crop=False)  # commands are whole, however long
    else:
        emit(found, "", output)
    if out is not None:
        if isinstance(exact, Reason):
            raise NoOffsetsFileError(str(out), exact.what, exact.fix)
        offsets_file.save(out, exact.offsets, _target(by) if by is not None else "")
        typer.echo(f"{words.count(len(exact.offsets))} offsets are in {out}", err=True)
        if exact.unread:
            names = ", ".join(map(str, exact.unread))
            typer.echo(f"not in it: {names}, which nobody has read yet; add the offsets at which to begin", err=True)
    if found.best is None:
        failed = sum(not way.possible for way in found.ways)
        raise CheckpointRefusedError(f"{path} cannot be moved as it is now", failed, "impossible way")


async def _advise(
    ctx: typer.Context,
    path: str,
    inputs: AdviceInput,
    wanted: RewriteSpec,
    by: TranslationSource | None,
    old: ClusterContext | None,
) -> tuple[Advice, ResumeOffsets | Reason]:
    from anabranch.kafka.clusters import Clusters
    from anabranch.operations.checkpoints import advise as operation

    async with Clusters(contexts(ctx).get) as clusters:
        return await operation.advise(clusters, path, inputs, wanted, by, old)


def _target(by: TranslationSource) -> str:
    """The context that the offsets are of."""
    return (by.method.links[0] if isinstance(by.method, ByLinks) else by.method).target.name


def _targets(way: ByLinks) -> list[str]:
    return list(dict.fromkeys(one.target.name for one in way.links))


def _typed(route: RouteFlags, flags: RewriteFlags) -> Iterator[str]:
    """Route and sources as words of a command line."""
    for name, value in (
        ("--link", route.link),
        ("--maps", route.maps),
        ("--offsets", route.offsets),
        ("--start", route.start),
        ("--target", route.target),
        ("--rename", route.rename),
        ("--stay", route.stay),
        ("--source", flags.source),
        ("--dynamic-cluster", flags.dynamic),
    ):
        for one in (value,) if isinstance(value, str | Path) else value or ():
            yield name
            yield str(one)
