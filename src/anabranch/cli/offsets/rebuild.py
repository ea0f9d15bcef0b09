"""``anabranch offsets rebuild``: the maps of topics that another tool copied, from the records alone."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from rich.console import RenderableType

from anabranch.cli.completing import context_names, source_topics
from anabranch.cli.jobs import Tied
from anabranch.cli.located import contexts, target
from anabranch.cli.options import TargetOption, settings_of
from anabranch.cli.output import console
from anabranch.cli.render import grid
from anabranch.cli.running import on_context, run
from anabranch.cli.words import count, moment, span
from anabranch.config import maps_file, rebuild_progress
from anabranch.config.jobspec import check_spec_path, write_spec
from anabranch.config.rebuildspec import RebuildSpec, RecordPart
from anabranch.config.yaml_file import check_replaceable
from anabranch.errors import RefusedError
from anabranch.model.cluster import ClusterContext
from anabranch.model.naming import load as load_naming
from anabranch.model.plugins import PluginSpec
from anabranch.operations.jobs.outcome import JobFailedError

if TYPE_CHECKING:
    from anabranch.operations.offsets.rebuild import RebuildReport


@dataclass(eq=False)
class UnclearMapsError(RefusedError):
    """The maps are written, and have offset spans without exact positions."""

    file: str
    stretches: int
    lanes: int

    exit_code: ClassVar[int] = 6

    _message = "{file} is written; {stretches:,} offset spans of {lanes:,} partitions in it are unclear"
    _hint = "positions there are refused, all others are exact; each span says why in the file"


def rebuild(
    ctx: typer.Context,
    topics: Annotated[
        list[str],
        typer.Option(
            "--topic", metavar="NAME[=COPY]", help="A source topic, and its copy.", autocompletion=source_topics
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The maps file, replaced at once.", show_default=False)],
    source_name: Annotated[
        str, typer.Option("--source", help="Context of the source.", autocompletion=context_names, show_default=False)
    ],
    target_name: TargetOption = None,
    naming: Annotated[
        str, typer.Option(help="What copies are called: prefix (SOURCE.TOPIC), identity, or a template.")
    ] = "prefix",
    link: Annotated[
        str | None, typer.Option("--link", help="Id of the link that will adopt the maps. Default: SOURCE-TARGET.")
    ] = None,
    ignore: Annotated[
        list[RecordPart] | None, typer.Option(help="Part of records that the other tool changed, repeatable.")
    ] = None,
    only_spec: Annotated[
        Path | None, typer.Option("--spec", help="Only write the job's specification there.", show_default=False)
    ] = None,
    verify_to: Annotated[
        Path | None,
        typer.Option("--verify-spec", help="Describe a comparison through the maps there, too.", show_default=False),
    ] = None,
    master: Annotated[str, typer.Option(help="Spark master.")] = "local[*]",
    conf: Annotated[list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="Spark setting.")] = None,
) -> None:
    """Align two topics by their records, and write which offset is which; what is unclear is never guessed.

    It reads the records of both clusters, as a Spark job. --spec only describes that job; --verify-spec describes a
    comparison through the maps, for the job of `verify`. See docs/reference/offsets-rebuild.md.
    """
    settings = settings_of(conf)
    if only_spec is None:
        check_replaceable(out)
    if verify_to is not None:
        check_spec_path(verify_to)
    source, there = contexts(ctx).get(source_name), target(ctx, target_name)
    names = _names(topics, naming, source.name)
    id_ = link or f"{source.name}-{there.name}"
    flags = RebuildFlags(id_, names, tuple(ignore or ()), out, only_spec, master, settings)
    made = run(_rebuild(source, there, flags))
    if made is None:
        return
    maps = made.maps
    console().print(_table(maps))
    if verify_to is not None:
        from anabranch.operations.offsets.comparison import comparison

        write_spec(verify_to, comparison(source, there, made.link, maps).to_json())
        typer.echo(f"a comparison is described in {verify_to}", err=True)
    unclear = [len(one.unclear) for one in maps if one.unclear]
    if unclear:
        raise UnclearMapsError(str(out), sum(unclear), len(unclear))


@dataclass(frozen=True, slots=True)
class RebuildFlags:
    """What was asked for: maps of topics for a link, into a file; or only the job's specification."""

    link: str
    topics: Mapping[str, str]
    ignore: tuple[RecordPart, ...]
    out: Path
    only_spec: Path | None
    master: str
    settings: Mapping[str, str]


