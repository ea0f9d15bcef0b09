"""What a migration's answer says of the links of its waves, and of the steps of a run that was taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.config.migration_file import migration_fields
from anabranch.migration.ends import End
from anabranch.migration.journal import run_fields
from anabranch.migration.kept import StoredRun
from anabranch.migration.lost import LostCluster, LostState
from anabranch.migration.run import WaveRun, begun, finished, postponed, put_back, turned
from anabranch.migration.spec import FenceKind
from anabranch.migration.standing import WaveStanding, WaveState
from anabranch.migration.standstill import why_not_copied
from anabranch.migration.steps import Part, StepKind, start_steps, switch_steps
from anabranch.model.lane import LaneState
from anabranch.model.link import LinkRecord, UnknownLinkError, WantedState
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import LinkPlan, LinkStatus
from anabranch.service.board import Board
from anabranch.service.errors import NotReadYetError
from anabranch.service.migration_answers import run_answer
from anabranch.service.migration_links import WaveLinks
from anabranch.service.problems import problem_of
from qa.service import Served, until
from tests.unit.link_lab import LINK, A, B, Lab
from tests.unit.migration_lab import LEG, WAVE

pytestmark = pytest.mark.unit
NOW = 3_000
MOVE = LEG.migration
COPYING = WaveStanding(LEG, WaveState.COPYING)
STARTED = WaveRun("run-1", MOVE.name, WAVE.name, "start", start_steps(LEG), 1)


def link(both: Lab, states: Sequence[LaneState], *findings: Reason, is_paused: bool = False) -> LinkStatus:
    """The wave's link, whose run has planned with these findings."""
    lanes = tuple(replace(lane, state=one, stop_reason="torn") for lane, one in zip(both.lanes, states, strict=True))
    record = LinkRecord(WantedState(LEG.spec("A", "B"), is_paused), ("A",), 1)
    return LinkStatus(record, lanes, LinkPlan(LINK, "run-1", 1, NOW, len(lanes), findings), NOW)


def test_a_link_says_why_it_does_not_copy_all_that_it_should(both: Lab) -> None:
    """The most urgent reason; what is under way pauses it, and then a pause is none."""
    follows, stopped, silent = LaneState.FOLLOWING, LaneState.STOPPED, LaneState.UNREACHABLE
    forbidden = Reason.found(Severity.ERROR, "topic orders has fewer partitions")
    warned = Reason.found(Severity.WARNING, "it is slow")

    def why(status: LinkStatus, *, may_pause: bool = False) -> str:
        return why_not_copied(status, may_pause=may_pause)

    assert why(link(both, (follows, LaneState.COPYING), warned)) == ""
    assert why(link(both, (follows, stopped), forbidden)) == f"1 lane of 2 stopped; {B}: torn"
    assert why(link(both, (stopped, stopped), is_paused=True)) == f"2 lanes of 2 stopped; {A}: torn"
    assert why(link(both, (follows, silent), forbidden)) == forbidden.what
    assert why(replace(link(both, (follows, silent)), findings=(forbidden,))) == forbidden.what
    assert why(link(both, (follows, silent))) == "old does not answer for 1 lane"
    assert why(link(both, (LaneState.PAUSED, silent), is_paused=True)) == "it is paused"
    assert why(link(both, (LaneState.PAUSED, silent), is_paused=True), may_pause=True) == ""
    old = replace(link(both, (follows, follows)), read_at_ms=NOW + 61_000)
    assert why(old) == why(old, may_pause=True) == "no run of it goes on"


