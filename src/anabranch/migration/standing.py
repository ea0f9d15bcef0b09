"""Where a wave stands, from the runs that were made for it; the store keeps nothing else of it.

Invariant
    M9  a wave is on the leg of which nothing, or one of two parts, has been switched: its applications are where that
        leg begins, but for the part that went ahead.  Where that part is led back without the source the wave is
        switched: on the same leg where only consumers were, and behind the next one where producers wrote there.
    L3  a wave whose source was lost goes back only once a reconcile has made its way back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from anabranch.errors import RefusedError
from anabranch.migration.legs import Leg
from anabranch.migration.lost import LostSource, LostState, doubts_of, goes_without, loses_source
from anabranch.migration.lost_steps import (
    lost_complete_steps,
    lost_switch_steps,
    reconcile_steps,
    regain_steps,
)
from anabranch.migration.options import PLAIN, TailChoice, UnknownGroups, WaveOptions
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.steps import (
    MigrationStep,
    Part,
    StepKind,
    cancel_steps,
    complete_steps,
    parts,
    start_steps,
    switch_steps,
    verify_steps,
)
from anabranch.migration.words import named


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

    ``lost`` is how it stands with a source that was lost, None where it has a way back, or was not switched without.
    ``is_gone`` is whether the cluster that was left last did not answer then, so that its way back cannot be ended.
    """

    leg: Leg
    state: WaveState = WaveState.PLANNED
    switched: tuple[Part, ...] = ()
    open: WaveRun | None = None
    lost: LostSource | None = None
    is_gone: bool = False

    @property
    def wave(self) -> Wave:
        """The wave."""
        return self.leg.wave

    @property
    def part(self) -> Part:
        """Who is switched next."""
        return next(part for part in parts(self.wave) if part not in self.switched)

    def leg_of(self, verb: WaveVerb, asked: WaveOptions) -> Leg:
        """The leg of which a switch or a reverse is: a part that went back is led again by the one after it."""
        is_led_again = verb is WaveVerb.SWITCH and asked.lost is not None and self.leg.leads_back and self.switched
        return self.leg.next if is_led_again else self.leg


def standing(migration: Migration, wave: Wave, runs: Iterable[WaveRun]) -> WaveStanding:
    """Where a wave stands (M9); ``runs`` are all of its, the oldest first."""
    state, number, switched = WaveState.PLANNED, 0, set[Part]()
    open_ = None
    lost: LostSource | None = None
    is_gone = False
    for run in runs:
        if run.state.is_open:
            open_ = run
        if run.state is not WaveRunState.DONE:
            is_gone = is_gone or (bool(run.lost) and not run.state.is_open)
            continue
        match WaveVerb(run.what):
            case WaveVerb.START:
                state = WaveState.COPYING
            case WaveVerb.SWITCH | WaveVerb.REVERSE:
                is_led_again = bool(switched) and run.leg > number
                switched.add(run.part)
                if is_led_again and run.part is Part.CONSUMERS:
                    switched = set()
                elif is_led_again or switched >= set(parts(wave)) or run.part is Part.ALL:
                    number, switched = run.leg + 1, set()
                state = WaveState.PARTLY if switched else _at(number)
                is_gone = goes_without(run) or bool(run.lost)
                if goes_without(run):
                    lost = LostSource(LostState.GONE, doubts_of(run.results)) if loses_source(run) else lost
            case WaveVerb.RECONCILE:
                lost, is_gone = _reconciled(run), bool(run.lost)
            case WaveVerb.COMPLETE:
                state = WaveState.COMPLETED
            case WaveVerb.CANCEL:
                state, number, switched, lost, is_gone = WaveState.PLANNED, 0, set(), None, False
            case WaveVerb.VERIFY:
                pass
    done = tuple(part for part in parts(wave) if part in switched)
    return WaveStanding(Leg(migration, wave, number), state, done, open_, lost, is_gone)


