"""How fresh followed groups are: the last round of continuous sync, and since when each group stands as it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.groups.follow import Following


@dataclass(frozen=True, slots=True)
class SyncRound:
    """A round of continuous sync, as the link's driver persisted it.

    ``groups`` counts the selected groups by how they stand, ``moved`` those that were moved in this round.  ``error``
    says what a round failed at; ``read_at_ms`` is then of the last one that did not, None if there was none.
    """

    link: str
    owner: str
    ended_at_ms: int
    read_at_ms: int | None
    took_ms: int
    interval_ms: int
    moved: int
    groups: Mapping[Following, int] = field(default_factory=dict, hash=False)
    error: str = ""

    def age_ms(self, now_ms: int) -> int | None:
        """How old what was last carried over is: positions committed on the source since then are not there yet."""
        return None if self.read_at_ms is None else max(0, now_ms - self.read_at_ms)


@dataclass(frozen=True, slots=True)
class FollowedSince:
    """How one group stands and since when; persisted when that changes, so that still groups cost nothing."""

    link: str
    group: str
    state: Following
    since_ms: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Freshness:
    """All that is persisted of a link's continuous sync."""

    round: SyncRound | None
    groups: Mapping[str, FollowedSince] = field(default_factory=dict, hash=False)
