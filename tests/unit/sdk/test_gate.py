"""The count of calls that are inside, against threads that go in and out as they like."""

from __future__ import annotations

import threading

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from anabranch.sdk.gate import Gate
from anabranch.sdk.quick import SHUT, Way, quick_calls
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.unit


class GateMachine(RuleBasedStateMachine):
    """A gate that is entered, left and looked at in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()
        self.inside = 0
        self.left = 0

    @rule(count=st.integers(1, 3))
    def enter(self, count: int) -> None:
        """Some go in."""
        for _ in range(count):
            self.gate.enter()
        self.inside += count

    @precondition(lambda self: self.inside > 0)
    @rule()
    def leave(self) -> None:
        """One leaves."""
        self.gate.leave()
        self.inside -= 1
        self.left += 1

    @invariant()
    def it_is_empty_when_nobody_is_inside(self) -> None:
        """G1, however often it is looked at."""
        assert self.gate.is_empty() == (self.inside == 0)
        assert self.gate.passed() == self.left


GateMachine.TestCase.settings = settings(max_examples=50, stateful_step_count=30)
TestGate = GateMachine.TestCase


def test_no_call_hands_over_to_the_old_client_once_the_gate_is_empty() -> None:
    """G2 and Q1: four threads write while the way is shut and opened elsewhere, two hundred times."""
    gate, cell, told = Gate(), list[Way]([SHUT]), threading.Event()
    taken: list[list[int]] = [[]]
    closed: set[int] = set()
    late: list[int] = []

    def way(number: int) -> Way:
        def hand_over(*_: object) -> None:
            if number in closed:
                late.append(number)
            taken[-1].append(number)

        return hand_over, {"t": "t"}, lambda _: 0

    class Owner:
        detours = 0

        def produce_slowly(self, *_: object) -> None:
            self.detours += 1

    owner = Owner()
    produce, _ = quick_calls(cell, gate, lambda: owner)

    def write() -> None:
        while not told.is_set():
            produce("t", b"v")

    threads = [threading.Thread(target=write) for _ in range(4)]
    cell[0] = way(0)
    for thread in threads:
        thread.start()
    for number in range(200):
        cell[0] = SHUT
        assert gate.await_empty(TIMEOUT_S)
        closed.add(number)
        cell[0] = way(number + 1)
    told.set()
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert late == [] and taken[-1]


def test_what_is_inside_keeps_the_gate_from_being_empty_until_it_leaves() -> None:
    """The wait ends with the last that leaves, and says when it does not."""
    gate = Gate()
    gate.enter()
    assert not gate.await_empty(0.01)
    threading.Timer(0.02, gate.leave).start()
    assert gate.await_empty(TIMEOUT_S)


def test_a_call_that_fails_leaves_the_gate_and_is_told() -> None:
    """Whatever the client raises is raised, and counted by whom it belongs to."""
    gate = Gate()
    failures: list[Exception] = []

    class Owner:
        def failed(self, error: Exception) -> None:
            failures.append(error)

    def full(*_: object) -> None:
        raise BufferError("full")

    owner = Owner()
    produce, _ = quick_calls([(full, {"t": "t"}, None)], gate, lambda: owner)
    with pytest.raises(BufferError):
        produce("t", b"v")
    assert gate.is_empty() and len(failures) == 1
