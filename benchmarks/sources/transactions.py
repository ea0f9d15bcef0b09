"""A source of transactions, some of them aborted, by several transactional producers at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

from anabranch.sandbox import SandboxCluster
from benchmarks.sources import values

_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class TransactionFill:
    """``transactions`` of 100 values of ``value_bytes``, half of each in one partition and half in the next.

    Every tenth is aborted after all its records have been written.
    """

    value_bytes: int
    compression: str
    partitions: int
    transactions: int
    producers: int = 4

    records_each: int = 100
    aborted_each: int = 10

    def fill(self, cluster: SandboxCluster, topic: str, scale: float, scratch: Path) -> None:  # noqa: ARG002
        """Run the producers, each with its share of the transactions."""
        lines = [line.encode() for line in values(self.value_bytes, 5_000)]
        share = max(1, round(scale * self.transactions / self.producers))
        with ThreadPoolExecutor(self.producers) as pool:
            runs = [pool.submit(self._run, cluster, topic, lines, number, share) for number in range(self.producers)]
            for run in runs:
                run.result()

    def _run(self, cluster: SandboxCluster, topic: str, lines: list[bytes], number: int, transactions: int) -> None:
        settings = {
            "transactional.id": f"bench-{topic}-{number}",
            "compression.type": self.compression,
            # The flush of a commit closes the batches, nothing before it.
            "linger.ms": 100,
        }
        producer = Producer(cluster.client_config() | settings)
        producer.init_transactions(_SECONDS)
        half = self.records_each // 2
        for turn in range(transactions):
            producer.begin_transaction()
            first = (number + turn) % self.partitions
            for at in range(self.records_each):
                value = lines[(turn * self.records_each + at) % len(lines)]
                producer.produce(topic, value, partition=(first + at // half) % self.partitions)
            if turn % self.aborted_each == self.aborted_each - 1:
                producer.flush(_SECONDS)  # an abort alone would drop what was not sent yet
                producer.abort_transaction(_SECONDS)
            else:
                producer.commit_transaction(_SECONDS)
