"""How a row's source topic is filled, and what it holds then."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from confluent_kafka.admin import AdminClient, NewTopic

from anabranch.sandbox import SandboxCluster
from benchmarks.logs import TopicLog

_LEAD = '{"carrier":"UA","flight":1545,"origin":"EWR","dest":"IAH","tailnum":"N14228","air_time":227,"tag":"'


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the source holds for a read_committed consumer, counted in its log files."""

    topic: str
    partitions: int
    records: int
    bytes: int
    batches: int
    largest_partition: float

    @property
    def summary(self) -> str:
        """One line for people."""
        return (
            f"{self.records:,} records, {self.bytes / 1e9:.2f} GB stored in {self.batches:,} batches of "
            f"{self.bytes / self.batches / 1e3:.3g} kB ({self.records / self.batches:,.4g} records) on average, "
            f"largest of {self.partitions} partitions {self.largest_partition:.1%}"
        )


class Fill(Protocol):
    """A way to fill a topic."""

    @property
    def partitions(self) -> int:
        """Of the topic."""

    def fill(self, cluster: SandboxCluster, topic: str, scale: float, scratch: Path) -> None:
        """Fill a topic that is there and empty; ``scale`` multiplies its size."""


def load(cluster: SandboxCluster, topic: str, fill: Fill, scale: float, scratch: Path) -> Loaded:
    """Create the topic on the cluster's first broker, fill it, and count what it holds."""
    create(cluster, topic, fill.partitions)
    fill.fill(cluster, topic, scale, scratch)
    return count(cluster, topic, fill.partitions)


def create(cluster: SandboxCluster, topic: str, partitions: int) -> None:
    """Create a topic whose partitions are all on the cluster's first broker, and nowhere else."""
    admin = AdminClient(cluster.client_config())
    on_first = [[cluster.brokers[0].node_id]] * partitions
    new = NewTopic(topic, partitions, replica_assignment=on_first, config={"retention.ms": "-1"})
    admin.create_topics([new])[topic].result()


def count(cluster: SandboxCluster, topic: str, partitions: int) -> Loaded:
    """What the topic holds on the cluster's first broker."""
    log = TopicLog(cluster.brokers[0].data_path, topic)
    log.look()
    log.close()
    largest = max(log.by_partition.values(), default=0) / max(1, log.bytes)
    return Loaded(topic, partitions, log.records, log.bytes, log.batches, largest)


def values(value_bytes: int, lines: int) -> list[str]:
    """Values of one length without a line break: a lead that is the same in all, the rest is new to a compressor.

    200 bytes are half of each.  There are more of them than fit a compressor's window if ``lines`` is some hundreds.
    """
    chance = random.Random(7)
    letters = string.ascii_letters + string.digits
    fresh = value_bytes - len(_LEAD) - 2
    return [_LEAD + "".join(chance.choices(letters, k=fresh)) + '"}' for _ in range(lines)]
