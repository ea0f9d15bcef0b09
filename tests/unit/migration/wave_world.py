"""Two clusters on paper, on which the steps of a wave are done: logs, links, rules and routes are values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.migration.ends import End
from anabranch.migration.fences import READING, WRITING, RuleFence, asked_of
from anabranch.migration.inherited import ABSENT, ANSWERS, BEFORE, LANES, MADE
from anabranch.migration.left_out import LEFT_OUT, is_left_out, put_back_of
from anabranch.migration.legs import Leg
from anabranch.migration.options import TailChoice
from anabranch.migration.run import WaveRun, key_of
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.steps import MigrationStep, Part, StepKind, translated_by

OURS, THEIRS = "ours", "theirs"
_ASKS_BOTH = {StepKind.LOOK, StepKind.CREATE_LINK, StepKind.PREFLIGHT, StepKind.CATCH_UP, StepKind.PREPARE_REVERSE}
_ASKS_BOTH |= {
    StepKind.STAGE_GROUPS,
    StepKind.VERIFY_END,
    StepKind.PROVE_FOUND,
    StepKind.FIND_TAIL,
    StepKind.RUN_REVERSE,
}
_ASKS_HERE = {StepKind.QUIET, StepKind.PIN, StepKind.GROUPS_EMPTY}
_ASKS_HERE |= {StepKind.FENCE_GROUPS}
_ASKS_THERE = {StepKind.DRAIN, StepKind.PAUSE_LINK, StepKind.RESUME_LINK, StepKind.PUBLISH_GROUPS, StepKind.LOST_TAIL}
_ASKS_THERE |= {StepKind.LOST_GROUPS, StepKind.LIFT_FENCE, StepKind.LIFT_GROUPS, StepKind.PURGE}
_MAKES, _LIFTS = {one.key: one for one in (WRITING, READING)}, {one.lift: one for one in (WRITING, READING)}
Result = Mapping[str, Any] | None


class AwayError(Exception):
    """A cluster is asked that does not answer."""


class AgainstError(Exception):
    """A step finds what forbids it."""


@dataclass
class PaperLink:
    """Copies the log of ``source`` from ``copied`` on; its copies end at ``there``, and it began at ``begins``."""

    source: End
    target: End
    copied: int = 0
    there: int = 0
    begins: int = 0
    is_paused: bool = False
    runs: bool = False


@dataclass
class WaveWorld:
    """What is on both clusters of a wave: records are numbers, and each is written once."""

    wave: Wave
    theirs: frozenset[End]
    logs: dict[End, list[int]] = field(default_factory=lambda: {end: [] for end in End})
    links: dict[int, PaperLink] = field(default_factory=dict)
    away: set[End] = field(default_factory=set)
    consumers: End = End.SOURCE
    producers: End = End.SOURCE
    is_held: bool = False
    written: int = 0
    rules: dict[End, set[str]] = field(init=False)
    group_rules: dict[End, set[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.rules, self.group_rules = (
            {end: {THEIRS} if end in self.theirs else set() for end in End} for _ in (WRITING, READING)
        )

    def of(self, fence: RuleFence) -> dict[End, set[str]]:
        """The rules of a fence's kind."""
        return self.rules if fence is WRITING else self.group_rules

    def leg(self, number: int) -> Leg:
        """One of its ways."""
        return Leg(Migration("move", "old", "new", (self.wave,)), self.wave, number)

    def goes_on(self) -> None:
        """Applications write where they can, and links that run copy."""
        if not self.is_held and self.producers not in self.away and OURS not in self.rules[self.producers]:
            self.written += 1
            self.logs[self.producers].append(self.written)
        self._copy()

    def _copy(self) -> None:
        for link in self.links.values():
            if link.runs and not link.is_paused and not self.away and link.copied < len(self.logs[link.source]):
                self.logs[link.target] += self.logs[link.source][link.copied :]
                link.copied, link.there = len(self.logs[link.source]), len(self.logs[link.target])

    def do(self, run: WaveRun, step: MigrationStep) -> Result:
        """Do a step; raises AwayError, AgainstError."""
        leg = self.leg(run.leg)
        if run.lost and is_left_out(leg, step, run.lost_end):
            return LEFT_OUT
        if step.kind is StepKind.PUT_BACK:
            self._undo(run, put_back_of(step))
            return None
        self._ask(leg, step, {StepKind.VERIFY_END} & {step.kind for step in run.steps})
        return self._does(run, leg, step)

    def put_back(self, run: WaveRun, step: MigrationStep) -> None:
        """Undo a step; raises AwayError."""
        if not (run.lost and is_left_out(self.leg(run.leg), step, run.lost_end)):
            self._undo(run, step)

    def _ask(self, leg: Leg, step: MigrationStep, looks: set[StepKind]) -> None:
        here, there = leg.begins_at, leg.ends_at
        asked = {here, there} if step.kind in _ASKS_BOTH else {here} if step.kind in _ASKS_HERE else set[End]()
        asked |= {there} if step.kind in _ASKS_THERE else set()
        if (step.kind, step.subject) == (StepKind.FENCE, "acl") or (step.kind is StepKind.JOURNAL and looks):
            asked.add(here)
        if step.kind in (StepKind.RUN_LINK, StepKind.STOP_LINK, StepKind.DELETE_LINK):
            asked.add(self._of(step).ends_at)
        if asked & self.away:
            raise AwayError

    def _of(self, step: MigrationStep) -> Leg:
        return next(leg for leg in map(self.leg, range(99)) if leg.link == step.subject)

    def _does(self, run: WaveRun, leg: Leg, step: MigrationStep) -> Result:
        here, there, wave = leg.begins_at, leg.ends_at, self.wave.name
        link, fence = self.links.get(leg.number), _MAKES.get(key_of(step.kind, step.subject))
        match step.kind:
            case StepKind.LOOK:
                self._against(bool(self.logs[there]), "holds records")
                return {ABSENT: list(self.wave.topics)}
            case StepKind.CREATE_LINK:
                self.links.setdefault(leg.number, PaperLink(here, there))
            case StepKind.RUN_LINK | StepKind.RUN_REVERSE:
                self._run(self.links[self._of(step).number])
            case StepKind.STOP_LINK if self._of(step).number in self.links:
                self.links[self._of(step).number].runs = False
            case StepKind.DELETE_LINK:
                self.links.pop(self._of(step).number, None)
            case StepKind.PREFLIGHT | StepKind.CATCH_UP | StepKind.DRAIN:
                self._copy()
                by = translated_by(leg, run.part) if step.kind is StepKind.PREFLIGHT else leg
                copies = self.links[by.number]
                if copies.copied < len(self.logs[copies.source]):
                    assert self.away, f"{by.link} is waited for: {copies}"
                    raise AwayError
                return self._denied(run, here) if step.kind is StepKind.PREFLIGHT else None
            case StepKind.FENCE | StepKind.FENCE_GROUPS if fence is not None:
                self.of(fence)[here].add(OURS)
                return {MADE: sorted({OURS} - self._before(run, fence))}
            case StepKind.FENCE:
                self.is_held = True
            case StepKind.QUIET:
                ends = len(self.logs[here])
                self._copy()
                assert len(self.logs[here]) == ends, "a link writes to where it is waited that nobody does"
            case StepKind.PIN:
                return {"end": len(self.logs[here])}
            case StepKind.PAUSE_LINK | StepKind.RESUME_LINK:
                self.links[leg.number].is_paused = step.kind is StepKind.PAUSE_LINK
            case StepKind.PREPARE_REVERSE:
                assert link is not None
                back = self.links.get(leg.number + 1)
                if back is None or back.begins != link.there:
                    self.links[leg.number + 1] = PaperLink(there, here, link.there, link.copied, link.there)
            case StepKind.PROVE_LOST | StepKind.JOURNAL if run.goes_without:
                answers = run.result(StepKind.PROVE_LOST, wave).get(ANSWERS)
                self._against(not answers and here not in self.away, "it answers")
            case StepKind.VERIFY_END | StepKind.JOURNAL if pinned := run.result(StepKind.PIN, wave):
                self._against(len(self.logs[here]) > pinned["end"], "written meanwhile")
            case StepKind.LIFT_FENCE | StepKind.LIFT_GROUPS:
                self._lift(_LIFTS[step.kind], there, set(run.result(step.kind, wave)[MADE]))
            case StepKind.ROUTES:
                self.is_held = False
                if run.leads_to_lost:
                    return LEFT_OUT
                self.consumers = there if run.part is not Part.PRODUCERS else self.consumers
                self.producers = there if run.part is not Part.CONSUMERS else self.producers
            case StepKind.LOST_TAIL:
                return {LANES: [len(self.logs[there])]}
            case StepKind.PROVE_FOUND:
                assert link is not None, f"{leg.link} is stored nowhere"
                return self._denied(run, here)
            case StepKind.FIND_TAIL:
                assert link is not None
                has_tail = run.result(StepKind.PIN, wave)["end"] > link.copied
                unsaid = (step.subject == TailChoice.REFUSE) is has_tail and step.subject != TailChoice.KEEP
                self._against(unsaid, "a tail, and nobody said what becomes of it, or none")
            case StepKind.PURGE:
                self.logs[there] = []
            case _:
                pass
        return None

    def _undo(self, run: WaveRun, step: MigrationStep) -> None:
        leg = self.leg(run.leg)
        here, there = leg.begins_at, leg.ends_at
        at = {StepKind.PREPARE_REVERSE: here, StepKind.CREATE_LINK: there, StepKind.PAUSE_LINK: there}
        fence = _MAKES.get(key_of(step.kind, step.subject))
        at |= {StepKind.RUN_LINK: there} | ({} if fence is None else {fence.fence: here})
        if at.get(step.kind) in self.away:
            raise AwayError
        match step.kind:
            case StepKind.CREATE_LINK:
                self.links.pop(leg.number, None)
                self.logs[there] = []
            case StepKind.RUN_LINK if leg.number in self.links:
                self.links[leg.number].runs = False
            case StepKind.FENCE | StepKind.FENCE_GROUPS if fence is not None:
                told = run.result(step.kind, step.subject)
                if fence.is_in(run.steps) or BEFORE in told:
                    self._lift(fence, here, set(told.get(MADE, (OURS, THEIRS))) - self._before(run, fence))
            case StepKind.FENCE | StepKind.HOLD:
                self.is_held = False
            case StepKind.PAUSE_LINK:
                self.links[leg.number].is_paused = False
            case StepKind.PREPARE_REVERSE:
                self.links.pop(leg.number + 1, None)
            case _:
                pass

    def _run(self, link: PaperLink) -> None:
        link.begins = link.begins if link.runs else link.copied
        link.runs = True

    def _lift(self, fence: RuleFence, end: End, made: set[str]) -> None:
        assert THEIRS not in made & self.of(fence)[end], f"somebody else's rule is lifted on {end.value}"
        self.of(fence)[end] -= made

    def _denied(self, run: WaveRun, end: End) -> Result:
        before = {fence: run.results.get(fence.key, {}).get(BEFORE, (OURS, THEIRS)) for fence in asked_of(self.wave)}
        return {fence.denied: sorted(self.of(fence)[end] & set(told)) for fence, told in before.items()}

    def _before(self, run: WaveRun, fence: RuleFence) -> set[str]:
        looks = (run.result(kind, self.wave.name) for kind in (StepKind.PREFLIGHT, StepKind.PROVE_FOUND))
        denied = {rule for look in looks for rule in look.get(fence.denied, ())}
        return denied | set(run.results.get(fence.key, {}).get(BEFORE, ()))

    @staticmethod
    def _against(is_so: bool, why: str) -> None:
        if is_so:
            raise AgainstError(why)
