"""What a cancel leaves behind on the target: nothing that a wave made there, and all that somebody else did."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, cast

import pytest
from confluent_kafka.admin import AdminClient

from anabranch.kafka.partitions import delete_records
from anabranch.migration.inherited import inherited
from anabranch.migration.journal import run_fields, run_of
from anabranch.migration.kept import StoredRun
from anabranch.migration.options import WaveOptions
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import FenceKind
from anabranch.migration.standing import WaveState, WaveVerb
from anabranch.migration.steps import StepKind
from anabranch.model.clock import now_ms
from anabranch.operations.migrations import emptying, waves
from anabranch.sandbox import ClusterSpec
from qa.brokers import STEADY
from qa.logcompare import read_log
from qa.timeouts import TIMEOUT_S
from tests.integration.links.test_migration_switch import DiedError, until_same, values
from tests.integration.links.topics import create, numbered, produce
from tests.integration.migrations.conftest import Clusters
from tests.integration.migrations.test_source_lost import LostStand, changed_rules, denied, stand
from tests.simulated import Simulated

pytestmark = pytest.mark.test


@pytest.fixture
def fenced() -> Iterator[Clusters]:
    """Both with access rules."""
    specs = [ClusterSpec(name, security="PLAIN", authorizer=True, overrides=STEADY) for name in ("old", "new")]
    with ExitStack() as stack:
        yield cast(Clusters, tuple(stack.enter_context(Simulated(spec)) for spec in specs))


def purged(made: LostStand) -> WaveRun:
    """A cancel that deletes topics, carried out to its end."""
    runs = [run_of(one.journal) for one in made.store.runs_of(made.migration.name)]
    results = inherited(made.stands.leg, WaveVerb.CANCEL, runs)
    asked = WaveOptions(purge=True)
    run = waves.planned_run(made.stands, WaveVerb.CANCEL, uuid.uuid4().hex, now_ms(), results, asked)
    names = run.migration, run.wave
    made.store.begin(StoredRun(run.id, *names, True, run.state.value, 1, run.began_ms, "mei", "", run_fields(run)))
    return made.carry_out(run.id)


def test_a_wave_that_was_led_back_and_is_started_over_may_be_written_to_where_it_is_led(
    fenced: Clusters, store: str
) -> None:
    """What the reverse has denied on the target goes with the cancel; a rule of somebody else's there stays."""
    with stand(fenced, store, fences=(FenceKind.ACL,)) as made:
        theirs, ours = denied(made)
        assert made.ended(WaveVerb.SWITCH).state is WaveRunState.DONE
        changed_rules(made.new, create=[theirs])
        assert made.ended(WaveVerb.REVERSE).state is WaveRunState.DONE
        assert changed_rules(made.new) >= {theirs, ours}
        assert purged(made).state is WaveRunState.DONE
        assert changed_rules(made.new) & {theirs, ours} == {theirs}
        assert made.ended(WaveVerb.START).state is WaveRunState.DONE
        assert made.ended(WaveVerb.SWITCH).state is WaveRunState.DONE
        assert ours not in changed_rules(made.new)


def test_a_purge_deletes_the_topics_that_the_migration_made(clusters: Clusters, store: str) -> None:
    """By the ids that its start wrote down."""
    with stand(clusters, store) as made:
        (topic,) = made.wave.topics
        run = purged(made)
        assert (run.state, run.result(StepKind.PURGE, "orders")) == (WaveRunState.DONE, {"purged": [topic]})
        assert topic not in topics_of(made)
        assert made.stands.state is WaveState.PLANNED


def test_a_purge_leaves_a_topic_alone_that_somebody_else_made_again(clusters: Clusters, store: str) -> None:
    """The migration's own was deleted by hand once the wave was cancelled; it is said that the other one stays."""
    with stand(clusters, store) as made:
        (topic,) = made.wave.topics
        assert made.ended(WaveVerb.CANCEL).state is WaveRunState.DONE
        admin = AdminClient({"bootstrap.servers": made.new.internal_bootstrap})
        admin.delete_topics([topic])[topic].result(TIMEOUT_S)
        create(made.new, topic, 2)
        produce(made.new, topic, numbered(7))
        run = purged(made)
        assert run.state is WaveRunState.DONE
        told = [f"topic {topic} of new is not the one that the migration made: it stays"]
        assert run.result(StepKind.PURGE, "orders") == {"purged": [], "doubts": told}
        assert len(values(made.new, topic)) == 7


@pytest.mark.parametrize("others", [False, True], ids=["copies alone", "records of others behind them"])
def test_engines_that_die_at_each_step_of_a_purge_empty_a_topic_that_was_there_before(
    clusters: Clusters, store: str, monkeypatch: pytest.MonkeyPatch, others: bool
) -> None:
    """Also between two of its partitions.  What somebody else wrote behind the copies stays, and so does the topic."""
    with stand(clusters, store) as made:
        (topic,) = made.wave.topics
        assert purged(made).state is WaveRunState.DONE
        create(made.new, topic, 2)
        assert made.ended(WaveVerb.START).state is WaveRunState.DONE
        until_same(made.old, made.new, topic)
        if others:
            produce(made.new, topic, numbered(3, first=900))
        tried = 0

        async def died(*given: Any) -> int:
            nonlocal tried
            tried += 1
            code = await delete_records(*given)
            if tried == 1:
                raise DiedError
            return code

        monkeypatch.setattr(emptying, "delete_records", died)
        over = made.by_dying(made.verb(WaveVerb.CANCEL, WaveOptions(purge=True)))
        assert (over.state, over.why, made.stands.state) == (WaveRunState.DONE, "", WaveState.PLANNED)
        assert tried > 1 and topic in topics_of(made)
        config = {"bootstrap.servers": made.new.internal_bootstrap}
        assert [len(read_log(config, topic, at, committed=True)) for at in (0, 1)] == [3 if others else 0, 0]
        if not others:
            assert made.ended(WaveVerb.START).state is WaveRunState.DONE
            until_same(made.old, made.new, topic)


def topics_of(made: LostStand) -> set[str]:
    """The topics of the target."""
    admin = AdminClient({"bootstrap.servers": made.new.internal_bootstrap})
    return set(admin.list_topics(timeout=TIMEOUT_S).topics)
