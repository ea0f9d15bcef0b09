"""How the rules of a link's continuous sync of consumer groups change by what was typed or asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.config.units import parse_interval
from anabranch.errors import InvalidFieldError
from anabranch.model.link import GroupRules

NONE = "none"
"""In place of patterns: no group is synced any more."""


def changed(
    link: str, before: GroupRules | None, patterns: Sequence[str] | None, interval: str | None, checkpoints: bool | None
) -> GroupRules | None:
    """The rules after a change; new patterns replace the old ones.  Raises ``InvalidFieldError``."""
    if patterns is not None and list(patterns) == [NONE]:
        return None
    rules = before
    if patterns:
        rules = GroupRules(tuple(patterns)) if rules is None else replace(rules, include=tuple(patterns), exclude=())
    if rules is None:
        raise no_groups(f"anabranch link set {link} --sync-groups '.*'")
    if interval is not None:
        rules = replace(rules, interval_ms=parse_interval(interval))
    return rules if checkpoints is None else replace(rules, checkpoints=checkpoints)


def no_groups(fix: str = "name them, for example: --sync-groups '.*'") -> InvalidFieldError:
    """An interval or checkpoints were asked for, and no group."""
    return InvalidFieldError("link", "--sync-groups", "the link syncs no groups", fix)
