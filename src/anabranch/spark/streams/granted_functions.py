"""The functions of the catalog that a script calls, in the sessions of its run.

Invariants
    F1  a function that reads tables reads them with the rights of who calls it: of what that account may not read
        nothing is registered, and the function is not made.
    F2  a function of an artifact is what was pinned with the version that runs, whatever the catalog has by now.
    F3  what is wrong with a function is told where it is called, and nowhere else.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from anabranch.errors import AnabranchError, ConfigError
from anabranch.spark.streams.artifacts.functions import ScriptFunctions
from anabranch.spark.streams.closing import closed_session, plan_of
from anabranch.spark.streams.function_bodies import Parts, body_of, is_of
from anabranch.spark.streams.parsing import ParsedStatement, parse
from anabranch.spark.streams.refusals import ScriptText, sentence
from anabranch.streams.catalog.functions import CatalogTexts, NotPinnedFunctionError, called, pinned_of
from anabranch.streams.catalog.names import CATALOG
from anabranch.streams.catalog.objects import Function
from anabranch.streams.errors import ScriptError
from anabranch.streams.grants import DeniedError
from anabranch.streams.script import split

_OF_SQL = "CreateUserDefinedFunction"
_ELSEWHERE = "org.anabranch.FunctionOfARun"
"""No class: Spark looks a function up in its catalog first, and what it is in the registry of a session."""


@dataclass(eq=False)
class BrokenEntryError(ConfigError):
    """A view or a function of the catalog that cannot be used."""

    name: str
    why: str

    _message = "{name} of the catalog cannot be used: {why}"
    _hint = "have its owner correct it: `anabranch catalog show {name}`"


@dataclass(frozen=True, slots=True)
class TablesOfBodies:
    """How bodies of functions come to tables of the catalog.

    ``show`` has a relation in a session and returns the name of the view that it is, empty where Spark finds it; it
    raises DeniedError.  ``check`` raises DeniedError for a plan that names a table otherwise than by its words, and
    returns the names of its common table expressions.
    """

    show: Callable[[SparkSession, Parts], str]
    check: Callable[[Any], Collection[str]]
    refusal: Callable[[Exception], AnabranchError | None]


class CatalogFunctions:
    """The functions of one script; ``sessions`` are those in which they are called."""

    def __init__(
        self, sessions: Sequence[SparkSession], root: SparkSession, tables: TablesOfBodies, artifacts: ScriptFunctions
    ) -> None:
        self._sessions = tuple(sessions)
        self._tables = tables
        self._artifacts = artifacts
        self._making = closed_session(root)
        """In which a function is made that others are given: its registry has names that no script sees."""
        self.without: dict[str, AnabranchError] = {}
        """Functions that could not be made, by their names (F3)."""

    def make(self, catalog: CatalogTexts, text: str) -> None:
        """Make those that a script calls; a function may call another one, whichever is made first."""
        waiting = called(catalog, text)
        parsed = {one.name.short: self._of_artifact(one) for one in waiting}
        self._import([one for one in parsed.values() if one is not None])
        while waiting:
            left = tuple(one for one in waiting if not self._is_made(one, parsed[one.name.short]))
            if len(left) == len(waiting):
                return
            waiting = left

    def _is_made(self, one: Function, parsed: tuple[ScriptText, ParsedStatement] | None) -> bool:
        name = one.name.short
        if parsed is None and isinstance(self.without.get(name), NotPinnedFunctionError):
            return False
        try:
            self._make(one, parsed)
        except (ConfigError, DeniedError) as error:
            self.without[name] = error
            return False
        self.without.pop(name, None)
        return True

    def _make(self, one: Function, parsed: tuple[ScriptText, ParsedStatement] | None) -> None:
        name = one.name.short
        if parsed is not None:
            self._take(name, *parsed)
            self._hand_on(one, name)
            return
        plan = plan_of(self._sessions[0], one.statement)
        if plan.getClass().getSimpleName() != _OF_SQL:
            why = "it names a class, and only functions of SQL and of artifacts are run for an account"
            raise BrokenEntryError(name, why)
        try:
            self._of_sql(one, plan)
        except ScriptError as error:  # of a table that it reads
            raise BrokenEntryError(name, error.problem) from error
        except (DeniedError, ConfigError):
            raise
        except Exception as error:
            raise self._tables.refusal(error) or BrokenEntryError(name, _why(error)) from error

    # -- of SQL ----------------------------------------------------------------------------------------

    def _of_sql(self, one: Function, plan: Any) -> None:
        body = body_of(self._making, plan, one.name.name)
        own = self._tables.check(body.plan)
        views: dict[Parts, str] = {}
        for relation in body.relations:
            if not is_of(own, relation.parts):
                names = [self._tables.show(session, relation.parts) for session in (*self._sessions, self._making)]
                views[relation.parts] = names[0]
        if any(views.values()):
            self._making.sql(body.over(lambda parts: views.get(parts, "")))
            self._hand_on(one, one.name.name)
            return
        self._database(one)
        self._sessions[0].sql(f"DROP FUNCTION IF EXISTS {_quoted(one)}")
        self._sessions[0].sql(one.statement)

    # -- of artifacts ----------------------------------------------------------------------------------

    def _of_artifact(self, one: Function) -> tuple[ScriptText, ParsedStatement] | None:
        """The statement that was pinned of a function (F2); None of one of SQL."""
        name = one.name.short
        try:
            environment = self._artifacts.environment
            pinned = pinned_of(one, {} if environment is None else environment.functions)
            if not pinned:
                return None
            text = ScriptText(pinned)
            return text, replace(parse(self._making, text, split(pinned)[0]), name=name, replaces=True)
        except (ConfigError, ScriptError) as error:
            self.without[name] = error
            return None

    def _import(self, found: Sequence[tuple[ScriptText, ParsedStatement]]) -> None:
        """Import all of Python at once; one that is from nothing that was pinned is told as it is made."""
        known = [(text, parsed) for text, parsed in found if self._artifacts.is_there(text, parsed)]
        self._artifacts.prepare_all(known)

    def _take(self, name: str, text: ScriptText, parsed: ParsedStatement) -> None:
        try:
            self._artifacts.take(self._making, text, parsed)
        except ScriptError as error:
            raise BrokenEntryError(name, error.problem) from error

    # -- what sessions are given -----------------------------------------------------------------------

    def _hand_on(self, one: Function, made: str) -> None:
        """Have a function that was made as ``made`` in every session, by its whole name."""
        self._database(one)
        self._sessions[0].sql(f"CREATE OR REPLACE FUNCTION {_quoted(one)} AS '{_ELSEWHERE}'")
        jvm: Any = self._making._jvm
        identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
        parts = (one.name.name.lower(), *(jvm.scala.Option.apply(part) for part in (one.name.database, CATALOG)))
        for session in (*self._sessions, self._making):
            for ours, theirs in zip(_registries(self._making), _registries(session), strict=True):
                builder = ours.lookupFunctionBuilder(identifier(made))
                if builder.isDefined():
                    info = ours.lookupFunction(identifier(made)).get()
                    theirs.registerFunction(identifier(*parts), info, builder.get())

    def _database(self, one: Function) -> None:
        with tempfile.TemporaryDirectory(prefix="anabranch-catalog-") as place:  # Spark wants one, and uses it not
            database = f"`{one.name.database}`"
            self._sessions[0].sql(f"CREATE DATABASE IF NOT EXISTS {database} LOCATION 'file:{place}'")


def _registries(session: SparkSession) -> tuple[Any, Any]:
    state: Any = session._jsparkSession.sessionState()
    return state.functionRegistry(), state.tableFunctionRegistry()


def _quoted(one: Function) -> str:
    return f"`{one.name.database}`.`{one.name.name}`"


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else sentence(error)[1]
