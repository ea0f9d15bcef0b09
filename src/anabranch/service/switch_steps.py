"""Going on with a switch: what is to be done next is decided by its journal, done, and written down.

Invariants
    T1  only the instance that acts goes on, and what it writes down is refused where another one has gone on meanwhile.
    T2  each step may be done again: killed anywhere, the next instance asks the journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

import structlog

from anabranch.errors import AnabranchError
from anabranch.model.clock import now_ms
from anabranch.operations.routes import moving
from anabranch.operations.routes.planning import named_clients
from anabranch.routes.impact import impact
from anabranch.routes.journal import ready_of, switch_fields
from anabranch.routes.switch import Action, Observed, Pair, Step, Switch, SwitchState, decide, left_behind, paused
from anabranch.service.clusters import ClusterPool
from anabranch.service.registry import Registry
from anabranch.service.routing import Routing
from anabranch.service.stored import Stored
from anabranch.service.switching import Switching, Taken, instance_sign
from anabranch.store.switches import SwitchTakenError

WAIT_S = 0.1
"""Between two looks at what is waited for."""

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
        self._blocked = ""

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
        self._moved = self._blocked = ""
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
            if not goes_on:
                await asyncio.sleep(WAIT_S)

    def _say(self, why: str) -> None:
        if why != self._blocked:
            self._blocked = why
            log.warning("a switch waits", why=why)

    # -- one step --------------------------------------------------------------------------------------

    async def _step(self, taken: Taken) -> bool:
        """Do what is next; whether something was done, so that there may be more to do at once."""
        journal = await self._handed_over(taken.journal)
        if journal is not taken.journal:
            await self._keep(journal, taken)
            return True
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

    async def _handed_over(self, journal: Switch) -> Switch:
        """The journal with what clients have handed over since."""
        if journal.state is SwitchState.PREPARING and journal.gathered:
            found = await self._stored.ask(lambda: self._stored.switches.handed_over(journal.id))
            for client_id, document in found.items():
                if client_id in journal.named:
                    journal = paused(journal, client_id, ready_of(document))
        return journal

    async def _observed(self, journal: Switch) -> Observed:
        live: frozenset[str] = frozenset()
        copied = None
        if journal.state is SwitchState.PREPARING:
            live = frozenset(client.id for client in await self._registry.live())
        elif journal.ends is not None and journal.state.holds:
            copied = await self._is_copied(journal)
        return Observed(now_ms(), live, copied, self._moved == journal.id, self._blocked)

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
        if moved.forbids:
            return replace(journal, gathered=True, why=moved.forbids[0].what)
        made = replace(journal, gathered=True, named=named_clients(moved))
        links = dict(journal.links)
        for pair, topics in made.topics_by_pair().items():
            if pair not in links:
                links[pair] = await moving.link_between(self._clusters.cluster(pair[1]), pair[0], topics)
        return replace(made, links=links)

    async def _pinned(self, journal: Switch) -> Mapping[str, Mapping[str, int]]:
        topics: dict[str, set[str]] = {}
        for (before, _), names in journal.drained_topics().items():
            topics.setdefault(before, set()).update(names)
        clusters = sorted(topics)
        ends = await asyncio.gather(*(moving.pin(self._clusters.cluster(one), topics[one]) for one in clusters))
        return dict(zip(clusters, ends, strict=True))

    async def _is_copied(self, journal: Switch) -> bool:
        for pair, topics in journal.drained_topics().items():
            before, after = pair
            wanted = {
                name: end
                for name, end in (journal.ends or {}).get(before, {}).items()
                if name.rpartition("-")[0] in topics
            }
            left = await moving.uncopied(self._clusters.cluster(after), journal.links[pair], wanted)
            if left:
                self._say(f"not copied yet: {left[0]}" + (f" and {len(left) - 1} more" if len(left) > 1 else ""))
                return False
        return True

    async def _moved_groups(self, journal: Switch) -> Switch | None:
        """The journal once all groups are moved and it is known where each client begins; None where it has to wait."""
        if journal.state is not SwitchState.MOVING:
            return replace(journal, state=SwitchState.MOVING)  # written before anything is moved
        starts: dict[str, Mapping[str, int]] = {}
        for pair, topics in journal.topics_by_pair().items():
            before, after = (self._clusters.cluster(name) for name in pair)
            groups = sorted(group for group, way in journal.groups.items() if way == pair)
            if groups:
                moved = await moving.move_groups(before, after, journal.links[pair], groups, topics)
                if not moved.done:
                    self._say(moved.why)
                    return None
            found = await self._starts(journal, pair)
            if found is None:
                return None
            starts |= found
        self._moved = journal.id
        return journal if starts == journal.starts else replace(journal, starts=starts)

    async def _starts(self, journal: Switch, pair: Pair) -> dict[str, Mapping[str, int]] | None:
        """Where the clients of one way begin; None where a position is not translated exactly yet."""
        handed = {
            client_id: ready.positions
            for client_id, ready in journal.ready.items()
            if (journal.named[client_id].before, journal.named[client_id].after) == pair and ready.positions
        }
        found: dict[str, Mapping[str, int]] = {}
        for client_id, positions in handed.items():
            there = await moving.starts(self._clusters.cluster(pair[1]), journal.links[pair], positions)
            if len(there) < len(positions):
                words = journal.named[client_id].words
                self._say(f"{words}: {len(positions) - len(there)} of its positions are not on {pair[1]} yet")
                return None
            found[client_id] = there
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
                groups = [group for group, way in journal.groups.items() if way == pair]
                try:
                    after = self._clusters.cluster(pair[1])
                    left = await moving.take_back(after, journal.links[pair], groups, journal.began_ms)
                except AnabranchError as error:
                    left = error.message
                if left:
                    why = f"{why}; not taken back on {pair[1]}: {left}"
        return replace(journal, state=SwitchState.CANCELLED, why=why)
