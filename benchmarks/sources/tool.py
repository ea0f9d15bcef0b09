"""A source written by Kafka's own ProducerPerformance, which closes batches by their size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anabranch.sandbox import SandboxCluster
from benchmarks.sources import count, values

_LINES = 50_000
_PROBE_SHARE = 0.05
_LOAD_SECONDS = 600.0
_MAIN_CLASS = "org.apache.kafka.tools.ProducerPerformance"


@dataclass(frozen=True, slots=True)
class ToolFill:
    """Values of ``value_bytes`` without a key, in batches for a producer's ``batch.size`` of ``batch_bytes``.

    ``stored_bytes`` is how much the source holds at least.
    """

    value_bytes: int
    batch_bytes: int
    compression: str
    partitions: int
    stored_bytes: int

    def fill(self, cluster: SandboxCluster, topic: str, scale: float, scratch: Path) -> None:
        """A probe that tells how large a stored record is, then the rest."""
        payload = scratch / f"{topic}.txt"
        payload.write_text("".join(f"{line}\n" for line in values(self.value_bytes, _LINES)))
        wanted = scale * self.stored_bytes
        self._produce(cluster, topic, payload, round(wanted * _PROBE_SHARE / self.value_bytes))
        loaded = count(cluster, topic, self.partitions)
        missing = wanted - loaded.bytes
        self._produce(cluster, topic, payload, round(missing * 1.01 * loaded.records / loaded.bytes))

    def _produce(self, cluster: SandboxCluster, topic: str, payload: Path, records: int) -> None:
        properties = {
            "bootstrap.servers": cluster.bootstrap,
            "compression.type": self.compression,
            "batch.size": str(self.batch_bytes),
            "linger.ms": "5000",
            "buffer.memory": str(384 << 20),
            # Equal partitions: no partition is preferred because its broker answered sooner.
            "partitioner.adaptive.partitioning.enable": "false",
        }
        what = ["--topic", topic, "--num-records", str(records), "--payload-file", str(payload)]
        how = ["--throughput", "-1", "--producer-props", *(f"{key}={value}" for key, value in properties.items())]
        cluster.run_tool(_MAIN_CLASS, [*what, *how], bootstrap=False, timeout=_LOAD_SECONDS)
