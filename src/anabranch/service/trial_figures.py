"""How many trials wait, run and are over on this instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.streams.trials import TrialKind, TrialState


@dataclass(frozen=True, slots=True)
class TrialFigures:
    """By kind; ``over`` has by kind and end how many there were since this instance began, and their seconds."""

    waiting: Mapping[TrialKind, int]
    running: Mapping[TrialKind, int]
    over: Mapping[tuple[TrialKind, TrialState], tuple[int, float]]
