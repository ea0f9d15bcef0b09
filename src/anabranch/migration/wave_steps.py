"""What a verb does for a wave where it stands, or why it cannot be asked for there, with the next command.  Pure."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.migration.ends import End
from anabranch.migration.left_out import LEADS_FROM, left_behind, put_back_steps
from anabranch.migration.legs import Leg
from anabranch.migration.lost import LostCluster, LostState
from anabranch.migration.lost_steps import (
    lost_complete_steps,
    lost_switch_steps,
    reconcile_steps,
    returned_steps,
)
from anabranch.migration.options import PLAIN, UnknownGroups, WaveOptions
from anabranch.migration.standing import LEADS, WaveStanding, WaveState, WaveVerb
from anabranch.migration.steps import (
    MigrationStep,
    Part,
    cancel_steps,
    complete_steps,
    start_steps,
    switch_steps,
    verify_steps,
)
from anabranch.migration.words import named


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
        if stands.remains is not None:
            why = "it was cancelled without a cluster, where its links, or its fence, are still"
            raise refuse(why, f"once both clusters answer take them away: `{command.format('cancel')}`")
        return WavePart(leg, Part.ALL, start_steps(leg))
    if state is WaveState.PLANNED and verb is WaveVerb.CANCEL and (asked.purge or stands.remains is not None):
        at = stands.leg_of(verb, asked)
        put_back = put_back_steps(at.here, _left(stands, at))
        return WavePart(at, Part.ALL, (*cancel_steps(at, purge=asked.purge), *put_back))
    if state is WaveState.PLANNED:
        raise refuse("it is not started", f"start it: `{command.format('start')}`")
    if stands.is_halfway and not _leads_from_lost(stands, verb, asked):
        raise refuse(*_halfway(stands))
    led_by = WaveVerb.SWITCH if leg.leads_back else WaveVerb.REVERSE
    if stands.lost is not None and verb is not led_by:
        return _without_cluster(stands, stands.lost, verb, asked)
    part = stands.part
    under_way = stands.open
    if verb in LEADS and asked.lost is not None and under_way is not None and not under_way.goes_without:
        gone = End.SOURCE if verb is WaveVerb.SWITCH else End.TARGET
        fix = (
            f"end it without {leg.migration.at(gone)}: `{command.format('cancel')} --reason WHY {LEADS_FROM[gone][1]}`"
        )
        raise refuse(f"{under_way.what} is under way", fix)
    match verb:
        case WaveVerb.RECONCILE if stands.gone is not None:
            return WavePart(stands.copies, Part.ALL, _returned(stands, stands.gone))
        case WaveVerb.RECONCILE:
            why = "it was not led away from a lost cluster, nor was anything left on one"
            raise refuse(why, "look at it: `anabranch migrate status`")
        case WaveVerb.VERIFY:
            return WavePart(leg, Part.ALL, verify_steps(leg))
        case WaveVerb.SWITCH | WaveVerb.REVERSE if verb is led_by and stands.switched and asked.lost is not None:
            return _led_again(stands, stands.switched[0], asked.lost)
        case WaveVerb.SWITCH | WaveVerb.REVERSE if verb is led_by:
            raise refuse(*_there_already(stands, asked))
        case WaveVerb.SWITCH | WaveVerb.REVERSE if asked.lost is not None:
            part = part if stands.switched else Part.ALL  # nothing is gained by two parts without that cluster
            return WavePart(leg, part, lost_switch_steps(leg, part, asked.lost, is_halfway=stands.is_halfway))
        case WaveVerb.SWITCH | WaveVerb.REVERSE if stands.is_halted:
            copies = stands.copies
            why = f"link {copies.link} may stand still since {copies.there} was lost"
            raise refuse(why, f"once {copies.there} answers have it copy on: `{command.format('reconcile')}`")
        case WaveVerb.SWITCH | WaveVerb.REVERSE:
            return WavePart(leg, part, switch_steps(leg, part))
    if stands.switched:
        raise refuse(f"its {stands.switched[0].value} are switched, and its {part.value} are not", "switch those, too")
    if verb is WaveVerb.COMPLETE:
        if not leg.leads_back:
            raise refuse(f"its applications are on {leg.here}", f"give it up: `{command.format('cancel')}`")
        if stands.gone is leg.ends_at:
            return WavePart(leg, Part.ALL, (*lost_complete_steps(leg, is_made=True), *_put_back(stands)))
        return WavePart(leg, Part.ALL, (*complete_steps(leg), *_put_back(stands)))
    if leg.leads_back:
        raise refuse(f"its applications are on {leg.here}", f"go back first: `{command.format('reverse')}`")
    if stands.gone is leg.ends_at:
        _refuse_purge(stands, asked)
        return WavePart(leg, Part.ALL, (*lost_complete_steps(leg, is_made=True), *_put_back(stands)))
    return WavePart(leg, Part.ALL, (*cancel_steps(leg, purge=asked.purge), *_put_back(stands)))


def _leads_from_lost(stands: WaveStanding, verb: WaveVerb, asked: WaveOptions) -> bool:
    """Whether applications are led away from the lost cluster that some of them may have gone to."""
    return asked.lost is not None and verb.value == LEADS_FROM[stands.halfway_to][0]


def _halfway(stands: WaveStanding) -> tuple[str, str]:
    """Why nothing else is done for a wave some of whose applications may have gone on on a lost cluster (L4)."""
    leg, (verb, flag) = stands.leg, LEADS_FROM[stands.halfway_to]
    gone = leg.migration.at(stands.halfway_to)
    why = f"{gone} was lost while it was being led there: some may go on there, and what leads the others was left out"
    command = f"anabranch migrate {verb} {leg.migration.name} --wave {leg.wave.name} {flag}"
    return why, f"lead all away from there first, also where {gone} answers again: `{command}`"


def _left(stands: WaveStanding, leg: Leg) -> tuple[MigrationStep, ...]:
    """What a run of a leg has left on a cluster where that begins."""
    return () if stands.left is None else left_behind(leg, stands.left)


def _put_back(stands: WaveStanding) -> tuple[MigrationStep, ...]:
    """What is put back that was left on the cluster where the wave stays, as it is given up or completed."""
    return tuple(put_back_steps(stands.leg.here, _left(stands, stands.leg)))


def _returned(stands: WaveStanding, gone: End) -> tuple[MigrationStep, ...]:
    """What is done once a cluster is back that nothing was lost with."""
    copies = stands.copies
    left = _left(stands, copies)
    return returned_steps(copies, copies.migration.at(gone), left, is_halted=stands.is_halted)


def _there_already(stands: WaveStanding, asked: WaveOptions) -> tuple[str, str]:
    """Why a wave is not led to where it is already, or is but for a part that went; and what to do."""
    leg, part = stands.leg, stands.part
    command = f"anabranch migrate {{}} {leg.migration.name} --wave {leg.wave.name}"
    on = command.format("reverse" if leg.leads_back else "switch")
    if stands.switched:
        verb, flag = LEADS_FROM[leg.ends_at]
        lost = f"where {leg.there} is lost, lead them to {leg.here} again: `{command.format(verb)} {flag}`"
        why = f"its {stands.switched[0].value} are on {leg.there} already, and its {part.value} on {leg.here}"
        return why, f"go on: `{on}`; {lost}"
    if stands.lost is not None:
        return f"its applications are on {leg.here} already", f"go back by: `{command.format('reconcile')}`"
    if asked.lost is not None:
        flag = LEADS_FROM[leg.begins_at][1]
        fix = f"where {leg.here} is lost, go on from what {leg.there} has of it: `{on} {flag}`; "
        fix += f"where {leg.there} is, nobody has to be led anywhere"
        return f"its applications are on {leg.here}, and {leg.there} is what it would go without", fix
    if leg.leads_back:
        return f"its applications are on {leg.here} already", f"go back by: `{on}`"
    return f"its applications are on {leg.here}", f"switch it: `{on}`"


def _refuse_purge(stands: WaveStanding, asked: WaveOptions) -> None:
    """Raise WaveStateError where topics of a cluster are to be deleted that does not answer."""
    if asked.purge:
        leg, name = stands.leg, stands.leg.migration.name
        again = f"`anabranch migrate cancel {name} --wave {leg.wave.name} --purge`"
        fix = f"cancel it without --purge now, and once {leg.there} answers: {again}"
        raise WaveStateError(
            name, leg.wave.name, WaveVerb.CANCEL.value, f"nothing is asked of {leg.there}, which was lost", fix
        )


def _led_again(stands: WaveStanding, went: Part, groups: UnknownGroups) -> WavePart:
    """What is done for a wave of which one part went ahead, and the cluster is lost where that is."""
    leg, jobs = stands.leg, stands.wave.jobs
    if went is Part.CONSUMERS and jobs:
        name, wave = leg.migration.name, leg.wave.name
        names = named([job.name for job in jobs], "job")
        why = f"where {names} would go on is told by the offset map of {leg.link} alone, which is on {leg.there}"
        verb, flag = LEADS_FROM[leg.ends_at]
        fix = (
            f"have each go on as it left {leg.here} (Spark: `anabranch checkpoint undo CHECKPOINT`; Flink: its "
            "snapshot there), and take it out of the wave: `anabranch migrate set -f FILE`; then "
            f"`anabranch migrate {verb} {name} --wave {wave} {flag}`"
        )
        raise WaveStateError(name, wave, verb, why, fix)
    again = leg.next
    return WavePart(again, went, lost_switch_steps(again, went, groups, is_halfway=stands.is_halfway))


def _without_cluster(stands: WaveStanding, lost: LostCluster, verb: WaveVerb, asked: WaveOptions) -> WavePart:
    """What a verb does for a wave that was led away from a lost cluster, and has no way there (L3)."""
    leg = stands.leg.at(stands.leg.number - 1)
    command = f"anabranch migrate {{}} {leg.migration.name} --wave {leg.wave.name}"
    if verb is WaveVerb.RECONCILE:
        return WavePart(leg, Part.ALL, reconcile_steps(leg, asked.tail))
    ends = WaveVerb.COMPLETE if stands.leg.leads_back else WaveVerb.CANCEL
    if verb is ends:
        _refuse_purge(stands, asked)
        return WavePart(stands.leg, Part.ALL, lost_complete_steps(stands.leg, is_made=False))
    led = "switched" if stands.leg.leads_back else "led back"
    why, fix = {
        LostState.GONE: (
            f"it was {led} without {leg.here}, and what that had beyond the copies is not known",
            f"once {leg.here} answers: `{command.format('reconcile')}`",
        ),
        LostState.KEPT: (
            f"{leg.here} has records that {leg.there} has not, so there is no exact way back",
            f"append them: `{command.format('reconcile')} --tail append`, or stay: `{command.format(ends.value)}`",
        ),
        LostState.APPENDED: (
            f"what {leg.here} had more was appended to {leg.there}, and no way back was made since",
            f"see whether there is one: `{command.format('reconcile')}`, or stay: `{command.format(ends.value)}`",
        ),
    }[lost.state]
    raise WaveStateError(leg.migration.name, leg.wave.name, verb.value, why, fix)
