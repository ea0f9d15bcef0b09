"""``python -m tests.integration.web.positions_stand``: the service beside real clusters, for positions that move.

A link has copied a Spark query's topic with other offsets, and the query's checkpoint stands below the directory that
the service opens.  Other topics were copied by another program: a consumer with a producer, which was killed once and
began some records further back, and which has lost a record that is equal to its neighbours.

Prints one line of JSON as the other stands do.  Words on standard input, each answered by a line: ``produce`` adds
records to the copied topics' source, ``value SIDE TOPIC PARTITION OFFSET`` tells the record that stands there.  The end
of the input ends it all, also jobs that were started.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition

from anabranch.model.link import ModePolicy
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition as Partition
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.service.logs import log_plainly
from qa.brokers import STEADY
from qa.service import serving, until
from qa.timeouts import TIMEOUT_S
from tests.integration.links.groups import value_of
from tests.integration.links.lab import link
from tests.integration.links.topics import OLD_MS, create, numbered, produce
from tests.integration.web.sandbox_stand import end_jobs
from tests.unit.operations.checkpoints.world import copy

QUERY, LINK = "flights", "eu"
PARTITIONS = 3
SHIFT = 2
"""The link begins that far into the query's topic: on the target every offset is so much lower."""
ORDERS, COPY = "orders", "old.orders"
RECORDS, MORE = 2_000, 100
KILLED_AT, AGAIN_FROM = 1_200, 1_050
"""Behind the first every offset of the copy is higher by the difference."""
EQUAL, LOST = range(300, 305), 302


def copied_by_link(old: SandboxCluster, new: SandboxCluster) -> None:
    """The query's topic, by a link that ends then."""
    create(old, QUERY, PARTITIONS)
    for partition in range(PARTITIONS):
        produce(old, QUERY, numbered(40, partition=partition))
    begin = {Partition(QUERY, partition): SHIFT for partition in range(PARTITIONS)}
    start = StartPosition(StartKind.OFFSETS, offsets=begin)
    with link(old, new, QUERY, id=LINK, start=start, mode=ModePolicy.MAPPED) as made, made.running():
        for partition in range(PARTITIONS):
            made.await_position(QUERY, 40, partition=partition)


def orders(first: int, count: int, partition: int) -> list[dict[str, Any]]:
    """Records of the source; in partition 1 some are equal to each other."""
    made = numbered(count, first=first, timestamp=OLD_MS + first, partition=partition)
    if partition == 1:
        for at in EQUAL:
            if first <= at < first + count:
                made[at - first] |= {"key": b"same", "value": b"same", "timestamp": OLD_MS}
    return made


def copied_by_another(old: SandboxCluster, new: SandboxCluster) -> None:
    """Two partitions of records, by a program that is killed on its way, and loses one."""
    for cluster, topic in ((old, ORDERS), (new, COPY)):
        create(cluster, topic, 2)
    for partition in range(2):
        produce(old, ORDERS, orders(0, RECORDS, partition), batch=200)
        mirror(old, new, partition, 0, KILLED_AT)
        mirror(old, new, partition, AGAIN_FROM, RECORDS)


def mirror(old: SandboxCluster, new: SandboxCluster, partition: int, first: int, end: int) -> None:
    """Read records and write them again, as the simplest of such programs does."""
    settings = {"enable.auto.commit": False, "auto.offset.reset": "error"}
    consumer = Consumer({"bootstrap.servers": old.internal_bootstrap, "group.id": "mirror", **settings})
    producer = Producer({"bootstrap.servers": new.internal_bootstrap, "enable.idempotence": True, "linger.ms": 50})
    consumer.assign([TopicPartition(ORDERS, partition, first or OFFSET_BEGINNING)])
    at = first
    while at < end:
        for one in consumer.consume(min(500, end - at), TIMEOUT_S):
            assert one.error() is None and one.offset() == at, one.error()
            at += 1
            if (partition, one.offset()) != (1, LOST):
                producer.produce(COPY, one.value(), one.key(), partition, timestamp=one.timestamp()[1])
    assert producer.flush(TIMEOUT_S) == 0
    consumer.close()


def value(cluster: SandboxCluster, topic: str, partition: int, offset: int) -> str:
    """The record that stands there."""
    consumer = Consumer({"bootstrap.servers": cluster.internal_bootstrap, "group.id": "value"})
    consumer.assign([TopicPartition(topic, partition, offset)])
    try:
        found: Message | None = consumer.poll(TIMEOUT_S)
        assert found is not None and (found.error() is not None or found.offset() == offset)
        return value_of(found)
    finally:
        consumer.close()


def obey(sides: Mapping[str, SandboxCluster]) -> None:
    """What standard input says, until its end."""
    first = RECORDS
    for line in sys.stdin:
        word, *told = line.split()
        found = None
        if word == "produce":
            for partition in range(2):
                produce(sides["old"], ORDERS, orders(first, MORE, partition), batch=50)
            first += MORE
        elif word == "value":
            side, topic, number, offset = told
            found = value(sides[side], topic, int(number), int(offset))
        print(json.dumps({"done": word, "found": found}), flush=True)


def main() -> None:
    """Serve until standard input ends."""
    log_plainly()  # on standard error: what stands on standard output is for who started this
    old, new = start_clusters([ClusterSpec(name, overrides=STEADY) for name in ("old", "new")])
    with tempfile.TemporaryDirectory() as name, old, new:
        directory = Path(name)
        root = directory / "checkpoints"
        checkpoint = copy("rocksdb", root / "flights-job", state=True)
        copied_by_link(old, new)
        copied_by_another(old, new)
        known = {"old": old.context(), "new": new.context()}
        with serving(str(directory / "store.db"), known, directory, roots=(str(root),)) as served:
            until(lambda: served.instance.acting.acts and len(served.instance.board.seen) == len(known))
            told = {
                "url": f"http://127.0.0.1:{served.port}",
                "tokens": served.tokens,
                "link": LINK,
                "checkpoint": str(checkpoint),
                "records": RECORDS,
                "more": MORE,
                "shift": KILLED_AT - AGAIN_FROM,
            }
            print(json.dumps(told), flush=True)
            try:
                obey({"old": old, "new": new})
            finally:
                end_jobs(served)


if __name__ == "__main__":
    main()
