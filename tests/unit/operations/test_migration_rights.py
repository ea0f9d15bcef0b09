"""What a switch needs is asked for before it holds anybody up: in the plan, in its dry run, and as it begins."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.kafka.acls import create_acls, delete_acls
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.settling import until_led
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import FenceKind, Migration, Readers, Wave
from anabranch.migration.steps import Part, StepKind, switch_steps
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.cluster import ClusterContext
from anabranch.model.reasons import Reason, Severity, errors
from anabranch.operations.migrations import dryrun, ready, rights, waves
from anabranch.operations.migrations.desk import MigrationDesk, Scene
from anabranch.operations.migrations.dryrun import SeenStep
from anabranch.operations.migrations.plan import plan
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.blocking import between, on
from tests.integration.kafka.security import context_of
from tests.simulated import Simulated

pytestmark = pytest.mark.unit

WAVE = Wave("shop", ("orders",), ("billing",), fences=(FenceKind.ACL,))
MIGRATION = Migration("move", "old", "new", (WAVE,))
LEG = Leg(MIGRATION, WAVE)
OURS = "User:mover"


def rule(kind: ResourceType, name: str, operation: AclOperation, who: str = OURS) -> Acl:
    """Somebody may do something."""
    pattern = PatternType.PREFIXED if name.endswith(("_", ".")) else PatternType.LITERAL
    return Acl(kind, name, pattern, who, "*", operation, AclPermission.ALLOW)


SHOP = rule(ResourceType.TOPIC, "orders", AclOperation.WRITE, "User:shop")
READS = [
    rule(ResourceType.TOPIC, "orders", AclOperation.READ),
    rule(ResourceType.TOPIC, "orders", AclOperation.DESCRIBE_CONFIGS),
    rule(ResourceType.CLUSTER, "kafka-cluster", AclOperation.DESCRIBE),
    rule(ResourceType.GROUP, "billing", AclOperation.DESCRIBE),
]
"""What copying from a cluster takes."""
EVERYTHING = [
    rule(kind, name, AclOperation.ALL)
    for kind, name in (
        (ResourceType.TOPIC, "orders"),
        (ResourceType.TOPIC, "__anabranch_"),
        (ResourceType.TRANSACTIONAL_ID, "anabranch."),
        (ResourceType.GROUP, "billing"),
        (ResourceType.CLUSTER, "kafka-cluster"),
    )
]


@dataclass(frozen=True)
class Pair:
    """Two clusters on which the one who moves has all rights."""

    source: ClusterContext
    target: ClusterContext
    admins: tuple[ClusterContext, ClusterContext]

    def only(self, at: int, *rules: Acl) -> None:
        """Have it have these on one of both."""

        async def change(cluster: Cluster) -> None:
            await delete_acls(cluster, EVERYTHING)
            await create_acls(cluster, rules)

        on(self.admins[at], change)

    def lacking(self, part: Part = Part.ALL, leg: Leg = LEG) -> list[str]:
        """What forbids a switch."""
        found = between(self.source, self.target, lambda old, new: rights.lacking(leg, part, old, new))
        return [reason.what for reason in errors(found)]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Both have the topic; the shop may write to it on the source."""
    specs = [
        ClusterSpec(name, security="SCRAM-SHA-512", authorizer=True, users={"mover": "m"}) for name in ("old", "new")
    ]
    with Simulated(specs[0], 1) as old, Simulated(specs[1], 2) as new:
        both = [cast(SandboxCluster, one) for one in (old, new)]
        admins = context_of(both[0]), context_of(both[1])

        async def fill(cluster: Cluster) -> None:
            await create_acls(cluster, [*EVERYTHING, SHOP])
            await create_topic(cluster, "orders", 1, 1, {})
            await until_led(cluster, ["orders"])

        for admin in admins:
            on(admin, fill)
        yield Pair(context_of(both[0], "mover"), context_of(both[1], "mover"), admins)


def test_who_may_do_everything_lacks_nothing(pair: Pair) -> None:
    """Neither there nor back."""
    assert pair.lacking() == []
    assert pair.lacking(leg=LEG.next) == []


