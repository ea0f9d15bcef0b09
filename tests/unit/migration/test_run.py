"""A run of steps ends with all of them done, or with none: killed, failing, cancelled and late as it may be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from anabranch.migration import run as runs
from anabranch.migration.legs import Leg
from anabranch.migration.run import (
    NextMove,
    PassedError,
    WaveRun,
    WaveRunState,
    begun,
    decide,
    finished,
    put_back,
    turned,
)
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.steps import MigrationStep, Part, StepKind, start_steps, switch_steps

pytestmark = pytest.mark.unit

WAVE = Wave("orders", ("orders",), ("shop",))
MOVE = Migration("move", "old", "new", (WAVE,))
SWITCH = switch_steps(Leg(MOVE, WAVE), Part.ALL)


def fresh(steps: tuple[MigrationStep, ...] = SWITCH, longest_ms: int | None = 1_000) -> WaveRun:
    """A run that has not begun."""
    return WaveRun("r", "move", "orders", "switch", steps, 0, longest_ms)


class Killed(RuleBasedStateMachine):
    """Engines that die before, within and after each step; the next one knows the journal alone.

    ``there`` is what has been done to the world, by step: done once more it stays, put back it goes.
    """

    @initialize(steps=st.sampled_from([SWITCH, start_steps(Leg(MOVE, WAVE)), SWITCH[:1]]))
    def begin(self, steps: tuple[MigrationStep, ...]) -> None:
        """A switch, or a list without a point of no return."""
        self.run = fresh(steps)
        self.there: set[int] = set()
        self.passed = False
        self.ended: WaveRun | None = None
        self.now = 0

    def _open(self) -> bool:
        return self.run.state.is_open

    @precondition(_open)
    @rule(dies=st.sampled_from(["", "before", "within", "after"]), fails=st.booleans(), cancels=st.booleans())
    def go_on(self, dies: str, fails: bool, cancels: bool) -> None:
        """One look of an engine, which may die anywhere in it."""
        move, why = decide(self.run, self.now, "a person said so" if cancels else "")
        assert move is not NextMove.NOTHING and why
        if move is NextMove.TURN:
            if dies != "before":
                self.run = turned(self.run, self.now, why)
            return
        at = self.run.at
        if move is NextMove.DO:
            if dies == "before":
                return
            self.run = begun(self.run)
            if dies == "within":
                self.there.add(at)
                return
            if fails and not self.run.has_passed:
                self.run = turned(self.run, self.now, "it failed")
                return
            if fails:
                return  # it is done again
            self.there.add(at)
            if dies == "after":
                return
            self.passed |= self.run.steps[at].kind is StepKind.JOURNAL
            self.run = finished(self.run, self.now, {"n": at})
            return
        if dies == "before" or fails:
            return
        self.there.discard(at)
        if dies != "after":
            self.run = put_back(self.run, self.now)

    @rule(passed_ms=st.integers(1, 400))
    def wait(self, passed_ms: int) -> None:
        """Time goes by: a pause is too long one day."""
        self.now += passed_ms

    @invariant()
    def it_holds(self) -> None:
        """M5 to M8."""
        run = self.run
        assert list(run.times) == sorted(run.times) and (run.over_ms is not None) is not run.state.is_open
        assert run.state is not WaveRunState.GOING or len(run.times) == run.at
        assert self.there <= set(range(min(run.at + 1, len(run.steps))))
        if run.state is WaveRunState.GOING:
            assert set(range(run.at)) <= self.there
        if self.passed:
            assert run.state in (WaveRunState.GOING, WaveRunState.DONE) and run.has_passed
        if self.passed and run.state.is_open:
            with pytest.raises(PassedError):
                turned(run, self.now, "too late")
        if run.state is WaveRunState.DONE:
            assert self.there == set(range(len(run.steps)))
        if run.state is WaveRunState.CANCELLED:
            assert self.there == set() and not self.passed and run.why
        if self.ended is not None:
            assert run == self.ended
        if not run.state.is_open:
            self.ended = run
            assert decide(run, self.now, "again") == (NextMove.NOTHING, "it has ended")
            assert turned(run, self.now, "again") == run


TestKilled = Killed.TestCase


def test_until_the_point_of_no_return_is_written_down_a_run_is_turned_back() -> None:
    """Also where somebody has begun that step: it looks at clusters once more, which may not answer for long."""
    run = fresh()
    while run.steps[run.at].kind is not StepKind.JOURNAL:
        assert decide(run, 0)[0] is NextMove.DO
        run = finished(begun(run), 7)
    for one in (run, begun(run)):
        assert decide(one, 7)[0] is NextMove.DO
        assert decide(one, 7, "a person said so") == (NextMove.TURN, "a person said so")
        assert decide(one, 5_000)[0] is NextMove.TURN
    run = finished(begun(run), 7)
    assert run.has_passed
    assert decide(run, 5_000, "a person said so")[0] is NextMove.DO


def test_what_a_step_wrote_down_is_there_for_those_after_it() -> None:
    """By kind and subject, also in a run that goes back."""
    run = finished(begun(fresh()), 7, {"pins": {"orders-0": 5}})
    assert run.result(StepKind.PREFLIGHT, "orders") == {"pins": {"orders-0": 5}}
    assert run.result(StepKind.PIN, "orders") == {}
    assert turned(run, 8, "no").result(StepKind.PREFLIGHT, "orders") == {"pins": {"orders-0": 5}}


def test_before_anything_was_begun_a_run_is_cancelled_at_once() -> None:
    """There is nothing to put back."""
    assert turned(fresh(), 8, "no").state is WaveRunState.CANCELLED
    one = begun(fresh())
    back = turned(one, 8, "no")
    assert (back.state, back.at, decide(back, 0)) == (WaveRunState.TURNED, 0, (NextMove.PUT_BACK, "no"))
    assert put_back(back, 9).state is WaveRunState.CANCELLED
    assert decide(replace(fresh(), longest_ms=None), 10**15)[0] is NextMove.DO
    assert runs.key_of(StepKind.PIN, "orders") == "pin ends: orders"
