"""A consumer group's position: our exact answer beside what MirrorMaker 2's algorithm would have given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from examples.demo.proof import LaneProof

from anabranch.offsets.translate import Exact, to_target
from anabranch.testing import mm2_offsets

_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """A committed position on one partition and both translations; ``same`` says whether ours is the same record."""

    partition: str
    position: int
    exact: int | None
    mirror_maker: int | None
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
        with_group.commit(offsets=offsets, asynchronous=False)
    finally:
        with_group.close()


def committed(config: Mapping[str, Any], group: str, partitions: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Read back what the group committed, by ``topic-partition``."""
    reader = Consumer({**config, "group.id": group, "enable.auto.commit": False})
    try:
        found = reader.committed([TopicPartition(topic, number) for topic, number in partitions], timeout=_SECONDS)
        return {f"{one.topic}-{one.partition}": one.offset for one in found if one.offset >= 0}
    finally:
        reader.close()


def answer(proof: LaneProof, position: int) -> GroupAnswer:
    """Translate a position on a lane's source twice, and look whether the record there is the same on both sides."""
    ours = to_target(proof.filed, position)
    exact = ours.offset if isinstance(ours, Exact) else None
    copied = [mm2_offsets.CopiedRun(run.source, run.target, run.length) for run in proof.seen]
    theirs = mm2_offsets.translate(mm2_offsets.offset_syncs(copied), position)
    here = next((entry.digest for entry in proof.source if entry.offset == position), b"source")
    there = next((entry.digest for entry in proof.target if entry.offset == exact), b"target")
    return GroupAnswer(str(proof.progress.source), position, exact, theirs, here == there)
