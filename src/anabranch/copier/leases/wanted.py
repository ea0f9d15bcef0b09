"""What the control topics say that a worker of a link has to do, and what of that is news: values, without effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from anabranch.copier.leases.control_topics import ControlTopics
from anabranch.copier.planning.lease import Lease, PlanBasis
from anabranch.model.decisions import LaneDecision, SourcePartition
from anabranch.model.link import WantedState


@dataclass(frozen=True, slots=True)
class WantedLink:
    """What is wanted of a link, and what people have decided about its lanes; ``basis`` is that of both."""

    state: WantedState
    decided: Mapping[SourcePartition, LaneDecision]
    basis: PlanBasis

    @classmethod
    def of(cls, topics: ControlTopics, link: str, before: Self | None = None) -> Self | None:
        """As it was read last, after what was read ``before``; None where the link was deleted."""
        record = topics.links.links.get(link)
        if record is None:
            return None
        decided, filter_ = dict(topics.links.decisions[link]), record.wanted.spec.filter
        if before is not None and before.decided == decided and before.state.spec.filter == filter_:
            return cls(record.wanted, before.decided, before.basis)
        return cls(record.wanted, decided, PlanBasis.of(filter_, decided))

    def has_new_filter(self, before: WantedLink | None) -> bool:
        """Whether lanes may have to be left that were wanted before."""
        return before is None or before.state.spec.filter != self.state.spec.filter

    def has_changed(self, before: WantedLink | None) -> bool:
        """Whether what stopped a lane may have been fixed by whoever changed the link."""
        return before is not None and before.state.revision != self.state.revision and not self.state.paused

    def ends_lease(self, planned: PlanBasis | None) -> str:
        """Why a lease that was planned on another basis is over; empty where it is not.

        What this worker had read before says nothing of it: of two workers the one that had read of a decision before
        its lease and the one that had not would hold the other's lanes up.
        """
        if planned is None or planned == self.basis:
            return ""
        return (
            "the link's filter changed"
            if planned.decisions == self.basis.decisions
            else "a person decided about a lane"
        )


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
