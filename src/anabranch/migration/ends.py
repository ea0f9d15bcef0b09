"""The two clusters of a migration, where one of them is meant whichever way a leg leads."""

from __future__ import annotations

from enum import StrEnum


class End(StrEnum):
    """One of a migration's clusters."""

    SOURCE = "source"
    TARGET = "target"
