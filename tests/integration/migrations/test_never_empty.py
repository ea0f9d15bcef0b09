"""What turns a switch back at its last look: a group that reads on or never empties, and others' records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer

from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import WaveOrder
from anabranch.migration.standing import WaveState, WaveVerb
from anabranch.migration.steps import StepKind
from anabranch.model.link import UnknownLinkError
from qa import links as engine
from qa.service import until
from tests.integration.kafka.security import context_of
from tests.integration.links.groups import commit, committed
from tests.integration.links.test_migration_switch import until_same
from tests.integration.links.topics import numbered, produce
from tests.integration.migrations.conftest import Clusters
from tests.integration.migrations.members import reading_on
from tests.integration.migrations.test_source_lost import LostStand, stand

pytestmark = pytest.mark.test


@contextmanager
def member(made: LostStand, client_id: str) -> Iterator[list[bytes]]:
    """A consumer of the wave's group on the source, which goes on; the values that it has read."""
    read: list[bytes] = []

    def take(_: Consumer, message: Any) -> None:
        if message.error() is None:
            read.append(message.value())

    with reading_on(made, client_id, {"bootstrap.servers": made.old.bootstrap}, take):
        yield read


def switched_within(made: LostStand, longest_ms: int) -> WaveRun:
    """A switch that may hold applications up for so long."""
    return made.carry_out(made.switch(longest_ms))


def test_a_group_that_never_empties_turns_the_switch_back_and_names_its_members(clusters: Clusters, store: str) -> None:
    """Who reads on, and from where; the link copies on, nothing was committed there, and the member has heard nothing.

    Once it has left the same switch goes well.
    """
    with stand(clusters, store) as made:
        (topic,), (group,) = made.wave.topics, made.wave.groups
        back = made.leg(1).link
        with member(made, "till-7") as read:
            until(lambda: len(read) > 10)
            run = switched_within(made, 1_500)
            assert run.state is WaveRunState.CANCELLED
            assert run.why.startswith(
                "it would hold applications up for longer than 1.5 s: wait until nobody reads in 1 group on old: "
                f"group {group} is stable: till-7 at 127.0.0.1"
            )
            assert (made.stands.state, made.stands.leg.number) == (WaveState.COPYING, 0)
            assert not engine.show(context_of(made.new, "admin"), made.leg().link).wanted.paused
            with pytest.raises(UnknownLinkError):
                engine.show(context_of(made.old, "admin"), back)
            assert committed(made.new, group, [(topic, 0)]) == {(topic, 0): None}
            before = len(read)
            produce(made.old, topic, numbered(5, first=900))
            until(lambda: len(read) == before + 5)
            until_same(made.old, made.new, topic)
        assert made.ended(WaveVerb.SWITCH).state is WaveRunState.DONE
        assert committed(made.new, group, [(topic, 0)])[topic, 0] == (12, "noted")


@pytest.mark.parametrize("order", [WaveOrder.TOGETHER, WaveOrder.CONSUMERS_FIRST])
def test_a_group_that_reads_on_after_its_commits_were_translated_turns_the_switch_back(
    clusters: Clusters, store: str, order: WaveOrder
) -> None:
    """It would read again on the target what it has read since; the same switch later moves what it has by then."""
    with stand(clusters, store) as stood:
        wave = replace(stood.wave, order=order)
        made = LostStand(
            stood.old, stood.new, replace(stood.migration, waves=(wave,)), stood.store, stood.stack, stood.runs
        )
        (topic,), (group,) = wave.topics, wave.groups
        read: list[int] = []

        def reads(next_: WaveRun) -> bool:
            if StepKind.STAGE_GROUPS.value in str(next_.results) and not read:
                read.append(25)
                commit(made.old, group, {(topic, 0): (25, "later")})
            return False

        run = made.carry_out(made.verb(WaveVerb.SWITCH), reads)
        assert (run.state, read) == (WaveRunState.CANCELLED, [25])
        assert run.why == (
            f"wave orders: group {group} has committed 25 of {topic}-0, where it had committed 12, after what it had "
            "committed was translated"
        )
        assert committed(made.new, group, [(topic, 0)]) == {(topic, 0): None}
        assert made.ended(WaveVerb.SWITCH).state is WaveRunState.DONE
        assert committed(made.new, group, [(topic, 0)]) == {(topic, 0): (25, "later")}


def test_records_of_others_where_nothing_was_copied_turn_the_switch_back(clusters: Clusters, store: str) -> None:
    """A partition to which nobody ever wrote on the source holds nothing on the target either."""
    with stand(clusters, store, partitions=3) as made:
        (topic,) = made.wave.topics
        produce(made.new, topic, numbered(7, partition=2))
        run = made.ended(WaveVerb.SWITCH)
        assert (run.state, run.why) == (
            WaveRunState.CANCELLED,
            f"wave orders: {topic}-2 ends at 7, and what was copied at 0: somebody writes there",
        )
        assert made.stands.leg.number == 0
