"""Discovering and planning a migration on simulated clusters."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from anabranch.cli.migrations.render import discovered as rendered
from anabranch.config.migration_file import migration_fields, migration_of
from anabranch.kafka import controller_clock
from anabranch.kafka.admin import create_topic, grow_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.settling import until_led
from anabranch.migration.check import InvalidMigrationError
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, key_of
from anabranch.migration.spec import FenceKind, Limits, Migration, Wave
from anabranch.migration.steps import Part, StepKind, start_steps, switch_steps
from anabranch.model.clock import DAY_MS, now_ms
from anabranch.model.cluster import ClusterContext, PasswordLogin, SaslMechanism, Security, SecurityProtocol, Tls
from anabranch.model.groups import Commit, GroupKind, GroupState
from anabranch.model.reasons import Reason, Severity
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.model.topics import TopicPartition
from anabranch.operations.migrations.desk import Scene
from anabranch.operations.migrations.discover import Discovered, discover
from anabranch.operations.migrations.ending import last_written
from anabranch.operations.migrations.inventory import take_inventory, topic_retentions
from anabranch.operations.migrations.looking import AnotherClusterError
from anabranch.operations.migrations.plan import (
    MigrationPlan,
    MigrationRefusedError,
    check_allowed,
    compared,
    plan,
    told_once,
)
from anabranch.operations.migrations.steps import ClusterSteps
from qa.blocking import between
from tests.unit.link_lab import OTHER, SOURCE_END, A, B, Lab, lab

pytestmark = pytest.mark.test


@pytest.fixture
def both() -> Iterator[Lab]:
    """Two clusters; on the source a group that reads orders, and topic private."""
    with lab() as made:
        made.commit(made.source, "shop", {A: Commit(10), B: Commit(20)})
        yield made


def discovered(both: Lab, watch_s: float = 0.0) -> Discovered:
    """What is suggested."""
    return between(both.source, both.target, lambda here, there: discover(here, there, "move", watch_s=watch_s))


def planned(both: Lab, migration: Migration) -> MigrationPlan:
    """The plan of a migration."""
    return between(both.source, both.target, lambda here, there: plan(here, there, migration, watch_s=0.0))


def test_what_the_source_holds_becomes_a_migration(both: Lab) -> None:
    """Topics with sizes and batches, groups with what they read, and a wave of each that belongs together."""
    found = discovered(both)
    seen = found.source
    orders = seen.topics["orders"]
    assert (orders.partitions, orders.records, orders.per_second) == (3, 3 * SOURCE_END, None)
    assert orders.size is not None and orders.size > 0
    assert (orders.sample.batches, orders.sample.records, orders.sample.plain) == (3, 3 * SOURCE_END, 3)
    assert (orders.configs, orders.retention_ms, orders.retention_bytes) == ({}, 7 * DAY_MS, None), "by default"
    shop = seen.groups["shop"]
    assert (shop.kind, shop.state, shop.topics) == (GroupKind.SIMPLE, GroupState.EMPTY, ("orders",))
    assert shop.lag == 2 * SOURCE_END - 30
    assert [(wave.topics, wave.groups) for wave in found.migration.waves] == [
        (("orders",), ("shop",)),
        (("private",), ()),
    ]
    assert seen.unavailable == ()
    assert migration_of(migration_fields(found.migration), "x") == found.migration


def test_brokers_that_are_copied_to_say_how_much_there_fits(both: Lab) -> None:
    """Others are not asked."""
    for is_copied_to in (True, False):
        seen = both.on(both.target, lambda one, to=is_copied_to: take_inventory(one, watch_s=0.0, is_copied_to=to))
        assert (seen.free is not None) is is_copied_to
        assert not is_copied_to or min((seen.free or {}).values()) > 0


def test_for_how_long_topics_keep_records_is_asked_by_itself(both: Lab) -> None:
    """As before a pause."""
    kept = both.on(both.source, lambda one: topic_retentions(one, ["orders", "private"]))
    assert kept == {"orders": 7 * DAY_MS, "private": 7 * DAY_MS}


def test_logs_are_watched_for_how_fast_they_grow(both: Lab) -> None:
    """Where nobody writes: not at all, which is another answer than not known."""
    assert {topic.per_second for topic in discovered(both, 0.2).source.topics.values()} == {0.0}


def test_a_plan_has_every_step_and_every_reason(both: Lab) -> None:
    """Its hash stays while only offsets move, and changes with what is planned."""
    migration = discovered(both).migration
    found = planned(both, migration)
    orders, private = found.waves
    assert found.ok, found.errors
    check_allowed(found)
    assert [topic.source for topic in orders.topics] == ["orders"]
    assert [step.subject for step in orders.start] == ["orders", *["move-orders"] * 3]
    assert "point of no return" in {step.kind.value for step in orders.switches[0].steps}
    warnings = [reason.what for reason in private.reasons if reason.severity is Severity.WARNING]
    assert "wave private has neither groups nor jobs: whoever reads its topics is not moved" in [
        reason.what for reason in found.reasons
    ]
    assert any("batches of producers without an id" in one for one in warnings)
    both.commit(both.source, "shop", {A: Commit(11)})
    assert planned(both, migration).hash == found.hash
    slower = replace(migration, limits=Limits(source_rate=1_000_000))
    assert planned(both, slower).hash != found.hash


def test_what_speaks_against_each_wave_is_told_once(both: Lab) -> None:
    """A right that is missing for all of them; what one wave lacks stays with it, and of one wave alone all does."""
    made = planned(both, discovered(both).migration)
    right, other = (Reason.found(Severity.ERROR, what) for what in ("no right", "no topic"))
    first, second = (replace(wave, reasons=(*wave.reasons, right)) for wave in made.waves)
    lacking = replace(made, waves=(first, replace(second, reasons=(*second.reasons, other))))
    found = told_once(lacking)
    assert found.reasons == (*made.reasons, right)
    assert [right in wave.reasons for wave in found.waves] == [False, False]
    assert found.waves[1].reasons[-1] == other and found.errors == (right, other)
    assert told_once(found) == found
    assert told_once(replace(made, waves=(first,))).waves == (first,)


def test_a_clock_that_is_off_is_refused_with_numbers(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """By both clusters' controllers, which this machine is ten minutes ahead of."""
    migration = discovered(both).migration
    assert planned(both, migration).ok
    monkeypatch.setattr(controller_clock, "now_ms", lambda: now_ms() + 600_000)
    found = planned(both, migration).errors
    assert [reason.what.split(" at the least")[0].rsplit(" that of ")[-1] for reason in found] == ["old", "new"]
    assert all("s ahead of" in reason.what and reason.fix.startswith("have both keep time") for reason in found)


