"""Rounds that carry access rules over: of which waves, beside what, and what is told of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.config.migration_file import migration_fields
from anabranch.errors import ConfigError
from anabranch.kafka.cluster import Cluster
from anabranch.migration.access.diff import AccessDiff
from anabranch.migration.journal import run_fields
from anabranch.migration.kept import StoredRun
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import AccessCarryOver, Migration, Wave
from anabranch.migration.standing import WaveVerb, standing
from anabranch.migration.wave_steps import steps_for
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.clock import now_ms
from anabranch.operations.migrations.access import AccessReport, MayChange
from anabranch.service import carrying, migrating
from anabranch.service.access_audit import ACCOUNT, AccessAudit
from anabranch.service.access_looks import AccessLook, looks_of
from anabranch.service.acting import LEASE
from anabranch.service.carrying import Carrying, carried_waves
from anabranch.service.clusters import ClusterPool
from anabranch.service.hub import Hub
from anabranch.service.migrating import Migrating
from anabranch.service.migration_answers import summary_of
from anabranch.service.migration_desk import ServiceMigrationDesk
from anabranch.service.migration_metrics import access_metrics
from anabranch.service.stored import Stored
from anabranch.store.audit import LONGEST, Outcome
from anabranch.store.leases import SKEW_MS
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.unit
WAVE = Wave("orders", ("orders",))
MOVE = Migration("move", "old", "new", (WAVE,), access=AccessCarryOver(True))
RULE = Acl(
    *(ResourceType.TOPIC, "orders", PatternType.LITERAL, "User:alice", "*", AclOperation.READ, AclPermission.ALLOW)
)


@dataclass(eq=False)
class AwayError(ConfigError):
    """What a round fails by."""

    name: str

    _message = "{name} is away"


class ClusterNames:
    """Clusters by their contexts; one of these is gone."""

    def cluster(self, name: str) -> Cluster:
        """Whatever stands for it."""
        if name == "gone":
            raise AwayError(name)
        return cast(Cluster, SimpleNamespace(name=name))


def runs(*asked: WaveVerb, last: WaveRunState = WaveRunState.DONE) -> list[StoredRun]:
    """What was done for the wave, the last of it so."""
    made: list[WaveRun] = []
    for verb in asked:
        found = steps_for(standing(MOVE, WAVE, made), verb)
        run = WaveRun(f"r{len(made)}", "move", "orders", verb.value, found.steps, 0, leg=found.leg.number)
        made.append(replace(run, state=last if len(made) == len(asked) - 1 else WaveRunState.DONE))
    return [
        StoredRun(one.id, "move", "orders", one.state.is_open, one.state.value, 1, 0, "mei", "", run_fields(one))
        for one in made
    ]


START, SWITCH, REVERSE = WaveVerb.START, WaveVerb.SWITCH, WaveVerb.REVERSE


def test_waves_are_carried_over_whose_applications_are_all_on_the_source_and_that_are_copied() -> None:
    """From their start on until they are switched, and again once they were led back; where the file wants it."""

    def of(*asked: WaveVerb, last: WaveRunState = WaveRunState.DONE, wanted: Migration = MOVE) -> list[str]:
        return list(carried_waves(wanted, runs(*asked, last=last)))

    assert of() == of(START, last=WaveRunState.GOING) == of(START, last=WaveRunState.CANCELLED) == []
    assert of(START) == of(START, SWITCH, last=WaveRunState.CANCELLED) == ["orders"]
    assert of(START, wanted=replace(MOVE, access=AccessCarryOver())) == []
    assert of(START, SWITCH) == []
    assert of(START, SWITCH, REVERSE) == ["orders"]
    (stands,) = carried_waves(MOVE, runs(START, SWITCH, last=WaveRunState.GOING)).values()
    assert stands.open is not None


@dataclass
class CarriedHere:
    """What is told of both clusters instead of asking them; ``meanwhile`` is between the look and the change."""

    report: AccessReport | Exception
    meanwhile: Callable[[], None] = lambda: None
    during: Callable[[], Awaitable[object]] | None = None
    made: list[str] = field(default_factory=list)
    has_changed: bool = True

    async def legs_to_carry(self, *asked: Any) -> Sequence[Leg]:
        """All of them."""
        return list(asked[3]) if self.has_changed else []

    async def carry_over(self, source: Cluster, target: Cluster, leg: Leg, may: MayChange) -> AccessReport:
        """As the real one."""
        self.meanwhile()
        if not await may(AccessDiff(create=(RULE,))):
            return AccessReport(target.name, (), (), ())
        if self.during is not None:
            await self.during()
        self.made.append(leg.wave.name)
        if isinstance(self.report, Exception):
            raise self.report
        return self.report


DONE = AccessReport("new", (RULE,), (), ())


@pytest.fixture
def rounds(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> tuple[Carrying, CarriedHere]:
    """A migration that copies, on the instance that acts, and what stands for its clusters."""
    stored.migrations.add("move", migration_fields(MOVE), "mei", 0)
    stored.migrations.begin(runs(START)[0])
    stored.leases.take(LEASE, "here", now_ms(), 600_000)
    here = CarriedHere(DONE)
    monkeypatch.setattr(carrying, "access", here)
    pool, audit = cast(ClusterPool, ClusterNames()), AccessAudit(stored, Hub())
    return Carrying(stored, pool, audit, "here", lambda: True), here


def look(stored: Stored, name: str = "move") -> AccessLook:
    """That of the wave, as it is kept."""
    return looks_of(stored.migrations.get(name).access)["orders"]


def test_a_round_keeps_what_it_did_and_says_it_in_the_audit(
    stored: Stored, rounds: tuple[Carrying, CarriedHere]
) -> None:
    """Each rule by its name; the next round, which changes nothing, leaves that."""
    made, here = rounds
    asyncio.run(made.round())
    first = look(stored)
    assert (first.created, first.deleted, first.quotas, first.changed_ms, first.why) == (1, 0, 0, first.at_ms, "")
    (entry,) = stored.audit.entries(9)
    assert (entry.account, entry.verb, entry.subject, entry.outcome) == (
        *(ACCOUNT, "migrations.access", "migration move", Outcome.DONE),
    )
    assert entry.detail == f"wave orders: made {RULE}"
    here.has_changed = False
    asyncio.run(made.round())
    again = look(stored)
    assert again == replace(first, at_ms=again.at_ms, good_ms=again.at_ms)
    assert len(stored.audit.entries(9)) == 1
    kept = stored.migrations.get("move")
    assert summary_of(kept, stored.migrations.runs_of("move"), lambda *_: "").access == {"orders": again}
    assert again.good_ms is not None
    assert made.ages(again.good_ms + 2_500) == {"move": 2.5}
    samples = {one.name: one.value for family in access_metrics({"move": 2.5}, made.failures) for one in family.samples}
    assert samples == {"anabranch_migration_access_age_seconds": 2.5, "anabranch_migration_access_failures_total": 0}


def test_a_round_that_fails_says_why_until_one_does_not(stored: Stored, rounds: tuple[Carrying, CarriedHere]) -> None:
    """Each is counted; the audit has it once, with what was to be done."""
    made, here = rounds
    here.report = AwayError("new")
    for _ in range(2):
        asyncio.run(made.round())
    assert (look(stored).why, look(stored).good_ms, made.failures, made.ages(now_ms())) == (
        *("new is away", None, {"move": 2}, {}),
    )
    (entry,) = stored.audit.entries(9)
    assert (entry.outcome, entry.detail) == (Outcome.FAILED, f"wave orders: new is away; make {RULE}")
    here.report = ValueError("a mistake")
    asyncio.run(made.round())
    assert look(stored).why == "it failed unexpectedly: the log of the service has why"
    here.report = DONE
    asyncio.run(made.round())
    assert (look(stored).why, look(stored).created, made.failures) == ("", 1, {"move": 3})
    assert [one.outcome for one in stored.audit.entries(9)] == [Outcome.DONE, Outcome.FAILED, Outcome.FAILED]


def test_a_migration_whose_context_is_gone_holds_up_none_after_it(
    stored: Stored, rounds: tuple[Carrying, CarriedHere]
) -> None:
    """It says so itself; once it is removed nothing is told of it."""
    made, _ = rounds
    stored.migrations.add("first", migration_fields(replace(MOVE, name="first", source="gone")), "mei", 0)
    journal = {**runs(START)[0].journal, "id": "other", "migration": "first"}
    stored.migrations.begin(replace(runs(START)[0], id="other", migration="first", journal=journal))
    asyncio.run(made.round())
    assert (look(stored, "first").why, look(stored).why, made.failures) == (
        "gone is away",
        "",
        {"first": 1, "move": 0},
    )
    stored.migrations.remove("first", 1)
    asyncio.run(made.round())
    assert made.failures == {"move": 0}


def test_nothing_is_carried_over_beside_what_is_under_way(stored: Stored, rounds: tuple[Carrying, CarriedHere]) -> None:
    """AC1, AC2: not where a run began, or was done, since the look, nor by another file, nor by another's lease."""
    made, here = rounds
    switch = runs(START, SWITCH, last=WaveRunState.GOING)[1]
    kept = stored.migrations.get("move")
    here.meanwhile = lambda: stored.migrations.change(kept)
    asyncio.run(made.round())
    assert here.made == []

    def lose() -> None:
        stored.leases.give_back(LEASE, "here")
        stored.leases.take(LEASE, "there", now_ms() + 3_000, 1)

    here.meanwhile = lose
    asyncio.run(made.round())
    stored.leases.take(LEASE, "here", now_ms() + 9_000, 600_000)
    assert (here.made, stored.migrations.get("move").access, stored.audit.entries(9)) == ([], {}, [])

    here.meanwhile = lambda: stored.migrations.begin(switch)
    asyncio.run(made.round())
    here.meanwhile = lambda: None
    asyncio.run(made.round())
    assert here.made == []
    stored.migrations.keep(switch.id, 1, "done", {**switch.journal, "state": WaveRunState.DONE.value}, is_open=False)
    asyncio.run(made.round())
    assert here.made == []


