"""The operations of links for code that is not asynchronous, as the demo, benchmarks and most tests are.

Where a verb plans and applies, ``plan_...`` only plans; the verb itself applies what it has just planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.config.maps_file import StoredMap
from anabranch.kafka.cluster import Cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.decisions import AcceptPlan
from anabranch.model.link import LinkSpec
from anabranch.model.reports import DeletePlan, DeleteReport, LinkStatus, StopReport
from anabranch.model.transactions import AbortPlan, AbortReport
from anabranch.operations.links import abort_transaction as aborting
from anabranch.operations.links import accept as accepting
from anabranch.operations.links import change
from anabranch.operations.links import create as creating
from anabranch.operations.links import delete as deleting
from anabranch.operations.links import show as showing
from anabranch.operations.links import stop as stopping
from qa.blocking import between, on


def probe(
    source: ClusterContext, target: ClusterContext, spec: LinkSpec, adopt: Sequence[StoredMap] = ()
) -> creating.CreateLinkPlan:
    """Probe both clusters, and store nothing."""
    return between(source, target, lambda here, there: creating.plan(here, there, spec, adopt))


def create(
    source: ClusterContext, target: ClusterContext, spec: LinkSpec, adopt: Sequence[StoredMap] = ()
) -> creating.CreateLinkReport:
    """Store a link; raises LinkRefusedError where its probe forbids it."""

    async def run(here: Cluster, there: Cluster) -> creating.CreateLinkReport:
        return await creating.apply(here, there, await creating.plan(here, there, spec, adopt))

    return between(source, target, run)


def list_links(target: ClusterContext) -> Sequence[LinkStatus]:
    """Every link of a target."""
    return on(target, showing.list_links)


def show(target: ClusterContext, link_id: str) -> LinkStatus:
    """One link."""
    return on(target, lambda cluster: showing.show(cluster, link_id))


def set_wanted(target: ClusterContext, link_id: str, **changes: Any) -> None:
    """Change ``filter``, ``rate_limit`` or ``groups``."""
    _change(target, link_id, change.WantedChanges(**changes))


def pause(target: ClusterContext, link_id: str) -> None:
    """Have the workers stop copying."""
    _change(target, link_id, change.PAUSE)


def resume(target: ClusterContext, link_id: str) -> None:
    """Have them copy on."""
    _change(target, link_id, change.RESUME)


def _change(target: ClusterContext, link_id: str, changes: change.WantedChanges) -> None:
    async def run(cluster: Cluster) -> None:
        await change.apply(cluster, await change.plan(cluster, link_id, changes))

    on(target, run)


def plan_delete(target: ClusterContext, link_id: str) -> DeletePlan:
    """What deleting a link means."""
    return on(target, lambda cluster: deleting.plan(cluster, link_id))


def delete(target: ClusterContext, link_id: str) -> DeleteReport:
    """Delete a link."""

    async def run(cluster: Cluster) -> DeleteReport:
        return await deleting.apply(cluster, await deleting.plan(cluster, link_id))

    return on(target, run)


def plan_accept(
    source: ClusterContext, target: ClusterContext, link_id: str, where: str | None = None, at: int | None = None
) -> AcceptPlan:
    """What waits for a decision, and what accepting it means."""
    return between(source, target, lambda here, there: accepting.plan(here, there, link_id, where, at))


def accept(
    source: ClusterContext, target: ClusterContext, link_id: str, where: str | None = None, at: int | None = None
) -> AcceptPlan:
    """Accept what waits; answers what was accepted."""

    async def run(here: Cluster, there: Cluster) -> AcceptPlan:
        return (await accepting.apply(here, there, await accepting.plan(here, there, link_id, where, at))).plan

    return between(source, target, run)


def plan_abort(
    source: ClusterContext, target: ClusterContext, link_id: str, where: str, producer_id: int | None = None
) -> AbortPlan:
    """The open transactions of a source partition, and which of them may be ended."""
    return between(source, target, lambda here, there: aborting.plan(here, there, link_id, where, producer_id))


def abort_transaction(
    source: ClusterContext, target: ClusterContext, link_id: str, where: str, producer_id: int | None = None
) -> AbortReport:
    """End the transaction that hangs, or that is named."""

    async def run(here: Cluster, there: Cluster) -> AbortReport:
        return await aborting.apply(here, there, await aborting.plan(here, there, link_id, where, producer_id))

    return between(source, target, run)


def stop(target: ClusterContext, link_id: str, wait_s: float) -> StopReport:
    """Ask the runs of a link to stop, and wait until they have."""

    async def run(cluster: Cluster) -> StopReport:
        return await stopping.apply(cluster, await stopping.plan(cluster, link_id, wait_s))

    return on(target, run)
