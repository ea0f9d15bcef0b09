"""The part of the catalog that a script uses, as views of its session, and the judgement of its plans.

Invariants
    A4  a view of the catalog reads what the catalog has, whatever the script calls its own tables.
    A5  of what the account may not use nothing is registered, so no error of Spark's can tell of it.
    A6  no plan is handed out before all plans of the script are allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from anabranch.config.catalogspec import CatalogSpec, NamedQuery
from anabranch.errors import AnabranchError, ConfigError
from anabranch.spark.streams.artifacts.functions import ScriptFunctions
from anabranch.spark.streams.closing import closed_session, plan_of
from anabranch.spark.streams.dotted import led
from anabranch.spark.streams.granted_functions import BrokenEntryError, CatalogFunctions, TablesOfBodies
from anabranch.spark.streams.refusals import sentence
from anabranch.streams.catalog.attached import attached_name
from anabranch.streams.catalog.names import DATABASE, CatalogNameError, object_name
from anabranch.streams.closed import FUNCTIONS
from anabranch.streams.grants import DeniedError, Privilege
from anabranch.streams.needed import Registered
from anabranch.streams.tables import TableDeclaration

Parts = tuple[str, ...]
RELATION = re.compile(r"(?='UnresolvedRelation \[(?P<name>[\s\S]*?)\], \[[\s\S]*?\], (?P<streams>true|false))")
"""Each is looked for where it begins, whatever an option or a text of the script before it looks like."""
_QUERIES = re.compile(r"^[\s:+-]*CTE \[(?P<names>[^\]]*)\]$", re.MULTILINE)
_NAMED_LATER = "PlanWithUnresolvedIdentifier"
_NO_ROUTINE = ("UNRESOLVED_ROUTINE", "ROUTINE_NOT_FOUND")
_NO_TABLE = re.compile(r"no table '([^']*)'")
_ROUTINE = re.compile(r"routine ((?:`[^`]+`\.?)+)")


class GrantedCatalog:
    """What an account may use; ``rows`` reads a table where nothing is closed."""

    def __init__(
        self,
        spec: CatalogSpec,
        script: SparkSession,
        root: SparkSession,
        rows: Callable[[TableDeclaration], DataFrame],
        artifacts: ScriptFunctions,
    ) -> None:
        self.spec = spec
        self._script = script
        self._rows = rows
        self.views = closed_session(root)
        """In which views of the catalog are analysed (A4)."""
        self._tables = {one.name.lower(): one for one in spec.tables}
        self._views = {one.name.lower(): one for one in spec.views}
        self._frames: dict[str, DataFrame] = {}
        self._shown: set[tuple[int, str]] = set()
        self._used: set[str] = set()
        self._written: set[str] = set()
        self._targets: dict[str, TableDeclaration] = {}
        """Tables of attached catalogs that are written."""
        self._open: list[str] = []
        tables = TablesOfBodies(self._body_table, self._check_body, self.refusal)
        self._functions = CatalogFunctions((script, self.views), root, tables, artifacts)

    @property
    def names(self) -> tuple[str, ...]:
        """What there is for the account, as scripts write it."""
        return (*(one.name for one in self.spec.tables), *(one.name for one in self.spec.views))

    @property
    def used(self) -> tuple[TableDeclaration, ...]:
        """The tables that the script reads or writes, by name."""
        found = (self._tables[name] for name in sorted(self._used | self._written) if name in self._tables)
        return (*found, *self._targets.values())

    def short(self, parts: Parts) -> str:
        """The object of a name as the catalog calls it; empty where it is none that the account may use."""
        found = short_of(parts)
        return found if found in self._tables or found in self._views else ""

    def is_hidden(self, parts: Parts) -> bool:
        """Whether a name is that of something that the account may not use."""
        return short_of(parts) in self.spec.hidden

    def table(self, parts: Parts) -> TableDeclaration | None:
        """A table by its name in a script."""
        return self._tables.get(short_of(parts))

    def target(self, parts: Parts) -> TableDeclaration | None:
        """A table that is written, by its name in a script; raises CatalogNameError."""
        if name := attached_name(parts, self.spec.attached):
            connector = self.spec.attached[name.catalog] or f"of catalog {name.catalog}"
            made = TableDeclaration(name.short, connector, options={"table": name.short})
            return self._targets.setdefault(name.short, made)
        found = self.table(parts)
        if found is not None:
            self._written.add(found.name.lower())
        return found

    def query(self, plan: Any, own: Collection[str]) -> Any:
        """A parsed plan of the script that reads what the catalog has; ``own`` are the names that the script gives.

        Raises DeniedError, BrokenEntryError.
        """
        return self._led(self._script, plan, own)

    def registered(self, own: Iterable[str]) -> Registered:
        """What of the catalog the script uses, with what its views read."""
        tables = frozenset(name for name in self._used if name in self._tables)
        return Registered(frozenset(own), tables, frozenset(self._used) - tables)

    def refusal(self, error: Exception) -> AnabranchError | None:
        """The refusal of what is there and cannot be used, where Spark says of that that it is not there."""
        if isinstance(error, AnabranchError):
            return None
        condition, words, _ = sentence(error)
        if found := _NO_TABLE.fullmatch(words):
            parts = tuple(found[1].split("."))
            return self._refused(f"read {short_of(parts)}") if self.is_hidden(parts) else None
        if condition not in _NO_ROUTINE or not (found := _ROUTINE.search(str(error))):
            return None
        parts = tuple(part.strip("`") for part in found[1].split("."))
        if why := FUNCTIONS.get(parts[-1].lower()):
            return self._refused(f"call {parts[-1].lower()}, which {why}")
        if self.is_hidden(parts):
            return self._refused(f"use {short_of(parts)}")
        return self._functions.without.get(short_of(parts))

    def make_functions(self, text: str) -> None:
        """Have the functions that a script, or a view, calls; what is wrong with one is told where it is called."""
        self._functions.make(self.spec.texts, text)

    def _body_table(self, session: SparkSession, parts: Parts) -> str:
        """Have a table that a function reads in a session; the view that it is there, empty where Spark finds it."""
        return short_of(parts) if self._show(session, parts) else ""

    def _check_body(self, plan: Any) -> frozenset[str]:
        """The names of the common table expressions in a function; raises DeniedError (X2)."""
        self._check_names_are_written(plan)
        return cte_names(plan)

    # -- views and tables ------------------------------------------------------------------------------

    def _led(self, session: SparkSession, plan: Any, own: Collection[str]) -> Any:
        self._check_names_are_written(plan)
        queries = cte_names(plan)
        for parts, _ in relations(plan):
            name = ".".join(parts).lower()
            if name not in own and self._show(session, parts) and name in queries:
                # Inside of the query of that name it is the table, else the query: Spark knows which.
                table = led(session, plan_of(session, f"TABLE {quoted(parts)}"), self.short)
                self._put(session, name, rows_of(session, table))
        others = {*own, *queries}
        return led(session, plan, lambda parts: "" if ".".join(parts).lower() in others else self.short(parts))

    def _check_names_are_written(self, plan: Any) -> None:
        if _NAMED_LATER in plan.toString():
            raise self._refused("name a table by IDENTIFIER: its name is to be in the text")  # X2

    def _show(self, session: SparkSession, parts: Parts) -> bool:
        """Have an object in a session, by the catalog's name; whether there is one.

        A table of an attached catalog is Spark's to find, once it is allowed (X2).
        """
        if name := attached_name(parts, self.spec.attached):
            if not self.spec.access.allows(str(name), Privilege.READ):
                raise self._refused(f"read {name.short}")
            return False
        short = short_of(parts)
        if short in self.spec.hidden and len(parts) > 1:  # else it may be a common table expression
            raise self._refused(f"read {short}")
        if short not in self._tables and short not in self._views:
            return False
        self._used.add(short)
        self._put(session, short, self._frame(short))
        return True

    def _put(self, session: SparkSession, name: str, frame: DataFrame) -> None:
        if (id(session), name) not in self._shown:
            put(session, name, frame)
            self._shown.add((id(session), name))

    def _frame(self, short: str) -> DataFrame:
        if short not in self._frames:
            view = self._views.get(short)
            self._frames[short] = self._rows(self._tables[short]) if view is None else self._query(view)
        return self._frames[short]

    def _query(self, view: NamedQuery) -> DataFrame:
        if view.name in self._open:
            raise BrokenEntryError(view.name, f"it reads itself: {' -> '.join((*self._open, view.name))}")
        self._open.append(view.name)
        try:
            return rows_of(self.views, self._led(self.views, plan_of(self.views, view.query), ()))
        except (DeniedError, ConfigError):
            raise
        except Exception as error:
            raise self.refusal(error) or self._broken(view.name, error) from error
        finally:
            self._open.remove(view.name)

    def _refused(self, what: str) -> DeniedError:
        return DeniedError(self.spec.access.account, (what,))

    def _broken(self, name: str, error: Exception) -> BrokenEntryError:
        return BrokenEntryError(name, sentence(error)[1])


def rows_of(session: SparkSession, plan: Any) -> DataFrame:
    """The rows of a plan in a session."""
    jvm: Any = session._jvm
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan), session)


def put(session: SparkSession, name: str, frame: DataFrame) -> None:
    """Have rows as a view of a session, also those of another one."""
    plan = frame._jdf.queryExecution().analyzed()
    rows_of(session, plan).createOrReplaceTempView(f"`{name.replace('`', '``')}`")


def short_of(parts: Sequence[str]) -> str:
    """What the catalog calls a name; empty for one that it cannot have."""
    try:
        return object_name(".".join(f"`{part}`" for part in parts)).short
    except CatalogNameError:
        return ""


def relations(plan: Any) -> list[tuple[Parts, bool]]:
    """(parts of the name, whether as a stream) for each relation that a parsed plan reads, those of CTEs with them."""
    return [(tuple(one["name"].split(", ")), one["streams"] == "true") for one in RELATION.finditer(plan.toString())]


def cte_names(plan: Any) -> frozenset[str]:
    """The names of the common table expressions anywhere in a parsed plan, in lower case."""
    found = _QUERIES.finditer(plan.toString())
    return frozenset(name for one in found for name in one["names"].lower().split(", "))


def quoted(parts: Sequence[str]) -> str:
    """A name as SQL has it, whatever its parts are; of one part with the catalog's default database."""
    return ".".join(f"`{part}`" for part in (parts if len(parts) > 1 else (DATABASE, *parts)))
