"""Stopping a comparison: it ends after its round, and ``resume`` goes on with it."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.kafka.cluster import Cluster
from anabranch.model.plans import check_holds, plan_hash
from anabranch.operations.verify.show import status_of
from anabranch.state.codecs.verified import VerifyStatus
from anabranch.state.topics.verified import VerifiedTopic


@dataclass(frozen=True, slots=True)
class VerifyStopPlan:
    """The comparison that would be stopped; one that does not run is left alone.  ``hash`` covers which run it is."""

    link: str
    status: VerifyStatus
    hash: str


@dataclass(frozen=True, slots=True)
class VerifyStopReport:
    """The status of the comparison when it was asked to stop; ``asked`` is False if it did not run."""

    link: str
    status: VerifyStatus
    asked: bool


async def plan(target: Cluster, link_id: str) -> VerifyStopPlan:
    """Which comparison would be stopped; raises NeverVerifiedError."""
    return await _plan(VerifiedTopic(target), link_id)


async def apply(target: Cluster, planned: VerifyStopPlan) -> VerifyStopReport:
    """Have it end after its round; raises PlanChangedError where another one runs by now."""
    verified = VerifiedTopic(target)
    now = await _plan(verified, planned.link)
    check_holds(f"the comparison of link {planned.link!r}", planned, now, f"anabranch verify show {planned.link}")
    if now.status.running:
        await verified.ask_to_stop(planned.link, now.status.run.run)
    return VerifyStopReport(planned.link, now.status, now.status.running)


async def _plan(verified: VerifiedTopic, link_id: str) -> VerifyStopPlan:
    await verified.sync()
    status = status_of(verified, link_id)
    return VerifyStopPlan(link_id, status, plan_hash(link_id, status.run.run))
