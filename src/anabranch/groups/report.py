"""What ``groups list`` and ``groups show`` answer: each group on both clusters, and how fresh its sync is."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.groups.baseline import Baseline, Coverage
from anabranch.groups.freshness import GroupSyncStatus, SyncRound
from anabranch.groups.plan import GroupPlan
from anabranch.model.groups import Group, GroupKind, GroupState


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group of the source.

    ``in_link`` counts its commits that the link copies the partitions of, ``outside`` the others.  ``baseline`` is
    its coverage when the baseline was taken, None if there is none.  ``advice`` is for kinds that are not moved.
    """

    group: str
    kind: GroupKind
    state: GroupState
    target_state: GroupState
    in_link: int
    outside: int
    baseline: Coverage | None
    sync: GroupSyncStatus | None
    advice: str = ""


@dataclass(frozen=True, slots=True)
class GroupsReport:
    """All groups of a link's source; ``round`` is the last one of continuous sync."""

    link: str
    groups: tuple[GroupRow, ...]
    round: SyncRound | None
    read_at_ms: int


@dataclass(frozen=True, slots=True)
class GroupReport:
    """One group in full: both sides, what ``sync`` would do with it now, its baseline, its continuous sync."""

    link: str
    source: Group
    target: Group | None
    plan: GroupPlan
    baseline: Baseline | None
    sync: GroupSyncStatus | None
    round: SyncRound | None
    read_at_ms: int
