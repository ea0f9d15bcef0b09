"""``anabranch stream try``: whether a script, or a saved version, goes on with checkpoints that there are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import platformdirs
import typer
from rich.console import RenderableType

from anabranch.cli.options import settings_of
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.render import grid
from anabranch.cli.running import run as run_verb
from anabranch.cli.streams.local import ConfOption, check_is_sql, follow, spec_of
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
from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.streams.events import StreamEvent, StreamEventKind
from anabranch.streams.state.results import TrialResult

_WORDS = {
    TrialResult.NEW: "begins where its tables say",
    TrialResult.SAME: "is what ran last",
    TrialResult.FITS: "goes on",
    TrialResult.CHANGED: "would go on, and mean something else",
    TrialResult.REFUSED: "does not go on",
    TrialResult.GONE: "is gone; its checkpoint stays",
}


def try_(
    ctx: typer.Context,
    script: ScriptOrStream,
    checkpoints: Annotated[
        str, typer.Option(help="Where the checkpoints are; a stream of the service has its own.", show_default=False)
    ] = "",
    version: VersionOption = None,
    service: TryingServiceOption = None,
    master: HereMasterOption = None,
    conf: ConfOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Try each query of a script on a copy of its checkpoint; exits with 3 where one does not go on.

    A stream of the service is tried by that, on its own checkpoints. Nothing is read, computed or written: a stream
    may run with these checkpoints meanwhile. See docs/how-to/keep-streams-running.md.
    """
    from anabranch.operations.jobs.streamjob import start_stream

    if is_of_service(script, version, service):
        check_elsewhere("try", master, conf)
        if checkpoints:
            problem = "a stream of the service has its own checkpoints"
            raise InvalidFieldError("stream try", "--checkpoints", problem, "leave it out, or name a file")
        _tell(tried(ctx, service, script, version, {"kind": "checkpoints"}, begun, lambda _: None)["tried"], output)
        return
    file = Path(script)
    check_is_sql(file, "trial")
    if not checkpoints:
        problem = "a file has no checkpoints of its own"
        raise InvalidFieldError("stream try", "--checkpoints", problem, "name their directory, or a stream's name")
    place = checkpoints if ":/" in checkpoints else str(Path(checkpoints).expanduser().absolute())
    spec, settings = spec_of(ctx, file, checkpoints=place), settings_of(conf)
    directory = platformdirs.user_state_path("anabranch") / "stream" / "try"
    found: list[dict[str, Any]] = []

    def tell(event: StreamEvent, _line: str) -> None:
        if event.kind is StreamEventKind.TRIED:
            found.extend(event.fields["queries"])

    job = partial(start_stream, spec, master or "local[1]", settings, directory, ("--mode", "try"))
    code = run_verb(follow(job, file, tell))
    if code == 0:
        _tell(found, output)
    raise typer.Exit(code)


def _tell(found: Sequence[dict[str, Any]], output: Format) -> None:
    """Show what was tried; exits with 3 where a query does not go on."""
    emit({"queries": found}, trials(found), output)
    if any(TrialResult(one["result"]) in (TrialResult.CHANGED, TrialResult.REFUSED) for one in found):
        raise typer.Exit(RefusedError.exit_code)


def trials(found: Sequence[dict[str, Any]]) -> RenderableType:
    """What was tried, as a table."""
    shown = grid("QUERY", "STATEMENT", "LINE", "RESULT", "WHY", right=("STATEMENT", "LINE"))
    for one in found:
        result = _WORDS[TrialResult(one["result"])]
        shown.add_row(one["query"], str(one["statement"]), str(one["line"]), result, "\n".join(one["why"]))
    return shown
