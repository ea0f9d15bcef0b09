"""What each step of a migration does on its clusters, and how it is put back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.migration.fences import READING
from anabranch.migration.inherited import ABSENT, CONFIGS
from anabranch.migration.left_out import LEFT_OUT, is_left_out, put_back_of
from anabranch.migration.legs import Leg
from anabranch.migration.pause import LAST
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import FenceKind, Migration
from anabranch.migration.steps import MigrationStep, Part, StepKind, holds_clients
from anabranch.operations.migrations import (
    access,
    checkpoints,
    ending,
    fencing,
    found,
    linking,
    looking,
    lost,
    lost_groups,
    own_configs,
    positions,
    purging,
    ready,
)
from anabranch.operations.migrations.desk import MigrationDesk, Result, Scene

Does = Callable[[Scene], Awaitable[Result]]
Undoes = Callable[[Scene], Awaitable[None]]


@dataclass(eq=False)
class UnknownStepError(RefusedError):
    """A step that cannot be carried out by this version."""

    kind: str

    _message = "step {kind!r} is planned, and this version cannot carry it out yet"
    _hint = "do it by hand: docs/how-to/cutover.md"


@dataclass(frozen=True, slots=True)
class ClusterSteps:
    """The steps of one migration, done on its clusters."""

    migration: Migration
    source: Cluster
    target: Cluster
    desk: MigrationDesk

    async def do(self, run: WaveRun, step: MigrationStep) -> Mapping[str, Any] | None:
        """Do a step, unless only a cluster that was lost would hear of it; raises NotYetError, AnabranchError."""
        scene = self.scene(run, step)
        if run.lost and is_left_out(scene.leg, step, run.lost_end):
            return LEFT_OUT
        if step.kind is StepKind.PUT_BACK:
            # By what the run wrote down that did it: this one began with that.
            earlier = put_back_of(step)
            await _UNDO[earlier.kind](self.scene(run, earlier))
            return None
        does = _DO.get(step.kind)
        if does is None:
            raise UnknownStepError(step.kind.value)
        return await does(scene)

    async def put_back(self, run: WaveRun, step: MigrationStep) -> None:
        """Undo a step; most leave nothing behind, and what a cluster that was lost would hear of is left."""
        scene = self.scene(run, step)
        undo = None if run.lost and is_left_out(scene.leg, step, run.lost_end) else _UNDO.get(step.kind)
        if undo is not None:
            await undo(scene)

    def scene(self, run: WaveRun, step: MigrationStep) -> Scene:
        """What a step is done with."""
        wave = self.migration.wave(run.wave)
        assert wave is not None, f"{run.wave} is no wave of {self.migration.name}"
        leg = Leg(self.migration, wave, run.leg)
        here, there = (self.target, self.source) if leg.leads_back else (self.source, self.target)
        return Scene(leg, here, there, self.desk, run, step.subject)


async def _look(scene: Scene) -> Result:
    """Which topics the wave's link makes, and how the others are configured before it comes."""
    noted = await looking.look(scene)
    configs = await own_configs.seen(scene.there, set(scene.leg.topics.values()) - set(noted[ABSENT]))
    return {**noted, CONFIGS: configs} if configs else noted


async def _bind(scene: Scene) -> Result:
    """The point of no return is one in the journal; those that are held must be so from here on.

    What a run rests on is looked at once more: that the cluster is still gone, that nobody has written to one that is
    back, or that nobody has written or read on since the last look, while the way back was made.
    """
    kinds = {step.kind for step in scene.run.steps}
    if scene.run.goes_without:
        await lost.prove_lost(scene)
    if StepKind.PIN in kinds:
        await ending.refuse_written(scene)
    if StepKind.VERIFY_END in kinds:
        await positions.refuse_read(scene)
    if holds_clients(scene.run.steps):
        await scene.desk.bind(scene.leg, scene.run)
    return None


async def _hold(scene: Scene) -> Result:
    await scene.desk.hold(scene.leg, scene.run)
    return None


async def _let_go(scene: Scene) -> None:
    await scene.desk.let_go(scene.leg, scene.run)


async def _preflight(scene: Scene) -> Result:
    """What is to be so before anybody hears of it; what is noted is for who puts the fence back."""
    await linking.catch_up_wave(scene)
    if scene.run.part is not Part.PRODUCERS:
        await checkpoints.look_at_jobs(scene)
    await ready.check(scene)
    return await fencing.already_denied(scene)


async def _access(scene: Scene) -> Result:
    done = await access.carry_over(scene.here, scene.there, scene.leg)
    return {"created": len(done.created), "deleted": len(done.deleted), "quotas": len(done.quotas)}


async def _take_access_back(scene: Scene) -> None:
    """A start that is taken back leaves nothing behind; a switch leaves what the start had made."""
    if any(step.kind is StepKind.CREATE_LINK for step in scene.run.steps):
        await access.take_back(scene.there, scene.leg)