def test_a_source_that_may_only_be_read_has_no_way_back_and_no_fence(pair: Pair) -> None:
    """All that would be refused once applications are held up is told at once, with who lacks what."""
    pair.only(0, *READS)
    found = pair.lacking()
    assert f"fence acl: {OURS} may not ALTER on cluster of old: it can add no access rules" in found
    back = [one.removeprefix("the way back: ") for one in found if one.startswith("the way back: ")]
    assert f"{OURS} may not WRITE on topic orders of old" in back
    for operation in ("READ", "WRITE"):
        assert any(one.startswith(f"{OURS} may not {operation} on topics __anabranch_links, ") for one in back)
    assert any("WRITE on transactional id anabranch." in one for one in back)
    pair.only(0, *READS, rule(ResourceType.TOPIC, "__anabranch_", AclOperation.DESCRIBE))
    assert any(f"{OURS} may not CREATE on topics __anabranch_links, " in one for one in pair.lacking())
    # Consumers that are led by themselves ask none of it.
    assert pair.lacking(Part.CONSUMERS) == []


def test_a_group_that_may_not_be_committed_for_is_told(pair: Pair) -> None:
    """It would be seen past the point of no return: to look at it takes less than to commit."""
    pair.only(1, *(one for one in EVERYTHING if one.resource_type is not ResourceType.GROUP))
    told = f"{OURS} may not READ on group billing of new: its positions cannot be committed there"
    assert told in pair.lacking(Part.CONSUMERS)
    pair.only(1, *EVERYTHING[:3], EVERYTHING[4], rule(ResourceType.GROUP, "billing", AclOperation.DESCRIBE))
    assert told in pair.lacking(Part.CONSUMERS)
    assert told not in pair.lacking(Part.PRODUCERS)


def test_a_fence_that_denies_nobody_or_stays_where_it_was_left_is_told(pair: Pair) -> None:
    """The shop's rule is what names it; on the way back what was denied on the target is taken away there."""
    on(pair.admins[0], lambda cluster: delete_acls(cluster, [SHOP]))
    assert pair.lacking() == [
        "fence acl: wave shop: no access rule of old allows writing to its topics, so nobody can be denied it"
    ]
    named = Leg(MIGRATION, replace(WAVE, principals=("User:shop",)))
    assert pair.lacking(leg=named) == []
    pair.only(1, *EVERYTHING[:4], rule(ResourceType.CLUSTER, "kafka-cluster", AclOperation.DESCRIBE))
    assert pair.lacking(leg=named) == [], "before it was ever switched that is worth a look alone"
    found = between(pair.source, pair.target, lambda old, new: rights.lacking(named, Part.ALL, old, new))
    told = f"fence acl on the way back: {OURS} may not ALTER on cluster of new: it can add no access rules"
    assert told in [one.what for one in found if one.severity is Severity.WARNING]
    assert told in pair.lacking(leg=named.at(2))


def test_who_may_write_and_is_not_named_to_the_fence_is_told(pair: Pair) -> None:
    """The file names whom it denies: a rule for somebody else is worth a look."""
    batch = replace(SHOP, principal="User:batch")
    on(pair.admins[0], lambda cluster: create_acls(cluster, [batch]))
    for principals, told in (((), False), (("User:shop",), True), (("User:batch", "User:shop"), False)):
        named = Leg(MIGRATION, replace(WAVE, principals=principals))
        found = between(pair.source, pair.target, lambda old, new, leg=named: rights.lacking(leg, Part.ALL, old, new))
        text = "fence acl does not deny it to User:batch, whom a rule lets write to topic orders"
        assert (text in [one.what for one in found if one.severity is Severity.WARNING]) is told


