"""The operations beside MirrorMaker 2 for code that is not asynchronous, as most tests are."""

from __future__ import annotations

from anabranch.kafka.cluster import Cluster
from anabranch.mirrormaker.names import SEPARATOR
from anabranch.mirrormaker.report import MirrorReport
from anabranch.model.cluster import ClusterContext
from anabranch.operations.mirrormaker import publish as publishing
from anabranch.operations.mirrormaker import report as reporting
from qa.blocking import between


def report(
    source: ClusterContext, target: ClusterContext, source_alias: str | None = None, *, link: str | None = None
) -> MirrorReport:
    """Compare MirrorMaker's answers with the exact ones."""
    return between(source, target, lambda here, there: reporting.report(here, there, source_alias, link=link))


def plan_publish(
    source: ClusterContext,
    target: ClusterContext,
    link: str,
    *,
    source_alias: str | None = None,
    separator: str = SEPARATOR,
) -> publishing.PublishPlan:
    """A link's exact positions, as they would be written."""
    return between(
        source,
        target,
        lambda here, there: publishing.plan(here, there, link, source_alias=source_alias, separator=separator),
    )


def publish(source: ClusterContext, target: ClusterContext, link: str) -> publishing.Published:
    """Write them."""

    async def run(here: Cluster, there: Cluster) -> publishing.Published:
        return await publishing.apply(here, there, await publishing.plan(here, there, link))

    return between(source, target, run)
