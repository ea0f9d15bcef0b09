"""The operations of comparisons for code that is not asynchronous, as benchmarks and most tests are."""

from __future__ import annotations

from anabranch.config.verifyspec import VerifyOptions
from anabranch.kafka.cluster import Cluster
from anabranch.model.cluster import ClusterContext
from anabranch.operations.verify import resume as resuming
from anabranch.operations.verify import show as showing
from anabranch.operations.verify import start as starting
from anabranch.operations.verify import stop as stopping
from anabranch.operations.verify.start import VerifyPlan
from anabranch.state.codecs.verified import VerifyStatus
from qa.blocking import between, on


def plan(source: ClusterContext, target: ClusterContext, link_id: str, options: VerifyOptions) -> VerifyPlan:
    """Pin the link's lanes."""
    return between(source, target, lambda here, there: starting.plan(here, there, link_id, options))


def plan_resume(source: ClusterContext, target: ClusterContext, link_id: str) -> VerifyPlan:
    """The pins of the comparison that was stopped."""
    return between(source, target, lambda here, there: resuming.plan(here, there, link_id))


def prepare(target: ClusterContext, planned: VerifyPlan) -> None:
    """All that is done before the job is started."""
    on(target, lambda cluster: starting.prepare(cluster, planned))


def show(target: ClusterContext, link_id: str) -> VerifyStatus:
    """The link's comparison."""
    return on(target, lambda cluster: showing.show(cluster, link_id))


def stop(target: ClusterContext, link_id: str) -> stopping.VerifyStopReport:
    """Have the running comparison end after its round."""

    async def run(cluster: Cluster) -> stopping.VerifyStopReport:
        return await stopping.apply(cluster, await stopping.plan(cluster, link_id))

    return on(target, run)