def test_what_was_done_for_a_wave_is_forgotten_once_it_is_switched(
    stored: Stored, rounds: tuple[Carrying, CarriedHere]
) -> None:
    """While it is being switched that stays, and its age rises; then the target's rules are nobody's copy."""
    made, here = rounds
    asyncio.run(made.round())
    before = look(stored)
    switch = runs(START, SWITCH, last=WaveRunState.GOING)[1]
    stored.migrations.begin(switch)
    asyncio.run(made.round())
    assert (look(stored), list(made.ages(now_ms())), len(here.made)) == (before, ["move"], 1)
    stored.migrations.keep(switch.id, 1, "done", {**switch.journal, "state": WaveRunState.DONE.value}, is_open=False)
    asyncio.run(made.round())
    assert (stored.migrations.get("move").access, made.ages(now_ms()), len(here.made)) == ({}, {}, 1)


def test_a_run_waits_for_the_round_that_makes_something(
    stored: Stored, rounds: tuple[Carrying, CarriedHere], monkeypatch: pytest.MonkeyPatch
) -> None:
    """AC1: it is gone on with as that has ended."""
    made, here = rounds
    order: list[str] = []
    switch = runs(START, SWITCH, last=WaveRunState.GOING)[1]

    async def carry_out(*_: Any) -> None:
        order.append("run")

    monkeypatch.setattr(migrating, "carry_out", carry_out)

    async def go() -> None:
        hub, pool = Hub(), cast(ClusterPool, ClusterNames())
        desk = ServiceMigrationDesk(cast(Any, None), cast(Any, None))
        engine = Migrating(stored, pool, desk, hub, lambda: True, made.over)

        async def during() -> None:
            stored.migrations.begin(switch)
            await engine.look()
            for _ in range(20):  # in which a run that does not wait begins
                await asyncio.sleep(0)
            order.append("made")

        here.during = during
        await made.round()
        async with asyncio.timeout(TIMEOUT_S):
            while len(order) < 2:
                await asyncio.sleep(0.01)
        await engine.end()

    asyncio.run(go())
    assert order == ["made", "run"]


