"""A consumer group that is moved and reads on, beside what MirrorMaker 2's algorithm would have made of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from anabranch.groups.plan import GroupPlan, Move
from anabranch.groups.select import GroupSelection
from anabranch.mirrormaker import store as mm2_offsets
from anabranch.model.cluster import ClusterContext
from examples.demo.proof import LaneProof
from qa import groups
from qa.brokers import retry
from qa.logcompare import entry_of

_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """A position on one partition and both translations.

    ``read`` counts what the group read on the target after its move; ``same`` says whether that was exactly what it
    had not read on the source.
    """

    partition: str
    position: int
    exact: int | None
    mirror_maker: int | None
    read: int
    same: bool

    @property
    def read_again(self) -> int | None:
        """How many records the group would read a second time with MirrorMaker 2's answer."""
        if self.exact is None or self.mirror_maker is None:
            return None
        return self.exact - self.mirror_maker


def commit(config: Mapping[str, Any], group: str, positions: Mapping[tuple[str, int], int]) -> None:
    """Commit a group's positions, as a consumer does that has read so far."""
    with_group = Consumer({**config, "group.id": group, "enable.auto.commit": False})
    try:
        offsets = [TopicPartition(topic, number, offset) for (topic, number), offset in positions.items()]
        retry(lambda: with_group.commit(offsets=offsets, asynchronous=False))  # the first group of the cluster
    finally:
        with_group.close()


def move(source: ClusterContext, target: ClusterContext, link: str, group: str) -> GroupPlan:
    """Plan the group's move, carry out that very plan, and return what was done."""
    return groups.sync(source, target, link, GroupSelection((group,))).groups[0]


def read_on(config: Mapping[str, Any], group: str, topic: str) -> dict[int, list[bytes]]:
    """Have a consumer of the group read from where it stands to the end; the records' digests by partition."""
    consumer = Consumer(
        {
            **config,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
        }
    )
    consumer.subscribe([topic])
    found: dict[int, list[bytes]] = {}
    ended: set[int] = set()
    deadline = time.monotonic() + _SECONDS
    try:
        while time.monotonic() < deadline and not (ended and len(ended) == len(consumer.assignment())):
            for message in consumer.consume(5_000, 0.5):
                if message.error() is None:
                    found.setdefault(message.partition(), []).append(entry_of(message).digest)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
                else:
                    raise KafkaException(message.error())
    finally:
        consumer.close()
    return found


def answer(proof: LaneProof, moved: Move, read: Sequence[bytes]) -> GroupAnswer:
    """Hold what the group read on after its move against what it had not read on the source."""
    copied = [mm2_offsets.CopiedRange(run.source, run.target, run.length) for run in proof.seen]
    theirs = mm2_offsets.translate(mm2_offsets.offset_syncs(copied), moved.commit.offset)
    unread = [entry.digest for entry in proof.source if entry.offset >= moved.commit.offset]
    return GroupAnswer(str(moved.source), moved.commit.offset, moved.answer, theirs, len(read), list(read) == unread)
