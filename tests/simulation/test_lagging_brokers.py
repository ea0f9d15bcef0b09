"""Brokers that have old metadata for a minute: nothing is taken for gone by their word alone."""

from __future__ import annotations

from itertools import combinations

import pytest

from anabranch.kafka.presence import GONE_S
from anabranch.model.lane import LaneProgress, LaneState
from anabranch.protocol.endings import Stop
from anabranch.state.codecs import topics
from tests.chance import seed
from tests.simulation.watched import TOPIC, Watched, lanes, watched

pytestmark = pytest.mark.test

BROKERS = (1, 2, 3)
"""Clients ask the first of them first."""
MINUTE = 60.0
SOME = [which for size in (1, 2) for which in combinations(BROKERS, size) if 1 in which]


def lag(link: Watched, cluster: str, which: tuple[int, ...]) -> None:
    """These brokers do not know the topic for a minute, as if they had their metadata from before it was made."""
    known = link.world.clusters[cluster].topics[TOPIC].known
    known.update(dict.fromkeys(which, link.now + MINUTE))


def persisted(link: Watched) -> list[LaneProgress]:
    """What was persisted of the lane, in its order."""
    return lanes(link.persisted(topics.PROGRESS))


@pytest.mark.parametrize("cluster", ["source", "target"])
@pytest.mark.parametrize("which", SOME, ids=str)
def test_a_topic_that_some_brokers_do_not_know_is_not_gone(cluster: str, which: tuple[int, ...]) -> None:
    """The lane goes on by the word of the others, at once where the leader is one of them, and at the latest when the
    leader knows its topic again."""
    with watched(seed(4), brokers=3) as link:
        run = link.run()
        link.until(lambda: link.end_of("target") > 50)
        lag(link, cluster, which)
        run.kill()
        link.until(lambda: not run.is_alive)
        run, at = link.run(), link.end_of("target")
        place = link.partition(cluster)
        assert place is not None
        link.until(lambda: link.end_of("target") > at + 20, 20.0 if place.leader not in which else MINUTE + 20.0)
        assert {lane.state for lane in persisted(link)} & {LaneState.STOPPED} == set()
        link.life.load.stop()
        link.pass_(MINUTE)  # the judge asks any broker
        assert link.judge() == []
        link.end(run)


def test_a_source_topic_is_gone_when_all_brokers_have_said_so_for_a_while() -> None:
    """Until then the lane waits, and tells what they say."""
    with watched(seed(4), brokers=3) as link:
        link.run()
        link.until(lambda: link.end_of("target") > 50)
        lag(link, "source", BROKERS)
        for wire in list(link.world.network.wires):
            wire.reset()
        began = link.now
        link.pass_(GONE_S - 2.0)
        assert persisted(link)[-1].state is not LaneState.STOPPED
        assert "unknown to broker" in (persisted(link)[-1].stop_reason or "")
        link.pass_(began + 30.0 - link.now)
        assert persisted(link)[-1].state is LaneState.STOPPED
        assert Stop.SOURCE_GONE.value in (persisted(link)[-1].stop_reason or "")


def test_a_topic_that_was_made_again_is_noticed_when_every_broker_says_so() -> None:
    """A broker with old metadata knows the old one: as long as it says so the lane waits."""
    with watched(seed(4), brokers=3) as link:
        link.run()
        link.until(lambda: link.end_of("target") > 50)
        link.life.load.stop()
        source = link.world.clusters["source"]
        source.delete(TOPIC)
        source.create(TOPIC, 1, 3, {})
        link.until(lambda: any(one.state is LaneState.STOPPED for one in persisted(link)), 30.0)
        assert Stop.SOURCE_MADE_AGAIN.value in (persisted(link)[-1].stop_reason or "")
