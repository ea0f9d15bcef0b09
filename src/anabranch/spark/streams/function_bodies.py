"""What the body of a SQL function reads, and the same function over the views that a run registers.

Spark keeps the body of a function as a text and parses it where the function is called.  So a table of the catalog is
named anew in the text itself, at the place that Spark's own parser tells, and under the alias that it has there.

Invariant
    B1  no relation of the body keeps its name unless that is one of its own common table expressions, or is left to
        Spark's catalogs on purpose: what stands at a place is compared with what the parser found there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from anabranch.spark.streams.closing import plan_of
from anabranch.spark.streams.dotted import JavaFunction, each

Parts = tuple[str, ...]
_RELATION, _WITH, _ALIAS = "UnresolvedRelation", "UnresolvedWith", "SubqueryAlias"
_EXPRESSION = "SELECT "


@dataclass(frozen=True, slots=True)
class BodyRelation:
    """A relation in a body, from ``begin`` to ``end`` (exclusive) of its text; ``has_alias``: one follows."""

    parts: Parts
    begin: int
    end: int
    is_stream: bool
    has_alias: bool


@dataclass(frozen=True, slots=True)
class FunctionBody:
    """A SQL function as Spark's parser reads it; ``text`` is its body, ``plan`` that of the body."""

    name: str
    parameters: str
    returns: str
    is_table: bool
    text: str
    plan: Any
    relations: tuple[BodyRelation, ...]

    def over(self, name_of: Callable[[Parts], str]) -> str:
        """A temporary function of the same name whose relations are views: ``name_of`` has the name, else it stays."""
        text = self.text
        for one in sorted(self.relations, key=lambda found: found.begin, reverse=True):
            if name := name_of(one.parts):
                alias = "" if one.has_alias else f" AS `{one.parts[-1]}`"
                stream = "STREAM " if one.is_stream else ""
                text = f"{text[: one.begin]}{stream}`{name}`{alias}{text[one.end :]}"
        returns = f"TABLE({self.returns})" if self.is_table else self.returns
        head = f"CREATE OR REPLACE TEMPORARY FUNCTION `{self.name}`({self.parameters})"
        return f"{head} {f'RETURNS {returns} ' if returns else ''}RETURN {text}"


def is_of(queries: Collection[str], parts: Parts) -> bool:
    """Whether a relation is one of some common table expressions: a name with a dot, quoted, has one part as well."""
    return len(parts) == 1 and parts[0].lower() in queries


def body_of(session: SparkSession, plan: Any, name: str) -> FunctionBody:
    """The body of the function that a parsed CREATE FUNCTION makes; raises what Spark does, and ValueError (B1)."""
    is_expression = plan.exprText().isDefined()
    text = str((plan.exprText() if is_expression else plan.queryText()).get())
    before = _EXPRESSION if is_expression else ""
    parsed = plan_of(session, before + text)
    parameters = str(plan.inputParamText().get()) if plan.inputParamText().isDefined() else ""
    told = name, parameters, str(plan.returnTypeText()), bool(plan.isTableFunc()), text, parsed
    return FunctionBody(*told, tuple(_Looking(session, before + text, len(before)).relations(parsed)))


class _Looking:
    def __init__(self, session: SparkSession, text: str, shift: int) -> None:
        jvm: Any = session._jvm
        ensure_callback_server_started(session.sparkContext._gateway)
        self._text, self._shift = text, shift
        self._found: dict[int, tuple[Parts, int, bool]] = {}
        self._named: set[int] = set()
        function = jvm.scala.jdk.javaapi.FunctionConverters.asScalaFromFunction(JavaFunction(self._node))
        self._partial = jvm.scala.PartialFunction.fromFunction(function)

    def relations(self, plan: Any) -> Iterator[BodyRelation]:
        """Every relation of the plan, those of subqueries and common table expressions with it."""
        plan.transformUpWithSubqueries(self._partial)
        for begin, (parts, end, is_stream) in self._found.items():
            at = begin - self._shift, end - self._shift
            yield BodyRelation(parts, *at, is_stream, begin in self._named)

    def _node(self, plan: Any) -> Any:
        shape = plan.getClass().getSimpleName()
        if shape == _RELATION:
            self._relation(plan)
        elif shape == _ALIAS and plan.child().getClass().getSimpleName() == _RELATION:
            self._named.add(self._begin(plan.child()))
        elif shape == _WITH:  # its expressions are no children
            for one in each(plan.cteRelations()):
                one._2().transformUpWithSubqueries(self._partial)
        return plan

    def _relation(self, plan: Any) -> None:
        parts = tuple(str(part) for part in each(plan.multipartIdentifier()))
        begin, end = self._begin(plan), int(plan.origin().stopIndex().get()) + 1
        written = self._text[begin:end].replace("`", "")
        is_stream = bool(plan.isStreaming())
        words = "".join((written.strip()[len("STREAM") :] if is_stream else written).split())
        if words.strip("()").lower() != "".join(".".join(parts).split()).lower():
            raise ValueError(f"{written!r} is written otherwise than a table is named: {'.'.join(parts)}")
        self._found[begin] = parts, end, is_stream

    def _begin(self, plan: Any) -> int:
        return int(plan.origin().startIndex().get())
