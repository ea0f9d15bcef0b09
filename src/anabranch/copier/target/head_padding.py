"""The head of an identity lane's target log: padded up to the lane's start, then deleted.

A source log that begins above offset 0 is copied to the same offsets by giving the target as many empty records
first.  They go out under the lane's own producer id, each at the sequence that is its offset, so that owners that
pad at the same time, and one that goes on after a crash, make the same log (:mod:`anabranch.protocol.identity`).
Consumers may see them for the moment until they are deleted; no record of the lane is sent before.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from anabranch.copier.target.partition import TargetPartition
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka import admin, produce
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.frames import Frame
from anabranch.kafka.partitions import EARLIEST, delete_records, list_offset
from anabranch.model.acls import AclOperation
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneAssignment
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop
from anabranch.protocol.gap_records import OffsetSpan
from anabranch.protocol.head_padding import barred
from anabranch.protocol.ownership import Ownership
from anabranch.protocol.pipeline import Pipeline
from anabranch.records.filler import filler_batch
from anabranch.records.header import read_header
from anabranch.records.patch import patch

PAD_BATCH = 100_000
PURPOSE = "pad"
_FRESH_S = 600.0
_TOPIC_DENIED = 29


async def why_not(target: Cluster, assignment: LaneAssignment, start: int) -> str:
    """Why the head of a target log cannot be padded up to ``start``, as a sentence; empty where it can.

    Asked before the lane's first claim.  Raises ClusterError.
    """
    topic, partition = assignment.target.topic, assignment.target.partition
    meta = (await target.metadata([topic], operations=True)).topics[topic]
    may_delete = AclOperation.DELETE.allowed_by(meta.operations)
    configs = (await admin.topic_configs(target, [topic])).get(topic)
    policy = configs["cleanup.policy"].value if configs and "cleanup.policy" in configs else None
    _, part = await target.partition(topic, partition)  # the broker that was asked first may not know of it yet
    connection = await target.connection(part.leader)
    last = await list_offset(connection, topic, partition, -1, epoch=part.leader_epoch)
    target.check(last.code, "Describe", f"partition {topic}-{partition}")
    return barred(topic, start, last.offset, may_delete, policy)


async def pad(target: TargetPartition, ownership: Ownership, gate: WriteGate, tell: Callable[[str], None]) -> None:
    """Append empty records from the ownership's position up to the lane's start.

    ``tell`` is given a sentence for whoever waits.  Raises OwnershipEnded and LaneStopped like any sending, and errors
    of the connection; the next takeover finds how far it came.
    """
    start = ownership.claim.start
    pipeline = Pipeline(ownership, sole_writer=False)
    version = produce.version_for(target.connection)
    flight: deque[asyncio.Future[Frame]] = deque()
    template, made_at = bytearray(), 0.0
    try:
        while flight or pipeline.next_offset < start:
            while pipeline.next_offset < start and pipeline.room() and gate.is_open:
                count = min(PAD_BATCH, start - pipeline.next_offset)
                if not flight and pipeline.needs_epoch_check():
                    await target.confirm()
                    pipeline.epoch_confirmed()
                if not template or read_header(template).count != count or time.monotonic() - made_at > _FRESH_S:
                    template, made_at = bytearray(filler_batch(count, now_ms())), time.monotonic()
                header = read_header(template)
                sequence = pipeline.send((OffsetSpan(pipeline.next_offset, count),), header.max_timestamp)
                batch = bytearray(template)
                patch(memoryview(batch), 0, header, ownership.producer_id, 0, sequence)
                if not gate.is_open:
                    raise OwnershipEnded(target.lane, Ending.LEASE)
                one = produce.Outgoing(target.topic, target.topic_id, target.partition, memoryview(batch))
                flight.append(produce.submit(target.connection, [one]))
            if not flight:
                await asyncio.sleep(0.05)
                continue
            frame = await flight[0]  # in flight for as long as it is waited for, also where that is cancelled
            flight.popleft()
            try:
                throttle, (answer, *_) = produce.parse_with_throttle(frame, version)
                target.connection.throttled(throttle)
            finally:
                frame.release()
            pipeline.acknowledge(answer.code, answer.base_offset)
            tell(f"padding the head of the target log: {pipeline.position:,} of {start:,} offsets")
    except BaseException:
        if flight:
            target.connection.abort("padding ended with batches in flight")
        raise


async def cut(target: TargetPartition, start: int) -> None:
    """Have the target log begin at the lane's start, unless it does; raises OwnershipEnded or LaneStopped."""
    first = await list_offset(target.connection, target.topic, target.partition, EARLIEST, epoch=target.leader_epoch)
    target.check(first.code)
    if first.offset >= start:
        return
    code = await delete_records(target.connection, target.topic, target.partition, start)
    if code == _TOPIC_DENIED:
        raise LaneStopped(
            target.lane,
            Stop.NOT_ALLOWED,
            start,
            code,
            f"the padding of {target.topic} cannot be deleted",
            f"grant DELETE on target topic {target.topic} to the link's principal, then resume the link",
        )
    target.check(code)
