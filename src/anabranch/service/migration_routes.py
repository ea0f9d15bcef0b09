"""Applications of the SDK in a migration's switch: they are held, let go, and led, by switches of the route table.

``hold`` begins a gated switch, so that all who are to be led have paused before anything is pinned, and ``lead`` opens
it.  Each may be asked again at any time, by any instance: what there is stands in the store alone.

Invariants
    T3  a run begins at most one gated switch; given up, it is not begun again.
    T4  once ``bind`` has returned, clients that are held stay so until they are led, or the run itself lets them go.
    T5  ``lead`` returns only once the table applies, and then those that it moves have been told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anabranch.config.routes_file import table_fields, table_of
from anabranch.errors import RefusedError
from anabranch.kafka import groups as kafka_groups
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.migration.legs import Leg
from anabranch.migration.lost_steps import told_by
from anabranch.migration.steps import Part, translated_by
from anabranch.model.clock import now_ms
from anabranch.model.reasons import errors
from anabranch.model.routing import ClientRole, WhenLost
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.migrations.leading import led
from anabranch.operations.routes.desk import SwitchOrder
from anabranch.operations.routes.planning import named_clients, plan_table
from anabranch.routes.check import check
from anabranch.routes.errors import InvalidTableError
from anabranch.routes.switch import (
    Action,
    NamedClient,
    Observed,
    Switch,
    SwitchPolicy,
    SwitchState,
    bound,
    decide,
    opened,
)
from anabranch.routes.table import RouteTable
from anabranch.service.errors import SwitchOverError
from anabranch.service.route_desk import ServiceDesk
from anabranch.service.switch_steps import may_act
from anabranch.service.switching import gated_id
from anabranch.store.routes import PublishedMeanwhileError, SwitchUnderWayError
from anabranch.store.switches import NoSuchSwitchError, SwitchTakenError

_LET_GO = "the migration's switch is taken back"


@dataclass(eq=False)
class HoldLostError(RefusedError):
    """Applications that a run held go on where they were: their switch was given up."""

    wave: str
    switch: str
    why: str

    _message = "wave {wave}: its applications were not held, and go on where they were: {why}"
    _hint = "see who had paused: `anabranch route switches {switch}`; then switch the wave again"


@dataclass(eq=False)
class OutsideWaveError(RefusedError):
    """A client of a wave's code reads or writes topics that the wave does not have."""

    wave: str
    client: str
    topics: str

    _message = "wave {wave}: {client} would be led elsewhere, and uses topics that the wave does not have: {topics}"
    _hint = "name them in the wave, or give that client a code of its own"


