"""The lane protocol as a state machine: hypothesis drives owners and faults step by step, and shrinks what breaks."""

from __future__ import annotations

import os
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from lanesim.explorer import Run, Tally, Variant
from lanesim.gap_owner import GapOwner
from lanesim.gap_world import GapWorld
from lanesim.owner import Owner
from lanesim.partition import Violation
from lanesim.variants import BROKEN, OURS

pytestmark = pytest.mark.test

SCALE = float(os.environ.get("ANABRANCH_MODEL_SCALE", "1"))
VARIANTS = {variant.key: variant for variant in (*OURS, *BROKEN)}
WHO = st.integers(0, 2)
FEW = st.integers(0, 3)


class LaneMachine(RuleBasedStateMachine):
    """Up to three owners of one lane, their requests on the way, and what may strike them."""

    variant: ClassVar[Variant]

    @initialize(seed=st.integers(0, 50))
    def begin(self, seed: int) -> None:
        """A lane, its source, and owners that have not begun; the seed decides about journal appends too."""
        self.run = Run(self.variant, seed, Tally())
        self.world = self.run.world
        self.faults = set(self.variant.faults)

    def owner(self, who: int) -> Owner:
        """One of the owners."""
        return self.run.owners[who % len(self.run.owners)]

    @rule(who=WHO, times=st.integers(1, 8))
    def owner_goes_on(self, who: int, times: int) -> None:
        """One owner does some things, its requests carried out at once."""
        owner = self.owner(who)
        for _ in range(times):
            owner.step()
            if owner.connection is not None and owner.connection.requests:
                self.world.execute(owner.connection)

    @rule(who=WHO, times=st.integers(1, 8))
    def owner_goes_on_unanswered(self, who: int, times: int) -> None:
        """One owner does some things, its requests stay on the way."""
        for _ in range(times):
            self.owner(who).step()

    @precondition(lambda self: any(c.requests for c in self.world.connections))
    @rule(which=FEW, refuse=st.sampled_from([0, 0, 0, 19]))
    def request_arrives(self, which: int, refuse: int) -> None:
        """A request is carried out or refused, perhaps long after its sender gave up."""
        ready = [c for c in self.world.connections if c.requests]
        self.world.execute(ready[which % len(ready)], refuse)

    @rule(who=WHO)
    def request_times_out(self, who: int) -> None:
        """An owner stops waiting."""
        self.owner(who).give_up_waiting()

    @rule(who=WHO, kept=FEW)
    def connection_breaks(self, who: int, kept: int) -> None:
        """A connection breaks; some requests had been received."""
        self.owner(who).lose_connection(kept)

    @rule(who=WHO)
    def owner_crashes(self, who: int) -> None:
        """A process is killed and another one takes its place."""
        self.owner(who).crash()
        self.run.owners[who % len(self.run.owners)] = self.run.new_owner()

    @rule(who=WHO)
    def lease_ends(self, who: int) -> None:
        """An owner is asked to drain, release and begin again."""
        self.owner(who).end_lease()

    @rule(who=WHO)
    def owner_files(self, who: int) -> None:
        """An owner persists its runs, late perhaps."""
        self.owner(who).file()

    @precondition(lambda self: bool(self.world.late_appends))
    @rule(which=FEW)
    def journal_append_arrives(self, which: int) -> None:
        """An append to the journal that nobody waits for any more."""
        late = self.world.late_appends
        self.world.append_late(late.pop(which % len(late)))

    @rule()
    def log_is_replicated(self) -> None:
        """The high watermark reaches the end."""
        self.world.partition.high_watermark = self.world.partition.end

    @rule()
    def broker_restarts(self) -> None:
        """Connections break, entries expire, the memory of duplicates shrinks."""
        self.world.restart()

    @rule()
    def entries_expire(self) -> None:
        """The broker forgets producer ids by the age of their last record."""
        self.world.partition.expire()

    @precondition(lambda self: "truncate" in self.faults)
    @rule(lose=FEW, and_back=st.booleans())
    def leader_changes(self, lose: int, and_back: bool) -> None:
        """Another leader, which may lack the end of the log."""
        self.world.change_leader(lose, and_back=and_back)

    @precondition(lambda self: "age" in self.faults)
    @rule()
    def days_pass(self) -> None:
        """Sockets, leases, entries and kills are over."""
        self.world.age()

    @precondition(lambda self: "compact" in self.faults)
    @rule()
    def source_compacts(self) -> None:
        """A record of the source is gone between two fetches."""
        assert isinstance(self.world, GapWorld)
        self.world.source.compact(self.run.rng)

    @precondition(lambda self: "drop" in self.faults)
    @rule(who=WHO)
    def owner_drops_its_queue(self, who: int) -> None:
        """An owner lets go of what it fetched ahead."""
        owner = self.owner(who)
        assert isinstance(owner, GapOwner)
        owner.drop()

    @precondition(lambda self: "forget" in self.faults)
    @rule(who=WHO)
    def owner_forgets_gap_records(self, who: int) -> None:
        """An owner forgets the gap records that its persisted runs make superfluous."""
        owner = self.owner(who)
        assert isinstance(owner, GapOwner)
        owner.forget()

    @invariant()
    def high_watermark_is_in_the_log(self) -> None:
        """The simulation itself is sound."""
        partition = getattr(getattr(self, "world", None), "partition", None)
        assert partition is None or partition.start <= partition.high_watermark <= partition.end

    def teardown(self) -> None:
        """Whatever happened, a last owner completes the copy and everything is exact."""
        if hasattr(self, "run"):
            self.run.quiet()


def machine(key: str) -> type[LaneMachine]:
    """The state machine for one variant."""
    return type(f"Lane{key}", (LaneMachine,), {"variant": VARIANTS[key]})


def check(key: str, examples: int, phases: tuple[Phase, ...]) -> None:
    """Run the state machine of a variant on the same examples each time."""
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        machine(key),
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            database=None,
            phases=phases,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("key", ["M6", "K2", "K3c", "R", "C3", "H9", "H10"])
def test_every_sequence_of_strikes_ends_in_an_exact_copy(key: str) -> None:
    """Identity, mapped, truncation, claims made again and the change of mode hold step by step."""
    check(key, int(60 * SCALE), (Phase.generate, Phase.shrink))


@pytest.mark.parametrize(
    "key", ["M2", "K7", "H2", *(pytest.param(one, marks=pytest.mark.full) for one in ("M7", "K8", "H13", "H15"))]
)
def test_the_state_machine_finds_broken_variants(key: str) -> None:
    """The state machine has teeth as well."""
    with pytest.raises(Violation):
        check(key, 4000, (Phase.generate,))
