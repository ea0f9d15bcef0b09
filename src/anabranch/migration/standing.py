"""Where a wave stands, from the runs that were made for it; the store keeps nothing else of it.

Invariant
    M9  a wave is on the leg of which nothing, or one of two parts, has been switched: its applications are where that
        leg begins, but for the part that went ahead.  Where that part is led back without the cluster that it was on
        the wave is as before: on the same leg where only consumers were, and behind the next one where producers wrote
        there.
    L3  a wave that was led away from a lost cluster is led there only once a reconcile has made the way.
    L4  a wave that was being led to a cluster as that was lost, and of which some may have gone on there, is led away
        from it before anything else is done for it: what leads the others there was left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from anabranch.migration.ends import End
from anabranch.migration.left_out import leaves_behind, leaves_out, left_behind
from anabranch.migration.legs import Leg
from anabranch.migration.lost import LostCluster, LostState, doubts_of, loses_tail
from anabranch.migration.options import TailChoice, WaveOptions
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.steps import (
    Part,
    StepKind,
    parts,
)


class WaveVerb(StrEnum):
    """What a run is for."""

    START = "start"
    VERIFY = "verify"
    SWITCH = "switch"
    REVERSE = "reverse"
    RECONCILE = "reconcile"
    COMPLETE = "complete"
    CANCEL = "cancel"


class WaveState(StrEnum):
    """Where a wave rests, or rested before what is under way for it."""

    PLANNED = "planned"
    COPYING = "copying"
    PARTLY = "partly switched"
    SWITCHED = "switched"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class WaveStanding:
    """Where a wave stands: on which leg, which parts of it are switched, and what is under way (``open``).

    ``lost`` is how it stands with a cluster that it was led away from as that was lost, None where there is a way
    there, or it was not.  ``gone`` is the cluster that did not answer when something was done last, and ``left`` the
    run that was taken back then and left something behind where its applications were to be left.  ``is_halted``: the
    link that copies from where producers are may stand still since.  ``is_halfway``: the last run that led it ended
    without the cluster that it led to.  ``remains``: the leg on which it was cancelled without a cluster, where links,
    or a fence, are still.
    """

    leg: Leg
    state: WaveState = WaveState.PLANNED
    switched: tuple[Part, ...] = ()
    open: WaveRun | None = None
    lost: LostCluster | None = None
    gone: End | None = None
    left: WaveRun | None = None
    is_halted: bool = False
    is_halfway: bool = False
    remains: int | None = None

    @property
    def is_gone(self) -> bool:
        """Whether a cluster did not answer when something was done last, and what it missed is not made up for."""
        return self.gone is not None

    @property
    def wave(self) -> Wave:
        """The wave."""
        return self.leg.wave

    @property
    def part(self) -> Part:
        """Who is switched next."""
        return next(part for part in parts(self.wave) if part not in self.switched)

    @property
    def copies(self) -> Leg:
        """The leg whose link copies from where producers are; there is none while a cluster is lost."""
        return _copying(self.leg, self.switched)

    @property
    def halfway_to(self) -> End:
        """The cluster that it was being led to as that was lost (L4)."""
        return self.leg.ends_at if self.switched else self.leg.begins_at

    def leg_of(self, verb: WaveVerb, asked: WaveOptions) -> Leg:
        """The leg of which a run of a verb is.

        A part that went ahead is led again by the one after it, and a reconcile is of the one that the lost cluster
        begins, or whose link copies on.  What a cancel has left behind is taken away by one of the same leg.
        """
        if verb is WaveVerb.CANCEL and self.remains is not None:
            return self.leg.at(self.remains)
        if verb is WaveVerb.RECONCILE:
            return self.copies if self.lost is None else self.leg.at(self.leg.number - 1)
        is_other_way = (verb is WaveVerb.SWITCH) is self.leg.leads_back
        is_led_again = verb in LEADS and is_other_way and asked.lost is not None and self.switched
        return self.leg.next if is_led_again else self.leg


LEADS = (WaveVerb.SWITCH, WaveVerb.REVERSE)
"""Verbs that lead applications."""


def standing(migration: Migration, wave: Wave, runs: Iterable[WaveRun]) -> WaveStanding:
    """Where a wave stands (M9); ``runs`` are all of its, the oldest first."""
    state, number, switched = WaveState.PLANNED, 0, set[Part]()
    open_ = None
    lost: LostCluster | None = None
    gone: End | None = None
    left: WaveRun | None = None
    is_halted = is_halfway = False
    remains: int | None = None
    for run in runs:
        leg = Leg(migration, wave, run.leg)
        if run.state.is_open:
            open_ = run
        if run.state is not WaveRunState.DONE:
            if run.lost and not run.state.is_open:
                gone, left = run.lost_end, _left(leg, run, left)
                is_halted |= gone is _copying(Leg(migration, wave, number), switched).ends_at
            continue
        without = run.lost_end if run.lost else None
        match WaveVerb(run.what):
            case WaveVerb.START:
                state, gone, left, is_halted = WaveState.COPYING, None, None, False
            case WaveVerb.SWITCH | WaveVerb.REVERSE:
                is_led_again = bool(switched) and run.leg > number
                switched.add(run.part)
                if is_led_again and run.part is Part.CONSUMERS:
                    switched = set()
                elif is_led_again or switched >= set(parts(wave)) or run.part is Part.ALL:
                    number, switched = run.leg + 1, set()
                state = WaveState.PARTLY if switched else _at(number)
                gone = leg.begins_at if run.goes_without else without
                left = left if is_led_again and run.part is Part.CONSUMERS else None
                is_halfway, is_halted = run.leads_to_lost, bool(run.lost) or run.goes_without
                if loses_tail(run):
                    lost = LostCluster(leg.begins_at, LostState.GONE, doubts_of(run.results))
            case WaveVerb.RECONCILE:
                lost, gone, left = _reconciled(leg.begins_at, run), without, None
                is_halted = bool(run.lost)
            case WaveVerb.COMPLETE:
                state = WaveState.COMPLETED
            case WaveVerb.CANCEL:
                state, number, switched, lost, gone = WaveState.PLANNED, 0, set(), None, None
                left = left if StepKind.PUT_BACK in leaves_out(run) else None
                remains = run.leg + run.leg % 2 if leaves_behind(leg, run) else None
                is_halted = is_halfway = False
            case WaveVerb.VERIFY:
                pass
    done = tuple(part for part in parts(wave) if part in switched)
    at = Leg(migration, wave, number)
    return WaveStanding(at, state, done, open_, lost, gone, left, is_halted, is_halfway, remains)


def _copying(leg: Leg, switched: Collection[Part]) -> Leg:
    """The leg whose link copies from where producers are, where a part of a wave went ahead on a leg."""
    return leg.next if Part.PRODUCERS in switched else leg


def _left(leg: Leg, run: WaveRun, before: WaveRun | None) -> WaveRun | None:
    """Of two runs of a leg that left something behind, the one that left more: of the other nothing else is there."""
    known = () if before is None else left_behind(leg, before)
    return run if len(left_behind(leg, run)) > len(known) else before


def _reconciled(end: End, run: WaveRun) -> LostCluster | None:
    """What is left of a loss once a reconcile has ended well; one that looked for no tail follows no loss."""
    tails = (TailChoice(step.subject) for step in run.steps if step.kind is StepKind.FIND_TAIL)
    tail = next(tails, TailChoice.REFUSE)
    states = {TailChoice.KEEP: LostState.KEPT, TailChoice.APPEND: LostState.APPENDED}
    if tail is TailChoice.REFUSE:
        return None
    return LostCluster(end, states[tail], doubts_of(run.results) if tail is TailChoice.KEEP else ())


def _at(number: int) -> WaveState:
    return WaveState.SWITCHED if number % 2 else WaveState.COPYING
