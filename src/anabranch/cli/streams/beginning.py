"""How a start goes on where a script has changed: options of the verbs that start a stream."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.config.offsets_file import start_of
from anabranch.config.streamspec import StreamBegin
from anabranch.errors import InvalidFieldError
from anabranch.model.start import StartKind, StartPosition
from anabranch.streams.state.results import StateChoice

NewStateOption = Annotated[
    bool, typer.Option("--new-state", help="Where a query's state no longer fits: go on at its records with none.")
]
KeepStateOption = Annotated[
    bool, typer.Option("--keep-state", help="Where a query's state means something else now: go on with it.")
]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Begin every query again, with an empty state: at earliest, latest, a time, group:NAME, "
        "TOPIC-PARTITION:OFFSET[,...], or @FILE of offsets.",
        show_default=False,
    ),
]

FromCheckpointOption = Annotated[
    str | None,
    typer.Option(
        metavar="WORD",
        help="Have every query go back to a saved checkpoint; what it wrote since is written again.",
        show_default=False,
    ),
]


def begin_of(number: int, new_state: bool, keep_state: bool, start: str | None) -> StreamBegin:
    """What the options say; raises ConfigError for a position that is none, and for two ways at once."""
    if new_state + keep_state + (start is not None) > 1:
        problem = "choose one of --new-state, --keep-state and --from"
        raise InvalidFieldError("stream", "start", problem, "--from begins every query with an empty state")
    state = StateChoice.NEW if new_state else StateChoice.KEEP if keep_state else StateChoice.REFUSE
    return StreamBegin(number, state, "" if start is None else text_of(start_of(start)))


def text_of(start: StartPosition) -> str:
    """A position as one word, which another machine reads without a file."""
    if start.kind is StartKind.OFFSETS:
        return ",".join(f"{partition}:{offset}" for partition, offset in sorted(start.offsets.items()))
    return str(start.timestamp_ms) if start.kind is StartKind.TIMESTAMP else str(start)
