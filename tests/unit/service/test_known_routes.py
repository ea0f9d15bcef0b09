"""The routes that an instance tells, remembered by what tables look at: the same that the tables say by themselves."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
import yaml

from anabranch.config.routes_file import table_fields
from anabranch.errors import RefusedError
from anabranch.model.clock import now_ms
from anabranch.model.routing import ClientRole, Route, RouteQuery
from anabranch.routes.pattern import Pattern
from anabranch.routes.routing import since
from anabranch.routes.table import Code, Destination, Match, RouteTable, Rule
from anabranch.service import routing as module
from anabranch.service.clusters import ClusterPool
from anabranch.service.routing import Routing, version_of
from anabranch.service.stored import Stored
from tests import chance

pytestmark = pytest.mark.unit

NAMES = ("x", "y", "z-1")
CODES = {"orders": Code("orders", Destination("a")), "shop": Code("shop", Destination("b", topics="s.{topic}"))}
QUERIES = [
    RouteQuery(code, role, topics, group, client_id, {} if site is None else {"site": site})
    for code in ("orders", "shop", "none")
    for role in ClientRole
    for topics in ((), ("t",))
    for group in ("", "x")
    for client_id in ("x", "y")
    for site in (None, "x", "y")
]


def drawn_table(draw: random.Random) -> RouteTable:
    """A table of a few rules, which look at other fields each time."""

    def pattern(chance_of: float) -> Pattern | None:
        return Pattern(draw.choice([*NAMES, "*"])) if draw.random() < chance_of else None

    rules = []
    for number in range(draw.randrange(3)):
        site = pattern(0.3)
        match = Match(group=pattern(0.3), client_id=pattern(0.2), parameters={} if site is None else {"site": site})
        rules.append(Rule(f"r{number}", number, match, Destination(draw.choice("ab"), may_write=draw.random() < 0.8)))
    kept = {name: code for name, code in CODES.items() if draw.random() < 0.9}
    return RouteTable({**kept, "spare": Code("spare", Destination("a"))}, tuple(rules))


def write_contexts(path: Path, port: int) -> None:
    """The two clusters, at a port."""
    contexts = {name: {"bootstrap": [f"{name}:{port}"]} for name in "ab"}
    path.write_text(yaml.safe_dump({"version": 1, "contexts": contexts}), encoding="utf-8")


@pytest.mark.parametrize("fixed", range(4))
def test_what_is_told_is_what_the_versions_say(
    fixed: int, stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where, and since when: whoever asked before, as tables and addresses change, also when much is forgotten.

    An instance that begins now says the same.
    """
    draw = random.Random(chance.seed(fixed))
    if fixed % 2:
        monkeypatch.setattr(module, "MOST", 3)
    path = tmp_path / "contexts.yaml"
    write_contexts(path, 1)

    async def nothing() -> None:
        """Nobody is told."""

    def says(routing: Routing, query: RouteQuery) -> Route | str:
        try:
            return routing.route(query)
        except RefusedError as error:
            return error.message

    async def run() -> None:
        routing = Routing(stored, ClusterPool(path), nothing)
        for number in range(8):
            fields = table_fields(drawn_table(draw))
            stored.versions.publish(fields, number, "ada", "a test", now_ms())
            if number == 4:
                write_contexts(path, 20)
            if draw.random() < 0.8:
                await routing.refresh()
            asked = draw.sample(QUERIES, 30) if draw.random() < 0.7 else []
            history = [version_of(one) for one in stored.versions.after(0, 100) if one.version <= routing.number]
            for query in asked:
                try:
                    wanted: Route | str = since(history, routing.contexts, query) if history else ""
                except RefusedError as error:
                    wanted = error.message
                assert not history or says(routing, query) == wanted, (number, query)
        await routing.refresh()
        fresh = Routing(stored, ClusterPool(path), nothing)
        await fresh.refresh()
        assert [says(routing, one) for one in QUERIES] == [says(fresh, one) for one in QUERIES]

    asyncio.run(run())


def test_who_is_led_alike_is_told_the_very_same_route(stored: Stored, tmp_path: Path) -> None:
    """So that what they are told is written once, whatever else they tell of themselves."""
    path = tmp_path / "contexts.yaml"
    write_contexts(path, 1)
    rule = Rule("r", 1, Match(client_id=Pattern("z*")), Destination("b"))
    stored.versions.publish(table_fields(RouteTable(CODES, (rule,))), 0, "ada", "a test", now_ms())

    async def nothing() -> None:
        """Nobody is told."""

    async def run() -> None:
        routing = Routing(stored, ClusterPool(path), nothing)
        await routing.refresh()
        one, other = (RouteQuery("orders", ClientRole.PRODUCER, ("t",), "", name, {"pid": name}) for name in "xy")
        assert routing.route(one) is routing.route(other)

    asyncio.run(run())
