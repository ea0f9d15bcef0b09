"""Options that verbs of the catalog share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class EntryKind(StrEnum):
    """What a name is of: a table, view or function, or a database."""

    OBJECT = "object"
    DATABASE = "database"


class Level(StrEnum):
    """What a grant is on."""

    CATALOG = "catalog"
    DATABASE = "database"
    OBJECT = "object"


KindOption = Annotated[EntryKind, typer.Option("--kind", help="What the name is of.")]
