"""Access rules and quotas are carried over between simulated clusters: by steps, by a plan, or not at all."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest
from rich.console import Console

from anabranch.cli.migrations.render import discovered
from anabranch.kafka.acls import NoAuthorizerError, create_acls, delete_acls, describe_acls
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.quotas import alter_quotas, describe_quotas
from anabranch.kafka.settling import until_led
from anabranch.migration.access.values import Made, QuotaKey, WaveName, quota_values
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import AccessCarryOver, FenceKind, Migration, Wave
from anabranch.migration.steps import MigrationStep, Part, StepKind, start_steps, switch_steps
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.cluster import ClusterContext
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.plans import PlanChangedError
from anabranch.model.quotas import CLIENT_ID, PRODUCER_BYTE_RATE, QuotaEntity, quota_entity
from anabranch.model.reasons import Severity
from anabranch.model.topics import TopicPartition
from anabranch.operations.migrations import access, access_seen
from anabranch.operations.migrations.desk import MigrationDesk
from anabranch.operations.migrations.discover import discover
from anabranch.operations.migrations.steps import ClusterSteps
from anabranch.sandbox import ClusterSpec, SandboxCluster
from anabranch.state.topics.access import AccessRecord
from anabranch.state.topics.control import Links, ensure_topics
from qa.blocking import between, on
from tests.integration.kafka.security import context_of
from tests.simulated import Simulated

pytestmark = pytest.mark.test

T = TypeVar("T")
SHOP = Wave("shop", ("orders",), ("billing",), principals=("User:shop",), fences=(FenceKind.ACL,))
CLICKS = Wave("clicks", ("clicks",), clients=("site",))
MIGRATION = Migration("move", "old", "new", (SHOP, CLICKS), access=AccessCarryOver(True, quotas=True))
SITE = QuotaKey(quota_entity({CLIENT_ID: "site"}), PRODUCER_BYTE_RATE)


def rule(name: str, operation: AclOperation = AclOperation.READ, **more: Any) -> Acl:
    """The shop may do something with a topic, or with something else."""
    plain = Acl(ResourceType.TOPIC, name, PatternType.LITERAL, "User:shop", "*", operation, AclPermission.ALLOW)
    return replace(plain, **more)


TILL = rule("till", AclOperation.WRITE, resource_type=ResourceType.TRANSACTIONAL_ID)
ORDERS, CLICKED = rule("orders", AclOperation.WRITE), rule("clicks", AclOperation.WRITE)
RULES = {TILL, ORDERS, CLICKED}
SHOPS, CLICKS_NAME = WaveName("move", "shop"), WaveName("move", "clicks")


@dataclass(frozen=True)
class Pair:
    """Two clusters, asked as their administrator."""

    source: ClusterContext
    target: ClusterContext

    def between(self, ask: Callable[[Cluster, Cluster], Awaitable[T]]) -> T:
        """What comes of asking both."""
        return between(self.source, self.target, ask)

    def there(self, ask: Callable[[Cluster], Awaitable[T]]) -> T:
        """What comes of asking the target."""
        return on(self.target, ask)

    def plan(self, migration: Migration = MIGRATION) -> access.AccessPlan:
        """What would be done now."""
        return self.between(lambda old, new: access.plan(old, new, migration))

    def apply(self, planned: access.AccessPlan) -> access.AccessReport:
        """What comes of a plan."""
        return self.between(lambda old, new: access.apply(old, new, planned))

    def step(self, kind: str, wave: Wave, *, leg: int = 0, back: bool = False) -> object:
        """Do the step of a run of that kind, or put it back."""
        way = Leg(MIGRATION, wave, leg)
        steps = start_steps(way) if kind == "start" else switch_steps(way, Part.ALL)
        (step,) = [one for one in steps if one.kind is StepKind.ACCESS]
        run = WaveRun("r", "move", wave.name, kind, steps, 1, leg=leg)

        async def go(old: Cluster, new: Cluster) -> object:
            does = ClusterSteps(MIGRATION, old, new, cast(MigrationDesk, None))
            return await (does.put_back if back else does.do)(run, step)

        return self.between(go)

    def rules(self) -> set[Acl]:
        """The target's."""
        return set(self.there(describe_acls))

    def quotas(self) -> dict[QuotaKey, float]:
        """The target's."""
        return quota_values(self.there(describe_quotas))

    def record(self) -> dict[WaveName, Made]:
        """What was written down there."""

        async def go(cluster: Cluster) -> dict[WaveName, Made]:
            record = AccessRecord(cluster)
            await record.sync()
            return {name: made for name, made in record.made.items() if made != Made()}

        return self.there(go)


