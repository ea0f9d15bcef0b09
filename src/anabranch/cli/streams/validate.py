"""``anabranch stream validate``: whether a script can be run, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import platformdirs
import typer
from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.options import settings_of
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.render import grid
from anabranch.cli.running import run as run_verb
from anabranch.cli.streams.local import ConfOption, compiled, follow, spec_of, text_of_script
from anabranch.cli.streams.trying import (
    HereMasterOption,
    ScriptOrStream,
    TryingServiceOption,
    VersionOption,
    begun,
    check_elsewhere,
    is_of_service,
    tried,
)
from anabranch.streams.events import StreamEvent, StreamEventKind
from anabranch.streams.kinds import StreamKind, kind_of_file


def validate(
    ctx: typer.Context,
    script: ScriptOrStream,
    version: VersionOption = None,
    service: TryingServiceOption = None,
    master: HereMasterOption = None,
    conf: ConfOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Look at a script as Spark does, and show its statements, tables and queries; exits with 2 where it is wrong.

    Nothing is connected to: neither a cluster nor a database. The first error is shown with its line. A file is looked
    at here, a stream of the service by that. See docs/reference/stream-sql.md.
    """
    from anabranch.operations.jobs.streamjob import start_stream

    if kind_of_file(Path(script)) is StreamKind.PYSPARK:
        line = compiled(Path(script), text_of_script(Path(script)))
        said = f"Python compiles it; main is in line {line}. What it does is known once it runs"
        emit({"main": line}, Text(said), output)
        return
    if is_of_service(script, version, service):
        check_elsewhere("validate", master, conf)
        seen = tried(ctx, service, script, version, {"kind": "validation"}, begun, lambda _: None)["analysed"]
        emit(seen, analysed(seen), output)
        return
    file = Path(script)
    spec, settings = spec_of(ctx, file), settings_of(conf)
    directory = platformdirs.user_state_path("anabranch") / "stream" / "validate"
    found: dict[str, Any] = {}

    def tell(event: StreamEvent, _line: str) -> None:
        if event.kind is StreamEventKind.ANALYSED:
            found.update({name: event.fields[name] for name in ("statements", "tables", "selects", "inserts")})

    job = partial(start_stream, spec, master or "local[2]", settings, directory, ("--mode", "validate"))
    code = run_verb(follow(job, file, tell))
    if code == 0:
        emit(found, analysed(found), output)
    raise typer.Exit(code)


def analysed(found: Mapping[str, Any]) -> RenderableType:
    """The event ``analysed`` as tables."""
    statements = grid("STATEMENT", "LINE", "KIND", "NAME", "COLUMNS", right=("STATEMENT", "LINE"))
    columns = {one["number"]: one["columns"] for one in (*found["selects"], *found["inserts"])}
    declared = {one["line"]: one["columns"] for one in found["tables"]}
    for one in found["statements"]:
        fields = columns.get(one["number"]) or declared.get(one["line"], ()) if one["kind"] != "view" else ()
        shape = ", ".join(f"{column['name']} {column['type']}" for column in fields)
        statements.add_row(str(one["number"]), str(one["line"]), one["kind"], one["name"], shape)
    queries = grid("QUERY", "STATEMENT", "INTO", "CONNECTOR", "OUTPUT MODE", right=("STATEMENT",))
    connectors = {one["name"]: one["connector"] for one in found["tables"]}
    for one in found["inserts"]:
        queries.add_row(one["query"], str(one["number"]), one["table"], connectors.get(one["table"], ""), one["mode"])
    if not found["inserts"]:
        return Group(statements, Text(), Text("no INSERT: `anabranch stream preview` shows its rows"))
    return Group(statements, Text(), queries)
