"""The settings of a target's brokers that the lane protocol counts on, asked of each broker that may tell."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.errors import ClusterError, RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, Metadata
from anabranch.model import preconditions
from anabranch.model.clock import now_ms
from anabranch.model.preconditions import TargetTopic
from anabranch.model.reports import Finding

AGAIN_MS = 300_000
"""How long a running link goes by what was told last."""


async def broker_settings(target: Cluster) -> list[dict[str, str | None]]:
    """Each broker's settings by name; a broker that is away, or may not be asked, is left out."""
    found = []
    for node in sorted((await target.metadata([])).brokers):
        try:
            configs = await admin.broker_configs(target, node)
        except (ClusterError, RefusedError):
            continue
        found.append({name: one.value for name, one in configs.items()})
    return found


def target_topics(target: Metadata, configs: Mapping[str, Mapping[str, admin.Config]]) -> list[TargetTopic]:
    """The topics whose configs were told, with the replicas of their partitions."""
    return [
        TargetTopic.of(
            name,
            min((len(part.replicas) for part in target.topics[name].partitions.values()), default=0),
            {key: one.value for key, one in told.items()},
        )
        for name, told in configs.items()
        if target.topics[name].partitions
    ]


class Safety:
    """What a running link's planner finds of the target's brokers: asked every five minutes, and kept between."""

    def __init__(self, target: Cluster) -> None:
        self._target = target
        self._asked_ms = -AGAIN_MS
        self._first_ms: int | None = None
        self._findings: list[Finding] = []

    async def findings(self, lease_seconds: int) -> list[Finding]:
        """What is to be said now; never raises for a broker that does not answer."""
        if now_ms() - self._asked_ms < AGAIN_MS:
            return list(self._findings)
        settings = await broker_settings(self._target)
        self._asked_ms = now_ms()
        shortest = preconditions.shortest_ms(settings)
        if self._first_ms is None:
            self._first_ms = shortest
        self._findings = preconditions.of_brokers(settings, lease_seconds)
        if shortest is not None and self._first_ms is not None:
            self._findings += preconditions.changed(self._first_ms, shortest)
        return list(self._findings)
