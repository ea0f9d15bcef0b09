"""What the steps of a migration are handed: its clusters, and what is done elsewhere, by Spark or by the operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from anabranch.kafka.cluster import Cluster
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import Wave
from anabranch.migration.steps import Part
from anabranch.model.reasons import Reason

Result = Mapping[str, Any] | None
"""What a step writes down for later ones."""


class MigrationDesk(Protocol):
    """Whoever runs links and comparisons, leads applications, and runs the operator's commands.

    Each may be asked again for what it has done, and then does nothing.
    """

    async def run_link(self, target: str, link: str) -> None:
        """Have a link run that is stored on the cluster of a context, and wait until its run has begun."""

    async def stop_link(self, target: str, link: str) -> None:
        """Have no run of a link be there any more."""

    async def verify(self, target: str, link: str, since_ms: int) -> str:
        """Compare all that a link has copied, by a comparison that began since then; returns its id.

        Raises NotYetError while it is under way, and RefusedError where something differs.
        """

    async def against(self, leg: Leg, part: Part) -> tuple[Reason, ...]:
        """What forbids to lead a part of a wave, or is worth a look: hooks that are not there, codes that lead away."""

    async def lead(self, leg: Leg, part: Part, run: WaveRun) -> None:
        """Publish that the applications of a wave's codes are led to the end of a leg; raises NotYetError until so."""

    async def hold(self, leg: Leg, run: WaveRun) -> None:
        """Have those of the SDK's clients pause that the run leads; raises NotYetError until all have."""

    async def handed(self, leg: Leg, run: WaveRun) -> Mapping[str, Mapping[str, int]]:
        """Up to where those that paused have read: by group, and TOPIC-PARTITION on the cluster that is left."""

    async def groups_led(self, leg: Leg) -> frozenset[str]:
        """The groups of the SDK's clients of a wave's codes that are there now: those may hand over what they read."""

    async def bind(self, leg: Leg, run: WaveRun) -> None:
        """Have those that paused stay so until they are led: right before the point of no return is written down."""

    async def let_go(self, leg: Leg, run: WaveRun) -> None:
        """Have those that paused go on where they were."""

    async def hook(self, name: str, leg: Leg, at: str) -> None:
        """Run a hook of the operator's to its end, which hears where applications are to be once it has ended (``at``).

        Raises RefusedError where it does not end with 0.
        """


@dataclass(frozen=True, slots=True)
class Scene:
    """What a step is done with: a leg between its clusters, and the run; ``subject`` is the step's."""

    leg: Leg
    here: Cluster
    there: Cluster
    desk: MigrationDesk
    run: WaveRun
    subject: str

    @property
    def wave(self) -> Wave:
        """The leg's."""
        return self.leg.wave
