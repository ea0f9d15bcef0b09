"""What a run is told by those before it of its wave, as results that it begins with.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from anabranch.migration.fences import READING, WRITING, RuleFence, asked_of
from anabranch.migration.left_out import LEFT_OUT, leaves_behind, leaves_out, stays_there
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, WaveRunState, key_of
from anabranch.migration.spec import Wave
from anabranch.migration.standing import LEADS, WaveVerb
from anabranch.migration.steps import StepKind

ABSENT, IDS, COPIED, CONFIGS = "absent", "ids", "copied", "configs"
DENIED, MADE, BEFORE, LANES, ANSWERS = "denied", "made", "before", "lanes", "answers"
Results = dict[str, Mapping[str, Any]]
_LIFTS = (*LEADS, WaveVerb.CANCEL)
_DENIES = (*_LIFTS, WaveVerb.RECONCILE, WaveVerb.COMPLETE)


def inherited(leg: Leg, verb: WaveVerb, runs: Iterable[WaveRun]) -> Results:
    """The results that a run of a verb on a leg begins with; ``runs`` are all of its wave, the oldest first.

    A cancel is told which topics were made, up to where others hold copies, and what was set on these; a reconcile
    where copies ended as the cluster was lost.  A switch to where applications were before, and a cancel, are told
    which rules of each fence were made there when they left, and which were not.
    One that leads away from a lost cluster where some may have gone on is told that this may answer again (L4).
    Whoever denies something again, or lifts it, where a fence was left behind, is told what was denied before that.
    """
    all_ = list(runs)
    done = [run for run in all_ if run.state is WaveRunState.DONE]
    found = _made(leg.wave, done) if verb is WaveVerb.CANCEL else {}
    if verb is WaveVerb.RECONCILE:
        found |= _lost(leg.wave, done)
    if verb in LEADS and (led := [run for run in done if run.what in LEADS]) and led[-1].leads_to_lost:
        found |= {key_of(StepKind.PROVE_LOST, leg.wave.name): {ANSWERS: True}}
    for fence in asked_of(leg.wave) if verb in _LIFTS else ():
        found |= _denied(leg, done, fence)
    for fence in (WRITING, READING) if verb in _DENIES else ():
        found |= _left(leg, all_, fence)
    return found


def _made(wave: Wave, done: Iterable[WaveRun]) -> Results:
    """The topics that the wave's starts made, by what each wrote down before, and their ids, as far as it knew them.

    With what a cancel wrote down of copies in others, and what the last start saw set on these.  Topics that were made
    before a purge are gone.
    """
    made: set[str] = set()
    ids: dict[str, str] = {}
    copied: dict[str, Any] = {}
    configs: dict[str, Any] = {}
    for run in done:
        if run.what == WaveVerb.START.value:
            look = run.result(StepKind.LOOK, wave.name)
            made |= set(look.get(ABSENT, ()))
            configs = dict(look.get(CONFIGS, {}))
            for step in run.steps:
                ids |= run.result(step.kind, step.subject).get(IDS, {})
        elif any(step.kind is StepKind.PURGE for step in run.steps) and StepKind.PURGE not in leaves_out(run):
            made.clear()
            ids.clear()
            copied.clear()
        elif run.what == WaveVerb.CANCEL.value:
            for step in run.steps:
                copied |= run.result(step.kind, step.subject).get(COPIED, {})
    more = {IDS: ids, COPIED: copied, CONFIGS: configs}
    told = {ABSENT: sorted(made), **{key: value for key, value in more.items() if value}}
    return {key_of(StepKind.LOOK, wave.name): told} if made or copied or configs else {}


def _lost(wave: Wave, done: Iterable[WaveRun]) -> Results:
    """Where copies ended, by the last run without the cluster; what it doubted is not this run's to tell."""
    key = key_of(StepKind.LOST_TAIL, wave.name)
    lost = [run.results[key][LANES] for run in done if run.what in LEADS and key in run.results]
    return {key: {LANES: lost[-1]}} if lost else {}


