"""The registered clients of an instance: in memory, and in the store, to which what they report is written behind.

Invariants
    C1  a client belongs to the account that registered it, on whichever instance.
    C2  the live consumers of a group that are registered here are led to one cluster: one that would be on another is
        refused.  Of those that other instances hear of, what they wrote some seconds ago counts.
    C3  a client is live until its lease ends; it is known for ``KEPT_MS`` longer, and told to be stale.
    C4  a client that was answered is in the store, with what it asked for and a lease that goes on for a while: an
        instance that was killed and begins again knows it, so that a switch that was under way does not go on without
        it.  One of which the store has all that already is not written first when it comes again, as all of an
        instance do after its restart.  One that has ended, and was told so, is not known again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import structlog

from anabranch.errors import RefusedError
from anabranch.model.accounts import Account, Role
from anabranch.model.clock import now_ms
from anabranch.model.routing import Client, ClientFacts, ClientReport, ClientRole, Route, RouteQuery
from anabranch.operations.documents import plain
from anabranch.service.client_totals import ClientTotals
from anabranch.service.errors import NotItsAccountError, SplitGroupError, TooManyClientsError, UnknownClientError
from anabranch.service.problems import problem_of
from anabranch.service.route_answers import route_answer
from anabranch.service.routing import Routing
from anabranch.service.stored import Stored
from anabranch.service.together import Together
from anabranch.service.watching import Watching, event
from anabranch.store.clients import NOBODY, RegisteredClient
from anabranch.store.errors import StoreError

WRITE_S = 2.0
FORGET_S = 60.0
KEPT_MS = 3_600_000
MOST_CLIENTS = 50_000
REPORT_MS, REPORTS_PER_S = 10_000, 200
LEASE_REPORTS = 3
_AT_ONCE = 200
"""Clients that are led again before others are answered."""
_WRITTEN_AT_ONCE = 200
_KEPT_LEFT_MS = REPORT_MS
"""How much of its lease a client must have left in the store where it is not written before it is answered."""

log = structlog.get_logger()


@dataclass(eq=False, slots=True)
class Known:
    """A client that this instance hears of; ``route`` is what it was told last, None where it is refused.

    ``kept`` is what the store has, as this instance has written or read it last: what it asked for, and until when.
    """

    client: Client
    account: str
    route: Route | None
    kept: tuple[RouteQuery, int] | None = None


def is_behind(client: Client) -> bool:
    """Whether a newer version leads a client otherwise, and it has not said that it follows that."""
    return client.report.version < client.since


class Registry:
    """The clients of one instance; one event loop."""

    def __init__(self, stored: Stored, routing: Routing, watching: Watching, instance: str) -> None:
        self._stored = stored
        self._routing = routing
        self._watching = watching
        self._instance = instance
        self._known: dict[str, Known] = {}
        self._groups: dict[str, set[str]] = {}
        self.totals = ClientTotals()
        self._changed: set[str] = set()
        self._removed: set[str] = set()
        self._writing = asyncio.Lock()
        self._beside = Together(self._asked_beside, _WRITTEN_AT_ONCE)
        self._admitting = Together(self._admit, _WRITTEN_AT_ONCE)
        self._ending = Together(self._end, _WRITTEN_AT_ONCE)
        self._led = asyncio.Event()
        self._led.set()

    def __len__(self) -> int:
        return len(self._known)

    @property
    def report_ms(self) -> int:
        """How often a client reports: all together not more often than ``REPORTS_PER_S``."""
        return max(REPORT_MS, len(self._known) * 1000 // REPORTS_PER_S)

    @property
    def lease_ms(self) -> int:
        """How long a client is live after it was last seen."""
        return LEASE_REPORTS * self.report_ms

    # -- what clients ask ------------------------------------------------------------------------------

    async def register(
        self, account: Account, client_id: str, query: RouteQuery, facts: ClientFacts
    ) -> tuple[Client, Route]:
        """Register a client, or change what it asks for; raises RefusedError, StoreError."""
        group = query.group if query.role is ClientRole.CONSUMER else ""
        beside = await self._beside.of((client_id, group))
        now = now_ms()
        for one in beside:
            if one.client.id == client_id:
                _check_owner(account, client_id, one.account)
        # From here nothing is waited for, so that of two who register at once the second one sees the first (C2).
        known = self._known.get(client_id)
        if known is not None:
            _check_owner(account, client_id, known.account)
        elif len(self._known) >= MOST_CLIENTS:
            raise TooManyClientsError(MOST_CLIENTS)
        route = self._routing.route(query)
        if group:
            self._check_group(client_id, group, route, beside, now)
        former = None if known is None else known.client
        # Of one that another instance heard of until now what it has counted is known there.
        elsewhere = next((one.client for one in beside if one.client.id == client_id), None)
        last = former or elsewhere
        report = replace(ClientReport() if last is None else last.report, version=route.version)
        since_ms = now if former is None else former.registered_ms
        made = Client(client_id, facts, query, since_ms, now, now + self.lease_ms, route.cluster, route.since, report)
        owner = account.name if known is None else known.account
        kept = None if known is None or elsewhere is not None else known.kept
        is_kept = kept is not None and kept[0] == query and kept[1] >= now + _KEPT_LEFT_MS
        self._put(Known(made, owner, route, kept if is_kept else None))
        if not is_kept:
            await self._admitting.of(client_id)
        # Routes may have changed meanwhile, and then it was led again.
        now_known = self._known.get(client_id)
        if now_known is None:
            return made, route
        return now_known.client, now_known.route or self._routing.route(query)

    async def _asked_beside(self, asked: Sequence[tuple[str, str]]) -> list[list[RegisteredClient]]:
        """What other instances have written of each client of ``asked``, and of the live members of its group."""
        ids, groups = [client_id for client_id, _ in asked], {group for _, group in asked if group}
        rows = await self._stored.ask(lambda: self._stored.clients.beside(ids, groups, self._instance, now_ms()))
        by_id = {one.client.id: one for one in rows}
        by_group: dict[str, list[RegisteredClient]] = {}
        for one in rows:
            by_group.setdefault(one.client.query.group, []).append(one)
        found = []
        for client_id, group in asked:
            its_own = by_id.get(client_id)
            members = [one for one in by_group.get(group, ()) if one is not its_own] if group else []
            found.append(members if its_own is None else [its_own, *members])
        return found

    async def _admit(self, ids: Sequence[str]) -> Sequence[None]:
        """Write clients that have just registered (C4); raises StoreError, and what is written later is anyway."""
        await self._led.wait()
        await self._keep(ids)
        return [None] * len(ids)

    async def _end(self, ids: Sequence[str]) -> Sequence[None]:
        """Have the store forget clients that have just ended (C4); raises StoreError, and it hears of them later."""
        ended = self._removed.intersection(ids)
        await self._stored.ask(lambda: self._stored.clients.remove(ended, self._instance, now_ms()))
        self._removed -= ended
        for known in (self._known[one] for one in ended & self._known.keys()):  # it came again meanwhile
            known.kept = None
            self._changed.add(known.client.id)
        return [None] * len(ids)

    async def _keep(self, ids: Iterable[str]) -> None:
        # In one order: two that write some of the same rows in two orders wait for each other.
        found = [self._known[one] for one in sorted(set(ids)) if one in self._known]
        rows = [RegisteredClient(known.client, known.account, self._instance) for known in found]
        await self._stored.ask(partial(self._stored.clients.keep, rows))
        for known, row in zip(found, rows, strict=True):
            known.kept = row.client.query, row.client.until_ms
            if known.client is row.client and self._known.get(row.client.id) is known:
                self._changed.discard(row.client.id)

    def _check_group(
        self, client_id: str, group: str, route: Route, elsewhere: Iterable[RegisteredClient], now: int
    ) -> None:
        """Raise SplitGroupError where a live member of a group is led to another cluster.

        By the routes of now: after a change it may not have been led again yet.
        """
        here = [self._known[one].client for one in self._groups.get(group, ())]
        others = [one.client for one in elsewhere if one.client.id not in self._known]
        for client in (*(one for one in here if one.is_live(now)), *others):
            if client.id == client_id or client.query.role is not ClientRole.CONSUMER:
                continue
            try:
                cluster = self._routing.route(client.query).cluster
            except RefusedError:  # it stays where it is, which of others' clients is not known for certain
                cluster = client.cluster if client.id in self._known else route.cluster
            if cluster != route.cluster:
                raise SplitGroupError(group, route.cluster, client.words, cluster)

    def report(self, account: Account, client_id: str, report: ClientReport) -> None:
        """Hear of a client; raises UnknownClientError, NotItsAccountError."""
        known = self.of(account, client_id)
        now = now_ms()
        self.totals.heard(known.client, report)
        known.client = replace(known.client, seen_ms=now, until_ms=now + self.lease_ms, report=report)
        self._changed.add(client_id)

    def of(self, account: Account, client_id: str) -> Known:
        """A client of an account's own, or for an admin any; raises UnknownClientError, NotItsAccountError."""
        known = self._known.get(client_id)
        if known is None:
            raise UnknownClientError(client_id)
        _check_owner(account, client_id, known.account)
        return known

    def query(self, client_id: str) -> RouteQuery | None:
        """What a client of this instance asked for, None where it is not known here."""
        known = self._known.get(client_id)
        return None if known is None else known.client.query

    async def remove(self, account: Account, client_id: str) -> Client:
        """Forget a client, also one that another instance hears of; raises RefusedError, StoreError.

        Of this instance's own the store may hear later: where it does not answer, a client has ended nevertheless.
        """
        known = self._known.get(client_id)
        if known is not None:
            _check_owner(account, client_id, known.account)
            self._forget(client_id)
            self._removed.add(client_id)
            with suppress(StoreError):
                await self._ending.of(client_id)
            return known.client
        stored = await self._of_others(client_id)
        _check_owner(account, client_id, stored.account)
        await self._stored.ask(lambda: self._stored.clients.remove([client_id], stored.instance, now_ms()))
        return stored.client

    def told(self, known: Known) -> bytes:
        """What a client is told of its route as it begins to watch."""
        try:
            return event("route", {"route": plain(route_answer(self._routing.route(known.client.query)))})
        except RefusedError as error:
            return event("refused", {"problem": plain(problem_of(error))})

    # -- who is there ----------------------------------------------------------------------------------

    async def every(self, *, ended: bool = False) -> Sequence[Client]:
        """All clients of all instances, also those that are stale; of other instances as they were last written.

        With ``ended`` also those of groups that have ended.  Raises StoreError.
        """
        others = await self._stored.ask(lambda: self._stored.clients.of_others(self._instance, now_ms() - KEPT_MS))
        found = {one.client.id: one.client for one in others if ended or one.instance != NOBODY}
        for client_id, known in self._known.items():
            if client_id not in found or found[client_id].seen_ms <= known.client.seen_ms:
                found[client_id] = known.client
        return list(found.values())

    async def live(self) -> Sequence[Client]:
        """All clients whose leases run; raises StoreError."""
        now = now_ms()
        return [one for one in await self.every() if one.is_live(now)]

    async def get(self, client_id: str) -> Client:
        """A client, of whichever instance; raises UnknownClientError, StoreError."""
        known = self._known.get(client_id)
        if known is not None:
            return known.client
        return (await self._of_others(client_id)).client

    async def _of_others(self, client_id: str) -> RegisteredClient:
        """A client that another instance hears of; raises UnknownClientError, StoreError."""
        stored = await self._stored.ask(lambda: self._stored.clients.get(client_id))
        if stored is None or stored.instance == NOBODY or client_id in self._removed:
            raise UnknownClientError(client_id)
        return stored

    def counts(self) -> tuple[Mapping[tuple[str, str], int], Mapping[str, int]]:
        """The clients of this instance by state and cluster, and those that are behind by cluster."""
        now = now_ms()
        states: Counter[tuple[str, str]] = Counter()
        behind: Counter[str] = Counter()
        for known in self._known.values():
            client = known.client
            live = client.is_live(now)
            states["live" if live else "stale", client.cluster] += 1
            behind[client.cluster] += live and is_behind(client)
        return states, behind

    def lags(self) -> Mapping[str, int]:
        """The lag of this instance's live consumers by application."""
        now = now_ms()
        return self.totals.lags(one.client for one in self._known.values() if one.client.is_live(now))

    # -- as routes change ------------------------------------------------------------------------------

    async def lead_again(self) -> None:
        """Lead every client by the routes of now, and tell those that watch and are led otherwise.

        What is told is made once for all that are told the same.  Meanwhile nothing is written to the store: its
        thread would take turns with this one.
        """
        made: dict[object, tuple[object, bytes]] = {}
        self._led.clear()
        try:
            for at, client_id in enumerate(tuple(self._known)):
                if at % _AT_ONCE == _AT_ONCE - 1:
                    await asyncio.sleep(0)
                known = self._known.get(client_id)
                if known is not None:
                    self._lead(known, made)
        finally:
            self._led.set()

    def _lead(self, known: Known, made: dict[object, tuple[object, bytes]]) -> None:
        client = known.client
        try:
            route = self._routing.route(client.query)
        except RefusedError as error:
            if known.route is not None:
                known.route = None
                self._change(known, client.led(client.cluster, self._routing.number))
                problem = problem_of(error)
                self._tell(client, made, problem, problem, lambda: event("refused", {"problem": plain(problem)}))
            return
        is_told = known.route is not None and known.route.leads_as(route)
        known.route = route
        if (client.cluster, client.since) != (route.cluster, route.since):
            self._change(known, client.led(route.cluster, route.since))
        if not is_told:
            self._tell(client, made, id(route), route, lambda: event("route", {"route": plain(route_answer(route))}))

    def _tell(
        self,
        client: Client,
        made: dict[object, tuple[object, bytes]],
        key: object,
        of: object,
        make: Callable[[], bytes],
    ) -> None:
        if key not in made:
            # It is held: the id of a route that nobody has any more may come to be that of another one.
            made[key] = of, make()
        self._watching.tell(client.id, made[key][1])

    # -- what is kept ----------------------------------------------------------------------------------

    async def load(self) -> None:
        """Know again who was registered here; raises StoreError.

        Clients that were live when this instance ended could not report since: their leases begin again.
        """
        now = now_ms()
        rows = await self._stored.ask(lambda: self._stored.clients.of_instance(self._instance, now - KEPT_MS))
        ended = max((one.client.seen_ms for one in rows), default=0)
        lease = max(REPORT_MS, len(rows) * 1000 // REPORTS_PER_S) * LEASE_REPORTS
        for one in rows:
            client = one.client
            kept = client.query, client.until_ms
            if client.is_live(ended):
                client = replace(client, until_ms=max(client.until_ms, now + lease))
            try:
                route = self._routing.route(client.query)
            except RefusedError:
                self._put(Known(client, one.account, None, kept))
            else:
                self._put(Known(client.led(route.cluster, route.since), one.account, route, kept))

    async def keep(self) -> None:
        """Write what changed, and forget who is gone, until this is cancelled."""
        loop = asyncio.get_running_loop()
        forgets_at = 0.0
        while True:
            await asyncio.sleep(WRITE_S)
            try:
                await self.write()
                if loop.time() >= forgets_at:
                    forgets_at = loop.time() + FORGET_S
                    await self._forget_gone()
            except StoreError as error:
                log.warning("clients were not written", why=error.message)
            except Exception:
                log.exception("clients were not written")

    async def write(self) -> None:
        """Write what changed since it was last written; raises StoreError, and then it is written next time.

        Of very many some at a time: whoever asks meanwhile does not wait for all.  Once it returns, what another call
        was writing is written, too.
        """
        async with self._writing:
            await self._write()

    async def _write(self) -> None:
        if self._removed:
            await self._end(tuple(self._removed))
        changed, self._changed = list(self._changed), set()
        while changed:
            some = changed[-_WRITTEN_AT_ONCE:]
            try:
                await self._led.wait()
                await self._keep(some)
            except BaseException:
                self._changed.update(changed)
                raise
            del changed[-_WRITTEN_AT_ONCE:]

    async def _forget_gone(self) -> None:
        before = now_ms() - KEPT_MS
        for client_id in [one for one, known in self._known.items() if known.client.until_ms < before]:
            self._forget(client_id)
        await self._stored.ask(lambda: self._stored.clients.forget(before))

    def _put(self, known: Known) -> None:
        client = known.client
        former = self._known.get(client.id)
        if former is not None:
            self._leave_group(former.client)
        self._known[client.id] = known
        if client.query.group and client.query.role is ClientRole.CONSUMER:
            self._groups.setdefault(client.query.group, set()).add(client.id)
        self._removed.discard(client.id)
        self._changed.add(client.id)

    def _change(self, known: Known, client: Client) -> None:
        known.client = client
        self._changed.add(client.id)

    def _forget(self, client_id: str) -> None:
        known = self._known.pop(client_id)
        self._leave_group(known.client)
        self._changed.discard(client_id)
        self._watching.close(client_id)

    def _leave_group(self, client: Client) -> None:
        members = self._groups.get(client.query.group)
        if members is not None:
            members.discard(client.id)
            if not members:
                del self._groups[client.query.group]


def _check_owner(account: Account, client_id: str, owner: str) -> None:
    if account.name != owner and account.role is not Role.ADMIN:
        raise NotItsAccountError(client_id, account.name)
