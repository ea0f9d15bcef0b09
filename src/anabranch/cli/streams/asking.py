"""Streams of the service, as verbs of ``anabranch stream`` ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer
from rich.console import RenderableType

from anabranch.cli.completing import stream_names
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format
from anabranch.cli.service_change import ServiceChange, ServiceVerb, change_by_service
from anabranch.streams.kinds import StreamJobKind
from anabranch.streams.links import NotOfLinkError

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient

PLAN_S = 360.0
"""How long a plan may take: Spark looks at a script that is to be saved, and may have to wait for its turn."""
TargetOfLinkOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="CONTEXT",
        help="STREAM is a link to this target: told apart from a stream of its name, and from links to others.",
        show_default=False,
    ),
]
StreamArgument = Annotated[str, typer.Argument(metavar="STREAM", autocompletion=stream_names, show_default=False)]


def path_of(name: str) -> str:
    """The address of a stream."""
    return f"/streams/{quote(name, safe='')}"


def found(client: ServiceClient, name: str, target: str | None = None) -> Any:
    """A stream, or a link, as the service answers it."""
    return client.get(path_of(name), target=target)


def found_stream(client: ServiceClient, name: str, verb: str) -> Any:
    """A stream as the service answers it; raises NotOfLinkError where it is a link."""
    answer = found(client, name)
    if is_link(answer):
        raise NotOfLinkError(name, answer["stream"]["target"], verb)
    return answer


def is_link(answer: Any) -> bool:
    """Whether what the service answers is a link."""
    return bool(answer["stream"]["kind"] == StreamJobKind.LINK)


def change(
    client: ServiceClient,
    verb: str,
    request: Mapping[str, Any],
    table: Callable[[ServiceChange], RenderableType],
    done: Callable[[Any], RenderableType],
    output: Format,
    *,
    execute: bool = True,
    wanted: str | None = None,
    command: str = "",
) -> Any:
    """Have the service plan a verb of streams, and apply it; returns what came of it, None where it was only shown."""
    name = str(request["stream"])
    asked = ServiceVerb(
        f"/streams/{verb}",
        request,
        command or f"anabranch stream {verb} {quoted(name)}",
        f"stream {name}",
        f"anabranch stream show {quoted(name)}",
        PLAN_S,
    )
    return change_by_service(client, asked, table, done, output, execute=execute, wanted=wanted)
