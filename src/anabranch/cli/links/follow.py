"""The options for the continuous sync of consumer groups."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from anabranch.config.group_rules import NONE, no_groups

SyncGroupsOption = Annotated[
    list[str] | None,
    typer.Option(help="Consumer groups to sync continuously: regular expression, repeatable; none for no group."),
]
SyncIntervalOption = Annotated[str | None, typer.Option(help="How often groups are synced, from 1s to 1h.")]


def followed(patterns: list[str] | None, interval: str | None, checkpoints: bool) -> dict[str, Any] | None:
    """The field ``groups`` of a new link's shape, None where none is synced; raises ``InvalidFieldError``."""
    if not patterns or patterns == [NONE]:
        if interval is not None or checkpoints:
            raise no_groups()
        return None
    given = {"include": patterns, "interval": interval, "checkpoints": checkpoints or None}
    return {name: value for name, value in given.items() if value is not None}
