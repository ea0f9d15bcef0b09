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
from anabranch.routes.remembered import MOST, RememberedRoutes, question
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
    """One version, and since when questions of it have had their answers, as far as that was asked."""

    def __init__(self, version: RouteVersion, contexts: Mapping[str, ClusterContext]) -> None:
        self.version = version
        self.routes = RememberedRoutes(version.table, version.version, contexts)
        self.since: dict[tuple[object, ...], int] = {}


class Routing:
    """The newest table and those before it; one event loop.  ``changed`` is awaited after each change of routes."""

    def __init__(self, stored: Stored, clusters: ClusterPool, changed: Callable[[], Awaitable[None]]) -> None:
        self._stored = stored
        self._clusters = clusters
        self._changed = changed
        self._known: list[_Known] = []
        self._told: dict[tuple[int, int], tuple[Route, Route]] = {}
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
        found = known[0].routes(query)
        since = _since(known, query, found)
        told = self._told.get((id(found), since))
        if told is None:
            if len(self._told) >= MOST:
                self._told.clear()
            # With what it was made of, whose id would else be another's one day.
            told = self._told[id(found), since] = (found, replace(found, since=since))
        return told[1]

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
        if contexts is not None:
            self._contexts = contexts
            self._known = [_Known(one.version, contexts) for one in self._known]
        self._known = [*(_Known(one, self._contexts) for one in versions), *self._known][:HISTORY]
        self._told = {}


def _since(known: Sequence[_Known], query: RouteQuery, route: Route) -> int:
    """The version since which a client is led as by the first of some."""
    newest, asked = known[0], question(query)
    found = newest.since.get(asked)
    if found is None:
        found = newest.version.version
        for older in known[1:]:
            try:
                if not older.routes(query).leads_as(route):
                    break
            except RefusedError:
                break
            found = older.since.get(asked, older.version.version)
            if asked in older.since:
                break
        if len(newest.since) >= MOST:
            newest.since.clear()
        newest.since[asked] = found
    return found


def _decoded(found: Sequence[StoredVersion]) -> list[RouteVersion]:
    return [version_of(one) for one in found]


def version_of(stored: StoredVersion) -> RouteVersion:
    """A version as it was published; raises ConfigError for one that a newer program has written."""
    table = table_of(stored.table, f"version {stored.version} of the route table")
    return RouteVersion(stored.version, stored.at, stored.author, stored.reason, table)
