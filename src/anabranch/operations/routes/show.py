"""Where a client would be led, and why: the answer to ``route explain``."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from anabranch.errors import RefusedError
from anabranch.model.routing import Route, RouteQuery
from anabranch.routes.impact import Router
from anabranch.routes.resolve import TopicRoute, resolve
from anabranch.routes.table import RouteTable


@dataclass(frozen=True, slots=True)
class Explained:
    """A client's route, or why it is refused; ``ways`` are those of its topics, also where they lead apart."""

    route: Route | None
    refusal: RefusedError | None
    ways: tuple[TopicRoute, ...]


def explain(table: RouteTable, router: Router, query: RouteQuery) -> Explained:
    """Where a client is led by a table, and the whole way."""
    try:
        return Explained(router(query), None, resolve(table, query))
    except RefusedError as error:
        return Explained(
            None, error, tuple(way for topic in query.topics or (None,) for way in _way(table, query, topic))
        )


def _way(table: RouteTable, query: RouteQuery, topic: str | None) -> tuple[TopicRoute, ...]:
    """The way of one topic, none where it alone is refused."""
    with suppress(RefusedError):
        return resolve(table, replace(query, topics=() if topic is None else (topic,)))
    return ()
