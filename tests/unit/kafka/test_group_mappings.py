"""Which source partitions of a link can be translated now, and why the others cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.groups.snapshot import PartitionMapping, UnavailableMapping
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.groups import snapshot
from anabranch.kafka.groups.snapshot import mappings_of
from anabranch.kafka.log_ends import LogBounds
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

GOOD, DOUBTED, LATER, OTHER, NO_SOURCE, NO_TARGET, NEITHER = (
    TopicPartition(name, 0) for name in ("good", "doubted", "later", "other", "no-source", "no-target", "neither")
)


def target_of(one: TopicPartition) -> TopicPartition:
    """Where its lane leads."""
    return TopicPartition(f"b.{one.topic}", one.partition)


def test_a_partition_is_translated_only_where_its_map_and_both_logs_can_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each other one is told with why and what to do; one that is not in the link is absent."""
    lanes = {
        one: SimpleNamespace(target=target_of(one), ranges=f"map of {one}")
        for one in (GOOD, NO_SOURCE, NO_TARGET, NEITHER)
    }
    doubt = ConnectionLostError("new", "1", "gone")
    spec = SimpleNamespace(id="old-new", filter="all but other")
    maps = SimpleNamespace(spec=spec, maps=lanes, doubts={DOUBTED: doubt})
    source, target = (Cluster(Transport(name, "User:me"), []) for name in ("old", "new"))
    asked: dict[str, list[TopicPartition]] = {}

    async def log_ends(cluster: Cluster, partitions: Collection[TopicPartition]) -> dict[TopicPartition, LogBounds]:
        asked[cluster.name] = list(partitions)
        gone = {NO_SOURCE, NEITHER} if cluster is source else {target_of(NO_TARGET), target_of(NEITHER)}
        bounds = LogBounds(10, 20) if cluster is source else LogBounds(30, 40)
        return {one: bounds for one in partitions if one not in gone}

    monkeypatch.setattr(snapshot, "log_ends", log_ends)
    monkeypatch.setattr(snapshot.filters, "load", lambda given: given)
    monkeypatch.setattr(snapshot.filters, "select", lambda _, topics: tuple(one for one in topics if one != "other"))
    wanted = [GOOD, DOUBTED, LATER, OTHER, NO_SOURCE, NO_TARGET, NEITHER]
    found = asyncio.run(mappings_of(cast(Any, maps), source, target, wanted))
    show = "anabranch link show old-new"
    assert found == {
        GOOD: PartitionMapping(target_of(GOOD), cast(Any, "map of good-0"), 10, 30, 40),
        DOUBTED: UnavailableMapping(doubt.message, doubt.hint),
        LATER: UnavailableMapping("the link has not begun to copy it", show),
        NO_SOURCE: UnavailableMapping("no-source-0 cannot be read on the source now", show),
        NO_TARGET: UnavailableMapping("b.no-target-0 cannot be read on the target now", show),
        NEITHER: UnavailableMapping("neither-0 cannot be read on the source now", show),
    }
    assert asked == {"old": list(lanes), "new": [target_of(one) for one in lanes]}
