"""Lanes that have nothing to copy, on brokers that close idle connections after seconds: it costs them nothing.

That brokers close them so, and that simulated ones do, is shown in ``tests/contract/test_idle_connections.py``.
"""

from __future__ import annotations

import pytest

from anabranch.kafka.simulated.broker import ClientSession
from anabranch.model.link import ModePolicy
from anabranch.records.header import read_header
from anabranch.state.codecs.topics import CLAIMS, GAP_RECORDS, PROGRESS
from tests.chance import seed
from tests.simulation.watched import LIVE, Watched, lanes, watched

pytestmark = pytest.mark.test

IDLE_S = 60.0
MOMENT_S = 1.0


def cost(link: Watched) -> tuple[int, ...]:
    """Claims, gap records, markers in the target's log, and its end."""
    target = link.partition("target")
    assert target is not None
    markers = sum(read_header(memoryview(one.data)).is_control for one in target.led.log.batches)
    return len(link.persisted(CLAIMS)), len(link.persisted(GAP_RECORDS)), markers, link.end_of("target")


def sessions(link: Watched) -> set[ClientSession]:
    """The connections that the target's brokers have now."""
    return {one for broker in link.world.clusters["target"].brokers.values() for one in broker.sessions}


@pytest.mark.parametrize("lease_s", [600.0, 8.0], ids=["one lease", "lease after lease"])
@pytest.mark.parametrize(
    ("idle_ms", "mode", "guarded"),
    [(5_000, ModePolicy.AUTO, False), (700, ModePolicy.MAPPED, False), (2_000, ModePolicy.AUTO, True)],
)
def test_an_idle_lane_is_not_taken_over_and_copies_its_next_record_at_once(
    idle_ms: int, mode: ModePolicy, guarded: bool, lease_s: float
) -> None:
    """A minute without a record: no claim, no marker, one owner; the next record is there within a moment."""
    with watched(seed(7), mode, guarded=guarded) as link:
        for cluster in link.world.clusters.values():
            cluster.settings["connections.max.idle.ms"] = str(idle_ms)
        run, load = link.run(lease_s), link.life.load
        link.until(lambda: link.end_of("target") > 50)
        load.is_over = True
        link.until(lambda: link.end_of("target") >= link.end_of("source"))
        then = sessions(link)
        link.pass_(2.0)  # what is still persisted of these
        before = cost(link)
        link.pass_(IDLE_S)
        assert cost(link) == before
        open_now = sessions(link)
        assert then - open_now, "no connection was closed"
        load.is_over = False
        load._write(LIVE, 0)
        load.is_over = True
        link.until(lambda: link.end_of("target") >= link.end_of("source"), MOMENT_S)
        assert sessions(link) - open_now, "the lane's own connection was open"
        link.pass_(2.0)
        assert cost(link)[:3] == before[:3]
        assert len({one.owner for one in lanes(link.persisted(PROGRESS))}) == 1
        assert link.judge() == []
        link.end(run)
