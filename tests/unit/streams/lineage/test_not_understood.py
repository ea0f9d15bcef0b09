"""What lineage says of plans that it does not understand, and of texts that are no plans."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anabranch.streams.lineage.edges import InsertColumnsError, PlanDepthError, lineage_of_insert
from anabranch.streams.lineage.expressions import NotUnderstood
from anabranch.streams.lineage.plans import PlanFormatError

pytestmark = pytest.mark.unit

_PLAN, _EXPRESSION = "org.apache.spark.sql.catalyst.plans.logical.", "org.apache.spark.sql.catalyst.expressions."


def node(kind: str, children: int = 0, **fields: Any) -> dict[str, Any]:
    """A node as Spark writes it."""
    return {"class": kind, "num-children": children, **fields}


def column(key: int, name: str) -> dict[str, Any]:
    """A column as an expression."""
    return node(f"{_EXPRESSION}AttributeReference", name=name, exprId={"id": key}, dataType="string")


def alias(key: int, name: str) -> dict[str, Any]:
    """The name of what follows."""
    return node(f"{_EXPRESSION}Alias", 1, name=name, exprId={"id": key})


def project(*items: list[dict[str, Any]]) -> dict[str, Any]:
    """A select list."""
    return node(f"{_PLAN}Project", 1, projectList=list(items))


def table() -> dict[str, Any]:
    """A table of the catalog with columns a (1) and b (2)."""
    owner = {"identifier": {"table": "t", "database": "db", "catalog": "spark_catalog"}}
    output = [[column(1, "a")], [column(2, "b")]]
    return node("org.apache.spark.sql.execution.datasources.LogicalRelation", output=output, catalogTable=owner)


def told(*nodes: dict[str, Any]) -> tuple[set[str], tuple[NotUnderstood, ...]]:
    """The edges of a plan, and what is not understood."""
    found = lineage_of_insert(json.dumps(nodes), "out")
    return {str(edge) for edge in found.edges}, found.not_understood


def test_a_plan_node_that_is_not_known_is_named_and_hides_no_column() -> None:
    """What it gives counts as made of all that is below it, and what it names decides on rows."""
    strange = node("org.example.plans.Strange", 1, by=[column(2, "b")])
    edges, noted = told(project([column(1, "a")], [column(9, "made")]), strange, table())
    assert noted == (NotUnderstood("plan", "org.example.plans.Strange"),)
    assert edges == {
        "db.t.a -> out.a identity",
        "db.t.a -> out.made transformation",
        "db.t.b -> out.made transformation",
        "db.t.b -> out.* filter",
    }


def test_an_expression_of_somebody_else_is_named_and_has_its_sources() -> None:
    """Its children are its sources, as those of any expression."""
    edges, noted = told(project([alias(9, "x"), node("org.example.Hash", 1), column(1, "a")]), table())
    assert noted == (NotUnderstood("expression", "org.example.Hash"),)
    assert edges == {"db.t.a -> out.x transformation"}


def test_a_leaf_that_is_not_known_is_named() -> None:
    """Nobody can tell what it reads."""
    edges, noted = told(project([alias(9, "x"), node(f"{_EXPRESSION}Oracle")]), table())
    assert (edges, noted) == (set(), (NotUnderstood("expression", f"{_EXPRESSION}Oracle"),))


def test_a_column_that_no_node_gives_is_named() -> None:
    """It has no source that could be told."""
    edges, noted = told(project([column(7, "ghost")]), table())
    assert (edges, noted) == (set(), (NotUnderstood("column", "ghost"),))


def test_a_relation_without_a_name_is_named_by_its_source() -> None:
    """Its columns are those of no table."""
    stream = node(
        "org.apache.spark.sql.catalyst.streaming.StreamingRelationV2", sourceName="rate", output=[[column(1, "a")]]
    )
    edges, noted = told(project([column(1, "a")]), stream)
    assert (edges, noted) == (set(), (NotUnderstood("relation", "rate"),))


def test_a_rate_of_columns_that_does_not_fit_is_refused() -> None:
    """The INSERT's list and the query's columns are matched by position."""
    plan = json.dumps([project([column(1, "a")]), table()])
    with pytest.raises(InsertColumnsError) as refused:
        lineage_of_insert(plan, "out", ("x", "y"))
    assert (refused.value.named, refused.value.given) == (2, 1)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '"x"', '[{"class": "a.B"}]', '[{"class": "a.B", "num-children": 3}]']
)
def test_a_text_that_is_no_plan_is_refused(text: str) -> None:
    """With what is wrong with it."""
    with pytest.raises(PlanFormatError):
        lineage_of_insert(text, "out")


def test_two_roots_are_no_plan() -> None:
    """A node that is left over is not passed over."""
    with pytest.raises(PlanFormatError, match="2 roots"):
        lineage_of_insert(json.dumps([table(), table()]), "out")


def test_a_plan_that_is_too_deep_is_refused_and_not_half_read() -> None:
    """Thousands of filters inside each other."""
    deep = [node(f"{_PLAN}Filter", 1, condition=[column(1, "a")])] * 5_000
    with pytest.raises(PlanDepthError):
        lineage_of_insert(json.dumps([*deep, table()]), "out")
