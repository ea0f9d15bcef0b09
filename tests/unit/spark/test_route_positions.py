"""Positions of another cluster as startingOffsets: exact, or refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from anabranch.errors import InvalidFieldError
from anabranch.model.cluster import Security
from anabranch.model.routing import Route
from anabranch.sdk.errors import MalformedRouteError, RouteProblemError
from anabranch.spark.routes import EarlierPositions, NotTranslatedError, OtherLinkError, OtherTopicsError, starting
from anabranch.spark.routes.starting import starting_offsets

pytestmark = pytest.mark.unit
UNKNOWN = RouteProblemError(404, "urn:anabranch:problem:unknown-link", "there is no link 'old-new'")
OLD = {"orders": {"0": 100, "1": 7}}


def route(cluster: str = "new", **topics: str) -> Route:
    """A route to there."""
    return Route("orders", cluster, ("a:9092",), Security(), topics or {"orders": "orders"}, True, True, "", 1, 1)


def positions(offsets: Any, cluster: str = "old") -> EarlierPositions:
    """Of that cluster, over the link ``old-new``."""
    return EarlierPositions(cluster, offsets, "old-new")


class Translating:
    """Stands for a service with links as {(target, id): source}; an offset is at ten times its value elsewhere."""

    def __init__(self, links: Mapping[tuple[str, str], str], prefix: str = "", **refused: tuple[str, str]) -> None:
        self._links = links
        self._prefix = prefix
        self._refused = refused
        self.asked: list[Any] = []

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """A link, or a translation over it."""
        target, link = path.split("/")[4], path.split("/")[6]
        if (target, link) not in self._links:
            raise UNKNOWN
        source = self._links[target, link]
        if method == "GET":
            return {"summary": {"source": source}}
        assert path.endswith("/translate")
        self.asked.append(body)
        answers = [self._answer(one) for one in body["questions"]]
        return {"link": link, "cluster": source if body["reverse"] else target, "answers": answers}

    def _answer(self, one: Any) -> Any:
        place = f"{one['topic']}-{one['partition']}"
        told = {"partition": place, "offset": one["offset"], "to": None, "answer": None, "why": ""}
        if place in self._refused:
            kind, why = self._refused[place]
            return {**told, "kind": kind, "why": why}
        return {**told, "kind": "exact", "to": self._prefix + place, "answer": one["offset"] * 10}


FORWARD = {("new", "old-new"): "old"}


@pytest.mark.parametrize("given", [OLD, json.dumps(OLD)])
def test_each_offset_is_the_exact_one_there(given: Any) -> None:
    """By the names there, as Spark takes them."""
    service = Translating(FORWARD, "old.")
    found = starting_offsets(service, route(orders="old.orders"), positions(given))
    assert json.loads(found) == {"old.orders": {"0": 1000, "1": 70}}
    (asked,) = service.asked
    assert (len(asked["questions"]), asked["reverse"]) == (2, False)


def test_one_refusal_refuses_all_with_its_reason() -> None:
    """T1: no offset is left out, and none is near."""
    service = Translating(FORWARD, **{"orders-1": ("after", "all is accounted for up to 5 only")})
    with pytest.raises(NotTranslatedError) as told:
        starting_offsets(service, route(), positions(OLD))
    assert told.value.message == (
        "1 of 2 positions have no exact place on cluster new: orders-1 at 7: after: all is accounted for up to 5 only"
    )
    assert "anabranch link wait old-new --caught-up" in told.value.hint
    service = Translating(FORWARD, **{"orders-0": ("before", "the map begins at 200")})
    with pytest.raises(NotTranslatedError) as told:
        starting_offsets(service, route(), positions(OLD))
    assert told.value.hint.endswith("anabranch offsets translate old-new orders-0:100")


def test_an_approximate_answer_is_a_refusal() -> None:
    """Whoever gave it."""
    service = Translating(FORWARD, **{"orders-0": ("approximate", "")})
    with pytest.raises(NotTranslatedError):
        starting_offsets(service, route(), positions(OLD))


def test_a_link_is_gone_backwards_where_the_route_leads_back() -> None:
    """It lies on the cluster that the job comes from."""
    service = Translating(FORWARD)
    found = starting_offsets(service, route("old"), positions(OLD, "new"))
    assert (json.loads(found)["orders"]["0"], service.asked[0]["reverse"]) == (1000, True)


def test_a_link_of_other_clusters_is_refused() -> None:
    """T2: its map would answer."""
    service = Translating({("new", "old-new"): "third"})
    with pytest.raises(OtherLinkError, match=r"between cluster old, .* and new"):
        starting_offsets(service, route(), positions(OLD))
    both = Translating({("new", "old-new"): "third", ("old", "old-new"): "new"})
    assert starting_offsets(both, route(), positions(OLD)) and both.asked[0]["reverse"]
    with pytest.raises(RouteProblemError, match="no link"):
        starting_offsets(Translating({}), route(), positions(OLD))


def test_positions_of_the_cluster_itself_are_not_translated() -> None:
    """The service is not asked."""
    found = starting_offsets(Translating({}), route("old"), positions(OLD))
    assert json.loads(found) == OLD


def test_positions_of_other_topics_than_those_of_the_route_are_refused() -> None:
    """Spark would begin in the others wherever it likes."""
    for topics in ({"orders": "old.orders"}, {"orders": "orders", "sales": "sales"}):
        with pytest.raises(OtherTopicsError):
            starting_offsets(Translating(FORWARD), route(**topics), positions(OLD))


@pytest.mark.parametrize(
    "given",
    [
        "[",
        "{}",
        "7",
        {"orders": 5},
        *({"orders": {"0": one}} for one in (-1, -2, "5", True)),
        {"o": {"x": 1}},
        {"o": {"0": 1, "00": 2}},
    ],
)
def test_what_is_no_position_is_refused(given: Any) -> None:
    """Spark's words for the beginning and the end among it: those are others on each cluster."""
    with pytest.raises(InvalidFieldError, match="startingOffsets"):
        starting_offsets(Translating(FORWARD), route(), positions(given))


def test_many_are_asked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many at once as the service takes."""
    monkeypatch.setattr(starting, "_MOST", 3)
    service = Translating(FORWARD)
    found = starting_offsets(service, route(), positions({"orders": {str(part): part for part in range(8)}}))
    assert json.loads(found)["orders"] == {str(part): part * 10 for part in range(8)}
    assert [len(one["questions"]) for one in service.asked] == [3, 3, 2]


def test_an_answer_to_another_question_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor one of another cluster, or one that is short of an answer."""
    for changes in ({"cluster": "third"}, {"answers": []}, {"answers": [{"partition": "orders-0", "offset": 1}] * 2}):
        service = Translating(FORWARD)
        ask = service.ask
        monkeypatch.setattr(
            service, "ask", lambda *given, ask=ask, changes=changes: {**ask(*given), **(changes if given[2:] else {})}
        )
        with pytest.raises(MalformedRouteError):
            starting_offsets(service, route(), positions(OLD))
