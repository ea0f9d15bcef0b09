"""What a source answers, at a takeover, of a history that was copied while nobody reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from anabranch.copier.lane.epochs import UNKNOWN
from anabranch.copier.source.truncation_check import surviving
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.simulated import SimulatedCluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.records.encode import encode
from anabranch.records.header import read_header
from anabranch.sandbox import ClusterSpec
from tests.simulated import Simulated
from tests.unit.asking import on, records

pytestmark = pytest.mark.unit
Parts = Sequence[tuple[int, int, int]]
"""What the log holds: (leader epoch, first offset, records)."""


@pytest.fixture(scope="module")
def source() -> Iterator[Simulated]:
    """One cluster for all; each case has a topic."""
    with Simulated(ClusterSpec(name="old"), 1) as made:
        yield made


def lay(cluster: SimulatedCluster, topic: str, parts: Parts) -> None:
    """A log as elections and the cleaner have left it; what lies between two parts was cleaned away."""
    cluster.create(topic, 1, 1, {})
    cluster.topics[topic].known = dict.fromkeys(cluster.brokers, 0.0)
    partition = cluster.partition(topic, 0)
    for epoch, first, count in parts:
        partition.led.log.end = first
        while partition.leader_epoch < epoch:
            partition.lead(partition.leader, cluster.timers.monotonic())
        batch = encode(records(count))
        partition.led.log.append(batch, read_header(batch), epoch, 1_000)
        cluster.appended(partition)


@pytest.mark.parametrize(
    ("parts", "position", "epoch", "kept"),
    [
        pytest.param([(0, 0, 20)], 10, 0, None, id="all is there"),
        pytest.param([(0, 0, 10), (2, 10, 10)], 10, 0, None, id="another leads from there on"),
        pytest.param([(0, 0, 6), (2, 6, 20)], 10, 0, 6, id="a replica that lacked records has led"),
        pytest.param([(0, 0, 6), (2, 6, 20)], 10, 1, 6, id="nothing is left of its epoch"),
        pytest.param([(0, 0, 20), (2, 20, 5)], 10, 1, 9, id="another history has grown past it"),
        pytest.param([(0, 0, 5), (2, 12, 5)], 10, 1, None, id="its epoch was cleaned away"),
        pytest.param([(0, 0, 5), (2, 10, 5)], 10, 1, None, id="its epoch was cleaned away up to the next one"),
        pytest.param([(0, 0, 6), (2, 6, 20)], 10, UNKNOWN, None, id="nobody knows its epoch"),
        pytest.param([(2, 0, 20)], 0, 0, None, id="nothing was copied"),
    ],
)
def test_what_was_copied_and_is_no_longer_the_source_s_is_told(
    source: Simulated, parts: Parts, position: int, epoch: int, kept: int | None, request: pytest.FixtureRequest
) -> None:
    """That the log is longer than what was copied says nothing: an unclean election may have begun another."""
    topic = request.node.callspec.id.replace(" ", "-")
    source.served.do(lambda one: lay(one, topic, parts))

    async def ask(cluster: Cluster) -> int | None:
        return await surviving(cluster, TopicPartition(topic, 0), position, epoch)

    assert on(ClusterContext("old", (source.bootstrap,)), ask) == kept
