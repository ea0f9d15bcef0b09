"""The route table in which a wave's codes lead elsewhere: there and back, in parts, beside all that is not its."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.config.routes_file import table_fields, table_of
from anabranch.migration.legs import Leg
from anabranch.migration.spec import CopyRules, Migration, Wave
from anabranch.migration.steps import Part
from anabranch.model import naming
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import errors
from anabranch.model.routing import ClientRole, RouteQuery
from anabranch.operations.migrations.leading import (
    HIGHEST,
    CodeElsewhereError,
    CodeGoneError,
    NamesNotSaidError,
    RuleInTheWayError,
    faults_of,
    led,
)
from anabranch.routes.check import check
from anabranch.routes.pattern import Pattern
from anabranch.routes.resolve import resolve
from anabranch.routes.table import Code, Destination, Match, RouteTable, Rule
from tests.chance import examples

pytestmark = pytest.mark.unit

PREFIX = PluginSpec("prefix")
CLUSTERS = frozenset({"old", "new", "third"})


def leg(*codes: str, number: int = 0, names: PluginSpec = PREFIX, topics: tuple[str, ...] = ("sales",)) -> Leg:
    """A leg of the wave shop, from old to new."""
    wave = Wave("shop", topics, ("g",), codes=codes or ("orders",))
    return Leg(Migration("move", "old", "new", (wave,), copy=CopyRules(names)), wave, number)


def table(*rules: Rule, **codes: Destination) -> RouteTable:
    """A table of these codes."""
    return RouteTable({name: Code(name, destination) for name, destination in codes.items()}, rules)


def rule(name: str, to: Destination, priority: int = 0, **match: Any) -> Rule:
    """A rule."""
    patterns = {name: Pattern(text) if type(text) is str else text for name, text in match.items()}
    return Rule(name, priority, Match(**patterns), to)


def where(found: RouteTable, role: ClientRole, code: str = "orders") -> tuple[str, str | None]:
    """Cluster and topic of a client of a code."""
    (way,) = resolve(found, RouteQuery(code, role, ("sales",), "g" if role is ClientRole.CONSUMER else ""))
    return way.cluster, way.topic_there


OLD, NEW = Destination("old"), Destination("new", topics="old.{topic}")
ORDERS = table(orders=OLD, other=OLD)


def test_the_code_leads_there_and_says_what_topics_are_called() -> None:
    """Nothing else changes."""
    assert led(ORDERS, leg(), Part.ALL) == table(orders=NEW, other=OLD)


@pytest.mark.parametrize("first", [ClientRole.CONSUMER, ClientRole.PRODUCER])
def test_parts_are_led_by_a_rule_each_until_both_are_there(first: ClientRole) -> None:
    """Then the code itself leads there, and there is no rule any more."""
    parts = {ClientRole.CONSUMER: Part.CONSUMERS, ClientRole.PRODUCER: Part.PRODUCERS}
    (second,) = set(ClientRole) - {first}
    apart = led(ORDERS, leg(), parts[first])
    (made,) = apart.rules
    assert made == rule(f"move.shop.{first.value[0]}1", NEW, 1, code="orders", role=first)
    assert (where(apart, first), where(apart, second)) == (("new", "old.sales"), ("old", "sales"))
    assert led(apart, leg(), parts[second]) == led(ORDERS, leg(), Part.ALL)
    assert led(apart, leg(number=1), parts[first]) == ORDERS, "a part that went alone goes back alone"


def test_a_code_that_leads_to_one_of_the_wave_goes_with_it() -> None:
    """Its clients are led by the rules of that one."""
    both = table(orders=OLD, shop=Destination(code="orders"))
    assert where(led(both, leg(), Part.CONSUMERS), ClientRole.CONSUMER, "shop") == ("new", "old.sales")


@pytest.mark.parametrize(
    ("before", "error"),
    [
        (table(other=OLD), CodeGoneError),
        (table(orders=Destination(code="other"), other=OLD), CodeElsewhereError),
        (table(orders=Destination("third"), other=OLD), CodeElsewhereError),
        (
            table(rule("move.shop.c1", Destination("third"), code="orders", role=ClientRole.CONSUMER), orders=OLD),
            CodeElsewhereError,
        ),
        (table(rule("move.shop.c1", OLD, code="orders"), orders=OLD), RuleInTheWayError),
        (table(rule("jobs", OLD, group="job-*"), orders=OLD), RuleInTheWayError),
        (table(rule("jobs", Destination("new"), code="ord*", topic="sales"), orders=OLD), RuleInTheWayError),
        (table(rule("jobs", Destination(code="other"), code="orders"), orders=OLD, other=OLD), RuleInTheWayError),
    ],
)
@pytest.mark.parametrize("part", Part)
def test_what_cannot_be_led_exactly_is_refused(before: RouteTable, error: type[Exception], part: Part) -> None:
    """With a hint what to do about it."""
    with pytest.raises(error) as raised:
        led(before, leg(), part)
    assert "orders" in str(raised.value)
    assert getattr(raised.value, "hint", "")


def test_a_rule_to_a_third_cluster_is_in_the_way_of_a_rule_above_it_alone() -> None:
    """All are led by the code, which leads nobody whom a rule leads; a part is led by a rule that would."""
    apart = rule("site", Destination("third"), parameters={"site": Pattern("berlin")})
    before = table(apart, orders=OLD)
    assert led(before, leg(), Part.ALL) == table(apart, orders=NEW)
    with pytest.raises(RuleInTheWayError):
        led(before, leg(), Part.CONSUMERS)


def test_rules_of_other_codes_are_in_nobodys_way() -> None:
    """Whatever their priority: two rules of one priority that cannot meet are no fault."""
    apart = rule("other", OLD, HIGHEST, code="other")
    found = led(table(apart, orders=OLD, other=OLD), leg(), Part.CONSUMERS)
    assert not errors(check(found, CLUSTERS))
    assert where(found, ClientRole.CONSUMER) == ("new", "old.sales")


@pytest.mark.parametrize(
    ("names", "topics"),
    [
        (PluginSpec("original", {"of_source": "x", "of": "prefix"}), ("x.sales",)),
        (PluginSpec("prefix", {"separator": "{"}), ("sales",)),
    ],
)
def test_names_that_a_table_cannot_say_are_refused(names: PluginSpec, topics: tuple[str, ...]) -> None:
    """No name is guessed."""
    with pytest.raises(NamesNotSaidError):
        led(ORDERS, leg(names=names, topics=topics), Part.ALL)


def test_names_on_the_target_that_the_migration_has_not_made_have_no_way_back() -> None:
    """Somebody has changed the code meanwhile."""
    with pytest.raises(NamesNotSaidError):
        led(table(orders=Destination("new", topics="other.{topic}")), leg(number=1), Part.ALL)


# -- M9 to M11 -----------------------------------------------------------------------------------------

NAMINGS = st.sampled_from([PREFIX, PluginSpec("identity"), PluginSpec("template", {"template": "a-{topic}-{source}"})])
TEMPLATES = st.builds(lambda left, right: f"{left}{{topic}}{right}", *[st.sampled_from(["", "old.", "x", "a-"])] * 2)
PARTS = st.sampled_from(Part)


@st.composite
def tables(draw: st.DrawFn) -> RouteTable:
    """Codes on the old cluster, with names, rights and words of their own, beside others with rules."""
    codes = {
        name: Code(name, Destination("old", "", draw(TEMPLATES), draw(st.booleans()), draw(st.booleans())), draw(WORDS))
        for name in ("orders", "sales", "other")
    }
    codes["alias"] = Code("alias", Destination(code="orders"))
    rules = [
        rule(f"r{n}", Destination("third"), draw(st.sampled_from([-5, 0, 7, HIGHEST])) - n, code="other", group=f"g{n}")
        for n in range(draw(st.integers(0, 3)))
    ]
    return RouteTable(codes, tuple(rules))


WORDS = st.text(max_size=5)
CODES = st.sampled_from([("orders",), ("orders", "sales"), ("sales", "orders")])


@examples(400)
@given(tables(), CODES, NAMINGS, PARTS, PARTS)
def test_the_way_back_gives_the_table_that_was_before(
    before: RouteTable, codes: tuple[str, ...], names: PluginSpec, first: Part, second: Part
) -> None:
    """M9, also of a part that goes back while the other one stays; each table may be published."""
    there, back = leg(*codes, names=names), leg(*codes, names=names, number=1)
    one = led(before, there, first)
    assert led(one, back, first) == before
    two = led(one, there, second)
    if second is not first:
        assert led(led(two, back, second), back, first) == before
    for found in (one, two):
        assert not errors(check(found, CLUSTERS))
        assert table_of(table_fields(found), "a test") == found
    assert led(two, back, Part.ALL) == before


@examples(400)
@given(tables(), CODES, NAMINGS, st.lists(PARTS, min_size=1, max_size=5), st.randoms())
def test_parts_may_be_led_in_any_order_and_again(
    before: RouteTable, codes: tuple[str, ...], names: PluginSpec, parts: list[Part], chance: Any
) -> None:
    """M10."""
    there = leg(*codes, names=names)
    shuffled = list(parts)
    chance.shuffle(shuffled)
    one = other = before
    for part in parts:
        one = led(one, there, part)
        assert led(one, there, part) == one
    for part in shuffled:
        other = led(other, there, part)
    assert one == other


@examples(400)
@given(tables(), CODES, NAMINGS, PARTS, st.sampled_from(ClientRole), st.sampled_from(["orders", "sales", "other"]))
def test_those_of_the_part_are_led_there_and_nobody_else(
    before: RouteTable, codes: tuple[str, ...], names: PluginSpec, part: Part, role: ClientRole, code: str
) -> None:
    """M11, and what each topic is called there is what the migration's naming makes of what it was called."""
    after = led(before, leg(*codes, names=names), part)
    here, there = where(before, role, code), where(after, role, code)
    goes = code in codes and (part is Part.ALL or part.value == f"{role.value}s")
    renamed = naming.load(names, "old").renamed(str(here[1]))
    assert there == (("new", renamed) if goes else here)
    assert replace(after, codes={}, rules=()) == replace(before, codes={}, rules=())


def test_all_codes_that_cannot_be_led_are_told_at_once() -> None:
    """One that is gone, one that leads elsewhere, one with a rule of its own; the fourth is led."""
    found = table(
        rule("some", Destination(cluster="new"), code="ruled", client_id="till"),
        away=Destination(cluster="third"),
        ruled=Destination(cluster="old"),
        fine=Destination(cluster="old"),
    )
    faults = faults_of(found, leg("gone", "away", "ruled", "fine"), Part.ALL)
    assert [type(one) for one in faults] == [CodeGoneError, CodeElsewhereError, RuleInTheWayError]
    assert faults_of(found, leg("fine"), Part.ALL) == ()
