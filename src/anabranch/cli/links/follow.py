"""The options for the continuous sync of consumer groups, and what they change."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from anabranch.config.units import parse_interval
from anabranch.errors import InvalidFieldError
from anabranch.model.link import GroupRules

NONE = "none"

SyncGroupsOption = Annotated[
    list[str] | None,
    typer.Option(help="Consumer groups to sync continuously: regular expression, repeatable; none for no group."),
]
SyncIntervalOption = Annotated[str | None, typer.Option(help="How often groups are synced, from 1s to 1h.")]


def followed(patterns: list[str] | None, interval: str | None, checkpoints: bool) -> dict[str, Any] | None:
    """The field ``groups`` of a new link's shape, None where none is synced; raises ``InvalidFieldError``."""
    if not patterns or patterns == [NONE]:
        if interval is not None or checkpoints:
            raise _no_groups()
        return None
    given = {"include": patterns, "interval": interval, "checkpoints": checkpoints or None}
    return {name: value for name, value in given.items() if value is not None}


def changed(
    link: str, before: GroupRules | None, patterns: list[str] | None, interval: str | None, checkpoints: bool | None
) -> GroupRules | None:
    """The rules after a change; new patterns replace the old ones.  Raises ``InvalidFieldError``."""
    if patterns == [NONE]:
        return None
    rules = before
    if patterns:
        rules = GroupRules(tuple(patterns)) if rules is None else replace(rules, include=tuple(patterns), exclude=())
    if rules is None:
        raise _no_groups(f"anabranch link set {link} --sync-groups '.*'")
    if interval is not None:
        rules = replace(rules, interval_ms=parse_interval(interval))
    return rules if checkpoints is None else replace(rules, checkpoints=checkpoints)


def _no_groups(fix: str = "name them, for example: --sync-groups '.*'") -> InvalidFieldError:
    return InvalidFieldError("link", "--sync-groups", "the link syncs no groups", fix)
