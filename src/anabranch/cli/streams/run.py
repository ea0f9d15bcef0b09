"""``anabranch stream run``: run a script here, and stay with it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import platformdirs
import typer

from anabranch.cli.options import settings_of
from anabranch.cli.running import run as run_verb
from anabranch.cli.streams.beginning import FromOption, KeepStateOption, NewStateOption, begin_of
from anabranch.cli.streams.local import ConfOption, FileArgument, MasterOption, again, follow, spec_of
from anabranch.cli.streams.preview import text_of
from anabranch.errors import InvalidFieldError
from anabranch.model.clock import now_ms
from anabranch.model.runevents import LogFormat
from anabranch.streams.events import StreamEvent, StreamEventKind

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def run(
    ctx: typer.Context,
    file: FileArgument,
    checkpoints: Annotated[
        str,
        typer.Option(
            help="Where checkpoints are kept, a directory a query below it: a path, or a URI that Spark can write."
        ),
    ],
    name: Annotated[
        str | None, typer.Option(help="Of the stream; default: the file's, without its ending.", show_default=False)
    ] = None,
    trigger: Annotated[
        str, typer.Option(help="How often a micro-batch begins: '5 seconds'; or availableNow, which ends by itself.")
    ] = "1 second",
    new_state: NewStateOption = False,
    keep_state: KeepStateOption = False,
    start: FromOption = None,
    form: Annotated[LogFormat, typer.Option("--log-format", help="Lines, or a JSON object a line.")] = LogFormat.TEXT,
    master: MasterOption = "local[*]",
    conf: ConfOption = None,
) -> None:
    """Run the INSERTs of a script until Ctrl-C, which ends them cleanly; run it again to go on where they stood.

    SIGTERM and SIGHUP end it cleanly, too: after the micro-batch that runs. Its Spark job ends with it, also where it
    is killed. Each event is a line; rows of console tables are on standard output. See
    docs/how-to/run-sql-on-streams.md.
    """
    from anabranch.operations.jobs.streamjob import start_stream

    stream = name or file.stem
    if not _NAME.fullmatch(stream):
        fix = "use letters, digits, '.', '_' and '-', at most 100: --name NAME"
        raise InvalidFieldError("stream", "--name", f"{stream!r} is no name", fix)
    place = checkpoints if ":/" in checkpoints else str(Path(checkpoints).expanduser().absolute())
    begin = begin_of(now_ms(), new_state, keep_state, start)
    spec, settings = replace(spec_of(ctx, file, stream, place, trigger), begin=begin), settings_of(conf)
    directory = platformdirs.user_state_path("anabranch") / "stream" / stream
    tell = tell_text if form is LogFormat.TEXT else lambda _event, line: typer.echo(line)
    job = partial(start_stream, spec, master, settings, directory)
    code = run_verb(follow(job, file, tell, StreamEventKind.STARTED))
    if code == 0 and form is LogFormat.TEXT and trigger != "availableNow":
        typer.echo(f"go on with: {again(file, 'run', '--checkpoints', place)}", err=True)
    raise typer.Exit(code)


def tell_text(event: StreamEvent, _line: str) -> None:
    """Write an event as a line for people: on standard error, rows on standard output."""
    fields = event.fields
    if event.kind is StreamEventKind.ROWS:
        names = "  ".join(fields["columns"])
        more = "\n..." if fields.get("more") else ""
        rows = "\n".join("  ".join(text_of(value) for value in row) for row in fields["rows"])
        typer.echo(f"-- {fields['query']}, batch {fields['batch']}\n{names}\n{rows}{more}")
    elif (text := _text(event)) is not None:
        stamp = str(fields.get("time", ""))[:19].replace("T", " ")
        typer.echo(f"{stamp}Z  {fields.get('stream')}: {text}", err=True)


def _text(event: StreamEvent) -> str | None:
    fields = event.fields
    if event.kind is StreamEventKind.STARTING:
        return f"{fields.get('run')} starts on {fields.get('master')}; Spark's log is {fields.get('spark_log')}"
    if event.kind is StreamEventKind.TRIED:
        told = (
            f"{one['query']} {one['result']}{': ' + '; '.join(one['why']) if one['why'] else ''}"
            for one in fields["queries"]
        )
        return f"beside its checkpoints: {'. '.join(told)}"
    if event.kind is StreamEventKind.STARTED:
        names = ", ".join(
            f"{one['query']}{' goes on' if one.get('resumed') else ' begins'}" for one in fields.get("queries", ())
        )
        return f"started: {names}"
    if event.kind is StreamEventKind.PROGRESS:
        return _progress(fields)
    if event.kind is StreamEventKind.STOPPING:
        return f"stopping: {fields.get('reason')}"
    if event.kind is StreamEventKind.ENDED and fields.get("outcome") != "failed":
        queries = fields.get("queries", {})
        rows = ", ".join(f"{name} {totals['rows_in']:,} rows in" for name, totals in queries.items())
        return f"{fields.get('outcome')} after {fields.get('seconds'):,} s: {rows or 'no query was started'}"
    return None


def _progress(fields: Any) -> str | None:
    """A micro-batch that read or wrote something; others are told in JSON alone."""
    rows_in, rows_out = fields.get("rows_in") or 0, fields.get("rows_out")
    if not rows_in and not rows_out:
        return None
    words = [f"{rows_in:,} rows in"]
    words += [] if rows_out is None else [f"{rows_out:,} out"]
    words += [f"{fields.get('batch_ms', 0):,} ms"]
    words += [] if fields.get("lag") is None else [f"lag {fields['lag']:,}"]
    words += [] if not fields.get("state_rows") else [f"state {fields['state_rows']:,} rows"]
    words += [] if not fields.get("watermark") else [f"watermark {fields['watermark']}"]
    return f"{fields.get('query')}, batch {fields.get('batch')}: {', '.join(words)}"
