"""How far a list of steps has come: a journal that anybody can go on with, and a pure decision of what is next.

A step is begun, which is written down before anything is done, and then finished.  One that was begun may have been
done in part or in whole by somebody who is gone, so each step may be done again.  Until the point of no return a
failure, a pause that is too long or a person turns the run back: what was begun is put back, the last first.

Where a cluster is lost meanwhile, a person says so: then what only that would hear of is passed over.

Invariants
    M5  a step is begun once all before it are finished; what is put back was begun.
    M6  a run that has passed the point of no return ends with all of its steps done; it is turned back only where the
        cluster is lost that it led to, and nobody has been let go there.
    M7  a run that was turned back ends with each step that was begun put back.
    M8  a run that has ended stays as it ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from anabranch.errors import RefusedError
from anabranch.migration.ends import End
from anabranch.migration.steps import MigrationStep, Part, StepKind

_PROVES = (StepKind.QUIET, StepKind.GROUPS_EMPTY, StepKind.JOURNAL)
_LETS_GO = {
    StepKind.PUBLISH_CHECKPOINTS,
    StepKind.LIFT_FENCE,
    StepKind.LIFT_GROUPS,
    StepKind.ROUTES,
    StepKind.RELEASE,
    StepKind.RUN_REVERSE,
}
_HOLDS = {StepKind.FENCE, StepKind.HOLD, StepKind.FENCE_GROUPS}
SEES_ITSELF = {StepKind.FENCE, StepKind.HOLD, StepKind.JOURNAL}
"""What is never broken off: it knows itself for how long it may, or is the point of no return."""
_MAY_WAIT = {StepKind.PAUSE_LINK, StepKind.STAGE_CHECKPOINTS, StepKind.LOST_CHECKPOINTS}
"""What nobody is held up by while it is not put back."""


class WaveRunState(StrEnum):
    """Which way a run goes, or how it ended."""

    GOING = "going on"
    TURNED = "being taken back"
    DONE = "done"
    CANCELLED = "taken back"

    @property
    def is_open(self) -> bool:
        """Whether there is something left to do."""
        return self in (WaveRunState.GOING, WaveRunState.TURNED)


@dataclass(frozen=True, slots=True)
class WaveRun:
    """The journal of a list of steps; times in ms.

    ``what`` says which list it is, such as ``start`` or ``switch``, for which ``part`` of the wave, and on which of its
    legs (``leg``).  ``at`` is the step that is next, or, while it is taken back, the one that is put back next;
    ``is_begun`` says whether that was begun.  ``results`` are what steps wrote down for those after them, by kind and
    subject.  ``longest_ms`` is for how long it may hold applications up before the point of no return, None for as long
    as it takes.  ``why`` is why it was turned back.  ``times`` are when the steps that are finished were, and
    ``over_ms`` when it ended, None before.  ``owed`` are steps that are put back after all others, for they could not
    be at once.  ``lost`` is who said, and why, that a cluster is gone, empty where nobody did; ``lost_end`` is which.
    """

    id: str
    migration: str
    wave: str
    what: str
    steps: tuple[MigrationStep, ...]
    began_ms: int
    longest_ms: int | None = None
    state: WaveRunState = WaveRunState.GOING
    at: int = 0
    is_begun: bool = False
    results: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    why: str = ""
    part: Part = Part.ALL
    leg: int = 0
    times: tuple[int, ...] = ()
    over_ms: int | None = None
    owed: tuple[int, ...] = ()
    lost: str = ""
    lost_end: End = End.SOURCE

    @property
    def step(self) -> MigrationStep | None:
        """The step that is next, or is put back next; None where there is none."""
        return self.steps[self.at] if self.state.is_open and 0 <= self.at < len(self.steps) else None

    @property
    def held_since_ms(self) -> int | None:
        """Since when applications are held up: None where nobody is, or not yet.

        From when the first fence was begun, or consumers were asked to pause; where nobody is kept from writing, from
        when it was proved that nobody writes, reading was denied, or it was proved that nobody reads.
        """
        kinds = [step.kind for step in self.steps]
        if StepKind.PREFLIGHT not in kinds:
            return None
        keeps = [at for at, kind in enumerate(kinds) if kind in (StepKind.FENCE, StepKind.HOLD)]
        if keeps:
            before = keeps[0] - 1
        else:
            proves = [kinds.index(kind) for kind in _PROVES if kind in kinds]
            denies = [kinds.index(kind) - 1 for kind in (StepKind.FENCE_GROUPS,) if kind in kinds]
            before = min((*proves, *denies), default=len(kinds))
        return self.times[before] if before < len(self.times) else None

    @property
    def has_passed(self) -> bool:
        """Whether the point of no return is behind it; a list without one has none."""
        return any(step.kind is StepKind.JOURNAL for step in self.steps[: self.at])

    @property
    def leads_back(self) -> bool:
        """Whether it is on a leg that leads from the target to the source."""
        return self.leg % 2 == 1

    @property
    def leads_to_lost(self) -> bool:
        """Whether a person has said that the cluster is gone where its leg ends."""
        return bool(self.lost) and self.leads_back is (self.lost_end is End.SOURCE)

    @property
    def goes_without(self) -> bool:
        """Whether it asks nothing of the cluster that is left."""
        return any(step.kind is StepKind.PROVE_LOST for step in self.steps)

    @property
    def begun_steps(self) -> tuple[MigrationStep, ...]:
        """The steps that were begun, also of a run that was taken back."""
        return self.steps if self.state is WaveRunState.DONE else self.steps[: len(self.times) + 1]

    @property
    def has_let_go(self) -> bool:
        """Whether somebody may go on at the end of its leg already, with what was published there."""
        return any(step.kind in _LETS_GO for step in self.steps[: self.at + self.is_begun])

    @property
    def can_turn(self) -> bool:
        """Whether it can be turned back (M6); a reconcile leaves nobody anywhere else until its way may copy."""
        if not self.has_passed:
            return True
        kinds = {step.kind for step in self.steps}
        leaves_nobody = StepKind.PROVE_FOUND in kinds or (self.leads_to_lost and StepKind.PREFLIGHT in kinds)
        return bool(self.lost) and leaves_nobody and not self.has_let_go

    def can_be_left(self, end: End) -> bool:
        """Whether it can end without a cluster; behind the point of no return it is led to by one without the other."""
        is_led_to = self.leads_back is (end is End.SOURCE)
        return not (self.has_passed and is_led_to and self.goes_without)

    @property
    def may_wait(self) -> bool:
        """Whether what is put back next may wait until nobody is held up any more."""
        is_due = (
            self.state is WaveRunState.TURNED and self.at not in self.owed and self.steps[self.at].kind in _MAY_WAIT
        )
        return is_due and any(step.kind in _HOLDS for step in self.steps[: self.at])

    def result(self, kind: StepKind, subject: str) -> Mapping[str, Any]:
        """What a step wrote down; empty where it wrote nothing."""
        return self.results.get(key_of(kind, subject), {})


class NextMove(StrEnum):
    """What is to be done next."""

    DO = "do"
    PUT_BACK = "put back"
    TURN = "turn back"
    NOTHING = "nothing"


@dataclass(eq=False)
class PassedError(RefusedError):
    """A run was to be given up that has passed the point of no return."""

    migration: str
    wave: str

    _message = "wave {wave} of migration {migration} has passed the point of no return: it can only go on"
    _hint = (
        "run the same command again; then go back by: `anabranch migrate reverse {migration} --wave {wave}`; where a "
        "cluster is lost: `anabranch migrate cancel {migration} --wave {wave} --reason WHY --source-lost` or "
        "`--target-lost`"
    )


def key_of(kind: StepKind, subject: str) -> str:
    """The name of a step's result."""
    return f"{kind.value}: {subject}"