def test_what_is_made_for_too_long_is_given_up(
    stored: Stored, rounds: tuple[Carrying, CarriedHere], monkeypatch: pytest.MonkeyPatch
) -> None:
    """AC2: a target that does not answer holds no run up."""
    made, here = rounds
    monkeypatch.setattr(carrying, "MAKE_S", 0.02)
    here.during = asyncio.Event().wait

    async def go() -> None:
        await made.round()
        async with asyncio.timeout(TIMEOUT_S):
            await made.over("move", "orders")

    asyncio.run(go())
    assert (look(stored).why, here.made) == ("old and new did not both answer in time", [])


def test_what_is_made_ends_with_the_lease_that_was_found(
    stored: Stored, rounds: tuple[Carrying, CarriedHere], monkeypatch: pytest.MonkeyPatch
) -> None:
    """AC2: another instance may act by then; where it is all but over nothing is begun."""
    made, here = rounds
    here.during, at_ms = asyncio.Event().wait, now_ms()
    monkeypatch.setattr(carrying, "now_ms", lambda: at_ms)
    for left_ms, why in ((0, ""), (20, "old and new did not both answer in time")):
        stored.leases.give_back(LEASE, "here")
        stored.leases.take(LEASE, "here", at_ms, SKEW_MS + left_ms)
        began = time.monotonic()
        asyncio.run(made.round())
        assert time.monotonic() - began < carrying.MAKE_S
        kept = looks_of(stored.migrations.get("move").access)
        assert [one.why for one in kept.values()] == [why] * bool(why)
    assert here.made == []


def test_an_entry_of_the_audit_is_no_longer_than_it_can_be(stored: Stored) -> None:
    """Many changes are several."""
    rules = tuple(replace(RULE, resource_name=f"orders-{number}") for number in range(60))
    audit = AccessAudit(stored, Hub())
    asyncio.run(audit.note(carrying.WaveName("move", "orders"), AccessDiff(), replace(DONE, created=rules)))
    details = [entry.detail for entry in reversed(stored.audit.entries(99))]
    assert len(details) > 1
    assert max(map(len, details)) <= LONGEST
    said = "; ".join(detail.removeprefix("wave orders: ") for detail in details)
    assert said == "; ".join(f"made {rule}" for rule in rules)
    asyncio.run(audit.note(carrying.WaveName("move", "orders"), AccessDiff(), replace(DONE, created=())))
    assert len(stored.audit.entries(99)) == len(details)


def test_looks_of_another_version_are_read() -> None:
    """What it does not know is left out."""
    assert looks_of({"orders": {"at_ms": 1, "later": 2}}) == {"orders": AccessLook(1)}
