"""What a query needs, from plans that Spark wrote: nothing hides a table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.streams.connectors import option
from anabranch.streams.grants import DeniedError, Privilege
from anabranch.streams.inline import CATALOG_ALONE, InlinePolicy, TableAccess, check_plans, denied, why_not_own
from anabranch.streams.needed import PlanNeeds, PlanTextError, Registered, needed
from anabranch.streams.tables import TableDeclaration
from tests.spark.plan_scripts import REGISTERED, SCRIPTS

pytestmark = pytest.mark.unit

PLANS = Path(__file__).parents[2] / "golden" / "plans"
KAFKA = TableDeclaration("mine", "kafka", options={"cluster": "code", "topic": "t"})
SECRET = "spark_catalog.shop.secret"


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_table_that_a_query_reads_is_needed(name: str) -> None:
    """D1: by whatever way it is read, and no other."""
    expected = SCRIPTS[name]
    found = needed((PLANS / f"{name}.json").read_text(encoding="utf-8"), "", REGISTERED)

    assert {need.name.short for need in found.tables} == set(expected.tables)
    assert {need.privilege for need in found.tables} <= {Privilege.READ}
    assert {one for one, _ in found.inline} == set(expected.own)
    assert (len(found.sources), found.calls) == (expected.sources, expected.calls)


def test_each_query_has_its_recording() -> None:
    """And none is left of a query that is gone."""
    assert {file.stem for file in PLANS.glob("*.json")} == set(SCRIPTS)


@pytest.mark.parametrize("name", ["plain", "union-branch", "stream", "view", "own"])
def test_without_what_spark_says_of_a_relation_it_is_a_source_without_a_name(name: str) -> None:
    """D2: an alias that the script gives names nothing."""
    plan = json.loads((PLANS / f"{name}.json").read_text(encoding="utf-8"))

    def forget(value: Any) -> Any:
        if isinstance(value, dict):
            kept = {key: forget(one) for key, one in value.items() if key not in ("catalogTable", "desc")}
            return {**kept, "qualifier": "[]"} if "qualifier" in kept and "name" in kept else kept
        return [forget(one) for one in value] if isinstance(value, list) else value

    found = needed(json.dumps(forget(plan)))
    assert not found.tables and not found.inline and found.sources


@given(st.sampled_from(sorted(SCRIPTS)), st.text("abcXYZ.", min_size=1, max_size=12))
def test_a_node_that_is_not_known_is_denied(name: str, kind: str) -> None:
    """D2: whatever a later version of Spark calls a relation."""
    plan = json.loads((PLANS / f"{name}.json").read_text(encoding="utf-8"))
    plan.append({"class": f"org.example.{kind}", "num-children": 0})
    found = needed(json.dumps(plan), "", REGISTERED)
    assert found.sources
    assert denied(found, {"mine": KAFKA}, TableAccess("mei"))


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '[{"class": "a.B"}]', '[{"class": "a.B", "num-children": 1}]'])
def test_what_is_no_plan_is_an_error(text: str) -> None:
    """Nothing is taken for a query that needs nothing."""
    with pytest.raises(PlanTextError):
        needed(text)


def test_a_plan_that_is_nested_too_deeply_is_an_error() -> None:
    """It is not passed over."""
    node = {"class": "org.apache.spark.sql.catalyst.expressions.Not", "num-children": 1}
    with pytest.raises(PlanTextError, match="deeply"):
        needed(json.dumps([node] * 5000 + [{**node, "num-children": 0}]))


def test_the_table_that_is_written_is_needed_too() -> None:
    """Of the catalog, or the script's own."""
    plan = '[{"class": "org.apache.spark.sql.catalyst.plans.logical.OneRowRelation", "num-children": 0}]'
    (need,) = needed(plan, "shop.Out").tables
    assert (str(need.name), need.privilege) == ("spark_catalog.shop.out", Privilege.WRITE)
    assert needed(plan, "Out", Registered(frozenset({"out"}))) == PlanNeeds(inline=(("out", Privilege.WRITE),))


def access(*privileges: Privilege, free: bool = True) -> TableAccess:
    """Of somebody with privileges on the table that has topic t."""
    may = {"spark_catalog.shop.t": privileges}
    topics = {"cluster/t": ("spark_catalog.shop.t",)}
    return TableAccess("mei", may, topics, {"code": "cluster", "other": "cluster"}, InlinePolicy(free))


def why(found: TableAccess, code: str = "code", topic: str = "t", provider: str = "kafka") -> tuple[str, ...]:
    """What is denied to a script that reads a table of its own."""
    table = TableDeclaration("Mine", provider, options={"cluster": code, "topic": topic})
    return denied(PlanNeeds(inline=(("mine", Privilege.READ),)), {"Mine": table}, found)


@pytest.mark.parametrize("code", ["code", "other", "cluster"])
def test_a_topic_of_the_catalog_is_no_way_around_its_grants(code: str) -> None:
    """L1: by whichever code the script names its cluster."""
    assert why(access(), code) == (f"read mine: topic t of cluster {code} is that of shop.t",)
    assert why(access(Privilege.WRITE), code)
    assert not why(access(Privilege.READ), code)


def test_the_topic_that_is_judged_is_the_one_that_is_read() -> None:
    """L1: also where an option is there twice, which a declaration may not have."""
    for first, last in (("t", "free"), ("free", "t")):
        table = TableDeclaration("mine", "kafka", options={"cluster": "code", "topic": first, "TOPIC": last})
        judged = why_not_own(table, Privilege.READ, access())
        assert bool(judged) is (option(table, "topic") == "t")


def test_all_that_a_script_may_not_do_is_told_at_once() -> None:
    """Each plan's, with the tables that are written."""
    plans = [((PLANS / f"{name}.json").read_text(encoding="utf-8"), "shop.out") for name in ("own", "reflect")]
    may = {SECRET: (Privilege.READ,), "spark_catalog.shop.out": (Privilege.WRITE,)}
    with pytest.raises(DeniedError) as raised:
        check_plans(plans, REGISTERED, {"mine": KAFKA}, TableAccess("mei", {SECRET: (Privilege.WRITE,)}))
    assert raised.value.denied == (
        "write shop.out",
        "read shop.secret",
        "call methods of Java classes (reflect, java_method)",
    )
    check_plans(plans[:1], REGISTERED, {"mine": KAFKA}, TableAccess("mei", may))


def test_what_a_script_declares_itself_is_a_policy() -> None:
    """Scripts without a catalog go on working: topics that no table has, and servers; no path of the machine."""
    assert not why(access(), topic="free")
    assert why(access(free=False), topic="free") == (
        "read mine: no table of the catalog has topic free of cluster code: let the catalog have one",
    )
    assert not why(access(), provider="redis")
    assert why(access(), topic="free, t") == ("read mine: topic t of cluster code is that of shop.t",)
    assert "let the catalog have it" in why(access(), provider="parquet")[0]
    assert denied(PlanNeeds(inline=(("gone", Privilege.READ),)), {}, access())
    assert why(access(), topic="")


@pytest.mark.parametrize("provider", ["postgresql", "redis", "jdbc", "parquet"])
def test_what_nobody_vouches_for_reaches_the_catalog_alone(provider: str) -> None:
    """No topic and no server that the catalog does not have; rows that nobody keeps are free."""
    alone = replace(access(Privilege.READ), policy=CATALOG_ALONE)
    assert "let the catalog have it" in why(alone, provider=provider)[0]
    assert why(alone, topic="free") and not why(alone, topic="t") and not why(alone, provider="rate")
