"""Options of ``anabranch route``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from anabranch.errors import InvalidFieldError
from anabranch.model.routing import Stragglers, WhenLost
from anabranch.routes.switch import DEADLINE_MS, SwitchPolicy

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


def parameters_of(texts: Iterable[str] | None) -> dict[str, str]:
    """A client's own parameters from ``--param NAME=VALUE``; raises ``InvalidFieldError``."""
    found = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InvalidFieldError("route explain", "--param", f"{text!r} is not NAME=VALUE")
        found[name] = value
    return found
