"""What a target tells of a link whose source, or whose worker, has fallen silent: that it is so, and no lag."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from anabranch.kafka.security import open_cluster
from anabranch.model.lane import KNOWN_S, LaneState
from anabranch.model.reports import LinkStatus
from anabranch.operations.links.status import statuses
from qa.faults.topics import LoadTopic
from qa.simulation.life import Life, Plan
from qa.simulation.run import Run, Slot
from tests.chance import seed

pytestmark = pytest.mark.test

TOPICS = (LoadTopic("live", 2, old=False),)


@contextmanager
def following() -> Iterator[Life]:
    """A link with two lanes, each in the lease of another worker, that has caught up while records are added."""
    life = Life(Plan("silence", TOPICS, (), lease_s=(300.0, 300.0), slots=2), seed(1))
    with life.world.entered():
        life.load.start()
        life.world.ask(lambda: asyncio.run(life._store_link()))
        life._start_run()
        settle(life, lambda link: len(link.lanes) == 2 and all(one.lag_records == 0 for one in link.lanes))
        yield life
        for run in life._runs:
            run.kill()


def status(life: Life) -> LinkStatus:
    """What `link show` reads."""

    async def read() -> LinkStatus:
        async with open_cluster(life.context("target")) as target:
            return (await statuses(target))[0]

    found: LinkStatus = life.world.ask(lambda: asyncio.run(read()))
    return found


def settle(life: Life, wanted: Callable[[LinkStatus], bool], seconds: int = 120) -> LinkStatus:
    """The status once it is as wanted, within some virtual seconds."""
    for _ in range(seconds):
        found = status(life)
        if wanted(found):
            return found
        life.world.scheduler.run(lambda: False, 1.0)
    pytest.fail(f"it never came to it: {found}")


def test_a_source_that_is_gone_does_not_look_finished() -> None:
    """Within some seconds each lane says so and has no lag; when the source is back it is as before."""
    with following() as life:
        for broker in life.source.brokers.values():
            broker.pause()
        found = settle(life, lambda link: all(one.state is LaneState.UNREACHABLE for one in link.lanes), 20)
        assert found.running
        assert [one.lag_records for one in found.lanes] == [None, None]
        assert {one.stop_reason for one in found.lanes} == {"the source does not answer"}
        for one in found.lanes:  # by the worker's clock, which is seconds off from the reader's
            assert one.source_seen_ms is not None
            assert one.updated_at_ms - one.source_seen_ms > KNOWN_S * 1000
        for broker in life.source.brokers.values():
            broker.resume()
        settle(life, lambda link: all(one.lag_records == 0 for one in link.lanes))


def test_lanes_whose_worker_is_gone_have_no_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark may have no core for a new worker; the other worker's lane is as it was."""

    def none_is_free(run: Run) -> Slot:
        me = run.world.scheduler.fiber
        assert me is not None
        run._wait(me, 3600.0)
        raise RuntimeError("no core came free")

    with following() as life:
        monkeypatch.setattr(Run, "_free_worker", none_is_free)
        life._runs[0].workers[0].process.kill()
        found = settle(life, lambda link: any(one.is_old for one in link.lanes), 20)
        old, other = sorted(found.lanes, key=lambda one: not one.is_old)
        assert found.running
        assert (old.state, old.lag_records, other.lag_records) == (LaneState.WAITING, None, 0)
        assert "no worker has reported" in (old.stop_reason or "")
