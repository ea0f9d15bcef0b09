"""``anabranch route explain``: where a client is led, by which rule, and why by no other."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from anabranch.cli.completing import cluster_codes
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.routes import render
from anabranch.cli.routes.options import parameters_of
from anabranch.cli.service_options import ServiceOption, service_of
from anabranch.model.routing import ClientRole


def explain(
    ctx: typer.Context,
    code: Annotated[
        str,
        typer.Argument(
            metavar="CODE",
            help="The cluster code that the client names.",
            autocompletion=cluster_codes,
            show_default=False,
        ),
    ],
    role: Annotated[ClientRole, typer.Option(help="What the client does.")] = ClientRole.CONSUMER,
    topics: Annotated[
        list[str] | None, typer.Option("--topic", help="A topic that it reads or writes. Repeatable.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="Its group.", show_default=False)] = None,
    client_id: Annotated[str | None, typer.Option(help="Its client.id.", show_default=False)] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="A parameter of its own, as job_id=1234. Repeatable."),
    ] = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show where a client would be led: each code on its way, the rule that wins there, and why others do not match.

    Nothing is registered, and nothing is changed. The exit code is that of the refusal where it would be refused.
    """
    asked = {
        "code": code,
        "role": role.value,
        "topics": topics or [],
        "group": group or "",
        "client_id": client_id or "",
        "parameters": parameters_of(parameters),
    }
    answer: Any = service_of(ctx, service).post("/routes/explain", asked)
    emit(answer, render.explanation(answer), output)
    if answer["problem"] is not None:
        from anabranch.cli.service_client import problem_error

        raise problem_error(answer["problem"])
