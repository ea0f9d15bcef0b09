"""Switches as an instance takes part in them: it holds clients back, asks its own to pause, and tells them the end.

Which switch there is stands in the store, and each instance looks there.  One of them goes on with it
(`anabranch.service.switch_steps`).

Invariants
    H1  from the moment at which an instance has taken a switch, each client that registers there and that the switch
        would move is held, until it has ended.
    H2  an instance says that it has taken a switch only after every client that registered there before is written.
    H3  a client that has not said since that it follows the new version is told again where it begins.
    H4  a consumer that says only after a switch was made where it stood, since it did not reach the service before, is
        told where that is, if it says so before it is told that the switch was made.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import structlog

from anabranch.config.routes_file import table_fields, table_of
from anabranch.errors import AnabranchError, RefusedError
from anabranch.model.clock import monotonic, now_ms
from anabranch.model.routing import ClientRole, RouteQuery
from anabranch.operations.documents import plain
from anabranch.operations.routes.desk import SwitchOrder
from anabranch.routes.impact import led_topics
from anabranch.routes.journal import ready_fields, switch_fields, switch_of
from anabranch.routes.remembered import RememberedRoutes
from anabranch.routes.switch import Ready, Switch, SwitchState
from anabranch.routes.table import RouteTable
from anabranch.service.errors import NoSwitchError, SwitchBoundError, SwitchOverError, SwitchPublishedError
from anabranch.service.problems import problem_of
from anabranch.service.registry import Registry
from anabranch.service.route_answers import GoAnswer, route_answer
from anabranch.service.routing import Routing
from anabranch.service.stored import Stored
from anabranch.service.watching import Watching, event
from anabranch.store.switches import KEPT_MS, StoredSwitch, SwitchTakenError

LOOK_S, LOOK_OPEN_S = 1.0, 0.2
"""How often the store is looked at: while no switch is open, and while one is."""
_TRIES = 10

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Taken:
    """A switch as this instance knows it: its journal, which the store has at that revision, and the table it makes."""

    journal: Switch
    revision: int
    table: RouteTable
    after: RememberedRoutes


class Switching:
    """The switches that an instance takes part in; one event loop.  ``said`` is called with each new journal."""

    def __init__(
        self,
        stored: Stored,
        routing: Routing,
        registry: Registry,
        watching: Watching,
        instance: str,
        said: Callable[[Switch], None],
    ) -> None:
        self._stored = stored
        self._routing = routing
        self._registry = registry
        self._watching = watching
        self._said = said
        self.sign = instance_sign(instance)
        self.taken: Taken | None = None
        self.woken = asyncio.Event()
        self._held: set[str] = set()
        self._asked: dict[str, bool] = {}
        self._follows: set[str] = set()
        self._late: dict[str, Mapping[str, int]] = {}
        self._told_end = ""
        self._has_vouched = True
        self._looked = 0.0
        self._changed = asyncio.Condition()
        self._looking = asyncio.Lock()

    @property
    def open(self) -> Switch | None:
        """The switch that has still to end, as far as this instance knows."""
        return self.taken.journal if self.taken is not None and self.taken.journal.state.is_open else None

    # -- what clients ask ------------------------------------------------------------------------------

    def hold(self, client_id: str, query: RouteQuery) -> str | None:
        """The switch before whose end a client must not connect (H1)."""
        taken = self.taken
        if taken is None or not taken.journal.state.holds:
            return None
        if client_id not in taken.journal.named and not self._would_move(taken, query):
            return None
        self._held.add(client_id)
        return taken.journal.id

    def _would_move(self, taken: Taken, query: RouteQuery) -> bool:
        try:
            return not self._routing.route(query).places_as(taken.after(query))
        except RefusedError:
            return False

    def missed(self, client_id: str, query: RouteQuery) -> bytes | None:
        """What a client that begins to watch may have missed of the last switch; to hear it twice does no harm."""
        if self.taken is None:
            return None
        journal = self.taken.journal
        if client_id not in journal.named and client_id not in self._held:
            return None
        if journal.state is SwitchState.PREPARING:
            if client_id not in journal.named or client_id in journal.ready:
                return None
            return self._prepare(journal, client_id)
        if journal.state.holds or client_id in self._follows:
            return None
        return self._end(journal, client_id, query)

    def go(self, client_id: str) -> GoAnswer | None:
        """Where a client begins that may not have heard how the last switch ended (H3)."""
        taken = self.taken
        if taken is None or client_id in self._follows:
            return None
        starts = self._starts(taken.journal, client_id)
        if not starts or taken.journal.state not in (SwitchState.PUBLISHED, SwitchState.DONE):
            return None
        return GoAnswer(taken.journal.id, starts)

    def follows(self, client_id: str, version: int) -> None:
        """A client has said which version it follows."""
        if self.taken is not None and version >= self.taken.journal.version:
            self._follows.add(client_id)

    async def ready(self, client_id: str, switch: str, handed: Ready) -> None:
        """Keep what a client handed over as it paused, on whichever instance it was asked to.

        Raises NoSwitchError, StoreError.
        """
        if self.open is None or self.open.id != switch:
            await self.look()
        taken = self.taken
        is_open = self.open is not None and self.open.id == switch
        late = self.unheard(client_id)
        if taken is None or not (is_open or (late is not None and late.id == switch)):
            raise NoSwitchError(switch)
        made = replace(handed, topics=self._come_to(taken, client_id))
        await self._stored.ask(lambda: self._stored.switches.hand_over(switch, client_id, ready_fields(made)))
        self.woken.set()

    def unheard(self, client_id: str) -> Switch | None:
        """The last switch, if it was made before this consumer said where it stood, and that is not known yet."""
        taken = self.taken
        if taken is None or client_id in self._follows or client_id in self._late:
            return None
        journal, one = taken.journal, taken.journal.named.get(client_id)
        if one is None or one.role is not ClientRole.CONSUMER or one.before in journal.lost:
            return None
        is_made = journal.state in (SwitchState.PUBLISHED, SwitchState.DONE)
        return journal if is_made and client_id not in journal.ready else None

    def learned(self, client_id: str, starts: Mapping[str, int]) -> None:
        """Where such a consumer begins."""
        self._late[client_id] = starts

    def _come_to(self, taken: Taken, client_id: str) -> dict[str, str]:
        """Topics that a named client has asked for since it was named: names where it is to names where it goes."""
        query, one = self._registry.query(client_id), taken.journal.named.get(client_id)
        if query is None or one is None:
            return {}
        try:
            asked = led_topics(query, self._routing.route(query), taken.after(query))
        except RefusedError:
            return {}
        return {here: there for here, there in asked.items() if here not in one.topics}

    # -- beginning and ending one ----------------------------------------------------------------------

    async def begin(self, begun: SwitchOrder, author: str) -> str:
        """Begin a switch; returns its id.

        A gated one has an id that its run gives it, so that a run never has two.  Raises SwitchUnderWayError,
        PublishedMeanwhileError, SwitchTakenError where its run has begun it already, StoreError.
        """
        now, made_id = now_ms(), gated_id(begun.run) if begun.is_gated else uuid.uuid4().hex
        policy = begun.policy
        journal = Switch(
            made_id,
            begun.base + 1,
            now,
            now + policy.timeout_ms,
            policy.stragglers,
            {},
            begun.links,
            gathered=False,
            when_lost=policy.when_lost,
            lost=begun.lost,
            run=begun.run,
            is_shut=begun.is_gated,
        )
        made = StoredSwitch(
            made_id,
            True,
            journal.state.value,
            1,
            now,
            author,
            begun.reason,
            table_fields(begun.table),
            switch_fields(journal),
        )
        await self._stored.ask(lambda: self._stored.switches.begin(made, begun.base))
        await self._stored.ask(lambda: self._stored.switches.forget(now - KEPT_MS))
        await self.look()
        return made_id

    async def ended(self, switch: str) -> Switch:
        """Wait until a switch has ended; it goes on also when nobody waits."""
        while True:
            async with self._changed:
                taken = self.taken
                if taken is not None and taken.journal.id == switch and not taken.journal.state.is_open:
                    return taken.journal
                if taken is None or taken.journal.id == switch:
                    await self._changed.wait()
                    continue
            found = await self._stored.ask(lambda: self._stored.switches.get(switch))
            return switch_of(found.journal)  # another one has begun since

    async def get(self, switch: str) -> Switch:
        """The journal of a switch, also of one that has ended; raises NoSuchSwitchError, StoreError."""
        await self.look()
        taken = self.taken
        if taken is not None and taken.journal.id == switch:
            return taken.journal
        return switch_of((await self._stored.ask(lambda: self._stored.switches.get(switch))).journal)

    async def cancel(self, switch: str, why: str, run: str = "") -> Switch:
        """Give a switch up; one that is bound only for its ``run``.

        Raises SwitchOverError, SwitchPublishedError or SwitchBoundError once it cannot be, StoreError.
        """

        def cancelled(journal: Switch) -> Switch:
            check_given_up(journal, run)
            return replace(journal, why=why)

        return await self.change(switch, cancelled)

    async def change(self, switch: str, made: Callable[[Switch], Switch]) -> Switch:
        """Write what ``made`` makes of the journal of a switch, whatever others write meanwhile.

        Raises SwitchOverError where it is not under way, what ``made`` raises, SwitchTakenError, StoreError.
        """
        for attempt in range(_TRIES):
            await self.look()
            taken = self.taken
            if taken is None or taken.journal.id != switch or not taken.journal.state.is_open:
                raise SwitchOverError(switch)
            changed = made(taken.journal)
            if changed == taken.journal:
                return changed
            try:
                return await self.keep(changed, taken.revision)
            except SwitchTakenError:
                if attempt == _TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    async def keep(self, journal: Switch, revision: int) -> Switch:
        """Write a journal over the one of that revision; raises SwitchTakenError, StoreError."""
        fields, is_open = switch_fields(journal), journal.state.is_open
        await self._stored.ask(
            lambda: self._stored.switches.keep(journal.id, revision, journal.state.value, fields, is_open=is_open)
        )
        await self.look()
        return journal

    # -- looking ---------------------------------------------------------------------------------------

    async def look(self) -> None:
        """Take what the store has, as it is now or later; raises StoreError, ConfigError.

        Of many who look at once one does.
        """
        came = monotonic()
        async with self._looking:
            if self._looked > came:
                return
            looked = monotonic()
            newest = await self._stored.ask(self._stored.switches.newest)
            taken = self.taken
            is_known = taken is not None and newest == (taken.journal.id, taken.revision)
            if newest is None or (is_known and self._has_vouched):
                self._looked = looked
                return
            if taken is not None and taken.journal.state.is_open and newest[0] != taken.journal.id:
                before = taken.journal.id  # its end was not seen: the next one has begun
                await self._take(await self._stored.ask(lambda: self._stored.switches.get(before)))
            await self._take(await self._stored.ask(lambda: self._stored.switches.get(newest[0])))
            self._looked = looked
        async with self._changed:
            self._changed.notify_all()
        self.woken.set()

    async def _take(self, stored: StoredSwitch) -> None:
        journal = switch_of(stored.journal)
        if self.taken is None or self.taken.journal.id != journal.id:
            self._held, self._asked, self._follows, self._late = set(), {}, set(), {}
            table = table_of(stored.table, f"switch {journal.id}")
            after = RememberedRoutes(table, journal.version, self._routing.contexts)
        else:
            table, after = self.taken.table, self.taken.after
        was_known = self.taken is not None
        if journal.state in (SwitchState.PUBLISHED, SwitchState.DONE):
            await self._routing.refresh()
        # From here nothing is waited for: who registers is held by what is taken now (H1).
        self.taken = Taken(journal, stored.revision, table, after)
        self._has_vouched = journal.gathered or not journal.state.is_open
        self._said(journal)
        if not self._has_vouched:
            await self._vouch(journal)
        elif journal.state is SwitchState.PREPARING:
            self.ask_to_pause(journal)
        elif journal.state in (SwitchState.PUBLISHED, SwitchState.DONE, SwitchState.CANCELLED) and was_known:
            self._tell_end(journal)

    async def _vouch(self, journal: Switch) -> None:
        """Say that all who registered here before are written (H2)."""
        await self._registry.write()
        await self._stored.ask(lambda: self._stored.switches.hand_over(journal.id, self.sign, {}))
        self._has_vouched = True

    def ask_to_pause(self, journal: Switch) -> None:
        """Ask the named clients of this instance that have not been asked yet, or before their cluster was lost."""
        for client_id, one in journal.named.items():
            is_asked = self._asked.get(client_id) == (one.before in journal.lost)
            if client_id not in journal.ready and not is_asked and self._registry.query(client_id) is not None:
                self._watching.tell(client_id, self._prepare(journal, client_id))

    def _prepare(self, journal: Switch, client_id: str) -> bytes:
        """``lost`` says that the cluster where the client is does not answer: it need not hand anything over there."""
        lost = self._asked[client_id] = journal.named[client_id].before in journal.lost
        return event("prepare", {"switch": journal.id, "deadline_ms": journal.deadline_ms, "lost": lost})

    def _tell_end(self, journal: Switch) -> None:
        """Tell the clients of this instance how it ended, once."""
        if journal.id == self._told_end:
            return
        self._told_end = journal.id
        for client_id in {*journal.named, *self._held}:
            query = self._registry.query(client_id)
            if query is not None:
                self._watching.tell(client_id, self._end(journal, client_id, query))

    def _end(self, journal: Switch, client_id: str, query: RouteQuery) -> bytes:
        if journal.state is SwitchState.CANCELLED:
            return event("cancel", {"switch": journal.id, "why": journal.why})
        try:
            route = plain(route_answer(self._routing.route(query)))
        except RefusedError as error:
            return event("refused", {"problem": plain(problem_of(error))})
        starts = self._starts(journal, client_id)
        return event("go", {"switch": journal.id, "route": route, "starts": starts})

    def _starts(self, journal: Switch, client_id: str) -> Mapping[str, int]:
        """Where a client begins that was named, or held; one that comes later begins as its group stands by then."""
        if client_id in journal.named:
            known, late = journal.starts_of(client_id, journal.named[client_id].group), self._late.get(client_id, {})
            return {**known, **{name: max(at, known.get(name, 0)) for name, at in late.items()}}
        query = self._registry.query(client_id) if client_id in self._held else None
        return {} if query is None or query.role is not ClientRole.CONSUMER else journal.starts_of("", query.group)

    async def watch(self, step: Callable[[], object]) -> None:
        """Look at the store, and have ``step`` called, until this is cancelled."""
        why = ""
        while True:
            try:
                await self.look()
                why = ""
            except AnabranchError as error:
                if error.message != why:
                    log.warning("switches were not read", why=error.message)
                why = error.message
            except Exception:
                log.exception("switches were not read")
            step()
            self.woken.clear()
            try:
                async with asyncio.timeout(LOOK_S if self.open is None else LOOK_OPEN_S):
                    await self.woken.wait()
            except TimeoutError:
                pass


def check_given_up(journal: Switch, run: str = "") -> None:
    """Raise SwitchPublishedError or SwitchBoundError for a switch that cannot be given up but by its own ``run``."""
    if journal.state is SwitchState.PUBLISHED:
        raise SwitchPublishedError(journal.id, journal.version)
    if journal.is_bound and journal.run != run:
        raise SwitchBoundError(journal.id, journal.run)


def gated_id(run: str) -> str:
    """The id of the gated switch of a run."""
    return hashlib.sha256(f"gated switch of run {run}".encode()).hexdigest()[:32]


def instance_sign(instance: str) -> str:
    """By what an instance signs that it has taken a switch; of the shape of a client's id."""
    return hashlib.sha256(instance.encode()).hexdigest()[:32]
