"""Links as their owners handle them: create, list, show, change, delete.

Everything is read from and written to the target's control topics; a running link sees a change within two
seconds.  A link is created only where nothing forbids it, and every reason is found at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from anabranch.config.maps_file import StoredMap
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.link import LinkSpec, UnknownLinkError, WantedState
from anabranch.model.reports import LinkStatus, ProbeReport
from anabranch.operations.links import creating
from anabranch.operations.links.standing import Standing, has_control_topics, statuses
from anabranch.state.topics.control import Links

T = TypeVar("T")


def create(
    source: ClusterContext, target: ClusterContext, spec: LinkSpec, execute: bool, adopt: Sequence[StoredMap] = ()
) -> ProbeReport:
    """Probe both clusters; store the link if ``execute`` and nothing forbids it.  Raises AnabranchError.

    ``adopt``: maps of what another tool has copied so far; the link goes on there.
    """
    return asyncio.run(creating.create(source, target, spec, execute, adopt))


def list_links(target: ClusterContext) -> Sequence[LinkStatus]:
    """Every link that the target stores, by id."""
    return asyncio.run(_on(target, statuses))


def show(target: ClusterContext, link_id: str) -> LinkStatus:
    """One link; raises UnknownLinkError."""
    return asyncio.run(_on(target, lambda cluster: Standing(cluster).of(link_id)))


def set_wanted(target: ClusterContext, link_id: str, **changes: Any) -> None:
    """Change ``filter``, ``rate_limit`` or ``groups`` of what is wanted; workers obey within two seconds."""
    _change(target, link_id, lambda wanted: replace(wanted, spec=replace(wanted.spec, **changes)))


def pause(target: ClusterContext, link_id: str) -> None:
    """Have the workers stop copying; lanes and leases stay."""
    _change(target, link_id, lambda wanted: replace(wanted, paused=True))


def resume(target: ClusterContext, link_id: str) -> None:
    """Undo ``pause``."""
    _change(target, link_id, lambda wanted: replace(wanted, paused=False))


async def _on(target: ClusterContext, work: Callable[[Cluster], Coroutine[Any, Any, T]]) -> T:
    async with open_cluster(target) as cluster:
        return await work(cluster)


def _change(target: ClusterContext, link_id: str, how: Callable[[WantedState], WantedState]) -> None:
    async def change(cluster: Cluster) -> None:
        if not await has_control_topics(cluster):
            raise UnknownLinkError(link_id, cluster.name)
        links = Links(cluster)
        await links.sync()
        record = links.links.get(link_id)
        if record is None:
            raise UnknownLinkError(link_id, cluster.name)
        wanted = replace(how(record.wanted), revision=record.wanted.revision + 1)
        await links.put(replace(record, wanted=wanted))

    asyncio.run(_on(target, change))
