"""The decisions of a switch: by the journal alone, killed after each step, beside clients that do as they like."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from anabranch.model.routing import ClientRole
from anabranch.routes.switch import (
    Action,
    NamedClient,
    Observed,
    Ready,
    Stragglers,
    Switch,
    SwitchState,
    bound,
    decide,
    left_behind,
    opened,
    paused,
)
from tests.chance import examples

pytestmark = pytest.mark.unit
DEADLINE = 100


def consumer(group: str = "g") -> NamedClient:
    """One that reads orders."""
    return NamedClient(f"consumer of {group}", ClientRole.CONSUMER, group, "old", "new", {"orders": "orders"})


def producer(words: str = "producer p") -> NamedClient:
    """One that writes orders."""
    return NamedClient(words, ClientRole.PRODUCER, "", "old", "new", {"orders": "orders"})


def switch(stragglers: Stragglers = Stragglers.CANCEL, **named: NamedClient) -> Switch:
    """One that has just begun."""
    return Switch("s", 2, 0, DEADLINE, stragglers, named)


def seen(*live: str, now: int = 0, copied: bool | None = None, moved: bool | None = None, why: str = "") -> Observed:
    """What is observed."""
    return Observed(now, frozenset(live), copied, moved, why)


def test_all_are_asked_then_it_is_pinned_copied_moved_and_published() -> None:
    """One step after the other."""
    one = switch(c=consumer(), p=producer())
    assert decide(one, seen("c", "p")).clients == ("c", "p")
    one = paused(one, "c", Ready())
    assert decide(one, seen("c", "p")).clients == ("p",)
    one = paused(one, "p", Ready())
    assert decide(one, seen("c", "p")).action is Action.PIN
    assert one.drained_topics() == {("old", "new"): frozenset({"orders"})}
    one = replace(one, ends={"old": {"orders-0": 7}}, state=SwitchState.DRAINING)
    for not_yet in (None, False):
        assert decide(one, seen(copied=not_yet)).action is Action.DRAIN
        assert decide(one, seen(copied=True, moved=not_yet)).action is Action.MOVE
    assert decide(one, seen(copied=True)).action is Action.MOVE
    assert decide(one, seen(copied=True, moved=True)).action is Action.PUBLISH
    one = replace(one, state=SwitchState.PUBLISHED)
    assert decide(one, seen(now=DEADLINE + 1)).action is Action.FINISH
    assert decide(replace(one, state=SwitchState.DONE), seen()).action is Action.NOTHING


def test_who_is_gone_is_not_waited_for() -> None:
    """Its lease is over; what it wrote before lies below the ends that are pinned then."""
    assert decide(switch(p=producer()), seen()).action is Action.PIN


def test_who_is_in_no_group_and_what_is_in_doubt_without_groups_has_it_looked_for_too() -> None:
    """A consumer that commits nothing has a place, and producers of a lost cluster leave doubts; else nobody has."""
    pinned = {"ends": {}, "state": SwitchState.DRAINING}
    alone = replace(paused(switch(c=consumer("")), "c", Ready({"orders-0": 3})), **pinned)
    lost = replace(paused(switch(p=producer()), "p", Ready()), lost=("old",), **pinned)
    for one in (alone, lost):
        assert decide(one, seen(copied=True)).action is Action.MOVE
        assert decide(one, seen(copied=True, moved=True)).action is Action.PUBLISH
    assert decide(replace(lost, lost=()), seen(copied=True)).action is Action.PUBLISH


@pytest.mark.parametrize(
    ("policy", "client", "action"),
    [
        (Stragglers.CANCEL, producer(), Action.CANCEL),
        (Stragglers.CANCEL, consumer(), Action.CANCEL),
        (Stragglers.LEAVE, producer(), Action.WAIT),
        (Stragglers.LEAVE, consumer(), Action.CANCEL),
    ],
)
def test_a_straggler_is_what_the_policy_says(policy: Stragglers, client: NamedClient, action: Action) -> None:
    """But no group is ever moved without one of its live consumers."""
    step = decide(switch(policy, x=client), seen("x", now=DEADLINE))
    assert (step.action, client.words in step.why) == (action, True)
    if action is Action.WAIT:
        gone = left_behind(switch(policy, x=client), step.clients)
        assert decide(gone, seen("x", now=DEADLINE)).action is Action.PIN


@pytest.mark.parametrize(
    ("observed", "said"),
    [
        (seen(now=DEADLINE), "it was not done in time: what was written last is being copied"),
        (seen(now=DEADLINE, why="link old-new is stopped"), "it was not done in time: link old-new is stopped"),
        (seen(now=DEADLINE, copied=True), "it was not done in time: groups are being moved"),
    ],
)
def test_what_takes_too_long_is_cancelled_with_the_reason(observed: Observed, said: str) -> None:
    """Applications wait meanwhile, so there is an end to it."""
    one = replace(paused(switch(c=consumer()), "c", Ready()), ends={}, state=SwitchState.DRAINING)
    step = decide(one, observed)
    assert (step.action, step.why) == (Action.CANCEL, said)


@pytest.mark.parametrize("state", [SwitchState.PUBLISHED, SwitchState.DONE])
def test_what_is_published_is_not_cancelled(state: SwitchState) -> None:
    """W3, also where somebody wants it."""
    one = replace(switch(c=consumer()), state=state, why="somebody cancelled it")
    assert decide(one, seen("c", now=DEADLINE + 1)).action in (Action.FINISH, Action.NOTHING)


def test_an_answer_counts_once_and_only_while_it_is_waited_for() -> None:
    """A late one of a client that was left behind says nothing of what lies on the log since."""
    one = paused(switch(c=consumer(), p=producer()), "c", Ready({"orders-0": 5}))
    assert paused(one, "c", Ready({"orders-0": 9})) is one
    assert paused(one, "stranger", Ready()) is one
    moving = replace(one, state=SwitchState.DRAINING)
    assert paused(moving, "p", Ready()) is moving


@pytest.mark.parametrize("state", list(SwitchState))
def test_a_consumer_that_was_not_waited_for_may_answer_until_groups_are_moved(state: SwitchState) -> None:
    """It reads nothing more once it has paused."""
    one = replace(switch(c=consumer(), d=consumer()), state=state)
    assert (paused(one, "d", Ready({"orders-0": 5})) is one) is (not state.holds)


def test_a_gated_switch_waits_once_all_have_paused_until_its_gate_is_opened() -> None:
    """Then it goes on as every switch does."""
    shut = replace(switch(c=consumer(), p=producer()), is_shut=True)
    assert decide(shut, seen("c", "p")).action is Action.ASK
    shut = paused(paused(shut, "c", Ready()), "p", Ready())
    assert decide(shut, seen("c", "p")).action is Action.HOLD
    assert decide(opened(shut), seen("c", "p")).action is Action.PIN
    assert opened(opened(shut)) == opened(shut)


def test_a_gate_that_nobody_opens_gives_the_switch_up_at_the_deadline_that_it_was_begun_with() -> None:
    """Whoever should have opened it is gone, and applications wait."""
    step = decide(replace(switch(), is_shut=True), seen(now=DEADLINE))
    assert (step.action, step.why) == (
        Action.CANCEL,
        "it was not done in time: all have paused, and nobody has opened its gate",
    )


def test_a_bound_switch_has_no_deadline_and_only_goes_on() -> None:
    """W6: its gate may be opened late, and what is in the way then is waited for."""
    late = seen("c", now=10 * DEADLINE)
    one = bound(replace(paused(switch(c=consumer()), "c", Ready()), is_shut=True))
    assert decide(one, late).action is Action.HOLD
    one = opened(one)
    assert decide(one, late).action is Action.PIN
    one = replace(one, ends={}, state=SwitchState.DRAINING)
    assert decide(one, late).action is Action.DRAIN
    assert decide(one, replace(late, copied=True)).action is Action.MOVE
    assert decide(replace(one, why="its run was taken back"), late).action is Action.CANCEL


class Lives(RuleBasedStateMachine):
    """A switch of real positions: each client has read or written so far, and is where it was told to be.

    The instance is killed at will: all that it knows is the journal; what it had done to the clusters stays done.
    """

    @initialize(
        policy=st.sampled_from(Stragglers),
        consumers=st.integers(0, 3),
        producers=st.integers(0, 2),
        gated=st.booleans(),
    )
    def begin(self, policy: Stragglers, consumers: int, producers: int, gated: bool) -> None:
        """Some clients on the old cluster."""
        named = {f"c{n}": consumer() for n in range(consumers)}
        named |= {f"p{n}": producer(f"producer p{n}") for n in range(producers)}
        self.journal = replace(switch(policy, **named), is_shut=gated)
        self.let_go = False
        self.where = dict.fromkeys(named, "old")
        self.running = dict.fromkeys(named, True)
        self.live = set(named)
        self.now = 0
        self.written, self.copied = 0, 0
        self.committed, self.moved = 0, None
        self.version = 1
        self.late: list[tuple[str, int]] = []

    @rule(client=st.integers(0, 4))
    def works(self, client: int) -> None:
        """A client that runs on the old cluster writes a record, or commits one."""
        for name in sorted(self.live)[client : client + 1]:
            if self.running[name] and self.where[name] == "old":
                if name.startswith("p"):
                    self.written += 1
                else:
                    self.committed = min(self.committed + 1, self.written)

    @rule(client=st.integers(0, 4))
    def dies(self, client: int) -> None:
        """A client is gone, and with it what it had not handed over."""
        for name in sorted(self.live)[client : client + 1]:
            self.live.discard(name)

    @rule(client=st.integers(0, 4))
    def answers(self, client: int) -> None:
        """A client that was asked has paused; it answers once more than it must, and perhaps late."""
        for name in sorted(self.live)[client : client + 1]:
            asked = decide(self.journal, self.observed())
            if asked.action is Action.ASK and name in asked.clients:
                self.running[name] = False
                self.journal = paused(self.journal, name, Ready({"orders-0": self.committed}))
            self.journal = (
                paused(self.journal, name, Ready({"orders-0": -1})) if not self.running[name] else self.journal
            )

    @rule()
    def copies(self) -> None:
        """The link goes on."""
        self.copied = min(self.copied + 1, self.written)

    @rule(by=st.integers(1, 60))
    def waits(self, by: int) -> None:
        """Time passes."""
        self.now += by

    @rule()
    def cancelled(self) -> None:
        """Somebody cancels it, which is refused of one that is bound."""
        if not self.journal.is_bound:
            self.journal = replace(self.journal, why="somebody cancelled it")

    @rule()
    def is_let_go(self) -> None:
        """The run that asked for it is taken back before its point of no return: its gate is shut."""
        if self.journal.is_shut:
            self.journal, self.let_go = replace(self.journal, why="it was let go"), True

    @rule(opens=st.booleans())
    def its_run_goes_on(self, opens: bool) -> None:
        """The run binds it, and opens its gate, as long as it was not given up."""
        held = decide(self.journal, self.observed()).action is Action.HOLD
        if held or (self.journal.is_shut and self.journal.is_bound and not self.journal.why):
            self.journal = opened(self.journal) if opens else bound(self.journal)

    @rule(killed=st.booleans())
    def steps(self, killed: bool) -> None:
        """An instance takes the next step, and is killed before it has written it down, or not."""
        step = decide(self.journal, self.observed())
        before = self.journal
        if step.action is Action.WAIT:
            self.journal = left_behind(self.journal, step.clients)
        elif step.action is Action.PIN:
            self.journal = replace(self.journal, ends={"old": {"orders-0": self.written}}, state=SwitchState.DRAINING)
        elif step.action is Action.MOVE:
            active = [n for n in self.live if n.startswith("c") and self.running[n] and self.where[n] == "old"]
            if not active and self.copied >= self.committed:
                self.moved = self.committed
            self.journal = replace(self.journal, state=SwitchState.MOVING)
        elif step.action is Action.PUBLISH:
            self.check_may_be_published()
            self.version = self.journal.version
            self.journal = replace(self.journal, state=SwitchState.PUBLISHED)  # in one transaction
            return
        elif step.action is Action.FINISH:
            for name in self.live:
                if name in self.journal.ready:
                    self.where[name], self.running[name] = "new", True
            self.journal = replace(self.journal, state=SwitchState.DONE)
        elif step.action is Action.CANCEL:
            assert self.version == 1
            for name in self.live:
                self.running[name] = True
            self.moved = None
            self.journal = replace(self.journal, state=SwitchState.CANCELLED)
        if killed:
            self.journal = before

    def observed(self) -> Observed:
        """What an instance sees."""
        ends = self.journal.ends
        copied = None if ends is None else self.copied >= ends.get("old", {}).get("orders-0", 0)
        moved = self.moved is not None and self.moved == self.committed
        return Observed(self.now, frozenset(self.live), copied, moved)

    def check_may_be_published(self) -> None:
        """W1, by what really is."""
        left = set(self.journal.left)
        for name in self.live - left:
            assert not self.running[name], name
        assert all(name.startswith("p") for name in left)
        if not left & self.live:
            assert self.copied >= self.written or not self.journal.drained_topics()
        if any(name.startswith("c") for name in self.journal.named):
            assert self.moved == self.committed

    @invariant()
    def nobody_is_moved_by_what_was_not_published(self) -> None:
        """W2 and W3."""
        if not hasattr(self, "journal"):
            return
        if self.journal.state is SwitchState.CANCELLED:
            assert self.version == 1
            assert set(self.where.values()) <= {"old"}
            assert all(self.running[name] for name in self.live)
        if self.journal.is_shut:
            assert (self.version, self.journal.ends, self.moved) == (1, None, None)
            assert self.journal.state in (SwitchState.PREPARING, SwitchState.CANCELLED)
        if self.journal.is_bound and not self.let_go:
            assert self.journal.state is not SwitchState.CANCELLED
        if self.version == 2:
            assert self.journal.state in (SwitchState.PUBLISHED, SwitchState.DONE)

    @precondition(lambda self: hasattr(self, "journal"))
    @rule()
    def ends(self) -> None:
        """Left alone, with answers and a link that goes on, it ends; one that is bound has no deadline."""
        if self.journal.state.holds and not self.journal.is_bound:
            assert decide(self.journal, replace(self.observed(), now_ms=self.journal.deadline_ms)).action not in (
                Action.ASK,
                Action.HOLD,
                Action.DRAIN,
                Action.MOVE,
                Action.NOTHING,
            )


TestLives = Lives.TestCase
TestLives.settings = examples(1_000, stateful_step_count=30)


@examples(500)
@given(st.integers(1, 6), st.integers(0, 6))
def test_those_who_have_answered_are_not_asked_again(clients: int, answered: int) -> None:
    """Each is asked until it has answered."""
    one = switch(**{f"c{n}": consumer() for n in range(clients)})
    for number in range(min(answered, clients)):
        one = paused(one, f"c{number}", Ready())
    step = decide(one, seen(*one.named))
    assert step.clients == tuple(f"c{n}" for n in range(answered, clients))
