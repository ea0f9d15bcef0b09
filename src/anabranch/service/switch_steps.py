"""Going on with a switch: what is to be done next is decided by its journal, done, and written down.

Invariants
    T1  only the instance that acts goes on, and what it writes down is refused where another one has gone on meanwhile.
    T2  each step may be done again: killed anywhere, the next instance asks the journal.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import structlog

from anabranch.errors import AnabranchError
from anabranch.model.clock import monotonic, now_ms
from anabranch.model.routing import UNPLACED, ClientRole, WhenLost
from anabranch.model.topics import TopicPartition
from anabranch.operations.routes import lost, moving
from anabranch.operations.routes.planning import named_clients
from anabranch.routes.impact import impact, renamed
from anabranch.routes.journal import ready_of, switch_fields
from anabranch.routes.switch import (
    Action,
    Observed,
    Pair,
    Ready,
    Step,
    Switch,
    SwitchState,
    decide,
    group_key,
    left_behind,
    paused,
)
from anabranch.service.clusters import ClusterPool
from anabranch.service.registry import Registry
from anabranch.service.routing import Routing
from anabranch.service.stored import Stored
from anabranch.service.switching import Switching, Taken, instance_sign
from anabranch.store.switches import SwitchTakenError

WAIT_S, LIVE_S = 0.1, 1.0
"""Between two looks at what is waited for, and at who is live, of whom there may be thousands."""
SAY_S = 1.0
SILENT_S = 1.0
"""How long a cluster must not have answered to be said not to: a look that the deadline cuts off says nothing."""
LOOK_LOST_S, LOST_S = 2.0, 10.0
"""How often a cluster is asked whether it is there, and how long it must not have answered to be taken for lost."""

log = structlog.get_logger()


class SwitchSteps:
    """What the acting instance does for the open switch; ``acts`` says whether it is the one.

    One task at a time: ``go_on`` begins it where there is none.
    """

    def __init__(
        self,
        switching: Switching,
        stored: Stored,
        routing: Routing,
        registry: Registry,
        clusters: ClusterPool,
        acts: Callable[[], bool],
    ) -> None:
        self._switching = switching
        self._stored = stored
        self._routing = routing
        self._registry = registry
        self._clusters = clusters
        self._acts = acts
        self._task: asyncio.Task[None] | None = None
        self._moved = ""
        self._handed: tuple[str, int] | None = None
        self._live: tuple[str, float, frozenset[str]] | None = None
        self._copied: tuple[str, Mapping[str, Mapping[str, int]]] | None = None
        self._blocked, self._blocked_at = "", 0.0
        self._looked = 0.0
        self._away: dict[str, float] = {}

    def go_on(self) -> None:
        """Go on with the open switch, where there is one and this instance acts."""
        if self._switching.open is not None and self._acts() and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run())

    async def end(self) -> None:
        """Stop where it is; the next instance, or this one when it is started again, goes on."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        self._moved, self._copied, self._blocked, self._away = "", None, "", {}
        self._handed = self._live = None
        while self._acts() and self._switching.open is not None:
            taken = self._switching.taken
            assert taken is not None
            try:
                goes_on = await self._step(taken)
            except SwitchTakenError:
                await self._switching.look()
                goes_on = True
            except AnabranchError as error:
                self._say(error.message)
                goes_on = False
            except Exception:
                log.exception("a switch does not go on", switch=taken.journal.id)
                goes_on = False
            if not goes_on and not await self._found_lost(taken):
                await asyncio.sleep(WAIT_S)

    def _say(self, why: str) -> None:
        """What is in the way, which is logged where it stays for a moment: most of it does not."""
        if why != self._blocked:
            self._blocked, self._blocked_at = why, monotonic()
        elif monotonic() - self._blocked_at >= SAY_S:
            self._blocked_at = math.inf
            log.warning("a switch waits", why=why)

    async def _found_lost(self, taken: Taken) -> bool:
        """Whether a cluster that clients leave was found not to answer, where the policy is to go on without it."""
        journal, now = taken.journal, monotonic()
        if journal.when_lost is not WhenLost.GO or not journal.state.holds or now - self._looked < LOOK_LOST_S:
            return False
        self._looked = now
        clusters = {one.before for one in journal.named.values()} - set(journal.lost)
        for name in sorted(clusters):
            if await self._clusters.why_away(name, LOOK_LOST_S):
                self._away.setdefault(name, now)
            else:
                self._away.pop(name, None)
        gone = sorted(name for name in clusters if monotonic() - self._away.get(name, monotonic()) >= LOST_S)
        if not gone:
            return False
        log.warning("a switch goes on without clusters", switch=journal.id, clusters=gone)
        try:
            await self._keep(replace(journal, lost=(*journal.lost, *gone)), taken)
        except AnabranchError as error:
            self._say(error.message)
        return True

    # -- one step --------------------------------------------------------------------------------------

    async def _step(self, taken: Taken) -> bool:
        """Do what is next; whether something was done, so that there may be more to do at once."""
        if await self._took_handed_over(taken):
            return True
        journal = taken.journal
        observed = await self._observed(journal)
        step = decide(journal, observed)
        done = await self._done(step, journal, taken)
        if done is None:
            return False
        self._blocked = ""
        if done is not journal:
            await self._keep(done, taken)
        return True

    async def _keep(self, journal: Switch, taken: Taken) -> None:
        await self._switching.keep(journal, taken.revision)

    async def _took_handed_over(self, taken: Taken) -> bool:
        """Whether clients have handed over since it was last looked, and the journal has it now."""
        journal = taken.journal
        if not journal.state.holds or not journal.gathered or self._moved == journal.id:
            return False
        seen = journal.id, await self._stored.ask(lambda: self._stored.switches.count_handed_over(journal.id))
        if seen == self._handed:
            return False
        found = await self._stored.ask(lambda: self._stored.switches.handed_over(journal.id))
        for client_id, document in found.items():
            if client_id in journal.named:
                journal = paused(journal, client_id, ready_of(document))
        if journal is not taken.journal:
            await self._keep(journal, taken)
        self._handed = journal.id, len(found)
        return journal is not taken.journal

    async def _observed(self, journal: Switch) -> Observed:
        live: frozenset[str] = frozenset()
        copied = None
        if journal.state is SwitchState.PREPARING and journal.gathered:
            live = await self._live_now(journal)
        elif journal.ends is not None and journal.state.holds and not journal.why:
            copied = self._copied == (journal.id, journal.ends) or await self._is_copied(journal)
            if copied:  # what is pinned stays, and to look again is to read the maps again
                self._copied = (journal.id, journal.ends)
        return Observed(now_ms(), live, copied, self._moved == journal.id, self._blocked)

    async def _live_now(self, journal: Switch) -> frozenset[str]:
        """Who is there, looked at since this switch named its clients: one that is not seen is not waited for."""
        known = self._live
        if known is None or known[0] != journal.id or monotonic() - known[1] >= LIVE_S:
            looked = monotonic()
            known = self._live = journal.id, looked, await may_act(self._registry)
        return known[2]

    async def _done(self, step: Step, journal: Switch, taken: Taken) -> Switch | None:
        """The journal once a step is done, the same one where it need not be written; None where it has to wait."""
        if step.action is Action.GATHER:
            return await self._gathered(journal, taken)
        if step.action is Action.WAIT:
            return left_behind(journal, step.clients)
        if step.action is Action.PIN:
            return replace(journal, ends=await self._pinned(journal), state=SwitchState.DRAINING)
        if step.action is Action.MOVE:
            return await self._moved_groups(journal)
        if step.action is Action.PUBLISH:
            return await self._published(journal, taken)
        if step.action is Action.FINISH:
            return replace(journal, state=SwitchState.DONE)
        if step.action is Action.CANCEL:
            return await self._cancelled(journal, step.why)
        return None  # clients, or the link, are waited for

    # -- what it does ----------------------------------------------------------------------------------

    async def _gathered(self, journal: Switch, taken: Taken) -> Switch | None:
        """All clients that would move, once every instance that is there has written whom it knows."""
        signed = await self._stored.ask(lambda: self._stored.switches.handed_over(journal.id))
        beside = await self._stored.ask(lambda: self._stored.leases.alive(now_ms()))
        missing = [name for name in beside if instance_sign(name) not in signed]
        if self._switching.sign not in signed or missing:
            self._say(f"instances that have not said whom they know: {', '.join(missing)}")
            return None
        moved = impact(self._routing.route, taken.after, await self._registry.live())
        if against := (*moved.forbids, *renamed(moved.moves)):
            return replace(journal, gathered=True, why=against[0].what)
        made = replace(journal, gathered=True, named=named_clients(moved))
        links = dict(journal.links)
        for pair, topics in made.topics_by_pair().items():
            if pair not in links:
                links[pair] = (await moving.link_between(self._clusters.cluster(pair[1]), pair[0], topics)).id
        return replace(made, links=links)

    async def _pinned(self, journal: Switch) -> Mapping[str, Mapping[str, int]]:
        topics: dict[str, set[str]] = {}
        for (before, _), names in journal.drained_topics().items():
            if before not in journal.lost:
                topics.setdefault(before, set()).update(names)
        clusters = sorted(topics)
        ends = await asyncio.gather(*(moving.pin(self._clusters.cluster(one), topics[one]) for one in clusters))
        return dict(zip(clusters, ends, strict=True))

    async def _is_copied(self, journal: Switch) -> bool:
        """Whether what was pinned is copied; where nobody can say, it is not, and the deadline counts as ever."""
        for pair, topics in journal.drained_topics().items():
            before, after = pair
            if before in journal.lost:
                continue
            wanted = {
                name: end
                for name, end in (journal.ends or {}).get(before, {}).items()
                if TopicPartition.parse(name).topic in topics
            }
            asked = monotonic()
            try:
                async with asyncio.timeout(None if journal.is_bound else (journal.deadline_ms - now_ms()) / 1000):
                    left = await moving.uncopied(self._clusters.cluster(after), journal.links[pair], wanted)
            except AnabranchError as error:
                self._say(error.message)
                return False
            except TimeoutError:
                if monotonic() - asked >= SILENT_S:
                    self._say(f"{after} does not answer")
                return False
            if left:
                self._say(f"not copied yet: {left[0]}" + (f" and {len(left) - 1} more" if len(left) > 1 else ""))
                return False
        return True

    async def _moved_groups(self, journal: Switch) -> Switch | None:
        """The journal once all groups are moved and it is known where each client begins; None where it has to wait."""
        if journal.state is not SwitchState.MOVING:
            return replace(journal, state=SwitchState.MOVING)  # written before anything is moved
        starts: dict[str, Mapping[str, int]] = {}
        doubts: list[str] = []
        for pair, topics in journal.topics_by_pair().items():
            if pair[0] in journal.lost:
                found_doubts = await self._moved_without(journal, pair)
                if found_doubts is None:
                    return None
                doubts += found_doubts
                continue
            before, after = (self._clusters.cluster(name) for name in pair)
            groups = sorted(group for group, moved in journal.groups.items() if moved == pair)
            if groups:
                static = {group: those for group, those in journal.static_members().items() if group in groups}
                counted = {*topics, *_read_topics(journal, pair)} if topics else ()
                moved = await moving.move_groups(before, after, journal.links[pair], groups, counted, static)
                if not moved.done:
                    self._say(moved.why)
                    return None
            found = await self._starts(journal, pair)
            if found is None:
                return None
            starts |= found
        doubts += await self._unheard(journal)
        self._moved = journal.id
        return replace(journal, starts=starts, doubts=tuple(doubts))

    async def _unheard(self, journal: Switch) -> list[str]:
        """Consumers that were not heard of for so long that they were not waited for, and may go on all the same.

        One that has paused, and cannot say so, reads on from where its group has committed; where that has nothing it
        begins by itself.
        """
        known = {one.id for one in await self._registry.every()}
        return [
            f"{one.words}: it was not heard of, and has not said where it stands: where nothing is committed it begins "
            f"on {one.after} by itself, unless it reaches the service first"
            for client_id, one in journal.named.items()
            if one.role is ClientRole.CONSUMER
            and one.before not in journal.lost
            and client_id in known
            and client_id not in journal.ready
        ]

    async def _moved_without(self, journal: Switch, pair: Pair) -> list[str] | None:
        """What is in doubt once the groups of a lost cluster are moved by what clients handed over; None to wait."""
        target, link = self._clusters.cluster(pair[1]), journal.links[pair]
        doubts: list[str] = []
        topics: set[str] = set()
        for client_id, one in journal.named.items():
            if one.pair != pair:
                continue
            ready = journal.ready.get(client_id)
            if ready is None:
                doubts.append(f"{one.words}: it has not said where it stands")
                ready = Ready()
            if not one.group:
                topics |= one.topics.keys()
            for partition, count in sorted(ready.uncertain.items()):
                if count:
                    where = "" if partition == UNPLACED else f" of {partition}"
                    doubts.append(f"{one.words}: {count:,} messages{where} were not acknowledged")
        read = journal.read_up_to(pair)
        for group in sorted(group for group, places in read.items() if not places):
            where = f"it goes on where it is on {target.name}, or where its members begin by themselves"
            doubts.append(f"group {group}: no member has said where it stands: {where}")
        found = await lost.move_without(target, link, read)
        if not found.moved.done:
            self._say(found.moved.why)
            return None
        return [*doubts, *found.doubts, *await lost.copied_to(target, link, topics)]

    async def hear_late(self, client_id: str) -> None:
        """Learn where a consumer begins that has said where it stood after its switch was made (H4); any instance does.

        Raises StoreError.
        """
        journal = self._switching.unheard(client_id)
        if journal is None:
            return
        found = (await self._stored.ask(lambda: self._stored.switches.handed_over(journal.id))).get(client_id)
        if found is None:
            return
        pair, positions = journal.named[client_id].pair, ready_of(found).positions
        try:
            before, after = (self._clusters.cluster(name) for name in pair)
            there = await moving.starts(before, after, journal.links[pair], {client_id: positions})
        except AnabranchError as error:
            log.warning("where a client begins is not known", client=client_id, why=error.message)
            return
        self._switching.learned(client_id, there[client_id])

    async def _starts(self, journal: Switch, pair: Pair) -> dict[str, Mapping[str, int]] | None:
        """Where the clients of one way begin; None where a position is not translated exactly yet.

        Of a group all that its members have read counts for each of them: which one has a partition there is not known.
        """
        handed: dict[str, Mapping[str, int]] = {
            client_id: ready.positions
            for client_id, ready in journal.ready.items()
            if journal.named[client_id].pair == pair and not journal.named[client_id].group and ready.positions
        }
        handed |= {group_key(group): read for group, read in journal.read_up_to(pair).items() if read}
        if not handed:
            return {}
        found = await moving.starts(
            self._clusters.cluster(pair[0]), self._clusters.cluster(pair[1]), journal.links[pair], handed
        )
        for name, positions in handed.items():
            there = found[name]
            if len(there) < len(positions):
                words = journal.named[name].words if name in journal.named else name
                self._say(f"{words}: {len(positions) - len(there)} of its positions are not on {pair[1]} yet")
                return None
        return found

    async def _published(self, journal: Switch, taken: Taken) -> Switch:
        made = replace(journal, state=SwitchState.PUBLISHED)
        fields, base = switch_fields(made), journal.version - 1
        await self._stored.ask(
            lambda: self._stored.switches.publish(journal.id, taken.revision, made.state.value, fields, base, now_ms())
        )
        await self._switching.look()
        return journal

    async def _cancelled(self, journal: Switch, why: str) -> Switch:
        """The journal once what was moved is taken back; what could not be is said."""
        if journal.state is SwitchState.MOVING:
            for pair in journal.topics_by_pair():
                groups = [group for group, moved in journal.groups.items() if moved == pair]
                try:
                    after = self._clusters.cluster(pair[1])
                    left = await moving.take_back(after, journal.links[pair], groups, journal.began_ms)
                except AnabranchError as error:
                    left = error.message
                if left:
                    why = f"{why}; not taken back on {pair[1]}: {left}"
        return replace(journal, state=SwitchState.CANCELLED, why=why)


def _read_topics(journal: Switch, pair: Pair) -> set[str]:
    """The topics of what members of groups have handed over: a regular expression names none of those it matches."""
    return {TopicPartition.parse(name).topic for read in journal.read_up_to(pair).values() for name in read}


async def may_act(registry: Registry) -> frozenset[str]:
    """Who may still act; raises StoreError.

    A producer whose lease has run out may still write; a consumer that may still read is a member of its group, and
    that is not moved as long.
    """
    now = now_ms()
    every = await registry.every()
    return frozenset(one.id for one in every if one.is_live(now) or one.query.role is ClientRole.PRODUCER)
