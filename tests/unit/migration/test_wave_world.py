"""A wave is moved there and back by chance while clusters die and come back: it is never stuck, nor copied twice.

Invariants, whenever nothing is under way and both clusters answer
    no record is on a cluster twice; no two links copy into one;
    applications are where the wave stands, and nothing of ours keeps them from writing, or from reading;
    the link from there runs, unless the wave says what it waits for; something can be asked for;
    what somebody else denies stays denied, and what is over leaves nothing behind that nothing leads to.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from anabranch.migration.ends import End
from anabranch.migration.inherited import inherited
from anabranch.migration.options import PLAIN, TailChoice, UnknownGroups, WaveOptions
from anabranch.migration.run import (
    NextMove,
    WaveRun,
    WaveRunState,
    begun,
    decide,
    finished,
    lost_meanwhile,
    postponed,
    put_back,
    turned,
)
from anabranch.migration.spec import FenceKind, Readers, Wave, WaveOrder
from anabranch.migration.standing import LEADS, WaveStanding, WaveState, WaveVerb, standing
from anabranch.migration.wave_steps import WaveStateError, steps_for
from tests.chance import seed
from tests.unit.migration.wave_world import OURS, THEIRS, AgainstError, AwayError, WaveWorld

pytestmark = pytest.mark.test

LOST = WaveOptions(lost=UnknownGroups.EARLIEST)
ASKED = {
    WaveVerb.SWITCH: (PLAIN, LOST),
    WaveVerb.REVERSE: (PLAIN, LOST),
    WaveVerb.RECONCILE: (PLAIN, *(WaveOptions(tail=tail) for tail in TailChoice)),
    WaveVerb.CANCEL: (PLAIN, WaveOptions(purge=True)),
}
VERBS = (WaveVerb.START, *LEADS, *LEADS, WaveVerb.RECONCILE, WaveVerb.RECONCILE, WaveVerb.COMPLETE, WaveVerb.CANCEL)
FENCES = ((FenceKind.ROUTES,), (FenceKind.ACL,), (FenceKind.ACL, FenceKind.ROUTES))


class Walk:
    """One life of a wave, by chance."""

    def __init__(self, number: int) -> None:
        self.chance = random.Random(number)
        order, fences = self.chance.choice(list(WaveOrder)), self.chance.choice(FENCES)
        readers = Readers.WAIT if order is WaveOrder.PRODUCERS_FIRST else self.chance.choice(list(Readers))
        wave = Wave("orders", ("orders",), ("shop",), codes=("orders",), order=order, fences=fences, readers=readers)
        self.world = WaveWorld(wave, frozenset(end for end in End if self.chance.random() < 0.5))
        self.runs: list[WaveRun] = []

    @property
    def stands(self) -> WaveStanding:
        """Where it stands."""
        leg = self.world.leg(0)
        return standing(leg.migration, leg.wave, self.runs)

    def goes(self, verbs: int) -> None:
        """So many verbs are asked for, and held to what is promised."""
        for _ in range(verbs):
            if self.chance.random() < 0.15:
                self.world.away.add(self.chance.choice(list(End)))
            elif self.chance.random() < 0.5:
                self.world.away.clear()
            self.world.goes_on()
            verb = self.chance.choice(VERBS) if self.runs else WaveVerb.START
            asked = self.chance.choice(ASKED.get(verb, (PLAIN,)))
            stands = self.stands
            try:
                found = steps_for(stands, verb, asked)
            except WaveStateError:
                continue
            told = inherited(stands.leg_of(verb, asked), verb, self.runs)
            run = WaveRun("r", "move", "orders", verb, found.steps, 0, part=found.part, leg=found.leg.number)
            dies = self.chance.randrange(2 * len(found.steps))
            self.runs.append(self.ended(replace(run, results=told), dies))
            self.world.goes_on()
            self.check()

    def ended(self, run: WaveRun, dies: int) -> WaveRun:
        """A run to its end; a cluster may die at one of its moves, also while a step is done."""
        for number in range(200):
            move, why = decide(run, 1)
            if move is NextMove.NOTHING:
                return run
            assert run.step is not None
            if move is NextMove.TURN:
                run = turned(run, 1, why)
                continue
            is_forward = move is NextMove.DO
            try:
                if is_forward and not run.has_passed and self.chance.random() < 0.02:
                    raise AgainstError("by chance")
                if number == dies:
                    if is_forward and self.chance.random() < 0.5:
                        run = begun(run)
                        self.world.do(run, run.step)
                    self.world.away.add(self.chance.choice(list(End)))
                elif is_forward:
                    run = begun(run)
                    run = finished(run, 1, self.world.do(run, run.step))
                else:
                    self.world.put_back(run, run.step)
                    run = put_back(run, 1)
            except AgainstError as error:
                assert not run.has_passed
                run = turned(run, 1, str(error))
            except AwayError:
                run = self.waits(run)
        raise AssertionError(f"it does not end: {run.step}")

    def waits(self, run: WaveRun) -> WaveRun:
        """Its cluster is back, or a person says that it is gone; once that was said nothing asks it."""
        assert not run.lost or self.world.away != {run.lost_end}, f"{run.step} asks the lost cluster"
        if run.may_wait and not run.lost:
            return postponed(run)
        gone = self.chance.choice(sorted(self.world.away))
        if run.lost or self.chance.random() < 0.3 or not run.can_be_left(gone):
            self.world.away &= {run.lost_end} if run.lost else set()
            return run
        return lost_meanwhile(run, "gone", gone)

    def is_allowed(self, verb: WaveVerb) -> bool:
        """Whether something else than a comparison can be asked for, in one way or another."""
        for asked in ASKED.get(verb, (PLAIN,)) if verb is not WaveVerb.VERIFY else ():
            try:
                steps_for(self.stands, verb, asked)
            except WaveStateError:
                continue
            return True
        return False

    def check(self) -> None:
        """What is promised."""
        world, stands, run = self.world, self.stands, self.runs[-1]
        for end, log in world.logs.items():
            assert len(set(log)) == len(log), f"repeated on {end.value}"
            assert end not in world.theirs or THEIRS in world.rules[end] & world.group_rules[end]
        assert not world.is_held
        assert stands.state is WaveState.COMPLETED or any(map(self.is_allowed, WaveVerb)), "nothing leads out of it"
        if world.away or stands.is_halfway:
            return
        for end in End:
            assert sum(one.runs and not one.is_paused and one.target is end for one in world.links.values()) < 2
        is_made_up = stands.gone is None and stands.lost is None and stands.remains is None
        ahead = {part.value for part in stands.switched}
        where = {"consumers": world.consumers, "producers": world.producers}
        for part, end in where.items():
            assert end is (stands.leg.ends_at if part in ahead else stands.leg.begins_at)
        assert OURS not in world.rules[world.producers] or not is_made_up, "a fence is left"
        assert OURS not in world.group_rules[world.consumers] or not is_made_up, "a fence of groups is left"
        if stands.state not in (WaveState.PLANNED, WaveState.COMPLETED):
            link = world.links.get(stands.copies.number)
            assert not is_made_up or (link is not None and link.runs and not link.is_paused), f"{link} does not copy"
        if stands.state is WaveState.PLANNED and is_made_up:
            rules = (each[end] for each in (world.rules, world.group_rules) for end in End)
            assert all(OURS not in one for one in rules)
            assert not world.links or run.what != WaveVerb.CANCEL or run.state is not WaveRunState.DONE


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_a_wave_is_never_stuck_nor_copied_twice_whichever_cluster_dies_when(first: int) -> None:
    """A hundred lives each; a failure names the seed."""
    drawn = seed(first)
    for number in range(drawn, drawn + 100):
        try:
            Walk(number).goes(40)
        except AssertionError as error:
            raise AssertionError(f"seed {number}: {error}") from error
