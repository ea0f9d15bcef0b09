"""``anabranch verify start`` and ``resume``: pin, launch the job, follow it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated, NoReturn

import platformdirs
import typer
from rich.console import Console

from anabranch.cli import port
from anabranch.cli.hints import repeated
from anabranch.cli.jobs import JobFailedError, ended, fail, last_error
from anabranch.cli.options import LinkArgument, TargetOption, contexts, settings_of, target
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.verify import render
from anabranch.cli.verify.guard import COULD_NOT_TELL, LEFT, no_false_verdict
from anabranch.cli.verify.watch import follow
from anabranch.config.jobspec import write_spec
from anabranch.config.units import parse_rate
from anabranch.config.verifyspec import Levels, Reader, VerifyOptions
from anabranch.state.codecs.verified import RunState, VerifyStatus
from anabranch.verify.report import Verdict

_Master = Annotated[str, typer.Option(help="Spark master.")]
_Conf = Annotated[list[str] | None, typer.Option("--conf", help="Spark setting KEY=VALUE; repeatable.")]
_Directory = Annotated[Path | None, typer.Option(help="For specification, log, report and page.", show_default=False)]
_Detach = Annotated[bool, typer.Option("--detach", "-d", help="Do not follow it.")]


def start(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    reader: Annotated[Reader, typer.Option(help="Read records, or stored batches first.")] = Reader.RECORDS,
    levels: Annotated[Levels, typer.Option(help="Isolation levels at which the target is read.")] = Levels.BOTH,
    rate_limit: Annotated[
        str | None, typer.Option(help="Bytes a second, both sides together.", show_default=False)
    ] = None,
    samples: Annotated[int, typer.Option(min=0, max=1000, help="Records of each kind and lane to name.")] = 20,
    show_values: Annotated[bool, typer.Option("--show-values", help="Show contents of samples.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compare from the start again.")] = False,
    only_spec: Annotated[
        Path | None, typer.Option("--spec", help="Only write the job's specification there.", show_default=False)
    ] = None,
    master: _Master = "local[*]",
    conf: _Conf = None,
    directory: _Directory = None,
    detach: _Detach = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Compare what is new since the last time; Ctrl-C detaches, and the comparison goes on."""
    rate = None if rate_limit is None else parse_rate(rate_limit)
    options = VerifyOptions(reader, levels, rate, samples, show_values, fresh)
    _launch(ctx, link, target_name, options, False, only_spec, master, conf, directory, detach, output)


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
    """Go on with a comparison that was stopped or died, up to the same pins."""
    _launch(ctx, link, target_name, VerifyOptions(), True, only_spec, master, conf, directory, detach, output)


def _launch(
    ctx: typer.Context,
    link: str,
    target_name: str | None,
    options: VerifyOptions,
    resumed: bool,
    only_spec: Path | None,
    master: str,
    conf: list[str] | None,
    directory: Path | None,
    detach: bool,
    output: Format,
) -> None:
    with no_false_verdict():
        settings = settings_of(conf)
        cluster = target(ctx, target_name)
        known = port.links().show(cluster, link).spec
        engine = port.verify()
        spec = engine.plan(contexts(ctx).get(known.source.context), cluster, link, options, resumed)
        if only_spec is not None:
            write_spec(only_spec, spec.to_json())
            typer.echo(f"{spec.run} is described in {only_spec}", err=True)
            return
        place = directory or platformdirs.user_state_path("anabranch") / "verify" / link
        process = engine.launch(spec, master, place, settings, detach)
        typer.echo(f"{spec.run}: process {process.pid}; log, report and page are in {place}", err=True)
        if detach:
            return
        followed = follow(lambda: engine.show(cluster, link), spec.run, Console(stderr=True), process)
        if followed.left:
            engine.detach(process)
            typer.echo(f"no verdict yet: anabranch verify show {link}{repeated(target_name)} --watch", err=True)
            raise typer.Exit(LEFT)
        found = followed.status
        if found is None or found.own_report is None:
            _fail(spec.run, link, found, process, place)
        emit(found.own_report, render.status(found), output)
        if found.run.state is RunState.STOPPED:
            typer.echo(f"stopped; go on with: anabranch verify resume {link}{repeated(target_name)}", err=True)
        raise typer.Exit(Verdict(found.own_report["verdict"]).exit_code)


def _fail(run: str, link: str, found: VerifyStatus | None, process: subprocess.Popen[bytes], place: Path) -> NoReturn:
    """Say why there is no verdict; a job that has filed its failure may be about to end, or hang as it does."""
    code = ended(process) if found is not None and found.run.state is not RunState.RUNNING else process.poll()
    log = place / f"{run}.log"
    why, fix = last_error(log)
    if found is not None and found.run.state is RunState.FAILED:
        why = found.run.why or why
    fix = fix or f"read {log}; then: anabranch verify resume {link}"
    fail(JobFailedError(f"{run} made no comparison", code, why, fix), max(code or 0, COULD_NOT_TELL))
