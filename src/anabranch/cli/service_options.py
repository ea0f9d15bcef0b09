"""The service that a verb asks, as it is typed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.hints import quoted
from anabranch.cli.service_address import address_of, token_of

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient

ServiceOption = Annotated[
    str | None,
    typer.Option(
        "--service",
        metavar="URL",
        help="The service; default: ANABRANCH_SERVICE, then the contexts file's, then http://127.0.0.1:8420.",
        show_default=False,
    ),
]
ReasonOption = Annotated[
    str, typer.Option("--reason", help="Why, for those who look at the versions.", show_default=False)
]


def service_of(ctx: typer.Context, flag: str | None) -> ServiceClient:
    """The service that a verb asks, with the token of the environment; raises ConfigError."""
    from anabranch.cli.service_client import ServiceClient

    return ServiceClient(address_of(ctx, flag), token_of(os.environ))


def repeated_service(flag: str | None) -> str:
    """A ``--service`` that was typed, to be repeated in a command."""
    return "" if flag is None else f" --service {quoted(flag)}"
