"""``anabranch stream preview``: rows of one SELECT of a script, as they come."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import platformdirs
import typer

from anabranch.cli.options import settings_of
from anabranch.cli.running import run as run_verb
from anabranch.cli.streams.local import ConfOption, check_is_sql, follow, spec_of
from anabranch.cli.streams.trying import (
    FreshOption,
    HereMasterOption,
    ScriptOrStream,
    TryingServiceOption,
    VersionOption,
    begun,
    check_elsewhere,
    is_of_service,
    tried,
)
from anabranch.config.offsets_file import start_of
from anabranch.errors import InvalidFieldError
from anabranch.model.runevents import LogFormat
from anabranch.streams.events import StreamEvent, StreamEventKind

_WIDEST = 40


def preview(
    ctx: typer.Context,
    script: ScriptOrStream,
    version: VersionOption = None,
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
    fresh: FreshOption = False,
    service: TryingServiceOption = None,
    master: HereMasterOption = None,
    conf: ConfOption = None,
) -> None:
    """Show rows of a SELECT as they come; nothing is written anywhere, and no consumer group is made.

    The SELECT is a statement of its own, or that of an INSERT; `stream validate` shows their numbers. A file is looked
    at here; a stream of the service by that, in a process of its own with limits. Ctrl-C ends it.
    """
    from anabranch.operations.jobs.streamjob import start_stream

    check_is_sql(Path(script), "preview")
    is_elsewhere = is_of_service(script, version, service)
    if is_elsewhere and start is not None and start.startswith("@"):
        fix = "write the positions out, or name a file without --service"
        raise InvalidFieldError("stream preview", "--from", "the service reads no file of this machine", fix)
    if start is not None:
        start_of(start)
    shown = PreviewLines(seconds)
    tell = shown.tell if form is LogFormat.TEXT else lambda _event, line: typer.echo(line)
    if is_elsewhere:
        check_elsewhere("preview", master, conf)
        request = {
            "kind": "preview",
            "select": select,
            "rows": rows,
            "seconds": seconds,
            "start": start,
            "fresh": fresh,
        }
        events = TrialEvents(tell)
        tried(ctx, service, script, version, request, begun, events.take)
        return
    spec, settings = spec_of(ctx, Path(script)), settings_of(conf)
    words = ["--mode", "preview", "--select", str(select), "--rows", str(rows), "--seconds", str(seconds)]
    words += [] if start is None else ["--start", _absolute(start)]
    directory = platformdirs.user_state_path("anabranch") / "stream" / "preview"
    job = partial(start_stream, spec, master or "local[2]", settings, directory, words)
    raise typer.Exit(run_verb(follow(job, Path(script), tell)))


@dataclass(slots=True)
class TrialEvents:
    """What the service tells of a preview, as the events that its job tells."""

    tell: Callable[[StreamEvent, str], None]
    has_columns: bool = False

    def take(self, trial: Mapping[str, Any]) -> None:
        """Tell what is new; the trial has only its new rows."""
        if trial["columns"] and not self.has_columns:
            self.has_columns = True
            self._tell(StreamEventKind.COLUMNS, statement=trial["selected"], columns=trial["columns"])
        if trial["rows"]:
            self._tell(StreamEventKind.ROWS, rows=trial["rows"])
        if trial["state"] == "finished":
            outcome = "timeout" if trial["limit"] == "seconds" else "finished"
            told = {"outcome": outcome, "limit": trial["limit"], "rows": trial["row_count"]}
            self._tell(StreamEventKind.ENDED, **told)

    def _tell(self, kind: StreamEventKind, **fields: Any) -> None:
        told = {"event": kind.value, **fields}
        self.tell(StreamEvent(kind, told), json.dumps(told, ensure_ascii=False))


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
        elif event.kind is StreamEventKind.ENDED and fields.get("limit") == "bytes":
            typer.echo(f"{fields.get('rows', 0):,} rows are as many bytes as a preview shows", err=True)

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
