"""Baselines: the offsets that groups had committed when copying began, and whether the link copies all that follows.

A baseline is taken before the cutover: a group whose committed offset is before a lane's start would lose records,
and that is better known on the first day than at the cutover.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.groups.select import EVERY, GroupSelection
from anabranch.groups.snapshot import Commits, PartitionMapping, UnavailableMapping
from anabranch.model.groups import Commit, Group, GroupKind
from anabranch.model.plans import REQUEST
from anabranch.model.topics import TopicPartition


class Coverage(StrEnum):
    """Whether a link copies everything from a committed offset on.

    ``covered``: it does.  ``before``: the commit is before the lane's start, and records would be lost.  ``gone``: it
    is, but the source has lost those records too.  ``unknown``: no lane has begun.  ``not in link``: nor will one.
    """

    COVERED = "covered"
    BEFORE = "before"
    GONE = "gone"
    UNKNOWN = "unknown"
    NOT_IN_LINK = "not in link"


@dataclass(frozen=True, slots=True)
class BaselinePartition:
    """One partition at the time of the baseline; ``begin`` is the source offset at which its lane began."""

    source: TopicPartition
    commit: Commit
    begin: int | None
    coverage: Coverage

    def lost(self, source_start: int = 0) -> int:
        """How many source offsets lie between what is to be read and what is copied, at most."""
        return max(0, (self.begin or 0) - max(self.commit.offset, source_start))


@dataclass(frozen=True, slots=True)
class Baseline:
    """One group at the time of the baseline."""

    link: str
    group: str
    kind: GroupKind
    partitions: tuple[BaselinePartition, ...]
    taken_at_ms: int

    @property
    def coverage(self) -> Coverage:
        """The worst of its partitions."""
        order = (Coverage.BEFORE, Coverage.NOT_IN_LINK, Coverage.UNKNOWN, Coverage.GONE, Coverage.COVERED)
        found = {partition.coverage for partition in self.partitions}
        return next((coverage for coverage in order if coverage in found), Coverage.COVERED)


@dataclass(frozen=True, slots=True)
class BaselinePlan:
    """The baselines that would be stored now.

    ``hash`` covers which groups and topics are selected, and not what the groups have committed: active groups commit
    all the time, and a baseline is of the moment at which it is stored.
    """

    link: str
    baselines: tuple[Baseline, ...]
    hash: str
    selection: GroupSelection = field(default=EVERY, metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class BaselineReport:
    """What ``groups baseline`` found; ``stored`` says whether it was kept on the target."""

    link: str
    baselines: tuple[Baseline, ...]
    stored: bool
    made_at_ms: int = 0
    before: Mapping[str, int] = field(default_factory=dict, hash=False)

    @property
    def ok(self) -> bool:
        """Whether no group would lose records."""
        return not any(baseline.coverage is Coverage.BEFORE for baseline in self.baselines)


def baseline(
    link: str, group: Group, mappings: Mapping[TopicPartition, PartitionMapping | UnavailableMapping], now_ms: int
) -> Baseline:
    """A group's commits, and whether the link copies what follows them."""
    commits: Commits = group.commits
    partitions = []
    for partition in sorted(commits):
        mapping = mappings.get(partition)
        begin = mapping.ranges.source_start if isinstance(mapping, PartitionMapping) else None
        partitions.append(
            BaselinePartition(partition, commits[partition], begin, _coverage(mapping, commits[partition]))
        )
    return Baseline(link, group.name, group.kind, tuple(partitions), now_ms)


def _coverage(mapping: PartitionMapping | UnavailableMapping | None, commit: Commit) -> Coverage:
    if mapping is None:
        return Coverage.NOT_IN_LINK
    if isinstance(mapping, UnavailableMapping):
        return Coverage.UNKNOWN
    if commit.offset >= mapping.ranges.source_start:
        return Coverage.COVERED
    return Coverage.BEFORE if mapping.source_start < mapping.ranges.source_start else Coverage.GONE
