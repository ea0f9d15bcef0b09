"""``anabranch verify start`` and ``resume``: pin, launch the job, follow it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import platformdirs
import typer

from anabranch.cli.applying import PlanToShow, agreed, check_flags
from anabranch.cli.dryrun import ExecuteOption, PlanOption, typed
from anabranch.cli.hints import repeated
from anabranch.cli.located import contexts, target
from anabranch.cli.options import LinkArgument, TargetOption, settings_of
from anabranch.cli.output import Format, FormatOption, emit, error_console
from anabranch.cli.running import on_context, run
from anabranch.cli.verify import render
from anabranch.cli.verify.guard import COULD_NOT_TELL, LEFT
from anabranch.cli.verify.watch import followed
from anabranch.config.jobspec import check_spec_path, write_spec
from anabranch.config.units import parse_rate
from anabranch.config.verifyspec import Levels, ReaderKind, VerifyOptions
from anabranch.errors import InvalidFieldError
from anabranch.state.codecs.verified import RunState, VerifyStatus
from anabranch.verify.report import ComparisonVerdict

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.kafka.cluster import Cluster
    from anabranch.operations.verify.start import VerifyPlan

_Master = Annotated[str, typer.Option(help="Spark master.")]
_Conf = Annotated[list[str] | None, typer.Option("--conf", help="Spark setting KEY=VALUE; repeatable.")]
_Directory = Annotated[Path | None, typer.Option(help="For specification, log, report and page.", show_default=False)]
_Detach = Annotated[bool, typer.Option("--detach", "-d", help="Do not follow it.")]


def start(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    reader: Annotated[ReaderKind, typer.Option(help="Read records, or stored batches first.")] = ReaderKind.RECORDS,
    levels: Annotated[Levels, typer.Option(help="Isolation levels at which the target is read.")] = Levels.BOTH,
    rate_limit: Annotated[
        str | None, typer.Option(help="Bytes a second, both sides together.", show_default=False)
    ] = None,
    samples: Annotated[int, typer.Option(min=0, max=1000, help="Records of each kind and lane to name.")] = 20,
    show_values: Annotated[bool, typer.Option("--show-values", help="Show contents of samples.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compare from the start again; requires --execute.")] = False,
    only_spec: Annotated[
        Path | None, typer.Option("--spec", help="Only write the job's specification there.", show_default=False)
    ] = None,
    master: _Master = "local[*]",
    conf: _Conf = None,
    directory: _Directory = None,
    detach: _Detach = False,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Compare what is new since the last time; Ctrl-C detaches, and the comparison goes on.

    Compares again what differed then, and follows the comparison until it ends. With --fresh what earlier ones came to
    is thrown away, which cannot be taken back: it shows that, exits with 2, since nothing was compared, and requires
    --execute. See docs/how-to/verify.md; the report: docs/reference/verify.md.
    """
    if not fresh and (execute or plan is not None):
        raise InvalidFieldError("verify start", "--execute", "nothing is thrown away without --fresh", "leave it out")
    rate = None if rate_limit is None else parse_rate(rate_limit)
    options = VerifyOptions(reader, levels, rate, samples, show_values, fresh)
    flags = VerifyFlags(
        *(link, target_name, options, only_spec, master, settings_of(conf), directory, detach, output, execute, plan)
    )
    check_flags("anabranch verify start", execute, plan)
    _end(flags, run(_compare(ctx, flags)))


