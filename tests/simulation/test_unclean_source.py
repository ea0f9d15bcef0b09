"""Sources that an unclean election took records of: what was copied of them stops the lane, and nothing else does.

The elections fall at any moment, while the link copies or after it was ended; the new log grows past what was copied,
so that its end tells nothing.
"""

from __future__ import annotations

import pytest

from anabranch.kafka.simulated.partition import SimulatedPartition
from anabranch.model.decisions import Cause
from anabranch.model.lane import LaneProgress, LaneState
from anabranch.model.link import ModePolicy
from anabranch.protocol.endings import Stop
from anabranch.state.codecs import topics
from qa.logcompare import ComparedRecord
from qa.simulation.load import entries
from tests.chance import seed
from tests.simulation.watched import Watched, lanes, watched

pytestmark = pytest.mark.test

SEEDS, LIVES = 40, 12
LOOKS = 240


def source(link: Watched) -> SimulatedPartition:
    """The partition that is copied."""
    found = link.partition("source")
    assert found is not None
    return found


def digests(records: list[ComparedRecord]) -> list[bytes]:
    """What they hold, in order."""
    return [one.digest for one in records]


def lose(link: Watched) -> int:
    """A replica that lacks some of the last batches leads; returns the first offset that is lost."""
    partition, chance = source(link), link.world.chance
    node = chance.choice([one for one in partition.replicas if one != partition.leader])
    log = partition.replicas[node].log
    keep: int = log.batches[-chance.randint(1, 5)].header.base_offset
    log.truncate(keep)
    assert link.world.clusters["source"].move_leader(partition, node, unclean=True)
    return keep


def settled(link: Watched, end: int, *, may_stop: bool) -> LaneProgress:
    """What was persisted last of the lane, once it has copied all, or stopped."""
    for _ in range(LOOKS):
        link.pass_(0.25)
        persisted = lanes(link.persisted(topics.PROGRESS))
        if persisted and (persisted[-1].position == end or (may_stop and persisted[-1].state is LaneState.STOPPED)):
            return persisted[-1]
    raise AssertionError(f"the lane neither stopped nor copied all up to {end}")


def write_past(link: Watched, offset: int) -> None:
    """The applications write on, until the log is longer than it was."""
    if link.life.load.is_over:
        link.life.load.is_over = False
        link.life.load.start()
    link.until(lambda: source(link).led.log.end > offset + 20)
    link.life.load.stop()
    link.until(lambda: source(link).high_watermark == source(link).led.log.end)


@pytest.mark.parametrize("mode", [ModePolicy.AUTO, ModePolicy.MAPPED])
@pytest.mark.parametrize("restart", [False, True], ids=["while it copies", "between two runs"])
def test_what_was_copied_and_lost_is_named_and_never_papered_over(mode: ModePolicy, restart: bool) -> None:
    """Each lane stops with exactly what was lost of what it copied, and goes on once a person has accepted that."""
    stopped = 0
    first = seed(SEEDS)
    for number in range(first, first + LIVES):
        with watched(number, mode, brokers=3) as link:
            stopped += one_life(link, restart=restart)
    assert stopped > 0, "no election took what was copied"


def one_life(link: Watched, *, restart: bool) -> bool:
    """Whether the lane stopped; asserts that it had to, and that the target holds what it should."""
    run = link.run()
    link.until(lambda: link.end_of("target") > 50)
    if restart:
        link.life.load.stop()
        link.pass_(link.world.chance.uniform(0.0, 3.0))
        link.end(run)
    end, before = source(link).led.log.end, entries(source(link), committed=True)
    lost = lose(link)
    write_past(link, end)
    if restart:
        run = link.run()
    now = entries(source(link), committed=True)
    assert [one.offset for one in now] == list(range(source(link).led.log.end))
    lane = settled(link, len(now), may_stop=True)
    copied = digests(before)[: lane.position] if lane.state is LaneState.STOPPED else digests(now)
    if lane.state is LaneState.STOPPED:
        assert (Stop.SOURCE_TRUNCATED.value in str(lane.stop_reason), lane.stop_offset) == (True, lost), lane
        assert lost < lane.position <= end
        (choice,) = link.accept().pending
        assert (choice.cause, choice.twice, choice.decision.start) == (
            Cause.SOURCE_TRUNCATED,
            (lost, lane.position),
            lost,
        )
        settled(link, len(now), may_stop=False)
        copied += digests(now)[lost:]
    target = link.partition("target")
    assert target is not None
    assert digests(entries(target, committed=False)) == copied
    link.end(run)
    return lane.state is LaneState.STOPPED
