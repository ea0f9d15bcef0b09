"""The source data: written once by Kafka's own producer, read by every system."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from anabranch.sandbox import Cluster
from benchmarks.logs import TopicLog

_LINES = 50_000
_PROBE_RECORDS = 1_000_000
_LOAD_SECONDS = 600.0
_LEAD = '{"carrier":"UA","flight":1545,"origin":"EWR","dest":"IAH","tailnum":"N14228","air_time":227,"tag":"'


@dataclass(frozen=True, slots=True)
class Workload:
    """Values of ``value_bytes`` without a key, in batches for a producer's ``batch.size`` of ``batch_bytes``.

    About half of each value is new to the compressor.  ``stored_bytes`` is how much the source holds at least.
    """

    name: str
    value_bytes: int
    batch_bytes: int
    compression: str
    partitions: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the source holds, counted in its log files."""

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
            f"{self.bytes / self.batches / 1e3:.0f} kB ({self.records / self.batches:,.0f} records) on average, "
            f"largest of {self.partitions} partitions {self.largest_partition:.1%}"
        )


def large_lz4(stored_bytes: int) -> Workload:
    """200 B records in LZ4 batches of about 120 kB (the producer closes them well before ``batch.size``)."""
    return Workload("large-lz4", 200, 160_000, "lz4", 6, stored_bytes)


def load(cluster: Cluster, workload: Workload, scratch: Path) -> Loaded:
    """Create the topic on the cluster's first broker and fill it with Kafka's ProducerPerformance."""
    payload = scratch / f"{workload.name}.txt"
    payload.write_text("".join(f"{line}\n" for line in _values(workload)))
    admin = AdminClient(cluster.client_config())
    on_first = [[cluster.brokers[0].node_id]] * workload.partitions
    topic = NewTopic(workload.name, workload.partitions, replica_assignment=on_first, config={"retention.ms": "-1"})
    admin.create_topics([topic])[workload.name].result()
    _produce(cluster, workload, payload, _PROBE_RECORDS)
    loaded = _count(cluster, workload)
    missing = workload.stored_bytes - loaded.bytes
    if missing > 0:
        _produce(cluster, workload, payload, round(missing * 1.01 * loaded.records / loaded.bytes))
        loaded = _count(cluster, workload)
    return loaded


def _values(workload: Workload) -> list[str]:
    """Lines of one length, half of it the same in all; more of them than fit the compressor's window."""
    chance = random.Random(7)
    letters = string.ascii_letters + string.digits
    fresh = workload.value_bytes - len(_LEAD) - 2
    return [_LEAD + "".join(chance.choices(letters, k=fresh)) + '"}' for _ in range(_LINES)]


def _produce(cluster: Cluster, workload: Workload, payload: Path, records: int) -> None:
    properties = {
        "bootstrap.servers": cluster.bootstrap,
        "compression.type": workload.compression,
        "batch.size": str(workload.batch_bytes),
        "linger.ms": "5000",
        "buffer.memory": str(384 << 20),
        # Equal partitions: no partition is preferred because its broker answered sooner.
        "partitioner.adaptive.partitioning.enable": "false",
    }
    what = ["--topic", workload.name, "--num-records", str(records), "--payload-file", str(payload)]
    how = ["--throughput", "-1", "--producer-props", *(f"{key}={value}" for key, value in properties.items())]
    main_class = "org.apache.kafka.tools.ProducerPerformance"
    cluster.run_tool(main_class, [*what, *how], bootstrap=False, timeout=_LOAD_SECONDS)


def _count(cluster: Cluster, workload: Workload) -> Loaded:
    log = TopicLog(cluster.brokers[0].data_path, workload.name)
    log.look()
    log.close()
    largest = max(log.by_partition.values()) / log.bytes
    return Loaded(workload.name, workload.partitions, log.records, log.bytes, log.batches, largest)