def _reconciled(run: WaveRun) -> LostSource | None:
    """What is left of a loss once a reconcile has ended well; one that looked for no tail follows no loss."""
    tails = (TailChoice(step.subject) for step in run.steps if step.kind is StepKind.FIND_TAIL)
    tail = next(tails, TailChoice.REFUSE)
    states = {TailChoice.KEEP: LostState.KEPT, TailChoice.APPEND: LostState.APPENDED}
    if tail is TailChoice.REFUSE:
        return None
    return LostSource(states[tail], doubts_of(run.results) if tail is TailChoice.KEEP else ())


def _at(number: int) -> WaveState:
    return WaveState.SWITCHED if number % 2 else WaveState.COPYING


@dataclass(eq=False)
class WaveStateError(RefusedError):
    """A wave is not where it would have to be for what was asked."""

    migration: str
    wave: str
    verb: str
    why: str
    fix: str

    _message = "wave {wave} of migration {migration} cannot {verb}: {why}"
    _hint = "{fix}"


@dataclass(frozen=True, slots=True)
class WavePart:
    """What would be done for a wave: the steps, of which part, on which leg."""

    leg: Leg
    part: Part
    steps: tuple[MigrationStep, ...]


def steps_for(stands: WaveStanding, verb: WaveVerb, asked: WaveOptions = PLAIN) -> WavePart:
    """What a verb does for a wave where it stands; raises WaveStateError where it cannot be asked for there.

    ``asked.purge``: whether it made topics that a cancel is to delete, also where it was cancelled before.
    What is under way (``stands.open``) is for who begins it to look at: between here and there it may end.
    """
    leg, state = stands.leg, stands.state
    command = f"anabranch migrate {{}} {leg.migration.name} --wave {leg.wave.name}"

    def refuse(why: str, fix: str) -> WaveStateError:
        return WaveStateError(leg.migration.name, leg.wave.name, verb.value, why, fix)

    if state is WaveState.COMPLETED:
        raise refuse("it is completed, and its links are gone", "move it again by a migration of another name")
    if verb is WaveVerb.START:
        if state is not WaveState.PLANNED:
            raise refuse(f"it is {state.value} already", "look at it: `anabranch migrate status`")
        return WavePart(leg, Part.ALL, start_steps(leg))
    if state is WaveState.PLANNED and verb is WaveVerb.CANCEL and asked.purge:
        return WavePart(leg, Part.ALL, cancel_steps(leg, purge=True))
    if state is WaveState.PLANNED:
        raise refuse("it is not started", f"start it: `{command.format('start')}`")
    if stands.lost is not None and verb is not WaveVerb.SWITCH:
        return _without_source(stands, stands.lost, verb, asked)
    part = stands.part
    under_way = stands.open
    if verb is WaveVerb.SWITCH and asked.lost is not None and under_way is not None and not goes_without(under_way):
        fix = f"end it without {leg.migration.source}: `{command.format('cancel')} --reason WHY --source-lost`"
        raise refuse(f"{under_way.what} is under way", fix)
    match verb:
        case WaveVerb.RECONCILE if stands.is_gone and leg.leads_back and Part.PRODUCERS not in stands.switched:
            return WavePart(leg, Part.ALL, regain_steps(leg))
        case WaveVerb.RECONCILE:
            raise refuse("it was not switched without its source", "look at it: `anabranch migrate status`")
        case WaveVerb.VERIFY:
            return WavePart(leg, Part.ALL, verify_steps(leg))
        case WaveVerb.SWITCH if leg.leads_back and stands.switched and asked.lost is not None:
            return _led_again(stands, stands.switched[0], asked.lost)
        case WaveVerb.SWITCH if leg.leads_back and stands.switched:
            gone = f"its {stands.switched[0].value} are on {leg.there} already, and its {part.value} on {leg.here}"
            lost = (
                f"where {leg.there} is lost, lead them to {leg.here} again: `{command.format('switch')} --source-lost`"
            )
            raise refuse(gone, f"go on: `{command.format('reverse')}`; {lost}")
        case WaveVerb.SWITCH if leg.leads_back and asked.lost is not None and stands.lost is None:
            shown = f"`anabranch link show {leg.link} --target {leg.there}`"
            fix = f"once {leg.here} answers: `{command.format('reverse')}`; see what {leg.there} has of it: {shown}"
            raise refuse(f"its applications are on {leg.here}, and nothing leads back from there without it", fix)
        case WaveVerb.SWITCH if leg.leads_back:
            fix = f"`{command.format('reverse' if stands.lost is None else 'reconcile')}`"
            raise refuse(f"its applications are on {leg.here} already", f"go back by: {fix}")
        case WaveVerb.REVERSE if not leg.leads_back:
            raise refuse(f"its applications are on {leg.here}", f"switch it: `{command.format('switch')}`")
        case WaveVerb.SWITCH if asked.lost is not None:
            part = part if stands.switched else Part.ALL  # nothing is gained by two parts without a source
            return WavePart(leg, part, lost_switch_steps(leg, part, asked.lost))
        case WaveVerb.SWITCH | WaveVerb.REVERSE:
            return WavePart(leg, part, switch_steps(leg, part))
    if stands.switched:
        raise refuse(f"its {stands.switched[0].value} are switched, and its {part.value} are not", "switch those, too")
    if verb is WaveVerb.COMPLETE:
        if not leg.leads_back:
            raise refuse(f"its applications are on {leg.here}", f"give it up: `{command.format('cancel')}`")
        if stands.is_gone:
            return WavePart(leg, Part.ALL, lost_complete_steps(leg.at(leg.number - 1), leg.link))
        return WavePart(leg, Part.ALL, complete_steps(leg))
    if leg.leads_back:
        raise refuse(f"its applications are on {leg.here}", f"go back first: `{command.format('reverse')}`")
    return WavePart(leg, Part.ALL, cancel_steps(leg, purge=asked.purge))


