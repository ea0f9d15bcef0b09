"""What ``groups list`` and ``groups show`` answer: each group on both clusters, and how fresh it is."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.groups.freshness import FollowedSince, SyncRound
from anabranch.groups.mark import Mark, Verdict
from anabranch.groups.plan import GroupPlan
from anabranch.model.groups import Group, GroupKind, GroupState


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group of the source.

    ``in_link`` counts its commits that the link copies the partitions of, ``outside`` the others.  ``mark`` is what
    was found when it was marked, None if it was not.  ``advice`` is for kinds that are not moved.
    """

    group: str
    kind: GroupKind
    state: GroupState
    target_state: GroupState
    in_link: int
    outside: int
    mark: Verdict | None
    followed: FollowedSince | None
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
    """One group in full: both sides, what ``sync`` would do with it now, its mark, its freshness."""

    link: str
    source: Group
    target: Group | None
    plan: GroupPlan
    mark: Mark | None
    followed: FollowedSince | None
    round: SyncRound | None
    read_at_ms: int
