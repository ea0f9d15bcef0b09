"""What the control topics say that a worker of a link has to do, and what of that is news: values, without effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from anabranch.copier.leases.control_topics import ControlTopics
from anabranch.copier.planning.lease import Lease
from anabranch.model.decisions import LaneDecision, SourcePartition
from anabranch.model.link import WantedState


@dataclass(frozen=True, slots=True)
class WantedLink:
    """What is wanted of a link, and what people have decided about its lanes."""

    state: WantedState
    decided: Mapping[SourcePartition, LaneDecision]

    @classmethod
    def of(cls, topics: ControlTopics, link: str) -> Self | None:
        """As it was read last; None where the link was deleted."""
        record = topics.links.links.get(link)
        return None if record is None else cls(record.wanted, dict(topics.links.decisions[link]))

    def has_new_filter(self, before: WantedLink | None) -> bool:
        """Whether lanes may have to be left that were wanted before."""
        return before is None or before.state.spec.filter != self.state.spec.filter

    def has_changed(self, before: WantedLink | None) -> bool:
        """Whether what stopped a lane may have been fixed by whoever changed the link."""
        return before is not None and before.state.revision != self.state.revision and not self.state.paused

    def ends_lease(self, before: WantedLink | None) -> str:
        """Why lanes must be planned again; empty where they need not."""
        if before is None:
            return ""
        if before.decided != self.decided:
            return "a person decided about a lane"
        return "the link's filter changed" if self.has_new_filter(before) else ""


@dataclass(frozen=True, slots=True)
class LeaseVerdict:
    """Why a lease is over, empty where it is not; after a final one nothing is copied."""

    why: str = ""
    is_final: bool = False


def verdict_of_plan(topics: ControlTopics, lease: Lease) -> LeaseVerdict:
    """What the link's newest plan, and whoever stops its run, say of a lease."""
    if topics.progress.is_to_stop(lease.link, lease.run):
        return LeaseVerdict("a person asked the run to stop", is_final=True)
    plan = topics.progress.plans.get(lease.link)
    if plan is not None and plan.owner == lease.run and plan.batch > lease.batch:
        if plan.ends:
            return LeaseVerdict("the run was told to end", is_final=True)
        return LeaseVerdict("the link was planned again")
    return LeaseVerdict()
