"""``anabranch stream try``: whether a script goes on with checkpoints that there are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import platformdirs
import typer
from rich.console import RenderableType

from anabranch.cli.options import settings_of
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.render import grid
from anabranch.cli.running import run as run_verb
from anabranch.cli.streams.local import ConfOption, FileArgument, MasterOption, check_is_sql, follow, spec_of
from anabranch.errors import RefusedError
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
    file: FileArgument,
    checkpoints: Annotated[str, typer.Option(help="Where the checkpoints are.")],
    master: MasterOption = "local[1]",
    conf: ConfOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Try each query of a script on a copy of its checkpoint; exits with 3 where one does not go on.

    Nothing is read, computed or written: a stream may run with these checkpoints meanwhile. See
    docs/how-to/keep-streams-running.md.
    """
    from anabranch.operations.jobs.streamjob import start_stream

    check_is_sql(file, "trial")
    place = checkpoints if ":/" in checkpoints else str(Path(checkpoints).expanduser().absolute())
    spec, settings = spec_of(ctx, file, checkpoints=place), settings_of(conf)
    directory = platformdirs.user_state_path("anabranch") / "stream" / "try"
    found: list[dict[str, Any]] = []

    def tell(event: StreamEvent, _line: str) -> None:
        if event.kind is StreamEventKind.TRIED:
            found.extend(event.fields["queries"])

    code = run_verb(follow(lambda: start_stream(spec, master, settings, directory, ("--mode", "try")), file, tell))
    if code == 0:
        emit({"queries": found}, trials(found), output)
        if any(TrialResult(one["result"]) in (TrialResult.CHANGED, TrialResult.REFUSED) for one in found):
            code = RefusedError.exit_code
    raise typer.Exit(code)


def trials(found: Sequence[dict[str, Any]]) -> RenderableType:
    """What was tried, as a table."""
    shown = grid("QUERY", "STATEMENT", "LINE", "RESULT", "WHY", right=("STATEMENT", "LINE"))
    for one in found:
        result = _WORDS[TrialResult(one["result"])]
        shown.add_row(one["query"], str(one["statement"]), str(one["line"]), result, "\n".join(one["why"]))
    return shown
