"""What the verbs share that have the service try a script: by the name of a saved stream, or a file that is sent."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.completing import stream_names
from anabranch.cli.service_options import service_of
from anabranch.cli.streams.local import fail, text_of_script
from anabranch.cli.words import count
from anabranch.errors import AnabranchError, InvalidFieldError, RefusedError

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient

LOOK_S = 0.3
INTERRUPTED = 130
_NAME = re.compile(r"([a-z0-9][a-z0-9._-]{0,59})(?:@([1-9][0-9]{0,8}))?")

ScriptOrStream = Annotated[
    str,
    typer.Argument(
        metavar="FILE|STREAM",
        help="A script's file, or a stream of the service: NAME, or NAME@VERSION.",
        autocompletion=stream_names,
        show_default=False,
    ),
]
VersionOption = Annotated[
    int | None,
    typer.Option("--version", min=1, help="Of the stream; default: the one that is published.", show_default=False),
]
TryingServiceOption = Annotated[
    str | None,
    typer.Option(
        "--service",
        metavar="URL",
        help="Have this service try it, also a file; default for a stream: as for all verbs that ask the service.",
        show_default=False,
    ),
]
HereMasterOption = Annotated[
    str | None, typer.Option("--master", help="Spark master, where it is tried here; default local[2].")
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Show no earlier answer of the service, which is kept for 5 minutes.")
]


@dataclass(eq=False)
class TrialEndedError(RefusedError):
    """The service has ended a trial before it was done."""

    why: str

    _message = "the service ended it: {why}"
    _hint = "ask again"


def is_of_service(word: str, version: int | None, service: str | None) -> bool:
    """Whether the service tries it: a stream's name that is no file here, and whatever a service was named for."""
    is_name = _NAME.fullmatch(word) is not None and not word.endswith((".sql", ".py")) and not Path(word).exists()
    return is_name or version is not None or service is not None


def named(word: str, version: int | None) -> tuple[str, int | None]:
    """A stream's name and the version that is meant, of ``NAME``, ``NAME@VERSION``, or beside a ``--version``.

    Raises InvalidFieldError where both say one.
    """
    found = _NAME.fullmatch(word)
    if found is None or found[2] is None:
        return word, version
    if version is not None:
        raise InvalidFieldError("stream", "--version", f"{word} names a version", "say it once")
    return found[1], int(found[2])


def check_elsewhere(verb: str, master: str | None, conf: list[str] | None) -> None:
    """Raise InvalidFieldError for settings of Spark where the service has its own."""
    given = "--master" if master is not None else "--conf" if conf else ""
    if given:
        fix = "leave it out, or name a file without --service"
        raise InvalidFieldError(f"stream {verb}", given, "the service has its own settings of Spark", fix)


def tried(
    ctx: typer.Context,
    service: str | None,
    word: str,
    version: int | None,
    request: Mapping[str, Any],
    begun: Callable[[Any], None],
    told: Callable[[Any], None],
) -> Any:
    """Have the service try a script, and stay until that is over; returns the trial as it ended.

    What is wrong with the script is written, and exits with its code.
    """
    if version is None and Path(word).is_file():
        of: dict[str, Any] = {"script": text_of_script(Path(word))}
    else:
        name, number = named(word, version)
        of = {"stream": name} | ({} if number is None else {"version": number})
    return followed(service_of(ctx, service), {**request, **of}, Path(word), begun, told)


def followed(
    client: ServiceClient,
    request: Mapping[str, Any],
    file: Path,
    begun: Callable[[Any], None],
    told: Callable[[Any], None],
) -> Any:
    """Have a trial begun, and stay until it is over; returns it as it ended, and errors name ``file``.

    ``begun`` is handed the trial as it was first answered, and ``told`` each later look at it, with new rows alone.
    Ctrl-C ends the trial, and exits with 130.
    """
    trial = client.post("/trials", request)
    path = f"/trials/{trial['id']}"
    try:
        begun(trial)
        rows = 0
        while True:
            trial = client.get(path, after=rows)
            rows += len(trial["rows"])
            told(trial)
            if trial["ended_at_ms"] is not None:
                break
            time.sleep(LOOK_S)
    except KeyboardInterrupt:
        _end(client, path)
        raise typer.Exit(INTERRUPTED) from None
    if trial["state"] == "failed":
        (problem,) = trial["problems"]
        fail(file, {**problem, "error": problem["message"]})
    if trial["state"] == "stopped":
        raise TrialEndedError(trial["why"])
    return trial


def begun(trial: Mapping[str, Any]) -> None:
    """Say that a trial waits, or that an earlier answer is shown."""
    if trial["is_cached"] and trial["kind"] == "preview":
        age = max(0, trial["now_ms"] - trial["ended_at_ms"]) // 1000
        typer.echo(f"this was looked at {age:,} s ago; --fresh looks again", err=True)
    elif trial["state"] == "waiting":
        typer.echo(f"waiting for {count(trial['ahead'] + 1)} other trials to end", err=True)


def _end(client: ServiceClient, path: str) -> None:
    with suppress(AnabranchError):  # it ends by itself, too, since nobody asks for it any more
        client.delete(path)
