"""What the verbs about groups read first: what the target stores of them, and which commits are meant."""

from __future__ import annotations

from anabranch.groups.select import Selection
from anabranch.groups.world import Commits
from anabranch.kafka.cluster import Cluster
from anabranch.model import filters
from anabranch.state.topics.positions import Positions


async def stored(cluster: Cluster) -> Positions:
    """Marks, undo records and rounds of continuous sync, as they are stored now."""
    store = Positions(cluster)
    await store.sync()
    return store


def counted(commits: Commits, selection: Selection) -> Commits:
    """The commits whose topics count."""
    return {at: one for at, one in commits.items() if selection.counts(at.topic)}


def touches(commits: Commits, chosen: filters.TopicFilter) -> bool:
    """Whether some of them are of topics that the link copies."""
    return bool(filters.select(chosen, {at.topic for at in commits}))
