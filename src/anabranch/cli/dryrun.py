"""The one convention of dry runs: what no verb of the same noun undoes is shown, and is applied with ``--execute``.

``--plan HASH`` is always the hash of a plan that was shown: it is applied only while it is still the same.
"""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

ExecuteOption = Annotated[bool, typer.Option("--execute", help="Apply the change (default: dry run).")]
PlanOption = Annotated[
    str | None, typer.Option("--plan", metavar="HASH", help="Only if the plan is still the one of this hash.")
]


def say_dry_run(command: str) -> None:
    """Say on standard error that nothing was changed, and the command that applies what was shown."""
    typer.echo(f"Dry run. Apply with: {command}", err=True)


def typed() -> str:
    """The command as it was typed, without ``--execute`` and ``--plan HASH``."""
    words: list[str] = []
    for word in sys.argv[1:]:
        if words[-1:] == ["--plan"]:
            words.pop()
        elif word != "--execute" and not word.startswith("--plan="):
            words.append(word)
    return shlex.join(["anabranch", *words])
