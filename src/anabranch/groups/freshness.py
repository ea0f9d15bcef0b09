"""How fresh continuous sync is: its last round, and since when each group has its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.groups.continuous_sync import SyncState


@dataclass(frozen=True, slots=True)
class SyncRound:
    """A round of continuous sync, as the link's driver persisted it.

    ``groups`` counts the selected groups by state, ``moved`` those that were moved in this round.  ``error``
    says why a round failed; ``read_at_ms`` is then of the last round that did not fail, None if there was none.
    """

    link: str
    owner: str
    ended_at_ms: int
    read_at_ms: int | None
    took_ms: int
    interval_ms: int
    moved: int
    groups: Mapping[SyncState, int] = field(default_factory=dict, hash=False)
    error: str = ""

    def age_ms(self, now_ms: int) -> int | None:
        """How old the source's commits are that the target has; newer ones are not there yet."""
        return None if self.read_at_ms is None else max(0, now_ms - self.read_at_ms)


@dataclass(frozen=True, slots=True)
class GroupSyncStatus:
    """The state of one group and since when; persisted only when it changes, so that idle groups cost nothing."""

    link: str
    group: str
    state: SyncState
    since_ms: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Freshness:
    """All that is persisted of a link's continuous sync."""

    round: SyncRound | None
    groups: Mapping[str, GroupSyncStatus] = field(default_factory=dict, hash=False)