def test_a_cluster_that_is_not_the_one_of_the_migration_is_refused(both: Lab) -> None:
    """By its id: in the plan, and again as a start looks at it."""
    found = replace(discovered(both).migration, target_id="another", target="new")
    assert any("another" in reason.what for reason in planned(both, found).errors)
    wave = found.waves[0]
    run = WaveRun("r", found.name, wave.name, "start", start_steps(Leg(found, wave)), 0)

    async def look(here: Cluster, there: Cluster) -> None:
        desk: Any = None
        await ClusterSteps(found, here, there, desk).do(run, run.steps[0])

    with pytest.raises(AnotherClusterError, match="and the migration is about another") as error:
        between(both.source, both.target, look)
    assert error.value.hint == "correct the context: `anabranch context test new`"


def test_a_secret_that_java_cannot_use_is_told_before_the_start(both: Lab, tmp_path: Path) -> None:
    """Copying logs in with it, and the comparison would not; the plan stays the same one."""
    secret = tmp_path / "secret"
    secret.write_text("secret\n")
    login = PasswordLogin(SaslMechanism.SCRAM_SHA_512, "admin", SecretRef(SecretKind.FILE, str(secret)))
    context = ClusterContext("new", ("127.0.0.1:9",), Security(SecurityProtocol.SASL_SSL, Tls(), login))
    made = planned(both, discovered(both).migration)
    told = compared(made, [context])
    (found,) = told.reasons[len(made.reasons) :]
    assert found.severity is Severity.WARNING
    assert found.what.startswith(f"a comparison would be refused: context 'new': secret file {secret} ends with a line")
    assert found.fix.startswith("printf") and told.hash == made.hash
    secret.write_text("secret")
    assert compared(made, [context]) == made