def started(name: str, *, authorizer: bool = True) -> Simulated:
    """A cluster of users with passwords."""
    return Simulated(ClusterSpec(name, security="SCRAM-SHA-512", authorizer=authorizer))


def context(cluster: Simulated) -> ClusterContext:
    """As its administrator."""
    return context_of(cast(SandboxCluster, cluster))


@pytest.fixture
def pair() -> Iterator[Pair]:
    """The source has rules for the shop, and a quota of what a wave's clients call themselves."""
    with started("old") as old, started("new") as new:
        made = Pair(context(old), context(new))

        async def fill(cluster: Cluster) -> None:
            await create_acls(cluster, RULES)
            await alter_quotas(cluster, {SITE.entity: {SITE.name: 1024.0}})

        on(made.source, fill)
        yield made


def test_a_start_carries_over_what_its_wave_needs_and_takes_back_no_more(pair: Pair) -> None:
    """What two waves need is there as long as one of them does; a switch that is turned back leaves all."""
    assert pair.step("start", SHOP) == {"created": 2, "deleted": 0, "quotas": 0}
    assert pair.rules() == {TILL, ORDERS}
    assert pair.step("start", CLICKS) == {"created": 1, "deleted": 0, "quotas": 1}
    assert (pair.rules(), pair.quotas()) == (RULES, {SITE: 1024.0})
    assert pair.record() == {
        SHOPS: Made(frozenset({TILL, ORDERS})),
        CLICKS_NAME: Made(frozenset({TILL, CLICKED}), {SITE: frozenset({1024.0})}),
    }
    assert pair.step("switch", CLICKS) == {"created": 0, "deleted": 0, "quotas": 0}
    pair.step("switch", CLICKS, back=True)
    assert pair.rules() == RULES
    pair.step("start", CLICKS, back=True)
    assert (pair.rules(), pair.quotas(), pair.record()) == (
        {TILL, ORDERS},
        {},
        {SHOPS: Made(frozenset({TILL, ORDERS}))},
    )
    pair.step("start", SHOP, back=True)
    pair.step("start", SHOP, back=True)
    assert (pair.rules(), pair.record()) == (set(), {})


def test_a_plan_holds_only_while_nothing_changes(pair: Pair) -> None:
    """Each wave's changes follow those of the one before; what was applied is not to be done again."""
    found = pair.plan()
    assert [({*one.changes.create}, one.changes.adopt) for one in found.waves] == [
        ({TILL, ORDERS}, ()),
        ({CLICKED}, (TILL,)),
    ]
    on(pair.source, lambda old: create_acls(old, [rule("orders", AclOperation.DELETE)]))
    with pytest.raises(PlanChangedError, match="access of migration 'move' changed since plan"):
        pair.apply(found)
    assert (pair.rules(), pair.record()) == (set(), {})
    on(pair.source, lambda old: delete_acls(old, [rule("orders", AclOperation.DELETE)]))
    done = pair.apply(pair.plan())
    assert ({*done.created}, done.deleted, [one.value for one in done.quotas]) == (RULES, (), [1024.0])
    assert not pair.plan().changes
    on(pair.source, lambda old: delete_acls(old, [TILL]))
    assert pair.apply(pair.plan()).deleted == (TILL,)


def test_what_was_there_before_stays_whatever_becomes_of_the_source(pair: Pair) -> None:
    """A rule that somebody had made is not in the record, though the source has it, too."""
    pair.there(lambda new: create_acls(new, [ORDERS]))
    pair.apply(pair.plan())
    assert pair.record()[SHOPS].rules == {TILL}
    on(pair.source, lambda old: delete_acls(old, RULES))
    assert {*pair.apply(pair.plan()).deleted} == {TILL, CLICKED}
    assert pair.rules() == {ORDERS}


class DiedError(BaseException):
    """It is no more."""


