"""A comparison that would be started, as it is shown: how much it reads, and what it throws away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.config.verifyspec import VerifyOptions
from anabranch.model.plans import REQUEST
from anabranch.operations.verify.start import VerifyPlan


@dataclass(frozen=True, slots=True)
class ForgottenLane:
    """What is kept of a lane, and would be no more: it was compared up to the source offset ``source_to``.

    ``differs`` counts the chunks in which records differed.
    """

    lane: str
    source_from: int
    source_to: int
    differs: int
    verified_at_ms: int


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """A comparison that would be started: of how many lanes, and how many source offsets.

    ``forgets`` is what earlier ones came to, where all is compared from the start again.
    """

    link: str
    lanes: int
    offsets: int
    doubts: Mapping[str, str]
    options: VerifyOptions
    hash: str
    planned: VerifyPlan = field(metadata=REQUEST)
    forgets: tuple[ForgottenLane, ...] = ()


def shown(planned: VerifyPlan) -> ComparisonPlan:
    """The plan without its maps."""
    offsets = sum(pin.source_to - pin.source_from for pin in planned.pins)
    names = {pin.lane: str(pin.source) for pin in planned.pins}
    forgets = tuple(
        ForgottenLane(names[one.lane], *one.source, len(one.differs), one.verified_at_ms) for one in planned.forgets
    )
    counts = len(planned.pins), offsets
    return ComparisonPlan(
        planned.link, *counts, planned.doubts, planned.options, planned.hash, planned, tuple(sorted(forgets, key=_lane))
    )


def _lane(forgotten: ForgottenLane) -> str:
    return forgotten.lane
