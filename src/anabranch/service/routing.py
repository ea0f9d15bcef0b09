"""The route table as an instance knows it: kept in memory, and looked for in the store each second.

Another instance may have published; the contexts file may say by now that a cluster is reached otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

import structlog

from anabranch.config.contexts import Contexts
from anabranch.config.routes_file import table_of
from anabranch.errors import AnabranchError, ConfigError, RefusedError
from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import Route, RouteQuery
from anabranch.routes.remembered import MOST, Key, LooksAt, RememberedRoutes
from anabranch.routes.table import RouteVersion
from anabranch.service.clusters import ClusterPool
from anabranch.service.errors import GoneContextError, NoRoutesError
from anabranch.service.stored import Stored
from anabranch.store.routes import StoredVersion

LOOK_S = 1.0
HISTORY = 50
"""Versions that are kept: a route that is older than they are is told to be as old as the oldest of them."""

log = structlog.get_logger()


class KnownContexts(dict[str, ClusterContext]):
    """Contexts by name; one that is not there is a refusal."""

    def __missing__(self, name: str) -> ClusterContext:
        raise GoneContextError(name)


class _Known:
    """One version, and what clients were told while it was the newest.

    ``told`` is by what this version and those before it look at: that decides also since when a route has been so.
    """

    def __init__(self, version: RouteVersion, contexts: Mapping[str, ClusterContext], before: _Known | None) -> None:
        self.version = version
        self.routes = RememberedRoutes(version.table, version.version, contexts)
        own = self.routes.looks_at
        self.looks_at: LooksAt = own if before is None else own.plus(before.looks_at)
        self.told: dict[Key, Route] = {}
        self.alike: dict[tuple[int, int], tuple[Route, Route]] = {}
        """What is told by the route of the table and its age, with that route, whose id would else be another's."""


class Routing:
    """The newest table and those before it; one event loop.  ``changed`` is awaited after each change of routes."""

    def __init__(self, stored: Stored, clusters: ClusterPool, changed: Callable[[], Awaitable[None]]) -> None:
        self._stored = stored
        self._clusters = clusters
        self._changed = changed
        self._known: list[_Known] = []
        self._read: Contexts | None = None
        self._contexts = KnownContexts()
        self._looking = asyncio.Lock()

    @property
    def newest(self) -> RouteVersion | None:
        """The version that applies, as far as this instance knows."""
        return self._known[0].version if self._known else None

    @property
    def number(self) -> int:
        """Its number; 0 where there is none."""
        return self._known[0].version.version if self._known else 0

    @property
    def contexts(self) -> Mapping[str, ClusterContext]:
        """The clusters that the contexts file has, as it was when it could last be read."""
        return self._contexts

    def route(self, query: RouteQuery) -> Route:
        """Where a client is led, and since when; the same object for the same answer.  Raises RefusedError.

        A thread may ask, too.
        """
        known = self._known  # it is never changed, but another one may take its place
        if not known:
            raise NoRoutesError(query.code)
        newest = known[0]
        key = newest.looks_at.key(query)
        told = newest.told.get(key)
        return _tell(known, key, query) if told is None else told

    async def watch(self) -> None:
        """Look for what others publish until this is cancelled; why it cannot be read is logged once."""
        why = ""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.refresh()
                why = ""
            except AnabranchError as error:
                if error.message != why:
                    log.warning("the route table was not read", why=error.message)
                why = error.message
            except Exception:
                log.exception("the route table was not read")

    async def refresh(self) -> None:
        """Know what is newest in the store and in the contexts file; raises StoreError, ConfigError."""
        async with self._looking:
            contexts = self._read_contexts()
            number = await self._stored.ask(self._stored.versions.newest_number)
            found: Sequence[StoredVersion] = ()
            if number > self.number:
                found = await self._stored.ask(lambda: self._stored.versions.after(self.number, HISTORY))
            if contexts is None and not found:
                return
            versions = await asyncio.to_thread(_decoded, found)
            self._take(versions, contexts)
            await self._changed()

    def _read_contexts(self) -> KnownContexts | None:
        """The contexts, None where they are as they were, or cannot be read just now."""
        try:
            read = self._clusters.contexts()
        except ConfigError:
            return None
        if read is self._read:
            return None
        self._read = read
        made = KnownContexts(read.contexts)
        return None if made == self._contexts else made

    def _take(self, versions: Sequence[RouteVersion], contexts: KnownContexts | None) -> None:
        kept: Sequence[_Known] = self._known
        if contexts is not None:
            self._contexts = contexts
            kept = _known([one.version for one in kept], contexts, ())
        self._known = [*_known(versions, self._contexts, kept), *kept][:HISTORY]


def _known(
    versions: Sequence[RouteVersion], contexts: Mapping[str, ClusterContext], older: Sequence[_Known]
) -> list[_Known]:
    """Versions over older ones; the newest first, all of them."""
    made: list[_Known] = []
    before = older[0] if older else None
    for one in reversed(versions):
        before = _Known(one, contexts, before)
        made.append(before)
    return made[::-1]


def _tell(known: Sequence[_Known], key: Key, query: RouteQuery) -> Route:
    """Where the first of some versions leads a client, for the first time; raises RefusedError."""
    newest = known[0]
    found = newest.routes(query)
    since = _since(known, query, found)
    if len(newest.told) >= MOST:
        newest.told.clear()
        newest.alike.clear()
    _, told = newest.alike.setdefault((id(found), since), (found, replace(found, since=since)))
    newest.told[key] = told
    return told


def _since(known: Sequence[_Known], query: RouteQuery, route: Route) -> int:
    """The version since which a client is led as by the first of some."""
    found = known[0].version.version
    for older in known[1:]:
        try:
            if not older.routes(query).leads_as(route):
                break
        except RefusedError:
            break
        told = older.told.get(older.looks_at.key(query))
        if told is not None:
            return told.since
        found = older.version.version
    return found


def _decoded(found: Sequence[StoredVersion]) -> list[RouteVersion]:
    return [version_of(one) for one in found]


def version_of(stored: StoredVersion) -> RouteVersion:
    """A version as it was published; raises ConfigError for one that a newer program has written."""
    table = table_of(stored.table, f"version {stored.version} of the route table")
    return RouteVersion(stored.version, stored.at, stored.author, stored.reason, table)