def test_what_died_half_way_is_in_the_record_and_is_ended_by_the_next(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is there before the first rule; all rules before the first quota."""

    async def dies(_: Cluster, changes: dict[QuotaEntity, object]) -> None:
        raise DiedError

    monkeypatch.setattr(access, "create_acls", dies)
    with pytest.raises(DiedError):
        pair.apply(pair.plan())
    assert (pair.rules(), {name: {*made.rules} for name, made in pair.record().items()}) == (
        set(),
        {SHOPS: {TILL, ORDERS}, CLICKS_NAME: {TILL, CLICKED}},
    )
    monkeypatch.undo()
    monkeypatch.setattr(access, "alter_quotas", dies)
    with pytest.raises(DiedError):
        pair.apply(pair.plan())
    monkeypatch.undo()
    assert (pair.rules(), pair.quotas()) == (RULES, {})
    pair.apply(pair.plan())
    assert pair.quotas() == {SITE: 1024.0}
    assert not pair.plan().changes


def test_a_wave_that_was_switched_is_left_to_the_target(pair: Pair) -> None:
    """Whatever is taken away on the source then: that is what is done when it is given up."""
    pair.apply(pair.plan())

    async def switched(old: Cluster) -> None:
        await ensure_topics(old)
        links = Links(old)
        spec = LinkSpec("move-shop-back", ClusterRef("new", "a"), ClusterRef("old", "b"), back_of="move-shop")
        await links.put(LinkRecord(WantedState(spec), ("a",), 1))
        await delete_acls(old, RULES)

    on(pair.source, switched)
    found = pair.plan()
    assert [wave.wave for wave in found.waves] == ["clicks"]
    assert "wave shop has been switched: its access rules are those of new now" in [one.what for one in found.reasons]
    assert pair.apply(found).deleted == (CLICKED,)
    assert pair.rules() == {TILL, ORDERS}


def test_what_was_made_for_a_wave_that_is_no_more_in_the_file_stays_and_is_told(pair: Pair) -> None:
    """Nobody says whether it was moved or given up."""
    pair.apply(pair.plan())
    found = pair.plan(replace(MIGRATION, waves=(SHOP,)))
    assert not found.changes
    assert "2 access rules of wave clicks, which is not in the file, stay" in [one.what for one in found.reasons]


def test_what_other_waves_of_the_file_have_is_not_said_to_be_in_none(pair: Pair) -> None:
    """Where only one wave is planned, as a start of some waves does."""
    pair.apply(pair.plan())
    found = pair.between(lambda old, new: access.plan(old, new, MIGRATION, ["shop"]))
    assert [one.wave for one in found.waves] == ["shop"]
    said = " ".join(one.what for one in found.reasons)
    assert ("not in the file" in said, "in no wave" in said) == (False, False)
    plain = replace(MIGRATION, access=AccessCarryOver())
    pair.there(lambda new: delete_acls(new, RULES))
    lacking = pair.between(lambda old, new: access_seen.lacking(old, new, plain, ["shop"]))
    assert [one.what for one in lacking] == [f"wave shop: new lacks 2 access rules that old has: {ORDERS}; {TILL}"]


def test_another_cluster_is_refused_before_anything_is_taken_for_gone(pair: Pair) -> None:
    """Its rules say nothing of what was made; and one cluster is not two."""
    pair.apply(pair.plan())
    with pytest.raises(access_seen.WrongClusterError, match=r"context old leads to cluster .*, not to another"):
        pair.plan(replace(MIGRATION, source_id="another"))
    with pytest.raises(access_seen.WrongClusterError, match=r"context new leads to cluster .*, as new does"):
        between(pair.target, pair.target, lambda old, new: access.plan(old, new, MIGRATION))


def test_a_source_without_an_authorizer_has_rules_proposed() -> None:
    """For the principals that waves name; of a wave that names none nothing can be said."""
    with started("old", authorizer=False) as old, started("new") as new:
        pair = Pair(context(old), context(new))
        found = pair.plan()
        shop, clicks = found.waves
        assert (shop.is_proposed, len(shop.changes.create), clicks.changes.create) == (True, 5, ())
        assert rule("billing", resource_type=ResourceType.GROUP) in shop.changes.create
        told = [reason.what for reason in found.reasons if reason.severity is Severity.WARNING]
        assert told == [
            "wave shop: old has no authorizer: 5 access rules are a proposal, for the principals that it names",
            "wave clicks: old has no authorizer, and the wave names no principals: no rule is proposed",
        ]
        pair.apply(found)
        assert pair.rules() == {*shop.changes.create}
        assert not pair.plan().changes


def test_what_nobody_carries_over_is_told_by_the_plan(pair: Pair) -> None:
    """Rules and quotas that the target lacks, also by a wider rule; nothing where they are there."""
    plain = replace(MIGRATION, access=AccessCarryOver())

    def told() -> list[str]:
        found = pair.between(lambda old, new: access_seen.lacking(old, new, plain))
        assert {reason.severity for reason in found} <= {Severity.WARNING}
        return [reason.what for reason in found]

    assert told() == [
        f"wave shop: new lacks 2 access rules that old has: {ORDERS}; {TILL}",
        f"wave clicks: new lacks 2 access rules that old has: {CLICKED}; {TILL}",
        f"wave clicks: new lacks 1 quota that old has, or has others: {SITE}",
    ]
    pair.there(lambda new: alter_quotas(new, {SITE.entity: {SITE.name: 1024.0}}))
    wide = rule("*", AclOperation.ALL)
    pair.there(lambda new: create_acls(new, [wide, replace(wide, resource_type=ResourceType.TRANSACTIONAL_ID)]))
    assert told() == []


def test_what_is_discovered_has_rules_and_quotas_and_a_file_that_carries_them_over(pair: Pair) -> None:
    """Where the target has an authorizer, too; else that is told."""
    found = pair.between(lambda old, new: discover(old, new, "move", watch_s=0.0))
    assert {*(found.rules or ())} == RULES and [quota.entity for quota in found.quotas or ()] == [SITE.entity]
    assert found.migration.access == AccessCarryOver(True, quotas=True)
    console = Console(record=True, width=200, file=io.StringIO())
    console.print(discovered(found, None))
    assert "access rules: 3, quotas: 1" in console.export_text()
    with started("bare", authorizer=False) as bare:
        lacking = between(pair.source, context(bare), lambda old, new: discover(old, new, "move", watch_s=0.0))
    assert lacking.migration.access == AccessCarryOver()
    assert any("not carried over: cluster bare has no authorizer" in one.what for one in lacking.reasons)


def test_one_authorizer_of_two_is_told() -> None:
    """Applications would be refused, or everybody let in."""
    plain = replace(MIGRATION, access=AccessCarryOver())
    for guarded, text in (
        ("new", "old has no authorizer and new has one"),
        ("old", "new has no authorizer: everybody"),
    ):
        with started("old", authorizer=guarded == "old") as old, started("new", authorizer=guarded == "new") as new:
            pair = Pair(context(old), context(new))
            if guarded == "old":
                on(pair.source, lambda cluster: create_acls(cluster, RULES))
            (found,) = pair.between(lambda here, there: access_seen.lacking(here, there, plain))
            assert text in found.what and found.severity is Severity.WARNING


def test_transactional_ids_that_write_to_a_wave_are_proposed_and_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source without an authorizer lets them write; once they are forgotten applications may still come."""
    with started("old", authorizer=False) as old, started("new") as new:
        pair = Pair(context(old), context(new))
        orders = TopicPartition("orders", 0)

        async def make(cluster: Cluster) -> None:
            await create_topic(cluster, "orders", 1, 1, {})
            await until_led(cluster, ["orders"])

        on(pair.source, make)
        known = {7: "till"}

        async def ids(_: object) -> dict[int, str]:
            return known

        async def producers(*_: object) -> dict[TopicPartition, list[Any]]:
            return {orders: [SimpleNamespace(producer_id=7), SimpleNamespace(producer_id=8)]}

        monkeypatch.setattr(access_seen, "transactional_ids", ids)
        monkeypatch.setattr(access_seen, "active_producers", producers)
        shop = pair.plan().waves[0]
        assert {TILL, replace(TILL, operation=AclOperation.DESCRIBE)} <= {*shop.changes.create}
        assert len(shop.changes.create) == 7
        pair.apply(pair.plan())
        known.clear()
        assert not pair.plan().changes


def test_a_target_without_an_authorizer_forbids_it() -> None:
    """There is nowhere to carry rules to; the plan of a migration has it among its errors."""
    with started("old") as old, started("new", authorizer=False) as new:
        pair = Pair(context(old), context(new))
        with pytest.raises(NoAuthorizerError) as error:
            pair.plan()
        assert error.value.cluster == "new"
        (reason,) = pair.between(lambda here, there: access.reasons_of(here, there, MIGRATION))
        assert reason.severity is Severity.ERROR
        assert reason.what.startswith("access rules cannot be carried over: cluster new has no authorizer")


def test_nothing_is_carried_over_on_the_way_back() -> None:
    """There is no such step."""
    steps: tuple[MigrationStep, ...] = switch_steps(Leg(MIGRATION, SHOP, 1), Part.ALL)
    assert StepKind.ACCESS not in {step.kind for step in steps}
