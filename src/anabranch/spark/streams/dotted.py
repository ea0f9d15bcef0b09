"""Names with a dot, which Spark looks for in its own catalog, led to the temporary views that a run registers.

A view of a session has a name of one part.  So a parsed plan that reads ``shop.orders`` is made to read the view whose
whole name that is, under the alias ``spark_catalog.shop.orders``: then ``orders.id`` and ``shop.orders.id`` mean what
they mean for a table of Spark's catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

_RELATION, _WITH = "UnresolvedRelation", "UnresolvedWith"
_CATALOG = "spark_catalog"


def led(spark: SparkSession, plan: Any, name_of: Callable[[tuple[str, ...]], str]) -> Any:
    """The parsed plan with each relation that ``name_of`` gives a name such as ``shop.orders``; others stay.

    Subqueries and common table expressions with it.
    """
    return _Leading(spark, name_of).lead(plan)


class _Leading:
    def __init__(self, spark: SparkSession, name_of: Callable[[tuple[str, ...]], str]) -> None:
        jvm: Any = spark._jvm
        ensure_callback_server_started(spark.sparkContext._gateway)
        self._jvm = jvm
        self._name_of = name_of
        function = jvm.scala.jdk.javaapi.FunctionConverters.asScalaFromFunction(JavaFunction(self._node))
        self._partial = jvm.scala.PartialFunction.fromFunction(function)

    def lead(self, plan: Any) -> Any:
        """The whole plan."""
        return plan.transformUpWithSubqueries(self._partial)

    def _node(self, plan: Any) -> Any:
        shape = plan.getClass().getSimpleName()
        if shape == _RELATION:
            return self._relation(plan)
        return self._with(plan) if shape == _WITH else plan

    def _relation(self, plan: Any) -> Any:
        parts = tuple(each(plan.multipartIdentifier()))
        name = self._name_of(parts)
        if not name:
            return plan
        named = name.split(".")
        whole = named if len(named) > 2 else (_CATALOG, *named)
        catalyst = self._jvm.org.apache.spark.sql.catalyst
        alias = catalyst.AliasIdentifier(whole[-1], self._seq(whole[:-1]))
        view = plan.copy(self._seq([name]), plan.options(), plan.isStreaming())
        return catalyst.plans.logical.SubqueryAlias(alias, view)

    def _with(self, plan: Any) -> Any:
        """Its expressions are no children, so nobody else comes to them."""
        found = []
        for one in each(plan.cteRelations()):
            query = self.lead(one._2())
            found.append(self._jvm.scala.Tuple3(one._1(), query, one._3()))
        return plan.copy(plan.child(), self._seq(found), plan.allowRecursion())

    def _seq(self, values: Iterable[Any]) -> Any:
        made = self._jvm.java.util.ArrayList()
        for one in values:
            made.add(one)
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(made).toSeq()


class JavaFunction:
    """A function of Python's, as Java calls it."""

    def __init__(self, call: Callable[[Any], Any]) -> None:
        self._call = call

    def apply(self, value: Any) -> Any:
        """Call it."""
        return self._call(value)

    class Java:
        """What Java sees."""

        implements = ("java.util.function.Function",)


def each(sequence: Any) -> Iterable[Any]:
    """The values of a sequence of Scala's."""
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()