def decide(run: WaveRun, now_ms: int, cancelled: str = "") -> tuple[NextMove, str]:
    """What is next, and why; ``cancelled`` is why a person wants it given up."""
    if not run.state.is_open:
        return NextMove.NOTHING, "it has ended"
    if run.state is WaveRunState.TURNED:
        return NextMove.PUT_BACK, run.why
    if run.lost and run.can_turn:
        return NextMove.TURN, run.lost
    if cancelled and not run.has_passed:
        return NextMove.TURN, cancelled
    left = _left_ms(run, now_ms)
    if left is not None and left <= 0:
        held = f"it would hold applications up for longer than {(run.longest_ms or 0) / 1000:g} s"
        return NextMove.TURN, f"{held}: {run.steps[run.at].text}"
    return NextMove.DO, run.steps[run.at].text


def may_take_ms(run: WaveRun, now_ms: int) -> int | None:
    """How long the next step may take before it is broken off, and the run is turned back; None for as long as it does.

    A step that is broken off is one that was begun by somebody who is gone: it is put back.
    """
    return None if run.step is None or run.step.kind in SEES_ITSELF else _left_ms(run, now_ms)


def _left_ms(run: WaveRun, now_ms: int) -> int | None:
    """For how long it may still hold applications up; None where that has no end, or nobody is held up yet."""
    since = run.held_since_ms
    if run.has_passed or run.longest_ms is None or since is None:
        return None
    return since + run.longest_ms - now_ms


