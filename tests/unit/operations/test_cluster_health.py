"""How a cluster is: brokers that are gone, partitions without a leader or with too few replicas in sync."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.cluster_health import ClusterHealth
from anabranch.operations.contexts.health import health
from anabranch.sandbox import ClusterSpec
from qa.brokers import create_topics
from tests.simulated import Simulated

pytestmark = pytest.mark.test


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Three brokers; one that is silent is soon taken for gone."""
    overrides = {"broker.session.timeout.ms": "100"}
    with Simulated(ClusterSpec(name="new", brokers=3, overrides=overrides), 1) as running:
        yield running


def seen(cluster: Any, wanted: int) -> ClusterHealth:
    """What is told once that many brokers are known to be alive."""
    bootstrap = tuple(f"127.0.0.1:{one.internal_port}" for one in cluster.brokers if one.alive)

    async def look() -> ClusterHealth:
        async with open_cluster(ClusterContext("new", bootstrap)) as opened:
            while (found := await health(opened)).brokers != wanted:
                await asyncio.sleep(0.05)
            return found

    return asyncio.run(look())


def test_a_whole_cluster_lacks_nothing(cluster: Any) -> None:
    """And its partitions are counted."""
    create_topics(cluster, [NewTopic("orders", 4, 3), NewTopic("alone", 1, 1)])
    found = seen(cluster, 3)
    assert found.is_whole
    assert (found.topics, found.partitions, found.missing) == (2, 5, ())


def test_a_broker_that_is_gone_is_named_with_what_suffers(cluster: Any) -> None:
    """Its partitions have fewer replicas in sync, and those that only it had have no leader."""
    create_topics(cluster, [NewTopic("orders", 4, 3), NewTopic("alone", 9, 1)])
    cluster.brokers[0].kill()
    found = seen(cluster, 2)
    assert not found.is_whole
    assert found.missing == (cluster.brokers[0].node_id,)
    assert (found.offline, found.partitions) == (3, 13)
    assert found.under_replicated >= 4
