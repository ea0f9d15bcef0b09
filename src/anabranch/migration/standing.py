"""Where a wave stands, from the runs that were made for it; the store keeps nothing else of it.

Invariant
    M9  a wave is on the leg of which nothing, or one of two parts, has been switched: its applications are where that
        leg begins, but for the part that went ahead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.steps import Part, parts


class RunKindOfWave(StrEnum):
    """What a run is for."""

    START = "start"
    VERIFY = "verify"
    SWITCH = "switch"
    REVERSE = "reverse"
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
class Standing:
    """Where a wave stands: on which leg, which parts of it are switched, and what is under way (``open``)."""

    leg: Leg
    state: WaveState = WaveState.PLANNED
    switched: tuple[Part, ...] = ()
    open: WaveRun | None = None

    @property
    def wave(self) -> Wave:
        """The wave."""
        return self.leg.wave

    @property
    def part(self) -> Part:
        """Who is switched next."""
        return next(part for part in parts(self.wave) if part not in self.switched)


def standing(migration: Migration, wave: Wave, runs: Iterable[WaveRun]) -> Standing:
    """Where a wave stands (M9); ``runs`` are all of its, the oldest first."""
    state, number, switched = WaveState.PLANNED, 0, set[Part]()
    open_ = None
    for run in runs:
        if run.state.is_open:
            open_ = run
        if run.state is not WaveRunState.DONE:
            continue
        match RunKindOfWave(run.what):
            case RunKindOfWave.START:
                state = WaveState.COPYING
            case RunKindOfWave.SWITCH | RunKindOfWave.REVERSE:
                switched.add(run.part)
                if switched >= set(parts(wave)) or run.part is Part.ALL:
                    number, switched = run.leg + 1, set()
                state = WaveState.PARTLY if switched else _at(number)
            case RunKindOfWave.COMPLETE:
                state = WaveState.COMPLETED
            case RunKindOfWave.CANCEL:
                state, number, switched = WaveState.PLANNED, 0, set()
            case RunKindOfWave.VERIFY:
                pass
    done = tuple(part for part in parts(wave) if part in switched)
    return Standing(Leg(migration, wave, number), state, done, open_)


def _at(number: int) -> WaveState:
    return WaveState.SWITCHED if number % 2 else WaveState.COPYING
