"""Whom a table moves from which cluster to which, counted by those that are led alike."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import fields, replace

import pytest

from anabranch.model.cluster import ClusterContext, Security, SecurityProtocol
from anabranch.model.routing import Client, ClientFacts, ClientReport, ClientRole, RouteQuery
from anabranch.operations.routes.planning import moved_pairs, named_clients
from anabranch.routes.impact import impact
from anabranch.routes.pattern import Pattern
from anabranch.routes.remembered import RememberedRoutes
from anabranch.routes.routing import router
from anabranch.routes.switch import topics_by_pair
from anabranch.routes.table import Code, Destination, Match, RouteTable, Rule
from tests import chance

pytestmark = pytest.mark.unit

CONTEXTS = {name: ClusterContext(name, (f"{name}:1",), Security(SecurityProtocol.PLAINTEXT)) for name in "abc"}
FACTS = ClientFacts("shop", "host", "", 1, "1")


def drawn_table(draw: random.Random) -> RouteTable:
    """Two codes, and rules that rename topics or lead elsewhere."""
    codes = {name: Code(name, Destination(draw.choice("abc"))) for name in ("orders", "shop")}
    names = ("{topic}", "old.{topic}")
    rules = [
        Rule(f"r{at}", at, Match(group=Pattern(f"{at}*")), Destination(draw.choice("abc"), topics=draw.choice(names)))
        for at in range(draw.randrange(3))
    ]
    return RouteTable(codes, tuple(rules))


def drawn_client(draw: random.Random, number: int) -> Client:
    """One of few kinds, so that many are led alike; regular expressions only where no rule renames."""
    group = draw.choice(["", "0-x", "1-x", "none"])
    topics = draw.choice([("t",), ("t", "u"), (), ("v",)]) if group != "none" else ("^t.*",)
    role = ClientRole.CONSUMER if group else ClientRole.PRODUCER
    return Client(
        f"{number:032x}", FACTS, RouteQuery(draw.choice(["orders", "shop"]), role, topics, group), 0, 0, 2**62
    )


@pytest.mark.parametrize("fixed", range(4))
def test_pairs_are_those_of_all_named_clients(fixed: int) -> None:
    """Their numbers and their topics, whether routes are remembered or made for each client; or a topic has two names.

    That is refused (R9).
    """
    draw = random.Random(chance.seed(fixed))
    for _ in range(30):
        before, after = drawn_table(draw), drawn_table(draw)
        clients = [drawn_client(draw, number) for number in range(20)]
        remembered = [RememberedRoutes(table, at, CONTEXTS) for at, table in ((1, before), (2, after))]
        for first, second in (remembered, (router(before, 1, CONTEXTS), router(after, 2, CONTEXTS))):
            moved = impact(first, second, clients)
            named = named_clients(moved).values()
            found = moved_pairs(moved)
            assert {pair: one.clients for pair, one in found.items()} == Counter(one.pair for one in named)
            names = {(one.pair, *each) for one in named for each in one.topics.items()}
            is_refused = any(" would be 2 topics on " in reason.what for reason in moved.forbids)
            assert is_refused is (len(names) > len({name[:2] for name in names}))
            if not is_refused:
                assert {pair: dict(one.topics) for pair, one in found.items()} == topics_by_pair(named)


def test_a_client_that_is_led_elsewhere_is_the_same_in_all_else() -> None:
    """Each field of it, whatever a client has one day."""
    query = RouteQuery("orders", ClientRole.CONSUMER, ("t",), "g", "c", {"a": "b"})
    one = Client("1" * 32, FACTS, query, 1, 2, 3, "a", 4, ClientReport(5, 6, 7, 8, 9, {"t-0": 10}, "why"))
    assert one.led("b", 11) == replace(one, cluster="b", since=11)
    assert all(getattr(one.led("a", 4), field.name) is getattr(one, field.name) for field in fields(Client))
