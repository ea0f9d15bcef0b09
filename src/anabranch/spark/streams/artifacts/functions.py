"""``CREATE FUNCTION ... USING``: a function of an artifact in the session of a run.

Invariants
    C1  every function of Python has been imported, in the workers' environment, before any query starts.
    C2  a function comes from what was pinned: a resource that is in no pin is refused.
    C3  a function of Python is called with as many arguments as it takes, whichever view or subquery calls it.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from anabranch.spark.streams.artifacts.environment import RunEnvironment
from anabranch.spark.streams.artifacts.importing import ImportedFunction, look
from anabranch.spark.streams.parsing import ParsedStatement, StatementKind
from anabranch.spark.streams.refusals import ScriptText, sentence
from anabranch.streams.artifacts import python_code
from anabranch.streams.artifacts.python_code import PythonProblem
from anabranch.streams.artifacts.references import SCHEME, FunctionHandler, handler, reference
from anabranch.streams.artifacts.values import ArtifactFunction, ArtifactKind
from anabranch.streams.connectors import nearest
from anabranch.streams.errors import ScriptError
from anabranch.streams.script import Statement

_UPLOAD = "upload it: `anabranch artifact upload NAME FILE`; then name it 'artifact:NAME'"


@dataclass(frozen=True, slots=True)
class MadeFunction:
    """A function of a script, with how many arguments it takes: from ``least`` to ``most``, None for any number."""

    name: str
    handler: str
    least: int = 0
    most: int | None = None


@dataclass(slots=True)
class ScriptFunctions:
    """The functions of one script; ``environment`` None is of a script that may use none."""

    environment: RunEnvironment | None = None
    made: dict[str, MadeFunction] = field(default_factory=dict)
    _imported: dict[str, ImportedFunction] = field(default_factory=dict)

    def prepare(self, script: ScriptText, statements: Iterable[ParsedStatement]) -> None:
        """Import all that is of Python, in one process (C1); raises ScriptError for a resource that is in no pin."""
        self.prepare_all([(script, one) for one in statements])

    def prepare_all(self, found: Iterable[tuple[ScriptText, ParsedStatement]]) -> None:
        """The same of statements of several texts."""
        python = [(script, one) for script, one in found if self._kind(script, one) in _PYTHON]
        wanted = [self._handler(script, one).name for script, one in python]
        if self.environment is not None and wanted:
            names = tuple(dict.fromkeys(wanted))
            self._imported.update(look(self.environment.python, names, self.environment.variables()))

    def take(self, spark: SparkSession, script: ScriptText, parsed: ParsedStatement) -> bool:
        """Have the function of a statement in the session; False where it is none of an artifact.

        Raises ScriptError.
        """
        kind = self._kind(script, parsed)
        if kind is None:
            return False
        if not parsed.replaces and spark.catalog.functionExists(parsed.name):
            problem = f"there is a function {parsed.name!r} already"
            raise script.refuse(
                parsed.statement, problem, "choose another name, or write CREATE OR REPLACE", "ALREADY_DECLARED"
            )
        named = self._handler(script, parsed)
        made = self._java(spark, script, parsed, named) if kind is ArtifactKind.JAR else None
        made = made or self._python(spark, script, parsed, named)
        self.made[parsed.name.lower()] = made
        return True

    def is_there(self, script: ScriptText, parsed: ParsedStatement) -> bool:
        """Whether all that a function is from was brought, and its handler can be one."""
        try:
            self._kind(script, parsed)
            self._handler(script, parsed)
        except ScriptError:
            return False
        return True

    def check_calls(self, script: ScriptText, statement: Statement, plan_json: str) -> None:
        """Hold the calls in an analysed plan to C3; raises ScriptError."""
        for name, count in _calls(json.loads(plan_json)):
            made = self.made.get(name.lower())
            if made is None or (made.least <= count and (made.most is None or count <= made.most)):
                continue
            takes = f"{made.least}" if made.most == made.least else f"{made.least} to {made.most}"
            takes = f"at least {made.least}" if made.most is None else takes
            problem = f"function {made.name} is called with {count} arguments, and {made.handler} takes {takes}"
            raise script.refuse(statement, problem, "correct the call", "WRONG_NUM_ARGS", made.name)

    def _python(
        self, spark: SparkSession, script: ScriptText, parsed: ParsedStatement, named: FunctionHandler
    ) -> MadeFunction:
        found = self._imported[named.name]
        if found.problem:
            problem = f"function {parsed.name} cannot be imported from {_shown(parsed)}: {found.problem}"
            fix = "correct the name after AS; or upload what it needs with it, and name that version"
            raise script.refuse(parsed.statement, problem, fix, "IMPORT_FAILED", named.name)
        signature = _signature(found)
        returns = named.returns or ("" if signature is None else signature.returns)
        if not returns:
            problem = f"nothing says which type {named.name} returns"
            fix = f"annotate it, or write AS '{named.name} RETURNS STRING'"
            raise script.refuse(parsed.statement, problem, fix, "NO_RETURN_TYPE", named.name)
        uses_arrow = signature is not None and all(one.type for one in signature.arguments) and found.least > 0
        try:
            call = _call(*_parts(named.name), takes_any=found.least > 0)
            spark.udf.register(parsed.name, udf(call, returnType=returns, useArrow=uses_arrow))
        except Exception as error:
            raise script.told(error, parsed.statement) from error
        return MadeFunction(parsed.name, named.name, found.least, found.most)

    def _java(
        self, spark: SparkSession, script: ScriptText, parsed: ParsedStatement, named: FunctionHandler
    ) -> MadeFunction:
        try:
            spark.udf.registerJavaFunction(parsed.name, named.name, named.returns or None)
        except Exception as error:
            told = sentence(error)[1]
            problem = f"function {parsed.name} cannot be loaded from {_shown(parsed)}: {told}"
            fix = "name a public class that implements org.apache.spark.sql.api.java.UDF1, or another of its kind"
            raise script.refuse(parsed.statement, problem, fix, "IMPORT_FAILED", named.name) from error
        return MadeFunction(parsed.name, named.name)

    def _kind(self, script: ScriptText, parsed: ParsedStatement) -> ArtifactKind | None:
        """What a function is made of; None for one that names no resource.  Raises ScriptError (C2)."""
        if parsed.kind is not StatementKind.FUNCTION or not parsed.resources:
            return None
        kinds = [self._brought(script, parsed, text) for text in parsed.resources]
        return ArtifactKind.JAR if ArtifactKind.JAR in kinds else kinds[0]

    def _brought(self, script: ScriptText, parsed: ParsedStatement, text: str) -> ArtifactKind:
        brought: Mapping[str, ArtifactKind] = {} if self.environment is None else self.environment.brought
        if text in brought:
            return brought[text]
        statement = parsed.statement
        if not text.startswith(SCHEME):
            raise script.refuse(statement, f"{text!r} is a path, and this script may name none", _UPLOAD, "NO_ARTIFACT")
        try:
            named = reference(text)
        except Exception as error:
            raise script.told(error, statement) from error
        fix = nearest(str(named), tuple(brought)) or _UPLOAD
        raise script.refuse(statement, f"{named} is not there for this script", fix, "NO_ARTIFACT")

    def _handler(self, script: ScriptText, parsed: ParsedStatement) -> FunctionHandler:
        try:
            return handler(parsed.handler)
        except Exception as error:
            raise script.told(error, parsed.statement) from error


_PYTHON = frozenset({ArtifactKind.PYTHON, ArtifactKind.WHEEL})


def _signature(found: ImportedFunction) -> ArtifactFunction | None:
    """What the source says of a function, which may be another module's; None where it cannot be read."""
    if not found.file or "." in found.function:
        return None
    try:
        source = Path(found.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    functions = python_code.functions(source, found.module)
    if isinstance(functions, PythonProblem):
        return None
    return next((one for one in functions if one.name == f"{found.module}.{found.function}"), None)


def _calls(plan: Any) -> Iterator[tuple[str, int]]:
    """Each call of a function of Python in a plan as Spark writes it: its name, and how many arguments it has."""
    if isinstance(plan, list):
        for one in plan:
            yield from _calls(one)
    elif isinstance(plan, Mapping):
        if str(plan.get("class", "")).endswith(".PythonUDF"):
            yield str(plan.get("name")), int(plan.get("num-children", 0))
        for one in plan.values():
            yield from _calls(one)


def _call(module: str, path: str, *, takes_any: bool) -> Callable[..., Any]:
    """What a worker calls: it imports by name, there, and once."""
    known: list[Callable[..., Any]] = []

    def target() -> Callable[..., Any]:
        if not known:
            known.append(getattr(importlib.import_module(module), path))
        return known[0]

    def call(*given: Any, **named: Any) -> Any:
        return target()(*given, **named)

    def call_with(first: Any, *given: Any, **named: Any) -> Any:  # Spark has Arrow for functions with an argument alone
        return target()(first, *given, **named)

    return call_with if takes_any else call


def _parts(name: str) -> tuple[str, str]:
    module, _, function = name.rpartition(".")
    return module, function


def _shown(parsed: ParsedStatement) -> str:
    names = [text if text.startswith(SCHEME) else os.path.basename(text) for text in parsed.resources]
    return ", ".join(names)
