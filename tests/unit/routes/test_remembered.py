"""Remembered routes: the same answers as a table's own, whatever is left out of a question."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from anabranch.errors import RefusedError
from anabranch.model.cluster import ClusterContext, Security, SecurityProtocol
from anabranch.model.routing import ClientRole, Route, RouteQuery
from anabranch.routes import remembered
from anabranch.routes.errors import UnknownCodeError
from anabranch.routes.pattern import Pattern
from anabranch.routes.remembered import LooksAt, RememberedRoutes
from anabranch.routes.routing import route
from anabranch.routes.table import Code, Destination, Match, RouteTable, Rule
from tests import chance

pytestmark = pytest.mark.unit

CONTEXTS = {name: ClusterContext(name, (f"{name}:1",), Security(SecurityProtocol.PLAINTEXT)) for name in ("a", "b")}
NAMES = ("x", "y", "z-1", "any", "*")
PATTERNS = ("x", "y", "z-*", "*", r"\*", "*1")
CODES = {
    "orders": Code("orders", Destination("a")),
    "shop": Code("shop", Destination(code="orders", topics="s.{topic}")),
    "sales": Code("sales", Destination("b", may_write=False)),
}


def drawn_rule(draw: random.Random, number: int) -> Rule:
    """A rule of a few fields."""

    def pattern() -> Pattern | None:
        return Pattern(draw.choice(PATTERNS)) if draw.random() < 0.3 else None

    named = {name: Pattern(draw.choice(PATTERNS)) for name in ("group", "site") if draw.random() < 0.2}
    code = Pattern(draw.choice(["orders", "*s"])) if draw.random() < 0.4 else None
    role = draw.choice([None, None, *ClientRole])
    match = Match(code, role, pattern(), pattern(), pattern(), named)
    return Rule(f"r{number}", number, match, Destination(draw.choice("ab"), may_read=draw.random() < 0.8))


def drawn_query(draw: random.Random) -> RouteQuery:
    """A client with some of all fields, now and then of a code that is not there."""
    topics = tuple(draw.choice(["t", "u", "x", "^x.*"]) for _ in range(draw.randrange(3)))
    parameters = {name: draw.choice(NAMES) for name in ("group", "site", "own") if draw.random() < 0.5}
    group, client_id = (draw.choice(["", *NAMES]) for _ in range(2))
    code = draw.choice([*CODES, *CODES, "none"])
    return RouteQuery(code, draw.choice(list(ClientRole)), topics, group, client_id, parameters)


def told(router: object, query: RouteQuery) -> Route | str:
    """The route, or why there is none."""
    assert callable(router)
    try:
        found: Route = router(query)
    except RefusedError as error:
        return error.message
    return found


@pytest.mark.parametrize("fixed", range(8))
def test_what_is_remembered_is_what_the_table_says(fixed: int) -> None:
    """R8: for tables and clients at random, asked twice, also when it forgets in between."""
    draw = random.Random(chance.seed(fixed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remembered, "MOST", 7)
        for _ in range(40):
            rules = tuple(drawn_rule(draw, number) for number in range(draw.randrange(6)))
            table = RouteTable(CODES, rules)
            routes = RememberedRoutes(table, 3, CONTEXTS)
            for query in [drawn_query(draw) for _ in range(20)]:
                wanted = told(lambda asked, table=table: route(table, 3, CONTEXTS, asked), query)
                assert told(routes, query) == wanted, (table, query)
                assert told(routes, query) == wanted
                if isinstance(wanted, Route):
                    assert dict(routes(query).topics) == dict(wanted.topics)


@pytest.mark.parametrize("fixed", range(4))
def test_queries_with_one_key_are_answered_alike_by_each_table(fixed: int) -> None:
    """Of one table, and of two together; what is left of a query has the same key."""
    draw = random.Random(chance.seed(fixed))
    for _ in range(30):
        tables = [RouteTable(CODES, tuple(drawn_rule(draw, number) for number in range(3))) for _ in range(2)]
        both = LooksAt.of(tables[0]).plus(LooksAt.of(tables[1]))
        found: dict[object, list[Route | str]] = {}
        for query in [drawn_query(draw) for _ in range(40)]:
            routers = [lambda asked, table=table: route(table, 3, CONTEXTS, asked) for table in tables]
            answers = [told(router, query) for router in routers]
            assert found.setdefault(both.key(query), answers) == answers, (tables, query)
            assert both.key(both.part(query)) == both.key(query)


def test_clients_that_are_led_alike_are_told_the_very_same() -> None:
    """So that what they are told is made once: also where rules look at what they differ in."""
    own = Rule("own", 1, Match(parameters={"job": Pattern("7")}), Destination("b"))
    routes = RememberedRoutes(RouteTable(CODES, (own,)), 1, CONTEXTS)
    query = RouteQuery("orders", ClientRole.PRODUCER, ("t",), "", "c", {"job": "1", "host": "h"})
    first = routes(query)
    assert routes(replace(query, client_id="d", parameters={"job": "2"})) is first
    assert routes(replace(query, parameters={"job": "7"})).cluster == "b"


def test_a_refusal_is_told_again() -> None:
    """As itself."""
    routes = RememberedRoutes(RouteTable(CODES), 1, CONTEXTS)
    for _ in range(2):
        with pytest.raises(UnknownCodeError, match="none"):
            routes(RouteQuery("none", ClientRole.CONSUMER))
