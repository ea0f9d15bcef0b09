"""All that is to be so before a switch holds anybody up: every reason at once, in its plan and again as it begins."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.model.reasons import Reason, errors
from anabranch.operations.migrations import rights
from anabranch.operations.migrations.desk import Scene


@dataclass(eq=False)
class WaveNotReadyError(RefusedError):
    """A switch would hold applications up, and could not be carried to its end; ``reasons`` are all that forbids it."""

    wave: str
    reasons: tuple[Reason, ...]

    @property
    def message(self) -> str:
        return f"wave {self.wave}: {'; '.join(reason.what for reason in self.reasons)}"

    @property
    def hint(self) -> str:
        return "; ".join(dict.fromkeys(reason.fix for reason in self.reasons if reason.fix))


async def reasons(scene: Scene) -> tuple[Reason, ...]:
    """What is against a switch, or worth a look before it; raises ClusterError."""
    leg, part = scene.leg, scene.run.part
    lacking = await rights.lacking(leg, part, scene.here, scene.there)
    return (*lacking, *await scene.desk.against(leg, part))


async def check(scene: Scene) -> None:
    """Raise WaveNotReadyError where something forbids it."""
    if found := errors(await reasons(scene)):
        raise WaveNotReadyError(scene.wave.name, found)