@dataclass(frozen=True, slots=True)
class MigrationRoutes:
    """What leads a wave's applications; ``desk`` names the account that publishes."""

    desk: ServiceDesk

    async def hold(self, leg: Leg, part: Part, run_id: str, deadline_ms: int | None, *, is_lost: bool = False) -> None:
        """Have all pause whom ``lead`` is to move; nothing where nobody is led otherwise then.

        It is given up at ``deadline_ms``, and at the latest after the migration's longest pause.  ``is_lost``: the
        cluster that they leave does not answer, and they need not hand anything over there.  Raises NotYetError until
        all have paused, HoldLostError once it was given up, what `led` raises, InvalidTableError, OutsideWaveError.
        """
        try:
            held = await self.desk.switching.get(gated_id(run_id))
        except NoSuchSwitchError:
            if await self._begin(leg, part, run_id, deadline_ms, is_gated=True, is_lost=is_lost):
                raise NotYetError("its applications are asked to pause") from None
            return
        if held.state is SwitchState.CANCELLED:
            raise HoldLostError(leg.wave.name, held.id, held.why)
        if held.state is not SwitchState.PREPARING or not held.is_shut:
            return
        if held.gathered:
            check_topics(leg, held.named)
        step = decide(held, Observed(now_ms(), await may_act(self.desk.registry)))
        if step.action is not Action.HOLD:
            count = f"{len(held.ready)} of {len(held.named)} clients have paused"
            raise NotYetError(count if step.action is Action.ASK else f"{count}: {step.why}")
        if not is_lost:
            await self._take_out_static(leg, held)

    async def handed(self, run_id: str) -> dict[str, dict[str, int]]:
        """Up to where those that are held have read: by group, and TOPIC-PARTITION where they are."""
        held = await self._held(run_id)
        return {} if held is None else held.read_up_to()

    async def groups_led(self, leg: Leg) -> frozenset[str]:
        """The groups of the clients of a wave's codes that are there now."""
        live = [one.query for one in await self.desk.registry.live()]
        return frozenset(one.group for one in live if one.role is ClientRole.CONSUMER and one.code in leg.wave.codes)

    async def bind(self, leg: Leg, run_id: str) -> None:
        """Have those that are held stay so: to be asked right before the point of no return is written down.

        From then on neither the deadline nor a person gives their switch up.  Raises HoldLostError where it was given
        up before; nothing where nobody is held.
        """
        held = await self._held(run_id)
        if held is None:
            return
        try:
            found = await self.desk.switching.change(held.id, lambda now: now if now.why else bound(now))
        except SwitchOverError:
            found = await self.desk.switching.get(held.id)
        if found.why:
            raise HoldLostError(leg.wave.name, found.id, found.why)

    async def let_go(self, leg: Leg, run_id: str) -> None:
        """Have those that are held, or are being led, go on where they were; nothing where nobody is.

        Raises NotYetError until their switch has ended, SwitchPublishedError where they have been led.
        """
        del leg
        held = await self._held(run_id)
        if held is None or not held.state.is_open:
            held = self.desk.switching.open
        if held is None or held.run != run_id:
            return
        try:
            given_up = await self.desk.switching.cancel(held.id, _LET_GO, run_id)
        except SwitchOverError:
            return
        if given_up.state.is_open:
            raise NotYetError(f"switch {given_up.id} is being given up")

    async def lead(self, leg: Leg, part: Part, run_id: str, *, is_lost: bool = False) -> None:
        """Lead a part of the wave's applications to the end of a leg, by the switch that holds them or by another one.

        Raises NotYetError until it is done, and what `led` and `plan_table` raise, OutsideWaveError.  A switch that was
        given up is begun again.  ``is_lost``: it goes on without the cluster that they leave, also where it began with.
        """
        await self.desk.switching.look()
        under_way = self.desk.switching.open
        if under_way is None:
            if await self._begin(leg, part, run_id, None, is_gated=False, is_lost=is_lost):
                raise NotYetError("its applications are asked to pause")
            return
        if under_way.run != run_id:
            raise NotYetError(f"switch {under_way.id} is under way")
        if under_way.is_shut and not under_way.why:
            try:
                under_way = await self.desk.switching.change(under_way.id, lambda now: now if now.why else opened(now))
            except SwitchOverError:
                raise NotYetError(f"switch {under_way.id} was given up") from None
        if is_lost and leg.here not in under_way.lost:
            try:
                under_way = await self.desk.switching.change(under_way.id, lambda now: _without(now, leg.here))
            except SwitchOverError:
                raise NotYetError(f"switch {under_way.id} has ended") from None
        paused = f"{len(under_way.ready)} of {len(under_way.named)} clients have paused"
        raise NotYetError(f"switch {under_way.id} is {under_way.state.value}: {paused}")

    # -- parts of it -----------------------------------------------------------------------------------

    async def _held(self, run_id: str) -> Switch | None:
        try:
            return await self.desk.switching.get(gated_id(run_id))
        except NoSuchSwitchError:
            return None

    async def _begin(
        self, leg: Leg, part: Part, run_id: str, deadline_ms: int | None, *, is_gated: bool, is_lost: bool
    ) -> bool:
        """Begin a switch for a part of a wave; False where its applications are led there already.

        Raises NotYetError where another one is under way, or somebody has published meanwhile.
        """
        newest = await self.desk.newest()
        before = RouteTable() if newest is None else newest.table
        table = led(before, leg, part)
        if table == before:
            return False
        table_of(table_fields(table), f"the route table of wave {leg.wave.name}")
        migration, now = leg.migration, now_ms()
        timeout_ms = migration.limits.longest_pause_ms
        if deadline_ms is not None:
            timeout_ms = max(1, min(timeout_ms, deadline_ms - now))
        when_lost = WhenLost.GO if is_lost else WhenLost.WAIT
        policy = SwitchPolicy(migration.stragglers, when_lost, timeout_ms=timeout_ms)
        reason = f"migration {migration.name}, wave {leg.wave.name}: {part.value} to {leg.there}"
        base = 0 if newest is None else newest.version
        if is_gated:  # whom it moves is looked at once every instance has said whom it knows: some may be gone by now
            if faults := errors(check(table, frozenset(self.desk.contexts()))):
                raise InvalidTableError("route table", faults)
        else:
            planned = await plan_table(self.desk, table, reason, policy)
            check_topics(leg, named_clients(planned.impact))
            base = planned.base
        by = told_by(leg, part) if is_lost else translated_by(leg, part)
        links = {(leg.here, leg.there): by.link}  # of several each knows only what it has copied itself
        lost = (leg.here,) if is_lost else ()
        order = SwitchOrder(table, base, reason, policy, links, run_id, is_gated, lost)
        try:
            await self.desk.switching.begin(order, self.desk.author)
        except (SwitchUnderWayError, PublishedMeanwhileError, SwitchTakenError) as error:
            raise NotYetError(error.message) from error
        return True

    async def _take_out_static(self, leg: Leg, held: Switch) -> None:
        """Take static members that have paused out of their groups, so that these are seen to be empty.

        Where that is not permitted their sessions are waited for.  One that is let go joins again.
        """
        for group, members in held.static_members().items():
            try:
                await kafka_groups.remove_static(self.desk.clusters.cluster(leg.here), group, members)
            except PermissionDeniedError:
                continue


def _without(switch: Switch, cluster: str) -> Switch:
    """The journal once it goes on without a cluster; again it is the same."""
    lost = switch.lost if cluster in switch.lost else (*switch.lost, cluster)
    return replace(switch, when_lost=WhenLost.GO, lost=lost)


def check_topics(leg: Leg, named: Mapping[str, NamedClient]) -> None:
    """Raise OutsideWaveError for a client of which the leg's link does not copy all topics."""
    names = leg.topics
    for one in named.values():
        other = sorted(here for here, there in one.topics.items() if names.get(here) != there)
        if other and one.pair == (leg.here, leg.there):
            raise OutsideWaveError(leg.wave.name, one.words, ", ".join(other))
