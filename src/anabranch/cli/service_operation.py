"""Applying a plan of the service: it is begun, watched until it ends, and goes on where nobody watches.

Ctrl-C ends only the watching, and says how to look again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from anabranch.errors import ClusterError

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient

LOOK_S = 0.3
PATIENCE_S = 60.0
"""How long a service that does not answer, such as one that is started again, is asked again."""


@dataclass(eq=False)
class OperationLeftError(ClusterError):
    """The service no longer says how an operation goes."""

    operation: str
    why: str
    look: str

    _message = "operation {operation} was begun, and how it goes is not known: {why}"
    _hint = "it goes on by itself; `{look}` says whether it is done"


async def carried_out(client: ServiceClient, plan_id: str, hash_: str, look: str) -> Any:
    """Apply a plan and wait for its operation; returns its report, raises its problem as an error.

    ``look`` is the command that says how it goes, for whoever stops watching.
    """
    from anabranch.cli.service_client import problem_error

    begun = await asyncio.to_thread(client.post, f"/plans/{plan_id}/apply", {"hash": hash_})
    say = _Progress()
    try:
        ended = await _ended(client, begun, say, look)
    except asyncio.CancelledError:
        typer.echo(_left(client, begun["id"], look), err=True)
        raise
    if ended["state"] == "done":
        return ended["report"]
    raise problem_error(ended["problem"] or {"detail": f"operation {ended['id']} is {ended['state']}"})


async def _ended(
    client: ServiceClient, work: Mapping[str, Any], say: Callable[[Any], None], look: str
) -> Mapping[str, Any]:
    heard = time.monotonic()
    while work["state"] == "running":
        say(work["progress"])
        await asyncio.sleep(LOOK_S)
        try:
            work = await asyncio.to_thread(client.get, f"/operations/{work['id']}")
            heard = time.monotonic()
        except ClusterError as error:
            if time.monotonic() - heard > PATIENCE_S:
                raise OperationLeftError(str(work["id"]), error.message, look) from error
    return work


def _left(client: ServiceClient, operation: str, look: str) -> str:
    return (
        f"operation {operation} goes on without you: GET {client.address.url}/api/v1/operations/{operation} says how, "
        f"and `{look}`"
    )


class _Progress:
    """Says on standard error what an operation does, each thing once."""

    def __init__(self) -> None:
        self._said = ""

    def __call__(self, progress: Mapping[str, Any] | None) -> None:
        told = progress_text(progress or {})
        if told and told != self._said:
            self._said = told
            typer.echo(told, err=True)


def progress_text(progress: Mapping[str, Any]) -> str:
    """What an operation tells of itself, in one line: its stage, and then its numbers."""
    rest = [f"{name} {value}" for name, value in progress.items() if name != "stage" and not isinstance(value, dict)]
    return ", ".join([str(progress.get("stage", "")), *rest]).removeprefix(", ")
