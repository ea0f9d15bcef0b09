"""A table as a script or the catalog declares it: where its rows are, and what its columns are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Column:
    """A column; ``type`` is as Spark's SQL writes it (``STRUCT<a: INT>``)."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class TableDeclaration:
    """``CREATE TABLE name (columns) USING provider OPTIONS (options)``.

    ``columns`` is empty where the provider knows them.  ``line`` is where the statement begins in its script, from 1;
    0 where the catalog has the table.  Options hold references to secrets and no secret.
    """

    name: str
    provider: str
    columns: tuple[Column, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    line: int = 0
