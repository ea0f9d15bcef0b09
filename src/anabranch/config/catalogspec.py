"""What of the catalog the Spark job of a stream is told: what its owner may use, and what it may do with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from anabranch.config.jobspec import JobFormat
from anabranch.streams.catalog.functions import CatalogTexts
from anabranch.streams.inline import TableAccess
from anabranch.streams.tables import TableDeclaration

VERSION = 1


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A view: its name as scripts write it, and its query."""

    name: str
    query: str


@dataclass(frozen=True, slots=True)
class CatalogSpec:
    """Registered before the script, in this order: tables, views, functions (whole CREATE statements).

    ``hidden`` are the names of what is there and may not be used: an unknown table with such a name is one that no
    grant allows.  ``access`` is what the job decides by, from its own analysed plans.  ``attached`` are Spark's own
    catalogs, each with the connector that writes there or an empty text.
    """

    access: TableAccess
    tables: tuple[TableDeclaration, ...] = ()
    views: tuple[NamedQuery, ...] = ()
    functions: tuple[str, ...] = ()
    hidden: frozenset[str] = field(default_factory=frozenset)
    attached: Mapping[str, str] = field(default_factory=dict)

    @property
    def texts(self) -> CatalogTexts:
        """Its functions and views."""
        return CatalogTexts(self.functions, tuple((one.name, one.query) for one in self.views))

    def to_json(self) -> str:
        """The versioned text."""
        return _FORMAT.dump(self)

    @classmethod
    def from_json(cls, text: str) -> CatalogSpec:
        """Read the text; raises JobSpecError."""
        return _FORMAT.load(text)


_FORMAT = JobFormat("catalog", VERSION, TypeAdapter(CatalogSpec))
