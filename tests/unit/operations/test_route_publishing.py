"""Publishing route tables: plans that hold, tables with faults, clients that would be harmed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from anabranch.errors import RefusedError
from anabranch.model.cluster import ClusterContext, Security, SecurityProtocol
from anabranch.model.plans import PlanChangedError
from anabranch.model.reasons import Severity
from anabranch.model.routing import Client, ClientFacts, ClientRole, RouteQuery
from anabranch.operations.routes import apply, rollback
from anabranch.operations.routes.addresses import ReaddressedError
from anabranch.operations.routes.desk import Switched, SwitchOrder
from anabranch.operations.routes.moving import CopyingLink
from anabranch.operations.routes.planning import ForbiddenImpactError, RenamedInPlaceError, SwitchLink
from anabranch.routes.errors import InvalidTableError
from anabranch.routes.pattern import Pattern
from anabranch.routes.switch import SwitchPolicy
from anabranch.routes.table import Code, Destination, Match, RouteTable, RouteVersion, Rule

pytestmark = pytest.mark.unit

PLAIN = Security(SecurityProtocol.PLAINTEXT)
OLD = RouteTable({"orders": Code("orders", Destination("old"))})
NEW = RouteTable({"orders": Code("orders", Destination("new"))})


def client(group: str = "", site: str = "", number: int = 1, *, until_ms: int = 2**62) -> Client:
    """A client of the code orders; it is live for good, unless another time is given."""
    role = ClientRole.CONSUMER if group else ClientRole.PRODUCER
    query = RouteQuery("orders", role, ("sales",), group, "", {"site": site})
    return Client(f"{number:032x}", ClientFacts("shop", f"host-{number}", "", 1, "1"), query, 0, 0, until_ms)


@dataclass
class Desk:
    """Versions and clients in memory."""

    versions: list[RouteVersion] = field(default_factory=list)
    registered: list[Client] = field(default_factory=list)
    switches: list[SwitchOrder] = field(default_factory=list)
    is_wider: bool = False
    is_paused: bool = False
    ids: dict[str, str] = field(default_factory=dict)

    async def newest(self) -> RouteVersion | None:
        """The last one."""
        return self.versions[-1] if self.versions else None

    async def version(self, number: int) -> RouteVersion:
        """One of them."""
        return self.versions[number - 1]

    async def clients(self) -> Sequence[Client]:
        """Those that are registered."""
        return self.registered

    def contexts(self) -> Mapping[str, ClusterContext]:
        """Two clusters."""
        return {name: ClusterContext(name, (f"{name}:1",), PLAIN) for name in ("old", "new")}

    async def why_away(self, cluster: str) -> str:
        """It answers, unless it is called so."""
        return "cluster gone is gone" if cluster == "gone" else ""

    async def cluster_id(self, context: ClusterContext) -> str:
        """As a test has it, by the first of its addresses."""
        return self.ids.get(context.bootstrap[0], "")

    async def link(self, before: str, after: str, topics: Mapping[str, str]) -> CopyingLink:
        """Of one name, whatever it copies."""
        return CopyingLink(f"{before}-{after}", self.is_paused)

    async def wider(self, before: str, after: str, topics: Mapping[str, str]) -> Sequence[str]:
        """Each that is asked for, where a test has it so."""
        return [f"{topic} of {before} is wider on {after}" for topic in sorted(topics)] if self.is_wider else []

    async def switch(self, begun: SwitchOrder) -> Switched:
        """It is done at once."""
        self.switches.append(begun)
        return Switched("s", await self.publish(begun.table, begun.base, begun.reason), ("a doubt",))

    async def publish(self, table: RouteTable, base: int, reason: str) -> RouteVersion:
        """Add one, over the last one alone."""
        if base != len(self.versions):
            raise RefusedError
        self.versions.append(RouteVersion(base + 1, 5, "mei", reason, table))
        return self.versions[-1]


async def published(desk: Desk, table: RouteTable) -> int:
    """The version that comes of a table."""
    return (await apply.apply(desk, await apply.plan(desk, table, "why"))).version


def test_a_table_is_published_with_whom_it_moves() -> None:
    """The first one moves nobody that was led before; the next says which group goes where."""
    desk = Desk(registered=[client("billing"), client(number=2)])

    async def run() -> None:
        first = await apply.plan(desk, OLD, "why")
        assert (first.base, first.codes.added, len(first.impact.moves), first.impact.groups) == (0, ("orders",), 2, {})
        assert (await apply.apply(desk, first)).version == 1
        planned = await apply.plan(desk, NEW, "why")
        assert (planned.base, planned.codes.changed) == (1, ("orders",))
        assert planned.impact.groups == {"billing": ("old", "new")}
        done = await apply.apply(desk, planned)
        assert (done.version, done.author, done.moved, done.groups) == (2, "mei", 2, {"billing": ("old", "new")})
        assert desk.versions[-1].reason == "why"

    asyncio.run(run())


def test_a_producer_whose_keys_may_come_to_other_partitions_is_warned_of() -> None:
    """Of what consumers alone read nobody writes elsewhere."""
    for registered, said in (([client("billing")], 0), ([client("billing"), client(number=2)], 1)):
        desk = Desk(registered=registered, is_wider=True)

        async def run(desk: Desk = desk, said: int = said) -> None:
            await published(desk, OLD)
            planned = await apply.plan(desk, NEW, "why")
            found = [one for one in planned.reasons if "sales of old is wider on new: a key's records" in one.what]
            assert [one.severity for one in found] == [Severity.WARNING] * said

        asyncio.run(run())


def test_a_link_that_is_paused_is_warned_of() -> None:
    """A switch would wait for it in vain."""
    for is_paused in (False, True):
        desk = Desk(registered=[client("billing")], is_paused=is_paused)

        async def run(desk: Desk = desk) -> list[str]:
            await published(desk, OLD)
            return [one.fix for one in (await apply.plan(desk, NEW, "why")).reasons if "is paused" in one.what]

        assert asyncio.run(run()) == ["anabranch link resume old-new --target new"] * is_paused


def test_live_clients_are_moved_by_a_switch_unless_it_is_said_to_be_at_once() -> None:
    """By the link that copies their topics; how they are moved is part of the plan, and what at once costs is said."""
    desk = Desk(registered=[client("billing"), client(number=2)])

    async def run() -> None:
        first = await apply.plan(desk, OLD, "why")
        await apply.apply(desk, first)
        assert not first.switch and not desk.switches, "nobody was led before"
        planned = await apply.plan(desk, NEW, "why", SwitchPolicy(timeout_ms=5))
        assert planned.switch == (SwitchLink("old", "new", "old-new", 2),) and not planned.reasons
        at_once = await apply.plan(desk, NEW, "why", SwitchPolicy(at_once=True))
        assert not at_once.switch and [one.severity for one in at_once.reasons] == [Severity.WARNING]
        assert len({planned.hash, at_once.hash, (await apply.plan(desk, NEW, "why")).hash}) == 3
        done = await apply.apply(desk, planned)
        assert (done.switch, done.doubts) == ("s", ("a doubt",))
        (begun,) = desk.switches
        assert (begun.base, begun.policy.timeout_ms, begun.links) == (1, 5, {("old", "new"): "old-new"})
        back = await rollback.apply(desk, await rollback.plan(desk, 1, "back", SwitchPolicy(at_once=True)))
        assert (back.version, back.switch, len(desk.switches)) == (3, "", 1)

    asyncio.run(run())


def test_what_could_move_somebody_is_published_by_a_switch_though_nobody_is_known() -> None:
    """So that who registers meanwhile is held; what leads nobody elsewhere is published as it is applied."""
    desk = Desk()

    async def run() -> None:
        await published(desk, OLD)
        more = replace(OLD, codes={**OLD.codes, "shop": Code("shop", Destination("new"))})
        await published(desk, more)
        assert not desk.switches
        planned = await apply.plan(desk, NEW, "why")
        assert not planned.switch
        assert (await apply.apply(desk, planned)).switch == "s"
        assert [one.links for one in desk.switches] == [{}]

    asyncio.run(run())


def test_a_topic_that_live_clients_have_gets_no_other_name_on_its_cluster_unless_it_is_said_to_be_at_once() -> None:
    """They have no place in that log; who comes meanwhile is held, so that nobody goes over without a word."""
    renamed = RouteTable({"orders": Code("orders", Destination("old", topics="v2.{topic}"))})
    desk = Desk(registered=[client("billing"), client(number=2)])

    async def run() -> None:
        await published(desk, OLD)
        with pytest.raises(RenamedInPlaceError) as told:
            await apply.plan(desk, renamed, "why")
        assert "topic sales would be v2.sales on old for consumer shop (host-1, pid 1)" in told.value.message
        assert "--at-once" in told.value.hint and len(desk.versions) == 1
        at_once = await apply.plan(desk, renamed, "why", SwitchPolicy(at_once=True))
        assert ["would be v2.sales" in one.what for one in at_once.reasons] == [True]
        assert (await apply.apply(desk, at_once)).version == 2 and not desk.switches
        desk.registered = []
        await apply.apply(desk, await rollback.plan(desk, 1, "back"))
        assert len(desk.switches) == 1

    asyncio.run(run())


@pytest.mark.parametrize(("there", "is_other"), [("one", False), ("two", True), ("", False)])
def test_new_addresses_that_are_another_cluster_are_refused_unless_it_is_said_to_be_at_once(
    there: str, is_other: bool
) -> None:
    """By its id; where nobody knows that it is said.  A name to which nobody was led before may stand for any."""
    desk = Desk(registered=[client("billing")], ids={"old:1": "one", "old-2:1": there})
    elsewhere = {"old": ClusterContext("old", ("old-2:1",), PLAIN)}
    readdressed = replace(OLD, clusters=elsewhere)

    async def run() -> None:
        await published(desk, NEW)
        assert not [one for one in (await apply.plan(desk, readdressed, "why")).reasons if "old-2:1" in one.what]
        desk.versions.clear()
        await published(desk, OLD)
        if is_other:
            with pytest.raises(ReaddressedError) as told:
                await apply.plan(desk, readdressed, "why")
            assert "old-2:1 is not cluster old" in told.value.message and "context add" in told.value.hint
        at_once = SwitchPolicy(at_once=True)
        planned = await apply.plan(desk, readdressed, "why", at_once if is_other else SwitchPolicy())
        said = [one.what for one in planned.reasons if "old-2:1" in one.what]
        assert len(said) == (there != "one")
        assert (await apply.apply(desk, planned)).version == 2

    asyncio.run(run())


def test_a_client_that_is_not_heard_of_is_not_moved_and_named_in_the_plan() -> None:
    """It is not counted among those that move."""
    desk = Desk(registered=[client("billing", until_ms=9), client(number=2)])

    async def run() -> None:
        await published(desk, OLD)
        planned = await apply.plan(desk, NEW, "why")
        assert [move.client.id for move in planned.impact.moves] == [desk.registered[1].id]
        assert ["group billing has no live consumer" in one.what for one in planned.reasons] == [True]

    asyncio.run(run())


def test_a_plan_holds_while_clients_come_and_not_when_groups_move_otherwise() -> None:
    """Nor where somebody has published since."""
    desk = Desk(registered=[client("billing")])

    async def run() -> None:
        await published(desk, OLD)
        planned = await apply.plan(desk, NEW, "why")
        desk.registered += [client("billing", number=2), client(number=3)]
        assert (await apply.plan(desk, NEW, "another reason")).hash == planned.hash
        desk.registered.append(client("reports", number=4))
        with pytest.raises(PlanChangedError):
            await apply.apply(desk, planned)
        planned = await apply.plan(desk, NEW, "why")
        await published(desk, replace(OLD, rules=(Rule("own", 1, Match(), Destination("old")),)))
        with pytest.raises(PlanChangedError):
            await apply.apply(desk, planned)
        assert len(desk.versions) == 2

    asyncio.run(run())


def test_a_table_with_faults_is_refused_with_all_of_them() -> None:
    """An overlap, a cluster that is none, a loop."""
    rules = tuple(Rule(name, 0, Match(), Destination("nowhere")) for name in ("one", "two"))
    table = RouteTable({"a": Code("a", Destination(code="a"))}, rules)
    with pytest.raises(InvalidTableError) as told:
        asyncio.run(apply.plan(Desk(), table, "why"))
    for part in ("'one' and 'two' have priority 0", "'nowhere'", "a -> a lead to each other"):
        assert part in told.value.message


def test_what_would_harm_clients_is_refused_with_their_names() -> None:
    """A group that would be split, and a client whose code is gone, at once."""
    members = [client("billing", "north"), client("billing", "south", 2)]
    desk = Desk(registered=[*members, replace(client(number=3), query=RouteQuery("shop", ClientRole.PRODUCER))])

    async def run() -> None:
        await published(desk, replace(OLD, codes={**OLD.codes, "shop": Code("shop", Destination("old"))}))
        rule = Rule("half", 1, Match(parameters={"site": Pattern("north")}), Destination("new"))
        with pytest.raises(ForbiddenImpactError) as told:
            await apply.plan(desk, replace(OLD, rules=(rule,)), "why")
        assert "group billing would be split" in told.value.message
        assert "there is no cluster code 'shop'" in told.value.message
        assert told.value.hint

    asyncio.run(run())


def test_what_applies_already_is_not_published_again() -> None:
    """Its version is told."""
    desk = Desk()

    async def run() -> None:
        assert await published(desk, OLD) == 1
        planned = await apply.plan(desk, OLD, "again")
        assert planned.changes_nothing
        assert (await apply.apply(desk, planned)).version == 1
        assert len(desk.versions) == 1

    asyncio.run(run())


def test_a_rollback_is_a_new_version_with_an_earlier_table() -> None:
    """Nothing is taken out of the list."""
    desk = Desk()

    async def run() -> None:
        await published(desk, OLD)
        await published(desk, NEW)
        planned = await rollback.plan(desk, 1, "back")
        assert (await rollback.apply(desk, planned)).version == 3
        assert [one.table for one in desk.versions] == [OLD, NEW, OLD]

    asyncio.run(run())
