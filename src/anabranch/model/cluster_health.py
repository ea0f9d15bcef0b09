"""How a cluster is, as its metadata tells: brokers, and partitions that lack a leader or replicas."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClusterHealth:
    """What was seen at ``seen_at_ms`` of the topics that we may see.

    ``missing`` are ids of brokers that have replicas and are not there.  ``offline`` counts partitions without a
    leader, ``under_replicated`` those of which a replica is not in sync.
    """

    seen_at_ms: int
    brokers: int
    missing: tuple[int, ...]
    topics: int
    partitions: int
    offline: int
    under_replicated: int

    @property
    def is_whole(self) -> bool:
        """Whether every broker is there, and every partition has its leader and its replicas."""
        return not self.missing and not self.offline and not self.under_replicated
