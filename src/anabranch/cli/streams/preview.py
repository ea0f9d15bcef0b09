"""``anabranch stream preview``: rows of one SELECT of a script, as they come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import platformdirs
import typer

from anabranch.cli.options import settings_of
from anabranch.cli.running import run as run_verb
from anabranch.cli.streams.local import ConfOption, FileArgument, MasterOption, follow, spec_of
from anabranch.config.offsets_file import start_of
from anabranch.model.runevents import LogFormat
from anabranch.streams.events import StreamEvent, StreamEventKind

_WIDEST = 40


def preview(
    ctx: typer.Context,
    file: FileArgument,
    select: Annotated[int, typer.Option(min=0, help="The statement with the SELECT; 0 is the first that has one.")] = 0,
    rows: Annotated[int, typer.Option(min=1, max=10_000, help="Rows to show at most.")] = 20,
    seconds: Annotated[float, typer.Option(min=1, max=3600, help="How long to wait for them at most.")] = 60.0,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Where to read Kafka tables from: earliest, latest, a time, group:NAME, TOPIC-PARTITION:OFFSET[,...], "
            "@FILE; default: what each table says.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[LogFormat, typer.Option("--log-format", help="Lines, or a JSON object a line.")] = LogFormat.TEXT,
    master: MasterOption = "local[2]",
    conf: ConfOption = None,
) -> None:
    """Show rows of a SELECT as they come; nothing is written anywhere, and no consumer group is made.

    The SELECT is a statement of its own, or that of an INSERT; `stream validate` shows their numbers.
    """
    from anabranch.operations.jobs.streamjob import start_stream

    if start is not None:
        start_of(start)
    spec, settings = spec_of(ctx, file), settings_of(conf)
    words = ["--mode", "preview", "--select", str(select), "--rows", str(rows), "--seconds", str(seconds)]
    words += [] if start is None else ["--start", _absolute(start)]
    directory = platformdirs.user_state_path("anabranch") / "stream" / "preview"
    shown = PreviewLines(seconds)
    tell = shown.tell if form is LogFormat.TEXT else lambda _event, line: typer.echo(line)
    raise typer.Exit(run_verb(follow(lambda: start_stream(spec, master, settings, directory, words), file, tell)))


class PreviewLines:
    """Rows as lines; the first rows say how wide a column is."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._names: list[str] = []
        self._widths: list[int] = []

    def tell(self, event: StreamEvent, _line: str) -> None:
        """Write what an event has of rows."""
        fields = event.fields
        if event.kind is StreamEventKind.COLUMNS:
            self._names = [column["name"] for column in fields["columns"]]
        elif event.kind is StreamEventKind.ROWS:
            self._write([[text_of(value) for value in row] for row in fields["rows"]])
        elif event.kind is StreamEventKind.ENDED and fields.get("outcome") == "timeout":
            typer.echo(
                f"{fields.get('rows', 0):,} rows came in {self._seconds:,.0f} s; --seconds waits longer", err=True
            )

    def _write(self, rows: Sequence[Sequence[str]]) -> None:
        if not self._widths:
            columns = zip(self._names, *rows, strict=True)
            self._widths = [min(_WIDEST, max(map(len, column))) for column in columns]
            typer.echo(self._line(self._names))
        for row in rows:
            typer.echo(self._line(row))

    def _line(self, texts: Sequence[str]) -> str:
        return "  ".join(text.ljust(width) for text, width in zip(texts, self._widths, strict=True)).rstrip()


def text_of(value: Any) -> str:
    """A value as a person reads it."""
    if isinstance(value, str):
        return value.replace("\n", " ")
    return "null" if value is None else json.dumps(value, ensure_ascii=False)


def _absolute(start: str) -> str:
    return f"@{Path(start[1:]).expanduser().absolute()}" if start.startswith("@") else start
