"""What is done next for a stream, as a machine of its own: a person, a store and a process that may die at any time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from anabranch.streams.restarting import LONGEST_MS, WINDOW_MS, RestartPolicy
from anabranch.streams.states import FOLLOWS, StreamState, StreamStateError, StreamWanted, check_follows
from anabranch.streams.supervising import (
    STOP_MS,
    AskRun,
    BeginRun,
    CloseRun,
    KillRun,
    SeenStream,
    SeenStreamRun,
    TellState,
    decide,
)

pytestmark = pytest.mark.unit


@given(st.lists(st.integers(0, 10 * WINDOW_MS)), st.integers(0, 10), st.integers(0, 10 * WINDOW_MS))
def test_a_restart_waits_and_is_within_the_budget(failures: list[int], most: int, now: int) -> None:
    """B1: never at once after a failure, never later than the longest wait, and never past the budget."""
    failures = sorted(at for at in failures if at <= now)
    due = RestartPolicy(most).due_ms(failures, now)
    within = [at for at in failures if at > now - WINDOW_MS]
    assert (due is None) == (len(within) > most)
    if due is not None and failures:
        assert failures[-1] < due <= failures[-1] + LONGEST_MS


def test_a_state_follows_only_those_that_it_may() -> None:
    """A draft does not run without having been started; a state may stay."""
    check_follows(StreamState.DRAFT, StreamState.DRAFT)
    with pytest.raises(StreamStateError, match="draft cannot become running"):
        check_follows(StreamState.DRAFT, StreamState.RUNNING)
    assert set(FOLLOWS) == set(StreamState)


@pytest.mark.parametrize("wanted", StreamWanted)
def test_a_run_that_cannot_be_seen_from_here_is_left_alone(wanted: StreamWanted) -> None:
    """V2: it may live on another machine; of one that is silent for too long that alone is told, and once."""

    def decided(state: StreamState, lost: str) -> object:
        run = SeenStreamRun(None, True, stopping_since_ms=1, lost=lost)
        return decide(SeenStream(state, wanted, run, (), RestartPolicy()), 10 * STOP_MS)

    assert decided(StreamState.RUNNING, "") is None
    assert decided(StreamState.LOST, "") is None
    assert decided(StreamState.RUNNING, "it is silent") == TellState(StreamState.LOST, "it is silent")
    assert decided(StreamState.LOST, "it is silent") is None


@pytest.mark.parametrize(
    ("code", "state"),
    [(2, StreamState.FAILED), (3, StreamState.FAILED), (4, StreamState.DEGRADED), (None, StreamState.DEGRADED)],
)
def test_what_another_start_does_not_change_is_not_started_again(code: int | None, state: StreamState) -> None:
    """A wrong script fails once."""
    run = SeenStreamRun(False, True, code)
    action = decide(SeenStream(StreamState.RUNNING, StreamWanted.RUNNING, run, (), RestartPolicy()), 10)
    assert isinstance(action, CloseRun)
    assert (action.state, action.is_failure) == (state, True)


def test_a_run_that_has_read_all_is_wanted_no_more() -> None:
    """With the trigger availableNow."""
    run = SeenStreamRun(False, True, 0, is_finished=True)
    action = decide(SeenStream(StreamState.RUNNING, StreamWanted.RUNNING, run, (), RestartPolicy()), 10)
    assert action == CloseRun(StreamState.STOPPED, "it has read all that there was", is_over=True)


def test_a_run_that_is_restarted_as_it_ends_by_itself_is_started_again() -> None:
    """L2: whoever has asked for the restart is obeyed, though the run had read all that there was."""
    run = SeenStreamRun(False, True, 0, is_finished=True, stopping_since_ms=5)
    action = decide(SeenStream(StreamState.STOPPING, StreamWanted.RUNNING, run, (), RestartPolicy()), 10)
    assert action == CloseRun(StreamState.STOPPED, "")
    assert decide(SeenStream(StreamState.STOPPED, StreamWanted.RUNNING, None, (), RestartPolicy()), 10) == BeginRun()


class Supervised(RuleBasedStateMachine):
    """A stream with its store and its process."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000
        self.state, self.wanted = StreamState.DRAFT, StreamWanted.STOPPED
        self.run: SeenStreamRun | None = None
        self.failures: list[int] = []
        self.begun = 0
        self.asked_at = 0
        self.is_owed = False
        """Whether a person has asked for a restart that has not begun."""
        self.is_silent = False
        """Whether its machine is not heard of."""

    def become(self, state: StreamState) -> None:
        """As the store does."""
        check_follows(self.state, state)
        self.state = state

    @rule()
    def look(self) -> None:
        """Decide once, and do it."""
        policy = RestartPolicy(2)
        failures = [at for at in self.failures if at >= self.asked_at]
        run = SeenStreamRun(None, lost="it is silent") if self.run is not None and self.is_silent else self.run
        action = decide(SeenStream(self.state, self.wanted, run, failures, policy), self.now)
        if isinstance(action, BeginRun):
            assert self.run is None and self.wanted is StreamWanted.RUNNING
            self.become(StreamState.STARTING)
            self.run, self.begun, self.is_owed = SeenStreamRun(True), self.begun + 1, False
        elif isinstance(action, TellState):
            self.become(action.state)
        elif isinstance(action, AskRun):
            assert self.run is not None
            self.run = SeenStreamRun(True, self.run.has_started, stopping_since_ms=self.now)
            self.become(StreamState.STOPPING)
        elif isinstance(action, KillRun):
            assert self.run is not None and self.run.stopping_since_ms is not None
            assert self.now - self.run.stopping_since_ms > STOP_MS
            self.run = SeenStreamRun(False, self.run.has_started, -9, stopping_since_ms=self.run.stopping_since_ms)
        elif isinstance(action, CloseRun):
            self.become(action.state)
            self.run = None
            self.failures += [self.now] if action.is_failure else []
            self.wanted = StreamWanted.STOPPED if action.is_over else self.wanted

    @rule(by=st.integers(1, 400_000))
    def wait(self, by: int) -> None:
        """Time goes by."""
        self.now += by

    @rule()
    def want_running(self) -> None:
        """A person starts it."""
        self.wanted, self.asked_at = StreamWanted.RUNNING, self.now
        if self.state is StreamState.FAILED:
            self.become(StreamState.STOPPED)

    @rule()
    def want_stopped(self) -> None:
        """A person stops it."""
        self.wanted, self.is_owed = StreamWanted.STOPPED, False

    @precondition(lambda self: self.run is not None)
    @rule()
    def machine_goes(self) -> None:
        """Nothing is heard of its machine."""
        self.is_silent = True

    @rule()
    def machine_comes(self) -> None:
        """It is heard of again."""
        self.is_silent = False

    @precondition(lambda self: self.run is not None and self.state is StreamState.LOST and self.is_silent)
    @rule()
    def abandon(self) -> None:
        """A person gives its run up."""
        self.become(StreamState.STOPPED)
        self.run, self.is_silent = None, False

    @precondition(lambda self: self.run is not None and self.run.is_alive and self.run.stopping_since_ms is None)
    @rule()
    def restart(self) -> None:
        """A person has it end and begin again."""
        assert self.run is not None
        self.is_owed = True
        self.wanted, self.asked_at = StreamWanted.RUNNING, self.now
        self.run = SeenStreamRun(True, self.run.has_started, stopping_since_ms=self.now)
        self.become(StreamState.STOPPING)

    @precondition(lambda self: self.run is not None and self.run.is_alive)
    @rule()
    def queries_start(self) -> None:
        """The job says so."""
        assert self.run is not None
        self.run = SeenStreamRun(True, True, stopping_since_ms=self.run.stopping_since_ms)

    @precondition(lambda self: self.run is not None and self.run.is_alive)
    @rule(code=st.sampled_from([None, 0, 1, 2, 3, 4, -9]), finished=st.booleans())
    def die(self, code: int | None, finished: bool) -> None:
        """The process ends."""
        assert self.run is not None
        is_finished = finished and code == 0
        since = self.run.stopping_since_ms
        self.run = SeenStreamRun(False, self.run.has_started, code, is_finished, stopping_since_ms=since)

    @invariant()
    def has_a_run_as_its_state_says(self) -> None:
        """L1: the state tells whether a run is open."""
        assert self.state.has_run == (self.run is not None)

    def teardown(self) -> None:
        """V3: left alone, with a process that obeys, it comes to rest as it was wanted, or failed with its budget."""
        self.is_silent = False
        for _ in range(200):
            self.look()
            if self.run is not None and self.run.is_alive:
                self.run = SeenStreamRun(
                    self.run.stopping_since_ms is None,
                    True,
                    0 if self.run.stopping_since_ms is not None else None,
                    stopping_since_ms=self.run.stopping_since_ms,
                )
            self.now += 60_000
        rest = {StreamWanted.RUNNING: {StreamState.RUNNING, StreamState.FAILED}}
        stopped = {StreamState.DRAFT, StreamState.STOPPED, StreamState.FAILED}
        assert self.state in rest.get(self.wanted, stopped)
        assert not self.is_owed


TestSupervised = Supervised.TestCase
