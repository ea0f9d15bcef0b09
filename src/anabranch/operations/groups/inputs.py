"""What the operations on groups read first: what the target stores of them, and the commits of selected topics."""

from __future__ import annotations

from anabranch.groups.select import GroupSelection
from anabranch.groups.snapshot import Commits
from anabranch.kafka.cluster import Cluster
from anabranch.model import filters
from anabranch.state.topics.positions import Positions


async def stored(cluster: Cluster) -> Positions:
    """Baselines, undo records and rounds of continuous sync, as they are stored now."""
    store = Positions(cluster)
    await store.sync()
    return store


def counted(commits: Commits, selection: GroupSelection) -> Commits:
    """The commits whose topics count."""
    return {partition: commit for partition, commit in commits.items() if selection.counts(partition.topic)}


def touches(commits: Commits, chosen: filters.TopicFilter) -> bool:
    """Whether some of them are of topics that the link copies."""
    return bool(filters.select(chosen, {at.topic for at in commits}))