async def _fence(scene: Scene) -> Result:
    match FenceKind(scene.subject):
        case FenceKind.HOOK:
            await scene.desk.hook(scene.wave.hooks.fence, scene.leg, scene.leg.here)
        case FenceKind.ACL:
            return await fencing.deny(scene)
        case FenceKind.ROUTES:
            await _hold(scene)
        case FenceKind.OBSERVE:
            pass
    return None


async def _lift(scene: Scene) -> None:
    match FenceKind(scene.subject):
        case FenceKind.HOOK if scene.wave.hooks.release:
            await scene.desk.hook(scene.wave.hooks.release, scene.leg, scene.leg.here)
        case FenceKind.ACL:
            await fencing.lift(scene)
        case FenceKind.ROUTES:
            await _let_go(scene)
        case _:
            pass


async def _last_look(scene: Scene) -> Result:
    """Consumers that are led apart from their producers have pinned nothing."""
    if any(step.kind is StepKind.PIN for step in scene.run.steps):
        await ending.verify_end(scene)
    await positions.refuse_read(scene)
    return None


async def _open_there(scene: Scene) -> Result:
    await fencing.open_there(scene)
    return None


async def _fence_groups(scene: Scene) -> Result:
    return await fencing.deny(scene, READING)


async def _lift_groups(scene: Scene) -> None:
    await fencing.lift(scene, READING)


async def _let_in_there(scene: Scene) -> Result:
    await fencing.open_there(scene, READING)
    return None


async def _lead(scene: Scene) -> Result:
    """Nobody is led to a cluster that was lost: those that are still held go on where they are."""
    if scene.run.leads_to_lost:
        await _let_go(scene)
        return LEFT_OUT
    await scene.desk.lead(scene.leg, scene.run.part, scene.run)
    return None


async def _stop_link(scene: Scene) -> Result:
    """The last of what a switch does: by then it can be told for how long each topic was not written to."""
    noted = await linking.stop_link(scene)
    if all(step.kind is not StepKind.PIN for step in scene.run.steps) or scene.run.lost or scene.run.goes_without:
        return noted
    return {LAST: await ending.last_written(scene)}


async def _release(scene: Scene) -> Result:
    await scene.desk.hook(scene.wave.hooks.release, scene.leg, scene.leg.there)
    return None


_DO: Mapping[StepKind, Does] = {
    StepKind.LOOK: _look,
    StepKind.CREATE_LINK: linking.create_link,
    StepKind.RUN_LINK: linking.run_link,
    StepKind.ACCESS: _access,
    StepKind.CATCH_UP: linking.caught_up,
    StepKind.VERIFY: linking.verify,
    StepKind.PREFLIGHT: _preflight,
    StepKind.FENCE: _fence,
    StepKind.HOLD: _hold,
    StepKind.QUIET: ending.quiet,
    StepKind.PIN: ending.pin,
    StepKind.DRAIN: ending.drain,
    StepKind.PAUSE_LINK: linking.pause_link,
    StepKind.FENCE_GROUPS: _fence_groups,
    StepKind.GROUPS_EMPTY: positions.groups_empty,
    StepKind.STAGE_GROUPS: positions.stage_groups,
    StepKind.STAGE_CHECKPOINTS: checkpoints.stage_checkpoint,
    StepKind.VERIFY_END: _last_look,
    StepKind.PREPARE_REVERSE: linking.prepare_reverse,
    StepKind.JOURNAL: _bind,
    StepKind.PUBLISH_GROUPS: positions.publish_groups,
    StepKind.PUBLISH_CHECKPOINTS: checkpoints.publish_checkpoint,
    StepKind.LIFT_FENCE: _open_there,
    StepKind.LIFT_GROUPS: _let_in_there,
    StepKind.ROUTES: _lead,
    StepKind.RELEASE: _release,
    StepKind.RUN_REVERSE: linking.run_reverse,
    StepKind.STOP_LINK: _stop_link,
    StepKind.PROVE_LOST: lost.prove_lost,
    StepKind.LOST_TAIL: lost.lost_tail,
    StepKind.LOST_GROUPS: lost_groups.stage_lost_groups,
    StepKind.LOST_CHECKPOINTS: checkpoints.stage_lost_checkpoint,
    StepKind.PROVE_FOUND: found.prove_found,
    StepKind.FIND_TAIL: found.find_tail,
    StepKind.RESUME_LINK: linking.let_copy,
    StepKind.DELETE_LINK: linking.forget_link,
    StepKind.PURGE: purging.purge,
}
_UNDO: Mapping[StepKind, Undoes] = {
    StepKind.CREATE_LINK: linking.delete_link,
    StepKind.RUN_LINK: linking.end_link,
    StepKind.ACCESS: _take_access_back,
    StepKind.FENCE: _lift,
    StepKind.FENCE_GROUPS: _lift_groups,
    StepKind.HOLD: _let_go,
    StepKind.PAUSE_LINK: linking.resume_link,
    StepKind.STAGE_CHECKPOINTS: checkpoints.put_back_checkpoint,
    StepKind.LOST_CHECKPOINTS: checkpoints.put_back_checkpoint,
    StepKind.PREPARE_REVERSE: linking.delete_reverse,
}
