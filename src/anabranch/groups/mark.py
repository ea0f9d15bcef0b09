"""Marks: where groups stood when copying began, and whether the link holds all that they have yet to read.

Aligning is exact at the cut; a mark is for before: a group whose position lies ahead of a lane's begin would lose
records, and that is better known on the first day than at the cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.groups.select import EVERY, Selection
from anabranch.groups.world import Commits, Route, Untold
from anabranch.model.groups import Commit, Group, GroupKind
from anabranch.model.plans import REQUEST
from anabranch.model.topics import TopicPartition


class Verdict(StrEnum):
    """``covered``: the link holds everything from the commit on; ``before``: it begins behind it, records would be
    lost; ``gone``: it begins behind it, but the source has lost those records too; ``unknown``: no lane has begun;
    ``not in link``.
    """

    COVERED = "covered"
    BEFORE = "before"
    GONE = "gone"
    UNKNOWN = "unknown"
    NOT_IN_LINK = "not in link"


@dataclass(frozen=True, slots=True)
class MarkedPartition:
    """One partition at the time of the mark; ``begin`` is the source offset at which its lane began."""

    source: TopicPartition
    commit: Commit
    begin: int | None
    verdict: Verdict

    def lost(self, source_start: int = 0) -> int:
        """How many source offsets lie between what is to be read and what is copied, at most."""
        return max(0, (self.begin or 0) - max(self.commit.offset, source_start))


@dataclass(frozen=True, slots=True)
class Mark:
    """One group at the time of the mark."""

    link: str
    group: str
    kind: GroupKind
    partitions: tuple[MarkedPartition, ...]
    marked_at_ms: int

    @property
    def verdict(self) -> Verdict:
        """The worst of its partitions'."""
        order = (Verdict.BEFORE, Verdict.NOT_IN_LINK, Verdict.UNKNOWN, Verdict.GONE, Verdict.COVERED)
        found = {one.verdict for one in self.partitions}
        return next((one for one in order if one in found), Verdict.COVERED)


@dataclass(frozen=True, slots=True)
class MarkPlan:
    """The marks that would be stored now.

    ``hash`` covers which groups and topics are meant, and not where the groups stand: those that are read in move by
    themselves, and a mark is of the moment at which it is stored.
    """

    link: str
    marks: tuple[Mark, ...]
    hash: str
    selection: Selection = field(default=EVERY, metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class MarkReport:
    """What ``groups mark`` found; ``stored`` says whether it was kept on the target."""

    link: str
    marks: tuple[Mark, ...]
    stored: bool
    made_at_ms: int = 0
    before: Mapping[str, int] = field(default_factory=dict, hash=False)

    @property
    def ok(self) -> bool:
        """Whether no group would lose records."""
        return not any(mark.verdict is Verdict.BEFORE for mark in self.marks)


def mark(link: str, group: Group, routes: Mapping[TopicPartition, Route | Untold], now_ms: int) -> Mark:
    """A group's commits and what the link holds of what lies behind them."""
    commits: Commits = group.commits
    partitions = []
    for at in sorted(commits):
        route = routes.get(at)
        begin = route.runs.source_start if isinstance(route, Route) else None
        partitions.append(MarkedPartition(at, commits[at], begin, _verdict(route, commits[at])))
    return Mark(link, group.name, group.kind, tuple(partitions), now_ms)


def _verdict(route: Route | Untold | None, commit: Commit) -> Verdict:
    if route is None:
        return Verdict.NOT_IN_LINK
    if isinstance(route, Untold):
        return Verdict.UNKNOWN
    if commit.offset >= route.runs.source_start:
        return Verdict.COVERED
    return Verdict.BEFORE if route.source_start < route.runs.source_start else Verdict.GONE
