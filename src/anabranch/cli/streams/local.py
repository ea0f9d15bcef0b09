"""What the verbs share that start the job of a script on this machine, without the service."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer

from anabranch.cli.hints import quoted
from anabranch.cli.jobs import Tied
from anabranch.cli.located import contexts
from anabranch.config.streamspec import StreamRunSpec
from anabranch.config.yaml_file import UnreadableFileError
from anabranch.operations.jobs.outcome import JobFailedError, last_error
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.streams.errors import ScriptError
from anabranch.streams.events import StreamEvent, StreamEventKind, read_event
from anabranch.streams.kinds import ONLY_RUNS, RUN_IT, NotOfPySparkError, StreamKind, kind_of_file
from anabranch.streams.pyspark_file import check_file
from anabranch.streams.script import split

T = TypeVar("T")

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The script.", show_default=False)]
MasterOption = Annotated[str, typer.Option(help="Spark master.")]
ConfOption = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark; repeatable.", show_default=False),
]


def spec_of(
    ctx: typer.Context, file: Path, name: str = "", checkpoints: str = "", trigger: str = "1 second"
) -> StreamRunSpec:
    """What the job of a script is told: all contexts are clusters by their names.  Raises ConfigError.

    Exits with the script's error where that needs no Spark to be found.
    """
    text, kind = text_of_script(file), kind_of_file(file)
    if kind is StreamKind.PYSPARK:
        compiled(file, text)
    else:
        _checked(file, text, split)
    run = f"run-{uuid.uuid4().hex[:12]}"
    clusters, files = contexts(ctx).contexts, str(file.absolute().parent)
    asked = name or file.stem, 1, run, 1, text, checkpoints, clusters
    return StreamRunSpec(*asked, trigger=trigger, files=files, kind=kind)


def compiled(file: Path, text: str) -> int:
    """The line of a PySpark file's ``main``; exits with the error where it cannot be run."""
    return _checked(file, text, check_file)


def _checked(file: Path, text: str, check: Callable[[str], T]) -> T:
    try:
        return check(text)
    except ScriptError as error:
        told = {"error": error.message, "excerpt": error.excerpt, "hint": error.hint, "exit_code": error.exit_code}
        fail(file, told)


def check_is_sql(file: Path, what: str) -> None:
    """Raise NotOfPySparkError for a file of PySpark, of which only a run tells."""
    if kind_of_file(file) is StreamKind.PYSPARK:
        raise NotOfPySparkError(what, ONLY_RUNS, RUN_IT)


def text_of_script(file: Path) -> str:
    """What a script's file holds; raises UnreadableFileError."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise UnreadableFileError(str(file), error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise UnreadableFileError(str(file), f"not UTF-8 text: {error}", "save it as UTF-8") from error


async def follow(
    start: Callable[[], StartedJob],
    file: Path,
    tell: Callable[[StreamEvent, str], None],
    begins: StreamEventKind | None = None,
) -> int:
    """Start the job, hand on each event with its line, and stay until it has ended; returns its exit code.

    Ctrl-C, SIGTERM and SIGHUP end it cleanly; before the event that it ``begins`` with nothing was changed, and
    this returns what any program exits with then.  A job that failed has its error written, and this exits with its
    code.
    """
    failed: dict[str, Any] | None = None
    has_begun, is_over = begins is None, False
    async with Tied() as tied:
        job = tied.take(start())
        async for line in job.lines():
            event = read_event(line)
            if event is None:
                continue
            if event.kind is StreamEventKind.FAILED:
                failed = dict(event.fields)
            has_begun = has_begun or event.kind is begins
            is_over = is_over or event.kind is StreamEventKind.ENDED
            tell(event, line.rstrip("\n"))
        code = await job.ended()
    if failed is not None:
        fail(file, failed)
    if tied.asked and (code != 0 or not is_over or not has_begun):
        return 128 + tied.asked[0]
    if code != 0:
        why, fix = last_error(job.log, code)
        raise JobFailedError(f"the job of {file}", code, why, fix or f"read {job.log}")
    return code


def fail(file: Path, told: dict[str, Any]) -> NoReturn:
    """Write an error with the line that it is in, and exit with its code."""
    where = f"{file}: " if told.get("excerpt") else ""
    typer.echo(f"error: {where}{told.get('error')}", err=True)
    for line in str(told.get("excerpt") or "").splitlines():
        typer.echo(f"    {line}", err=True)
    if told.get("hint"):
        typer.echo(f"hint: {told['hint']}", err=True)
    raise typer.Exit(int(told.get("exit_code") or 1))


def again(file: Path, verb: str, *more: str) -> str:
    """The command line of a verb on a script."""
    return " ".join(["anabranch stream", verb, quoted(str(file)), *more])
