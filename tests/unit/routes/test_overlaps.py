"""Overlaps of rules: those that are found are all there are, also where few pairs are looked at."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from anabranch.model.routing import ClientRole
from anabranch.routes.check import MOST_OVERLAPS, check, shared_client
from anabranch.routes.pattern import Pattern
from anabranch.routes.table import Code, Destination, Match, RouteTable, Rule
from tests import chance

pytestmark = pytest.mark.unit

CODES = {"orders": Code("orders", Destination("a"))}


def drawn(draw: random.Random, number: int) -> Rule:
    """A rule of few names, so that many overlap."""

    def pattern() -> Pattern | None:
        return Pattern(draw.choice(["x", "y", "z", "x*", "*"])) if draw.random() < 0.5 else None

    named = {"site": Pattern(draw.choice(["x", "y", "*"]))} if draw.random() < 0.3 else {}
    match = Match(None, draw.choice([None, *ClientRole]), None, pattern(), pattern(), named)
    return Rule(f"r{number}", draw.randrange(2), match, Destination("a"))


@pytest.mark.parametrize("fixed", range(6))
def test_every_pair_that_overlaps_is_told(fixed: int) -> None:
    """And no other: as by looking at each pair."""
    draw = random.Random(chance.seed(fixed))
    for _ in range(30):
        table = RouteTable(CODES, tuple(drawn(draw, number) for number in range(draw.randrange(12))))
        told = {
            one.what.partition(", and both match")[0] for one in check(table, frozenset({"a"})) if "match" in one.what
        }
        wanted = {
            f"rules {one.name!r} and {other.name!r} have priority {one.priority}"
            for one, other in combinations(table.rules, 2)
            if one.priority == other.priority and shared_client(one.match, other.match) is not None
        }
        assert {one for one in told if one.startswith("rules")} == wanted


def test_of_very_many_overlaps_the_first_are_told() -> None:
    """A table of two thousand alike rules is refused, and not with two million reasons."""
    rules = tuple(Rule(f"r{number}", 0, Match(), Destination("a")) for number in range(2000))
    told = [one for one in check(RouteTable(CODES, rules), frozenset({"a"})) if "both match" in one.what]
    assert len(told) == MOST_OVERLAPS