def test_groups_that_are_denied_need_an_authorizer_rights_and_readers_that_are_named(pair: Pair) -> None:
    """All told before anybody is thrown out, also how long a session may be; producers alone ask none of it."""
    wave = replace(WAVE, fences=(FenceKind.OBSERVE,), readers=Readers.DENY)
    leg = Leg(MIGRATION, wave)
    reads = rule(ResourceType.GROUP, "billing", AclOperation.READ, "User:shop")
    nobody = "readers deny: wave shop: no access rule of old allows reading in its groups, so nobody can be denied it"
    assert pair.lacking(leg=leg) == [nobody]
    assert pair.lacking(Part.PRODUCERS, leg) == []
    on(pair.admins[0], lambda cluster: create_acls(cluster, [reads]))
    assert pair.lacking(leg=leg) == []
    found = between(pair.source, pair.target, lambda old, new: rights.lacking(leg, Part.ALL, old, new))
    assert [one.what for one in found if "session is over, 45 s" in one.what and "after 30 s" in one.what]
    everybody = replace(reads, principal="User:*")
    on(pair.admins[0], lambda cluster: create_acls(cluster, [everybody]))
    told = (
        "readers deny: wave shop: a rule of old lets everybody read in group billing: to deny that would deny it to us"
    )
    assert pair.lacking(leg=leg) == [told]
    named = Leg(MIGRATION, replace(wave, principals=("User:shop",)))
    assert pair.lacking(leg=named) == []
    found = between(pair.source, pair.target, lambda old, new: rights.lacking(named, Part.ALL, old, new))
    left = "readers deny does not deny it to User:*, whom a rule lets read in group billing"
    assert left in [one.what for one in found if one.severity is Severity.WARNING]
    pair.only(0, *EVERYTHING[:4], rule(ResourceType.CLUSTER, "kafka-cluster", AclOperation.DESCRIBE))
    told = f"readers deny: {OURS} may not ALTER on cluster of old: it can add no access rules"
    assert told in pair.lacking(Part.CONSUMERS, named)


def test_a_plan_says_what_a_switch_would_be_refused_for_and_lets_the_copy_begin(pair: Pair) -> None:
    """Rights may be granted while it copies."""
    pair.only(0, *READS)
    found = between(pair.source, pair.target, lambda old, new: plan(old, new, MIGRATION, watch_s=0.0))
    told = [one for one in found.waves[0].reasons if one.what.startswith("a switch would be refused: ")]
    assert len(told) > 3 and {one.severity for one in told} == {Severity.WARNING}
    assert not any("the way back" in one.what for one in found.errors)


class Desk:
    """Two reasons of whoever leads applications."""

    async def against(self, *_: object) -> tuple[Reason, ...]:
        """Of different weight."""
        return tuple(Reason.found(one, f"{one.value} of the desk", "see to it") for one in Severity)


def scene(pair: Any) -> Scene:
    """A switch's first step."""
    run = WaveRun("r", "move", "shop", "switch", switch_steps(LEG, Part.ALL), 0)
    return Scene(LEG, pair, pair, cast(MigrationDesk, Desk()), run, "shop")


def test_a_switch_is_refused_with_all_reasons_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what clusters and by what the desk says; what is worth a look alone is no reason."""

    async def lacking(*_: object) -> tuple[Reason, ...]:
        return (Reason.found(Severity.ERROR, "no rights", "grant them"),)

    monkeypatch.setattr(rights, "lacking", lacking)
    with pytest.raises(ready.WaveNotReadyError) as error:
        asyncio.run(ready.check(scene(None)))
    assert error.value.message == "wave shop: no rights; error of the desk"
    assert error.value.hint == "grant them; see to it"


def test_a_dry_run_has_each_reason_also_where_it_would_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that is behind hides none of them, and none is told twice."""

    async def lacking(*_: object) -> tuple[Reason, ...]:
        return (Reason.found(Severity.ERROR, "no rights", "grant them"),)

    async def behind(*_: object) -> None:
        raise dryrun.NotYetError("9 records are left to copy")

    monkeypatch.setattr(rights, "lacking", lacking)
    made = scene(None)
    real: Any = SimpleNamespace(do=behind, scene=lambda run, step: made)
    steps = dryrun.DrySteps(real)
    first = made.run.steps[0]
    assert first.kind is StepKind.PREFLIGHT
    asyncio.run(steps.do(made.run, first))
    (seen,) = steps.seen
    assert (seen.waits, seen.what) == (True, "9 records are left to copy")
    told = waves.reasons_of((seen, SeenStep(StepKind.JOURNAL, "shop", "go on")), WAVE)
    assert [reason.what for reason in errors(told)] == ["no rights", "error of the desk"]