def test_what_is_not_known_of_a_link_is_said_and_what_was_read_before_the_last_run_ended_is_not(both: Lab) -> None:
    """A link that a run has made or deleted since it was read is none that is missing."""
    stopped = link(both, (LaneState.STOPPED, LaneState.FOLLOWING))
    told = f"link {LINK}: 1 lane of 2 stopped; {A}: torn"

    def said(
        stands: WaveStanding = COPYING, over_ms: int | None = 2_000, found: Any = stopped, problem: Any = None
    ) -> str:
        cluster = SimpleNamespace(read_at_ms=NOW, problem=problem)

        def look(target: str, name: str) -> Any:
            assert (target, name) == (stands.copies.there, stands.copies.link)
            if isinstance(found, Exception):
                raise found
            return cluster, SimpleNamespace(status=found)

        board = cast(Board, SimpleNamespace(link=look, cluster=lambda _: cluster))
        return WaveLinks(board).why_not_copied(stands, over_ms)

    assert said() == said(over_ms=None) == told
    assert said(over_ms=NOW) == ""
    assert said(replace(COPYING, open=STARTED), over_ms=NOW) == told
    assert said(WaveStanding(LEG.next, WaveState.SWITCHED)).endswith(told.partition(": ")[2])
    assert said(WaveStanding(LEG, WaveState.PARTLY, (Part.PRODUCERS,))).startswith(f"link {LEG.next.link}: ")
    assert said(WaveStanding(LEG, WaveState.PARTLY, (Part.CONSUMERS,))) == told
    assert said(WaveStanding(LEG)) == said(WaveStanding(LEG, WaveState.COMPLETED)) == ""
    assert said(replace(COPYING, gone=End.TARGET)) == ""
    assert said(replace(COPYING, lost=LostCluster(End.SOURCE, LostState.GONE, ()))) == ""

    missing = UnknownLinkError(LINK, "new")
    assert said(found=missing) == missing.message
    assert said(found=missing, over_ms=NOW) == said(replace(COPYING, open=STARTED), found=missing) == ""
    unread = NotReadYetError("new")
    assert said(found=unread) == unread.message
    away = problem_of(unread)
    assert said(problem=away) == f"what link {LINK} does now is not known: {unread.message}"


def test_the_service_answers_it_of_each_wave(both: Lab, served: Served) -> None:
    """In the list and of the migration: nobody runs the link of this one."""
    run = STARTED
    while run.step is not None:
        run = finished(begun(run), 1)
    stored = served.instance.migrating.stored.migrations
    stored.add(MOVE.name, migration_fields(MOVE), "mei", 0)
    stored.begin(StoredRun(run.id, MOVE.name, WAVE.name, False, run.state.value, 1, 1, "mei", "", run_fields(run)))
    until(lambda: served.instance.board.cluster("new").links)
    (listed,) = served.get("/api/v1/migrations")
    told = served.get(f"/api/v1/migrations/{MOVE.name}")["migration"]
    assert listed["waves"][0]["not_copied"] == f"link {LINK}: no run of it goes on"
    assert listed["waves"] == told["waves"]


def test_no_step_of_a_run_that_was_taken_back_is_still_to_do() -> None:
    """Whether it is taken back, or was; nor where one is put back after the others."""

    def states(run: WaveRun) -> list[str]:
        row = StoredRun(
            run.id, MOVE.name, WAVE.name, run.state.is_open, run.state.value, 1, 1, "mei", "", run_fields(run)
        )
        return [step.state for step in run_answer(MOVE, row).steps]

    fenced = replace(LEG, wave=replace(WAVE, fences=(FenceKind.ACL, FenceKind.OBSERVE)))
    run = replace(STARTED, what="switch", steps=switch_steps(fenced, Part.ALL))
    later = run.steps.index(next(step for step in run.steps if step.kind is StepKind.PAUSE_LINK))
    while run.at < later:
        run = finished(begun(run), 1)
    left = len(run.steps) - later - 1
    assert states(begun(run)) == ["done"] * later + ["doing"] + ["to do"] * left
    run = turned(begun(run), 2, "no")
    assert states(run) == ["done"] * later + ["putting back"] + ["not done"] * left
    waits = postponed(run)
    assert states(waits) == ["done"] * (later - 1) + ["putting back"] * 2 + ["not done"] * left
    run = put_back(run, 3)
    assert states(run) == ["done"] * (later - 1) + ["putting back"] + ["not done"] * (left + 1)
    while run.step is not None:
        run, waits = put_back(run, 3), waits if waits.at == later else put_back(waits, 3)
    assert states(run) == ["put back"] * later + ["not done"] * (left + 1)
    assert states(waits) == ["put back"] * later + ["putting back"] + ["not done"] * left