def begun(run: WaveRun) -> WaveRun:
    """The journal before its step is done; again where somebody else had begun it."""
    assert run.step is not None
    return replace(run, is_begun=True)


def finished(run: WaveRun, now_ms: int, result: Mapping[str, Any] | None = None) -> WaveRun:
    """The journal once its step is done, with what it wrote down (M5)."""
    step = run.step
    assert step is not None and run.state is WaveRunState.GOING and run.is_begun
    results = run.results if not result else {**run.results, key_of(step.kind, step.subject): dict(result)}
    at = run.at + 1
    made = replace(run, at=at, is_begun=False, results=results, times=(*run.times, now_ms))
    return replace(made, state=WaveRunState.DONE, over_ms=now_ms) if at == len(run.steps) else made


def turned(run: WaveRun, now_ms: int, why: str) -> WaveRun:
    """The journal once it is turned back; raises PassedError (M6)."""
    if run.state is not WaveRunState.GOING:
        return run
    if not run.can_turn:
        raise PassedError(run.migration, run.wave)
    return _back(replace(run, state=WaveRunState.TURNED, why=why), now_ms, run.at if run.is_begun else run.at - 1)


def put_back(run: WaveRun, now_ms: int) -> WaveRun:
    """The journal once its step is put back (M7)."""
    assert run.state is WaveRunState.TURNED and run.step is not None
    if run.at not in run.owed:
        return _back(run, now_ms, run.at - 1)
    return _back(replace(run, owed=tuple(at for at in run.owed if at != run.at)), now_ms, -1)


def postponed(run: WaveRun) -> WaveRun:
    """The journal once its step, which cannot be put back now, has to wait for those before it."""
    assert run.may_wait
    return replace(run, owed=(*run.owed, run.at), at=run.at - 1, is_begun=True)


def lost_meanwhile(run: WaveRun, why: str, end: End = End.SOURCE) -> WaveRun:
    """The journal once a person has said that a cluster is lost, without which it can end; the first word is kept."""
    is_heard = run.state.is_open and not run.lost and run.can_be_left(end)
    return replace(run, lost=why, lost_end=end) if is_heard else run


def _back(run: WaveRun, now_ms: int, at: int) -> WaveRun:
    if at < 0 and not run.owed:
        return replace(run, at=0, is_begun=False, state=WaveRunState.CANCELLED, over_ms=now_ms)
    return replace(run, at=at if at >= 0 else run.owed[-1], is_begun=True)
