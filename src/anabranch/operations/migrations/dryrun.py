"""A dry run of a list of steps: the same interface as the steps have, which looks and changes nothing.

The engine that carries steps out goes through them, so that a dry run and a run agree step for step.  What only looks
is done as in a run; what would change something says what it would, as far as that can be seen now.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.errors import AnabranchError
from anabranch.migration.fences import READING
from anabranch.migration.lost import DOUBTS, lanes_of
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import FenceKind
from anabranch.migration.steps import MigrationStep, StepKind, holds_clients
from anabranch.model.acls import Acl
from anabranch.model.counted import counted
from anabranch.model.plans import REQUEST
from anabranch.model.reasons import Reason
from anabranch.operations.migrations import fencing, linking, own_configs, purging, ready
from anabranch.operations.migrations.desk import Scene
from anabranch.operations.migrations.engine import KeptRun, NotYetError, carry_out
from anabranch.operations.migrations.found import tail_told
from anabranch.operations.migrations.lost_groups import UnknownGroupError
from anabranch.operations.migrations.ready import WaveNotReadyError
from anabranch.operations.migrations.steps import ClusterSteps

_LOOKS = {
    StepKind.LOOK,
    StepKind.PREFLIGHT,
    StepKind.QUIET,
    StepKind.PIN,
    StepKind.GROUPS_EMPTY,
    StepKind.STAGE_GROUPS,
    StepKind.PROVE_LOST,
    StepKind.LOST_TAIL,
    StepKind.LOST_GROUPS,
    StepKind.PROVE_FOUND,
    StepKind.FIND_TAIL,
}
"""Steps that change nothing, and do not rest on what an earlier one has changed."""


@dataclass(frozen=True, slots=True)
class SeenStep:
    """A step as it would go now: ``waits`` for something, ``forbidden``, or neither; ``what`` says what was seen.

    ``doubts`` are what would be lost, or not known, in sentences; ``fix`` is what to do about what forbids it.
    ``against`` are all reasons of a step that looks for many.
    """

    kind: StepKind
    subject: str
    text: str
    what: str = ""
    waits: bool = False
    forbidden: bool = False
    doubts: tuple[str, ...] = ()
    fix: str = ""
    against: tuple[Reason, ...] = field(default=(), metadata=REQUEST)


@dataclass(eq=False)
class DrySteps:
    """Looks at what each step would meet; ``seen`` are the steps that were gone through, in order."""

    real: ClusterSteps
    seen: list[SeenStep] = field(default_factory=list)

    async def do(self, run: WaveRun, step: MigrationStep) -> Mapping[str, Any] | None:
        """Look; what forbids a step, or is waited for, is noted, and the next one is looked at all the same."""
        found = SeenStep(step.kind, step.subject, step.text)
        result = None
        try:
            if step.kind in _LOOKS:
                result = await self.real.do(run, step)
                told = result or {}
                found = replace(found, what=_told(step.kind, told), doubts=tuple(told.get(DOUBTS, ())))
            elif step.kind in _TOLD:
                found = replace(found, what=await _TOLD[step.kind](self.real.scene(run, step)))
        except NotYetError as error:
            found = replace(found, what=error.message, waits=True)
        except WaveNotReadyError as error:
            found = replace(found, what=error.message, forbidden=True, fix=error.hint)
        except UnknownGroupError as error:
            found = await _unless_handed_over(found, self.real.scene(run, step), error)
        except AnabranchError as error:
            found = replace(found, what=error.message, forbidden=True, fix=error.hint)
        if step.kind is StepKind.PREFLIGHT:
            found = await _all_against(found, self.real.scene(run, step))
        self.seen.append(found)
        return result

    async def put_back(self, run: WaveRun, step: MigrationStep) -> None:
        """Nothing was done."""


async def _all_against(found: SeenStep, scene: Scene) -> SeenStep:
    """Every reason against a switch, also where it would wait for something before it asked for them."""
    try:
        return replace(found, against=await ready.reasons(scene))
    except AnabranchError as error:
        return replace(found, what=error.message, forbidden=True, fix=error.hint)


async def _unless_handed_over(found: SeenStep, scene: Scene, error: UnknownGroupError) -> SeenStep:
    """What members of the SDK have read is known once they have paused: until then it is no reason against it."""
    led = await scene.desk.groups_led(scene.leg) if holds_clients(scene.run.steps) else frozenset[str]()
    if unknown := tuple(name for name in error.groups if name not in led):
        return replace(found, what=replace(error, groups=unknown).message, forbidden=True, fix=error.hint)
    what = f"{error.message}; it is taken back unless members of the SDK hand it over as they pause"
    return replace(found, what=what, doubts=(what,))


def _told(kind: StepKind, result: Mapping[str, Any]) -> str:
    """What a step has found, in words."""
    match kind:
        case StepKind.LOOK:
            return f"{counted(len(result['absent']), 'topic')} would be made"
        case StepKind.QUIET:
            return "nobody writes now"
        case StepKind.PIN:
            return f"{counted(sum(result['ends'].values()), 'offset')} in {counted(len(result['ends']), 'partition')}"
        case StepKind.GROUPS_EMPTY:
            return "nobody reads now"
        case StepKind.STAGE_GROUPS:
            places = sum(len(each) for each in result["groups"].values())
            return f"{counted(places, 'position')} of {counted(len(result['groups']), 'group')} are translated exactly"
        case StepKind.PROVE_LOST:
            return "nobody answers"
        case StepKind.LOST_TAIL:
            lanes = lanes_of(result["lanes"])
            seen = counted(sum(lane.tail for lane in lanes), "offset")
            return f"{seen} of {counted(len(lanes), 'partition')} were seen, and not copied"
        case StepKind.LOST_GROUPS:
            return f"{counted(len(result['groups']), 'group')} would be given positions"
        case StepKind.PROVE_FOUND:
            return "it answers"
        case StepKind.FIND_TAIL:
            return tail_told(result["lanes"])
    return ""


async def _fence(scene: Scene) -> str:
    if FenceKind(scene.subject) is not FenceKind.ACL:
        return ""
    return _rules_told(await fencing.planned(scene), "writing")


async def _fence_groups(scene: Scene) -> str:
    return _rules_told(await fencing.planned(scene, READING), "reading")


def _rules_told(rules: Sequence[Acl], what: str) -> str:
    whom = sorted({rule.principal for rule in rules})
    return f"{counted(len(rules), 'rule')} would deny {what} to {', '.join(whom)}"


async def _forget_link(scene: Scene) -> str:
    return own_configs.told(await own_configs.changes(scene)) if linking.ends_changes(scene) else ""


_TOLD: Mapping[StepKind, Callable[[Scene], Awaitable[str]]] = {
    StepKind.DELETE_LINK: _forget_link,
    StepKind.FENCE: _fence,
    StepKind.FENCE_GROUPS: _fence_groups,
    StepKind.PURGE: purging.purged_told,
}
"""What steps would do that change something, as far as that is told."""


@dataclass(eq=False)
class _Memory:
    """The journal of a dry run, which nobody keeps."""

    kept: KeptRun

    async def read(self, _: str) -> KeptRun:
        """As it is now."""
        return self.kept

    async def write(self, before: KeptRun, run: WaveRun) -> KeptRun:
        """Over what was read."""
        self.kept = KeptRun(run, before.revision + 1, "")
        return self.kept


async def dry_run(run: WaveRun, real: ClusterSteps) -> tuple[SeenStep, ...]:
    """Go through a run's steps without doing them; what each would meet now.  Raises ClusterError."""
    steps = DrySteps(real)

    async def nobody(*_: object) -> None:
        """Nobody listens, and nothing is waited for."""

    await carry_out(_Memory(KeptRun(replace(run, longest_ms=None), 0, "")), run.id, steps, lambda: 0, nobody, nobody)
    return tuple(steps.seen)
