"""The settings of a target's brokers that the lane protocol counts on, asked of each broker that may tell."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from anabranch.errors import ClusterError, RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import ASK_S, Cluster, ClusterMetadata
from anabranch.model import preconditions
from anabranch.model.clock import now_ms
from anabranch.model.preconditions import TargetTopic
from anabranch.model.reasons import Reason

AGAIN_MS = 300_000
"""How long a running link goes by what was told last."""


async def broker_settings(target: Cluster) -> list[dict[str, str | None]]:
    """Each broker's settings by name; one that may not be asked, or does not answer within ``ASK_S``, is left out."""
    nodes = sorted((await target.metadata([])).brokers)
    found = await asyncio.gather(*(_settings(target, node) for node in nodes))
    return [one for one in found if one is not None]


async def _settings(target: Cluster, node: int) -> dict[str, str | None] | None:
    try:
        async with asyncio.timeout(ASK_S):
            configs = await admin.broker_configs(target, node)
    except (ClusterError, RefusedError, TimeoutError):
        return None
    return {name: one.value for name, one in configs.items()}


def target_topics(target: ClusterMetadata, configs: Mapping[str, Mapping[str, admin.Config]]) -> list[TargetTopic]:
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
        self._findings: list[Reason] = []

    async def findings(self, lease_seconds: int) -> list[Reason]:
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
