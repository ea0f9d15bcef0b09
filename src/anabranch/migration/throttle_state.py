"""What decisions about rates remember from one to the next, as JSON values too, as a store keeps it.

Invariant: ``state_of(state_fields(state)) == state``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ThrottleState:
    """What one decision leaves to the next; times in ms, None for never.

    ``rate`` is what all links may read together, None for as much as they are allowed; ``free_rate`` is to what it
    rises where nothing else limits it.  ``rates`` are those of the links, ``together`` what they were made from.
    ``raised`` are the keys of factors that are not good yet; ``lows`` the lowest latency of each broker in each part of
    the last hour, by the number of the part.  ``stopped_ms`` is when something was last found that has all links stand
    still.
    """

    rate: int | None = None
    free_rate: int | None = None
    rates: Mapping[str, int | None] = field(default_factory=dict, hash=False)
    together: int | None = None
    raised: tuple[str, ...] = ()
    decided_ms: int | None = None
    halved_ms: int | None = None
    raised_ms: int | None = None
    stopped_ms: int | None = None
    lows: Mapping[str, tuple[tuple[int, float], ...]] = field(default_factory=dict, hash=False)


def state_fields(state: ThrottleState) -> dict[str, Any]:
    """A state as JSON values."""
    return {
        "rate": state.rate,
        "free_rate": state.free_rate,
        "rates": dict(state.rates),
        "together": state.together,
        "raised": list(state.raised),
        "decided_ms": state.decided_ms,
        "halved_ms": state.halved_ms,
        "raised_ms": state.raised_ms,
        "stopped_ms": state.stopped_ms,
        "lows": {place: [list(low) for low in lows] for place, lows in state.lows.items()},
    }


def state_of(fields: Mapping[str, Any]) -> ThrottleState:
    """The state that ``state_fields`` has written."""
    lows = {place: tuple((int(part), float(low)) for part, low in lows) for place, lows in fields["lows"].items()}
    return ThrottleState(
        fields["rate"],
        fields["free_rate"],
        dict(fields["rates"]),
        fields["together"],
        tuple(fields["raised"]),
        fields["decided_ms"],
        fields["halved_ms"],
        fields["raised_ms"],
        fields["stopped_ms"],
        lows,
    )
