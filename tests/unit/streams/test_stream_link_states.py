"""In which state of a stream a link is, by what its target stores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.model.lane import LaneState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.reports import LinkPlan, LinkStatus
from anabranch.model.totals import totals
from anabranch.streams.links import state_of_link
from anabranch.streams.states import StreamState
from tests.unit.cli.test_cli_render import lane

pytestmark = pytest.mark.unit
NOW = 1_700_000_000_000
WANTED = WantedState(LinkSpec("a-b", ClusterRef("a", "A"), ClusterRef("b", "B")))
PLAN = LinkPlan("a-b", "run-1", 3, NOW, 2)
NEVER = LinkStatus(LinkRecord(WANTED, ("A",), 0), (), None, NOW)
BEGINS = replace(NEVER, plan=PLAN)


def state(status: LinkStatus) -> StreamState:
    """Its state alone."""
    return state_of_link(status, totals(status))[0]


def test_a_link_that_does_not_run_was_never_run_stopped_or_failed() -> None:
    """Who was asked to end has stopped; who has not, and is not there, has failed, with what to do."""
    later = NOW + 3_600_000
    assert state(NEVER) is StreamState.DRAFT
    assert state(replace(BEGINS, plan=replace(PLAN, ends=True), read_at_ms=later)) is StreamState.STOPPED
    failed = replace(BEGINS, read_at_ms=later)
    assert state(failed) is StreamState.FAILED
    assert "a start goes on exactly there" in state_of_link(failed, totals(failed))[1]


def test_a_link_that_runs_goes_or_is_held_up() -> None:
    """Without lanes it starts; with one that has stopped it is degraded, and says how many of how many."""
    assert state(BEGINS) is StreamState.STARTING
    assert state(replace(BEGINS, plan=replace(PLAN, ends=True))) is StreamState.STOPPING
    runs = replace(BEGINS, lanes=(lane(0), lane(1)))
    assert state(runs) is StreamState.RUNNING
    held = replace(runs, lanes=(lane(0), replace(lane(1), state=LaneState.STOPPED)))
    assert state_of_link(held, totals(held)) == (StreamState.DEGRADED, "1 of 2 lanes have stopped")
    paused = replace(runs, record=replace(runs.record, wanted=replace(WANTED, paused=True)))
    assert state(paused) is StreamState.RUNNING
    assert state_of_link(paused, totals(paused))[1].startswith("paused")
