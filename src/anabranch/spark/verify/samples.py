"""What stands at the offsets of samples, on both sides: lengths and fingerprints, or contents where they are asked for.

Only for people: the verdict is made of digests, before this.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable

from anabranch.errors import AnabranchError
from anabranch.kafka import fetch
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.fetch_one import fetched
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.records.decode import decode
from anabranch.records.record import Record
from anabranch.records.split import split
from anabranch.verify.findings import NOWHERE, Finding
from anabranch.verify.pins import Pin

MOST = 200
_SHOWN = 120
_CHUNK = 1 << 20
PURPOSE = "scan"


def contents(
    source: ClusterContext, target: ClusterContext, pins: Iterable[Pin], samples: Iterable[Finding], values: bool
) -> dict[Finding, dict[str, str]]:
    """Both sides of the first samples as texts; a side that has no record there, or cannot be read, is left out."""
    lanes = {pin.lane: pin for pin in pins}

    async def ask() -> dict[Finding, dict[str, str]]:
        found: dict[Finding, dict[str, str]] = {}
        async with open_cluster(source) as here, open_cluster(target) as there:
            for sample in list(samples)[:MOST]:
                pin = lanes[sample.lane]
                texts = {}
                for side, cluster, partition, offset in (
                    ("source", here, pin.source, sample.source),
                    ("target", there, pin.target, sample.target),
                ):
                    record = await _record(cluster, partition, offset)
                    if record is not None:
                        texts[side] = text(record, values)
                found[sample] = texts
        return found

    return asyncio.run(ask())


async def _record(cluster: Cluster, partition: TopicPartition, offset: int) -> Record | None:
    if offset == NOWHERE:
        return None
    try:
        meta, part = await cluster.partition(partition.topic, partition.partition)
        connection = await cluster.connection(part.leader, PURPOSE)
        wanted = fetch.PartitionFetch(
            partition.topic, meta.id, partition.partition, part.leader_epoch, offset, -1, _CHUNK
        )
        async with fetched(connection, wanted, max_wait_ms=0, max_bytes=_CHUNK) as answer:
            if answer.code:
                return None
            for start, header in split(answer.records):
                if header.base_offset <= offset <= header.last_offset and not header.is_control:
                    records = decode(answer.records, start, header)
                    return next((record for record in records if record.offset == offset), None)
    except AnabranchError:
        return None
    return None


def text(record: Record, values: bool) -> str:
    """A record on one line."""
    headers = ", ".join(
        f"{name if isinstance(name, str) else name.hex()}: {_field(value, values)}" for name, value in record.headers
    )
    return (
        f"key {_field(record.key, values)}, value {_field(record.value, values)}, "
        f"headers ({headers}), timestamp {record.timestamp}"
    )


def _field(data: bytes | None, values: bool) -> str:
    if data is None:
        return "null"
    if not data:
        return "empty"
    if values:
        return repr(data[:_SHOWN]) + ("..." if len(data) > _SHOWN else "")
    return f"{len(data)} bytes #{hashlib.sha256(data).hexdigest()[:12]}"
