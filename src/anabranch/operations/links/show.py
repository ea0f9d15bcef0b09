"""Links as they stand on their target."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.kafka.cluster import Cluster
from anabranch.model.reports import LinkStatus
from anabranch.operations.links.standing import Standing, statuses


async def list_links(target: Cluster) -> Sequence[LinkStatus]:
    """Every link that the target stores, by id."""
    return await statuses(target)


async def show(target: Cluster, link_id: str) -> LinkStatus:
    """One link; raises UnknownLinkError."""
    return await Standing(target).of(link_id)
