"""Machines whose clocks are wrong: by minutes nothing is wrong with the copy, and what is further ahead is told."""

from __future__ import annotations

import itertools

import pytest

from anabranch.kafka.log import ClockAheadError
from anabranch.model.link import ModePolicy
from qa.faults.topics import LoadTopic
from tests.chance import seed
from tests.simulation.watched import Watched, watched

pytestmark = pytest.mark.test
MINUTE_MS, DAY_MS = 60_000, 86_400_000


def play(link: Watched, clocks: list[int]) -> list[str]:
    """Runs with these clocks, driver and workers in turn, whose workers are killed or stopped; what is wrong then."""
    turns = itertools.cycle(clocks)
    for turn in range(3):
        run = link.run(2.0, slots=1)
        assert run.driver is not None
        run.driver.skew_ms, run.skew_ms = next(turns), lambda: next(turns)
        for _ in range(3):
            before = link.end_of("target")
            link.until(lambda before=before: link.end_of("target") > before + 30)  # type: ignore[misc]
            worker = run.workers[-1].process
            if turn % 2:
                worker.kill()
            else:
                worker.stop()
                link.world.scheduler.call_later(9.0, worker.resume)
        link.pass_(10.0)
        link.end(run)
    run = link.run()
    wrong = link.judge()
    link.end(run)
    return wrong


@pytest.mark.parametrize("old", [True, False], ids=["old records", "fresh records"])
def test_a_clock_that_is_minutes_off_changes_no_record_and_holds_nothing_up(old: bool) -> None:
    """One owner after the other, each killed or stopped in the middle; the next one has another time."""
    with watched(seed(4), ModePolicy.AUTO, LoadTopic("live", 1, old=old)) as link:
        assert play(link, [-20 * MINUTE_MS, 20 * MINUTE_MS, 0, 20 * MINUTE_MS]) == []


@pytest.mark.parametrize("who", ["driver", "worker"])
def test_a_clock_that_is_far_ahead_ends_the_run_and_is_named(who: str) -> None:
    """The target's control topics refuse its records; nothing is copied, and nobody waits for it without a word."""
    with watched(seed(5)) as link:
        run = link.run(2.0)
        assert run.driver is not None
        if who == "driver":
            run.driver.skew_ms = 3 * DAY_MS
        else:
            run.skew_ms = lambda: 3 * DAY_MS
        link.until(lambda: not run.is_alive)
        told = " ".join(run.exits)
        link.world.scheduler.failures.clear()
    assert "its clock is ahead of the brokers'" in told, told
    assert "passing" not in told


def test_the_error_says_which_time_is_refused() -> None:
    """And what to do."""
    error = ClockAheadError("new", "__anabranch_claims", 1_700_000_000_000)
    assert "2023-11-14 22:13:20 UTC" in error.message
    assert "set the clock" in error.hint
