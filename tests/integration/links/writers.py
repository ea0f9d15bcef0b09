"""Producers that leave a transaction open: one that is killed, and one that no coordinator knows."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kafka.protocol.producer import ProduceRequest

from anabranch.kafka.partitions import new_producer_id
from anabranch.kafka.security import open_cluster
from anabranch.sandbox import SandboxCluster
from tests.integration.kafka.security import context_of
from tests.unit.asking import open_batch

_WRITER = """
import sys, time
from confluent_kafka import Producer
servers, topic, name, values = sys.argv[1:]
producer = Producer({"bootstrap.servers": servers, "transactional.id": name, "transaction.timeout.ms": 900000})
producer.init_transactions()
producer.begin_transaction()
for value in values.split(","):
    producer.produce(topic, value.encode(), partition=0)
assert producer.flush() == 0
print("open", flush=True)
time.sleep(600)
"""


@contextmanager
def killed_in_a_transaction(cluster: SandboxCluster, topic: str, name: str, values: list[str]) -> Iterator[None]:
    """A producer begins a transaction with a timeout of 15 minutes, writes, and is killed by SIGKILL."""
    arguments = [cluster.internal_bootstrap, topic, name, ",".join(values)]
    with subprocess.Popen([sys.executable, "-c", _WRITER, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "open\n"
        finally:
            process.kill()
    yield


def write_without_a_coordinator(cluster: SandboxCluster, topic: str, values: list[bytes], age_ms: int) -> int:
    """Append a transactional batch that no coordinator knows of, as old bugs did; returns the producer id.

    Brokers from 3.6 on ask the coordinator first, unless ``transaction.partition.verification.enable`` is off.
    """
    at = time.time_ns() // 1_000_000 - age_ms

    async def write() -> int:
        async with open_cluster(context_of(cluster, "admin")) as client:
            producer_id = await new_producer_id(client)
            _, part = await client.partition(topic, 0)
            batch = open_batch(producer_id, values, at)
            data = ProduceRequest.TopicProduceData
            request = ProduceRequest(
                transactional_id=f"ghost-{topic}",
                acks=-1,
                timeout_ms=10_000,
                topic_data=[
                    data(name=topic, partition_data=[data.PartitionProduceData(index=0, records=batch)]),
                ],
            )
            response = await (await client.connection(part.leader)).call(request, cap=9)
            answer = response.responses[0].partition_responses[0]
            assert answer.error_code == 0, answer
            return producer_id

    return asyncio.run(write())
