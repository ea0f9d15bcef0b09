"""Routes by a table: what a client is told, and since which version it has been so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from anabranch.errors import RefusedError
from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import Route, RouteQuery
from anabranch.routes.resolve import TopicRoute, resolve
from anabranch.routes.table import RouteTable, RouteVersion


def route(table: RouteTable, version: int, contexts: Mapping[str, ClusterContext], query: RouteQuery) -> Route:
    """Where a client is led; ``since`` is the version itself.  Raises what `resolve` raises.

    ``contexts`` are how the service reaches clusters, for those of which the table does not say how applications do.
    """
    ways = resolve(table, query)
    return _told(ways, table, version, contexts, query)


def _told(
    ways: Sequence[TopicRoute],
    table: RouteTable,
    version: int,
    contexts: Mapping[str, ClusterContext],
    query: RouteQuery,
) -> Route:
    name = ways[0].cluster
    cluster = table.clusters.get(name) or contexts[name]
    return Route(
        query.code,
        name,
        cluster.bootstrap,
        cluster.security,
        {way.topic: way.topic_there or way.topic for way in ways if way.topic is not None},
        all(way.may_read for way in ways),
        all(way.may_write for way in ways),
        ways[0].rule,
        version,
        version,
    )


def since(history: Sequence[RouteVersion], contexts: Mapping[str, ClusterContext], query: RouteQuery) -> Route:
    """Where the newest version leads a client, with the version since which that has been so.

    ``history`` is the versions that are known, the newest first; a version in which the client was refused ends the
    search.  Raises what `resolve` raises.
    """
    newest = history[0]
    now = route(newest.table, newest.version, contexts, query)
    first = newest.version
    for older in history[1:]:
        try:
            former = route(older.table, older.version, contexts, query)
        except (RefusedError, KeyError):
            break
        if not former.leads_as(now):
            break
        first = older.version
    return replace(now, since=first)


def router(table: RouteTable, version: int, contexts: Mapping[str, ClusterContext]) -> Callable[[RouteQuery], Route]:
    """`route` of one table."""
    return lambda query: route(table, version, contexts, query)