async def _rebuild(source: ClusterContext, target: ClusterContext, flags: RebuildFlags) -> RebuildReport | None:
    """Have the maps made; None where only the specification was asked for.  Raises JobFailedError, and Exit."""
    from anabranch.operations.jobs.readerjob import ReaderJob
    from anabranch.operations.offsets import rebuild as operation

    with tempfile.TemporaryDirectory(prefix="anabranch-") as work:
        async with on_context(source) as here, on_context(target) as there:
            planned = await operation.plan(here, there, flags.link, flags.topics, flags.ignore)
            spec = planned.spec(source, target)
            if flags.only_spec is not None:
                write_spec(flags.only_spec, spec.to_json())
                typer.echo(f"the job is described in {flags.only_spec}", err=True)
                return None
            _say_kept(flags.out, spec)
            async with Tied() as tied:
                how = ReaderJob(source, target, flags.master, Path(work), flags.settings)
                started = await operation.apply(here, there, planned, flags.out, how)
                tied.take(started.job)
                try:
                    return await started.ended(_say)
                except JobFailedError:
                    _say_done(flags.out, spec)
                    if not tied.asked:
                        raise
            typer.echo("interrupted: the maps are not made", err=True)
            raise typer.Exit(128 + tied.asked[0])


def _say_kept(out: Path, spec: RebuildSpec) -> None:
    """Print that maps of an earlier run are kept, and not made again."""
    part, before = rebuild_progress.part_of(out), len(rebuild_progress.kept(out, spec))
    if before:
        at = moment(round(part.stat().st_mtime * 1000))
        what = f"{part} has the maps of {count(before)} of {count(len(spec.lanes))} partitions, of {at} UTC"
        typer.echo(f"{what}: they are not made again; delete it to begin from the start", err=True)


def _say_done(out: Path, spec: RebuildSpec) -> None:
    """Print which maps of this run are kept, though it has not made all."""
    done = len(rebuild_progress.kept(out, spec))
    if done:
        what = f"{rebuild_progress.part_of(out)} keeps the maps of {count(done)} of {count(len(spec.lanes))} partitions"
        typer.echo(f"{what}: run the same command again, and it goes on from there", err=True)


async def _say(step: Mapping[str, Any]) -> None:
    """Print a step of the job."""
    typer.echo(_step(step), err=True)


def _names(topics: Sequence[str], naming: str, source: str) -> dict[str, str]:
    kind, options = ("template", {"template": naming}) if "{" in naming else (naming, {})
    policy = load_naming(PluginSpec(kind, options), source)
    found = {}
    for text in topics:
        name, equals, copy = text.partition("=")
        found[name] = copy if equals else policy.renamed(name)
    return found


def _table(maps: Sequence[maps_file.StoredMap]) -> RenderableType:
    table = grid(
        "SOURCE", "TARGET", "RUNS", "RECORDS", "SOURCE OFFSETS", "TARGET OFFSETS", "UNCLEAR",
        right=("RUNS", "RECORDS", "UNCLEAR"),
    )  # fmt: skip
    for one in maps:
        ranges = one.ranges
        table.add_row(
            str(one.source),
            str(one.target),
            count(len(ranges)),
            count(ranges.records),
            span(ranges.source_start, ranges.source_end),
            span(ranges.target_start, ranges.target_end),
            count(len(one.unclear)),
        )
    return table


def _step(step: Mapping[str, Any]) -> str:
    """A step in words; a line of the job that is none as it is."""
    fields = dict(step)
    name, seconds = fields.pop("step"), fields.pop("seconds", None)
    if seconds is None:
        return str(name)
    rest = ", ".join(f"{name} {count(one) if isinstance(one, int) else one}" for name, one in fields.items())
    return f"{seconds:7.1f} s  {name}" + (f": {rest}" if rest else "")