def resume(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    only_spec: Annotated[
        Path | None, typer.Option("--spec", help="Only write the job's specification there.", show_default=False)
    ] = None,
    master: _Master = "local[*]",
    conf: _Conf = None,
    directory: _Directory = None,
    detach: _Detach = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Go on with a comparison that was stopped or died, up to the same pins.

    Goes on up to the same pins, with the same options.
    """
    flags = VerifyFlags(link, target_name, None, only_spec, master, settings_of(conf), directory, detach, output)
    _end(flags, run(_compare(ctx, flags)))


@dataclass(frozen=True, slots=True)
class VerifyFlags:
    """What was asked for; without ``options`` the last comparison is resumed.

    What is thrown away is so with ``execute``, where the plan has the hash ``wanted``, or any for None.
    """

    link: str
    target_name: str | None
    options: VerifyOptions | None
    only_spec: Path | None
    master: str
    settings: Mapping[str, str]
    directory: Path | None
    detach: bool
    output: Format
    execute: bool = False
    wanted: str | None = None

    @property
    def output_dir(self) -> Path:
        """Where specification, log, report and page go."""
        return self.directory or platformdirs.user_state_path("anabranch") / "verify" / self.link


async def _compare(ctx: typer.Context, flags: VerifyFlags) -> VerifyStatus | None:
    """Start it and follow it to its end; None where only its specification was wanted, or nobody follows.

    Raises NoComparisonError, and Exit where it was left.
    """
    from anabranch.operations.jobs.readerjob import ReaderJob
    from anabranch.operations.links import show as links
    from anabranch.operations.verify import ending, resume, start

    link, target_context = flags.link, target(ctx, flags.target_name)
    async with on_context(target_context) as target_cluster:
        await ending.conclude_killed(target_cluster, link, flags.output_dir)
        source = contexts(ctx).get((await links.show(target_cluster, link)).spec.source.context)
        async with on_context(source) as source_cluster:
            if flags.options is None:
                planned = await resume.plan(source_cluster, target_cluster, link)
            elif flags.options.fresh:
                planned = await _thrown_away(flags, source_cluster, target_cluster, flags.options)
            else:
                planned = await start.plan(source_cluster, target_cluster, link, flags.options)
        if flags.only_spec is not None:
            check_spec_path(flags.only_spec)
            await start.prepare(target_cluster, planned)
            write_spec(flags.only_spec, planned.spec(source, target_context).to_json())
            typer.echo(f"{planned.run} is described in {flags.only_spec}", err=True)
            return None
        job = ReaderJob(source, target_context, flags.master, flags.output_dir, flags.settings, flags.detach)
        started = await start.apply(target_cluster, planned, job)
        typer.echo(
            f"{started.run}: process {started.job.pid}; log, report and page are in {flags.output_dir}", err=True
        )
        if flags.detach:
            return None
        found = await followed(lambda tell: started.ended(target_cluster, tell), error_console())
        if found is None:
            started.job.detach()
            typer.echo(f"no verdict yet: anabranch verify show {link}{repeated(flags.target_name)} --watch", err=True)
            raise typer.Exit(LEFT)
        return found


async def _thrown_away(flags: VerifyFlags, source: Cluster, there: Cluster, options: VerifyOptions) -> VerifyPlan:
    """The plan of a comparison from the start, once what it forgets was shown, and agreed to.

    Raises Exit where it was only shown: that is no verdict.
    """
    from anabranch.operations.verify import start
    from anabranch.operations.verify.shown import ComparisonPlan, shown

    async def plan() -> ComparisonPlan:
        return shown(await start.plan(source, there, flags.link, options))

    what = f"the last comparison of link {flags.link!r}"
    made = PlanToShow(command=typed(), what=what, plan=plan, table=render.comparison_plan)
    found = await agreed(made, execute=flags.execute, wanted=flags.wanted, output=flags.output)
    if found is None:
        raise typer.Exit(COULD_NOT_TELL)
    return found.planned


def _end(flags: VerifyFlags, found: VerifyStatus | None) -> None:
    """Leave with the verdict of a comparison that was followed."""
    if found is None:
        return
    made = found.own_report
    emit(made, render.status(found), flags.output)
    if found.run.state is RunState.STOPPED:
        command = f"anabranch verify resume {flags.link}{repeated(flags.target_name)}"
        typer.echo(f"stopped; go on with: {command}", err=True)
    raise typer.Exit(COULD_NOT_TELL if made is None else ComparisonVerdict(made["verdict"]).exit_code)
