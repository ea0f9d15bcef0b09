"""Sources whose retention took all that they had: what was copied before needs nobody's word, what was not does."""

from __future__ import annotations

import pytest

from anabranch.model.lane import LaneState
from anabranch.model.link import ModePolicy
from anabranch.protocol.endings import Stop
from anabranch.state.codecs import topics
from qa.faults.topics import LoadTopic, TopicKind
from qa.simulation.load import entries
from tests.chance import seed
from tests.simulation.watched import TOPIC, Watched, lanes, watched

pytestmark = pytest.mark.test

TRANSACTIONAL = LoadTopic(TOPIC, 1, old=False, kind=TopicKind.TRANSACTIONAL)


def expire(link: Watched) -> None:
    """The source deletes its whole log, whose last offset is a marker's."""
    source = link.partition("source")
    assert source is not None
    assert source.led.log.batches[-1].header.is_control
    gone = link.life.faults.gone.setdefault(("source", TOPIC, 0), [])
    gone += entries(source, committed=True)
    for replica in source.replicas.values():
        replica.log.delete_before(source.high_watermark)


@pytest.mark.parametrize("mode", [ModePolicy.AUTO, ModePolicy.MAPPED])
@pytest.mark.parametrize("restart", [False, True])
def test_a_log_that_ended_in_a_marker_and_expired_lost_nothing(mode: ModePolicy, restart: bool) -> None:
    """Whoever takes the lane over, here or in another process, would read from behind the last record."""
    with watched(seed(6), mode, TRANSACTIONAL, brokers=3) as link:
        run = link.run()
        link.until(lambda: link.end_of("target") > 50)
        link.life.load.stop()
        link.pass_(40.0)  # until no transaction is open, all is copied and that is persisted
        expire(link)
        target = link.partition("target")
        assert target is not None
        if restart:
            link.end(run)
            run = link.run()
        else:
            others = [node for node in target.isr if node != target.leader]
            assert link.world.clusters["target"].move_leader(target, others[0])
        link.pass_(15.0)
        at = link.end_of("target")
        link.life.load.is_over = False
        link.life.load.start()
        link.until(lambda: link.end_of("target") > at + 20)
        assert {lane.state for lane in lanes(link.persisted(topics.PROGRESS))} & {LaneState.STOPPED} == set()
        assert link.judge() == []
        link.end(run)


@pytest.mark.parametrize("mode", [ModePolicy.AUTO, ModePolicy.MAPPED])
def test_records_that_expired_before_they_were_copied_are_told_of(mode: ModePolicy) -> None:
    """Also behind offsets that were read and hold nothing to copy."""
    with watched(seed(6), mode, TRANSACTIONAL, brokers=3) as link:
        run = link.run()
        link.until(lambda: link.end_of("target") > 50)
        link.life.load.stop()
        link.pass_(40.0)
        link.end(run)
        copied = link.end_of("source")
        link.life.load.is_over = False
        link.life.load.start()
        link.until(lambda: link.end_of("source") > copied + 20)
        link.life.load.stop()
        link.pass_(5.0)
        expire(link)
        link.run()
        link.until(lambda: lanes(link.persisted(topics.PROGRESS))[-1].state is LaneState.STOPPED)
        last = lanes(link.persisted(topics.PROGRESS))[-1]
        assert Stop.SOURCE_EXPIRED.value in (last.stop_reason or "")
        assert last.stop_offset is not None
        assert last.stop_offset <= copied
