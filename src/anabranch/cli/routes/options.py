"""Options of ``anabranch route``, and the service that its verbs ask."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.hints import quoted
from anabranch.cli.service_address import address_of, token_of
from anabranch.errors import InvalidFieldError
from anabranch.model.routing import Stragglers, WhenLost
from anabranch.routes.switch import DEADLINE_MS, SwitchPolicy

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


StragglersOption = Annotated[
    Stragglers,
    typer.Option(
        "--stragglers",
        help="Of a client that has not paused in time: `cancel` leaves all where they are, `leave` only producers.",
    ),
]
WhenLostOption = Annotated[
    WhenLost,
    typer.Option(
        "--when-lost",
        help="If the cluster that clients leave does not answer: `wait` for it, or `go` on and tell what is in doubt.",
    ),
]
TimeoutOption = Annotated[
    int, typer.Option("--timeout", metavar="SECONDS", min=1, max=3600, help="How long clients may be moved for.")
]
AtOnceOption = Annotated[
    bool,
    typer.Option(
        "--at-once", help="Coordinate nothing: each client goes over as it hears of it, and no position is moved."
    ),
]


def policy_fields(policy: SwitchPolicy) -> dict[str, Any]:
    """How clients are moved, as the service takes it."""
    return {
        "stragglers": policy.stragglers.value,
        "when_lost": policy.when_lost.value,
        "timeout_s": policy.timeout_ms // 1000,
        "at_once": policy.at_once,
    }


def repeated_policy(policy: SwitchPolicy) -> str:
    """What was typed of it, to be repeated in a command."""
    words = "" if policy.stragglers is Stragglers.CANCEL else f" --stragglers {policy.stragglers.value}"
    words += "" if policy.when_lost is WhenLost.WAIT else f" --when-lost {policy.when_lost.value}"
    words += "" if policy.timeout_ms == DEADLINE_MS else f" --timeout {policy.timeout_ms // 1000}"
    return words + (" --at-once" if policy.at_once else "")


def service_of(ctx: typer.Context, flag: str | None) -> ServiceClient:
    """The service that a verb asks, with the token of the environment; raises ConfigError."""
    from anabranch.cli.service_client import ServiceClient

    return ServiceClient(address_of(ctx, flag), token_of(os.environ))


def repeated_service(flag: str | None) -> str:
    """A ``--service`` that was typed, to be repeated in a command."""
    return "" if flag is None else f" --service {quoted(flag)}"


def parameters_of(texts: Iterable[str] | None) -> dict[str, str]:
    """A client's own parameters from ``--param NAME=VALUE``; raises ``InvalidFieldError``."""
    found = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InvalidFieldError("route explain", "--param", f"{text!r} is not NAME=VALUE")
        found[name] = value
    return found