def test_another_topic_or_partition_is_another_plan(both: Lab) -> None:
    """What would be copied is part of what was seen."""
    migration = discovered(both).migration
    before = planned(both, migration).hash
    both.on(both.source, lambda cluster: grow_topic(cluster, OTHER.topic, 2))
    assert planned(both, migration).hash != before


def test_a_migration_that_contradicts_itself_is_refused_with_all_faults(both: Lab) -> None:
    """Before any cluster is looked at."""
    wave = Wave("a", ("orders",), fences=())
    with pytest.raises(InvalidMigrationError) as error:
        planned(both, Migration("move", "old", "new", (wave, replace(wave, name="b"))))
    assert len(error.value.reasons) == 3
    assert "topic orders belongs to waves a, b" in error.value.message


def test_what_forbids_a_migration_is_told_in_the_plan(both: Lab) -> None:
    """A group that is forgotten, and one that is not there; the plan itself is made all the same."""
    wave = Wave("orders", ("orders", "gone"), ("nobody",), fences=(FenceKind.OBSERVE,))
    found = planned(both, Migration("move", "old", "new", (wave,)))
    told = [reason.what for reason in found.errors]
    assert told[:2] == ["there is no topic gone on old", "there is no group nobody on old"]
    with pytest.raises(MigrationRefusedError) as error:
        check_allowed(found)
    assert (error.value.errors, error.value.plan) == (len(told), found.hash)


def test_a_link_that_has_the_name_of_a_waves_is_told(both: Lab) -> None:
    """`old-new` is the link of the lab."""
    found = planned(both, Migration("old", "old", "new", (Wave("new", (OTHER.topic,)),)))
    assert [reason.what for reason in found.errors] == ["link 'old-new' exists already"]
    assert "`anabranch migrate status old`" in found.errors[0].fix


def test_compaction_is_seen_in_the_topics_own_configs(both: Lab) -> None:
    """Not in a cluster's default."""

    async def make(cluster: Any) -> None:
        await create_topic(cluster, "stock", 1, 1, {"cleanup.policy": "compact"})
        await until_led(cluster, ["stock"])

    both.on(both.source, make)
    stock = discovered(both).source.topics["stock"]
    assert (stock.is_compacted, stock.records, stock.sample.batches) == (True, 0, 0)
    assert TopicPartition("stock", 0).topic in discovered(both).migration.waves[-1].topics


def test_times_and_retention_are_shown_of_what_is_discovered(both: Lab) -> None:
    """Of each topic; records of the lab are of 1970."""
    console = Console(record=True, width=200, file=io.StringIO())
    console.print(rendered(discovered(both), None))
    (orders,) = (
        line for line in console.export_text().splitlines() if line.strip().startswith("orders") and "7 d" in line
    )
    assert "times before 2000" in orders


def test_when_topics_were_written_to_last_is_told_by_their_records(both: Lab) -> None:
    """Of those that hold some, up to the pinned ends; what cannot be read is left out."""
    wave = Wave("orders", ("orders", "gone"))
    move = Migration("move", "old", "new", (wave,))
    ends = {str(A): SOURCE_END, str(B): 0, "gone-0": 3}
    steps = switch_steps(Leg(move, wave), Part.ALL)
    run = WaveRun("r", "move", "orders", "switch", steps, 0, results={key_of(StepKind.PIN, "orders"): {"ends": ends}})
    nobody: Any = None
    found = between(
        both.source,
        both.target,
        lambda here, there: last_written(Scene(Leg(move, wave), here, there, nobody, run, "")),
    )
    assert found == {"orders": 1_000}
