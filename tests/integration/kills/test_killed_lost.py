"""An engine that is killed while a wave is led away from a source that was lost, and while that is reconciled.

Between its steps and inside of each one, at every point, as `test_killed_everywhere` does for clusters that answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.standing import WaveVerb
from anabranch.migration.steps import StepKind
from anabranch.model.lane import LaneState
from anabranch.sandbox import SandboxCluster
from qa import links as engine
from qa.service import until
from tests.integration.kafka.security import context_of
from tests.integration.kills.journals import assert_journals
from tests.integration.kills.points import KillPlan
from tests.integration.kills.proofs import (
    assert_access,
    assert_logs,
    assert_no_drafts,
    assert_routes,
    starts,
    until_copied,
    where,
)
from tests.integration.kills.reading import log_of
from tests.integration.kills.scene import HERE, Pair, scene
from tests.integration.kills.stand import KillStand, partitions_of
from tests.integration.kills.test_killed_engine import QUIETLY, Trip, assert_killed, gone
from tests.integration.links.groups import commit, committed
from tests.integration.links.topics import numbered, produce

pytestmark = [pytest.mark.full, pytest.mark.real]

TAIL = 3
"""Records of each partition that were not copied as the source was lost."""


@contextmanager
def lost(cluster: SandboxCluster) -> Iterator[None]:
    """SIGKILL to all of it, and in the end the same brokers on the same data."""
    for broker in cluster.brokers:
        broker.kill()
    try:
        yield
    finally:
        for broker in cluster.brokers:
            broker.start()
        cluster.wait_ready()


def places(made: KillStand) -> list[tuple[str, int]]:
    """The partitions of its topics, by their names on the source."""
    return [(topic, at) for topic in made.wave.topics for at in range(partitions_of(topic))]


def values(made: KillStand, cluster: SandboxCluster, topic: str, partition: int) -> list[bytes]:
    """What one of the clusters holds of a partition."""
    name = topic if cluster is made.old else made.leg().topics[topic]
    return [value for _, value in log_of(cluster, name, partition)]


def killed(made: KillStand, verb: WaveVerb, **more: object) -> WaveRun:
    """A verb that is carried out by engines that die at every point."""
    before = len(made.killed)
    run = made.carried_out(verb.value, KillPlan(), **more)
    assert (run.state, run.why) == (WaveRunState.DONE, "")
    assert_killed(run, made.killed[before:])
    return run


def assert_led(made: KillStand) -> None:
    """Queries go on on the target at exactly their records, groups of which nothing is known at the first of all."""
    flights = made.wave.topics[0]
    copied = made.leg().topics[flights]
    wanted = {f"{copied}-{at}": where(made.new, made, flights, at, read) for at, read in HERE.items()}
    for place in ("sums", "totals-new"):
        assert starts(made.directory / place) == wanted, place
    assert_no_drafts(made.directory)
    assert_routes(made, "new")
    first = {(made.leg().topics[topic], at): (0, "") for topic, at in places(made)}
    for group in made.wave.groups:
        assert committed(made.new, group, [*first]) == first


def read_on(made: KillStand) -> None:
    """Its groups read all that is on the target: only then are they further than they were on the source."""
    for group in made.wave.groups:
        for topic, at in places(made):
            name = made.leg().topics[topic]
            commit(made.new, group, {(name, at): (log_of(made.new, name, at)[-1][0] + 1, "read on")})


def test_a_wave_leaves_a_lost_source_which_keeps_up_again(pair: Pair, store: str) -> None:
    """Nothing was lost: once the source is back it has what was written meanwhile, and a reverse is exact."""
    with scene(pair, store) as made:
        gone(made, (Trip(WaveVerb.START, True),), QUIETLY)
        with lost(made.old):
            killed(made, WaveVerb.SWITCH, source_lost=True, unknown_groups="earliest")
            assert_led(made)
            made.write(made.new)
            read_on(made)
        killed(made, WaveVerb.RECONCILE)
        until(lambda: engine.show(context_of(made.old), made.leg(1).link).runs)
        until_copied(made, 1)
        assert_logs(made)
        assert_access(made, 0)
        reverse = made.carried_out("reverse", QUIETLY)
        assert (reverse.state, reverse.why) == (WaveRunState.DONE, "")
        made.write(made.old)
        until_copied(made, 2)
        assert_logs(made)
        assert_journals(made)


def test_the_tail_of_a_lost_source_is_appended_once(pair: Pair, store: str) -> None:
    """Behind what was written since, each record once; then the wave is completed without the source."""
    with scene(pair, store) as made:
        gone(made, (Trip(WaveVerb.START, True),), QUIETLY)
        new, link = context_of(made.new), made.leg().link
        engine.pause(new, link)
        until(lambda: all(lane.state is LaneState.PAUSED for lane in engine.show(new, link).lanes))
        copied = {place: values(made, made.new, *place) for place in places(made)}
        tails: dict[tuple[str, int], list[bytes]] = {}
        for topic, at in places(made):
            records = numbered(TAIL, first=700, partition=at)
            produce(made.old, topic, records)
            tails[topic, at] = [one["value"] for one in records]
        with lost(made.old):
            killed(made, WaveVerb.SWITCH, source_lost=True, unknown_groups="earliest")
            assert_led(made)
            made.write(made.new)
        since = {place: values(made, made.new, *place) for place in places(made)}
        assert all(len(since[place]) > len(copied[place]) for place in since)
        run = killed(made, WaveVerb.RECONCILE, tail="append")
        assert StepKind.FIND_TAIL in {step.kind for step in run.steps}
        for place, tail in tails.items():
            assert values(made, made.new, *place) == [*since[place], *tail], place
            assert values(made, made.old, *place) == [*copied[place], *tail], place
        killed(made, WaveVerb.COMPLETE)
        for place, tail in tails.items():
            assert values(made, made.new, *place) == [*since[place], *tail], place
        assert_journals(made)