def _left(leg: Leg, runs: Iterable[WaveRun], fence: RuleFence) -> Results:
    """What somebody else had denied where a leg begins, if a fence of ours was left behind there since.

    It was where a run was taken back, or led there, after the cluster had been lost.  With what that fence has made,
    unless one of those that were left did not come to write that down.
    """
    theirs: list[Any] | None = None
    made: list[Any] | None = []
    is_left = False
    key, lift = fence.key, fence.lift_key(leg.wave.name)
    back = key_of(StepKind.PUT_BACK, key)
    for run in runs:
        at, begun = leg.at(run.leg), {key_of(step.kind, step.subject): step for step in run.begun_steps}
        is_done, is_back = run.state is WaveRunState.DONE, run.state is WaveRunState.CANCELLED
        if at.begins_at is leg.begins_at and key in begun and (is_done or is_back):
            stays = is_back and bool(run.lost) and stays_there(at, begun[key], run.lost_end)
            if is_back and not stays and _place(run, key) >= len(run.times):
                continue  # it may have been turned back before it denied anything: then what was left is left
            is_left = stays
            made = _made_by(run, key, [] if theirs is None else made)
            looks = (run.result(kind, leg.wave.name) for kind in (StepKind.PREFLIGHT, StepKind.PROVE_FOUND))
            theirs = [rule for look in looks for rule in look.get(fence.denied, ())] if theirs is None else theirs
            theirs = None if is_back and not is_left else theirs
        elif at.ends_at is leg.begins_at and lift in begun and is_done:
            is_left = theirs is not None and run.results.get(lift) == LEFT_OUT
            theirs = theirs if is_left else None
        elif at.begins_at is leg.begins_at and back in begun and is_done and run.results.get(back) != LEFT_OUT:
            theirs, is_left = None, False
    if not is_left or theirs is None:
        return {}
    return {key: {BEFORE: theirs} if made is None else {BEFORE: theirs, MADE: made}}


def _made_by(run: WaveRun, key: str, before: list[Any] | None) -> list[Any] | None:
    """What is known to be made once a run has its fence, beside what was made ``before``; None where it is not."""
    found = run.results.get(key, {}).get(MADE)
    if before is None or found is None or _place(run, key) >= len(run.times):
        return None
    return before + [rule for rule in found if rule not in before]


def _place(run: WaveRun, key: str) -> int:
    """Which of a run's steps it is."""
    return next(at for at, step in enumerate(run.steps) if key_of(step.kind, step.subject) == key)


def _denied(leg: Leg, done: Iterable[WaveRun], fence: RuleFence) -> Results:
    """What a fence has denied where a leg leads to, and what was denied before it.

    Of a source that was lost that is what the first reconcile found: later ones find the fence itself.  It is still so
    behind a cancel that went without the cluster, and not where a run of the same leg has lifted it since.  Where the
    wave had no such fence as those left whom it is about, nothing was made: whatever is denied there is somebody
    else's.
    """
    told: dict[str, Any] | None = None
    has_left = False
    lift = fence.lift_key(leg.wave.name)
    for run in done:
        if run.what == WaveVerb.CANCEL.value and not leaves_behind(leg, run):
            told, has_left = None, False
            continue
        if run.leg == leg.number and run.results.get(lift) != LEFT_OUT:
            is_lifted = any(key_of(step.kind, step.subject) == lift for step in run.steps)
            told, has_left = (None, True) if is_lifted else (told, has_left)
        if run.leg != leg.number - 1:
            continue
        has_left |= run.what in LEADS and run.part is not fence.without
        if fence.is_in(run.steps) and told is None:
            looks = (run.result(kind, leg.wave.name) for kind in (StepKind.PREFLIGHT, StepKind.PROVE_FOUND))
            denied = [rule for look in looks for rule in look.get(fence.denied, ())]
            made = run.results.get(fence.key, {})
            told = {DENIED: denied, **({MADE: list(made[MADE])} if MADE in made else {})}
    if told is None and has_left:
        told = {DENIED: [], MADE: []}
    return {} if told is None else {lift: told}
