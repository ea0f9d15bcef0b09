"""The status of links on their target.

Who polls it keeps a ``LinkStatusReader`` (``operations.links.status``): it reads only what is new.
"""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.groups.freshness import SyncRound
from anabranch.kafka.cluster import Cluster
from anabranch.model.reports import LinkStatus
from anabranch.operations.links.status import LinkStatusReader, statuses
from anabranch.state.topics.positions import Positions


async def list_links(target: Cluster) -> Sequence[LinkStatus]:
    """Every link that the target stores, by id."""
    return await statuses(target)


async def show(target: Cluster, link_id: str) -> LinkStatus:
    """One link; raises UnknownLinkError."""
    return await LinkStatusReader(target).of(link_id)


async def last_sync(target: Cluster, link_id: str) -> SyncRound | None:
    """The last round of a link's continuous sync of groups, None if none has run."""
    store = Positions(target)
    await store.sync()
    return store.rounds.get(link_id)
