"""Naming who else writes to a mapped lane's target partition.

A mapped lane goes on beside other writers: its ranges come from acknowledgements.  But nobody should write there, so
offsets that an acknowledgement jumped over are looked at, once a lane: markers are what takeovers and filled gaps
cost, a record that is not the lane's is a foreign writer's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable

from anabranch.copier.lane.lane import Lane
from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.records.header import BatchHeader
from anabranch.state.maps.rebuild import LogRange, headers

LOOK_S = 1.0
WORDS = "someone else writes to the target partition"


class ForeignWriters:
    """Looks into the gaps of lanes; ``foreign_writer`` of a lane's status is a sentence where one is found."""

    def __init__(self, target: Cluster, own: Callable[[str], Collection[int]]) -> None:
        self._target = target
        self._own = own

    async def run(self, lanes: Iterable[Lane]) -> None:
        """Look once a second until cancelled; a lane without a gap costs a comparison."""
        while True:
            await asyncio.sleep(LOOK_S)
            for lane in tuple(lanes):  # lanes come and go while one is looked at
                if lane.copied.target_gap is not None and not lane.status.foreign_writer:
                    await self._look(lane, lane.copied.target_gap)

    async def _look(self, lane: Lane, gap: tuple[int, int]) -> None:
        target = lane.assignment.target
        own = self._own(lane.key)
        try:
            async for header in headers(self._target, LogRange(target.topic, target.partition, *gap)):
                if not header.is_control and header.producer_id not in own:
                    lane.status.foreign_writer = named(header)
                    break
        except AnabranchError:
            return  # asked again a second later
        if lane.copied.target_gap == gap:
            lane.copied.target_gap = None


def with_foreign_writer(reason: str, writer: str) -> str:
    """The reason of a lane's mode with who else writes there, once: reasons are persisted and taken up again."""
    return reason if not writer or WORDS in reason else f"{reason}; {writer}".removeprefix("; ")


def named(header: BatchHeader) -> str:
    """The sentence about a batch that is not the lane's."""
    who = "without a producer id" if header.producer_id < 0 else f"producer id {header.producer_id}"
    return f"{WORDS} ({who} at offset {header.base_offset:,})"