def _led_again(stands: WaveStanding, went: Part, groups: UnknownGroups) -> WavePart:
    """What a switch without the source does for a wave of which one part went back there, and the source is lost."""
    leg, jobs = stands.leg, stands.wave.jobs
    if went is Part.CONSUMERS and jobs:
        name, wave = leg.migration.name, leg.wave.name
        names = named([job.name for job in jobs], "job")
        why = f"where {names} would go on is told by the offset map of {leg.link} alone, which is on {leg.there}"
        fix = (
            f"have each go on as it left {leg.here} (Spark: `anabranch checkpoint undo CHECKPOINT`; Flink: its "
            "snapshot there), and take it out of the wave: `anabranch migrate set -f FILE`; then "
            f"`anabranch migrate switch {name} --wave {wave} --source-lost`"
        )
        raise WaveStateError(name, wave, WaveVerb.SWITCH.value, why, fix)
    again = leg.next
    return WavePart(again, went, lost_switch_steps(again, went, groups))


def _without_source(stands: WaveStanding, lost: LostSource, verb: WaveVerb, asked: WaveOptions) -> WavePart:
    """What a verb does for a wave that was switched without its source, and has no way back (L3)."""
    leg = stands.leg.at(stands.leg.number - 1)
    command = f"anabranch migrate {{}} {leg.migration.name} --wave {leg.wave.name}"
    if verb is WaveVerb.RECONCILE:
        return WavePart(leg, Part.ALL, reconcile_steps(leg, asked.tail))
    if verb is WaveVerb.COMPLETE:
        return WavePart(leg, Part.ALL, lost_complete_steps(leg))
    why, fix = {
        LostState.GONE: (
            f"it was switched without {leg.here}, and what that had beyond the copies is not known",
            f"once {leg.here} answers: `{command.format('reconcile')}`",
        ),
        LostState.KEPT: (
            f"{leg.here} has records that {leg.there} has not, so there is no exact way back",
            f"append them: `{command.format('reconcile')} --tail append`, or stay: `{command.format('complete')}`",
        ),
        LostState.APPENDED: (
            f"what {leg.here} had more was appended to {leg.there}, and no way back was made since",
            f"see whether there is one: `{command.format('reconcile')}`, or stay: `{command.format('complete')}`",
        ),
    }[lost.state]
    raise WaveStateError(leg.migration.name, leg.wave.name, verb.value, why, fix)
