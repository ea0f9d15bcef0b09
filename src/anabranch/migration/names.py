"""What the parts of a migration are called on the clusters: each name can be read back by who finds it there."""

from __future__ import annotations

import re

from anabranch.migration.spec import Migration

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_BACK = "-back"


def forward_link(migration: str, wave: str) -> str:
    """The link that copies a wave's topics from the source to the target."""
    return f"{migration}-{wave}"


def reverse_link(migration: str, wave: str) -> str:
    """The link that copies what is written on the target since the switch back to the source."""
    return forward_link(migration, wave) + _BACK


def longest_link(migration: Migration) -> str:
    """The longest name of its links, empty where it has no wave."""
    return max((reverse_link(migration.name, wave.name) for wave in migration.waves), key=len, default="")
