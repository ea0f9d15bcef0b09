"""The lanes' progress as it is stored, decoded where it is asked for.

A worker reads that of every lane of every link on a target, some thousands a second, and asks for its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from anabranch.model.lane import LaneKey, LaneProgress
from anabranch.model.topics import TopicPartition
from anabranch.state.codecs import progress as codec

_AT_ONCE = 50
"""Lanes: some milliseconds."""


class StoredLanes(Mapping[LaneKey, LaneProgress]):
    """Progress by lane; asking for a lane raises ``MalformedRecordError``, ``NewerFormatError``."""

    def __init__(self) -> None:
        self._stored: dict[LaneKey, tuple[bytes, bytes]] = {}
        self._of_link: dict[str, dict[LaneKey, None]] = {}
        self._decoded: dict[LaneKey, LaneProgress] = {}

    def keep(self, lane: LaneKey, key: bytes, value: bytes) -> None:
        """Take what was persisted last of a lane."""
        self._stored[lane] = key, value
        self._of_link.setdefault(lane.link, {})[lane] = None
        self._decoded.pop(lane, None)

    def drop(self, lane: LaneKey) -> None:
        """The lane is persisted no more."""
        self._stored.pop(lane, None)
        self._of_link.get(lane.link, {}).pop(lane, None)
        self._decoded.pop(lane, None)

    async def decode(self, link: str) -> None:
        """Decode what is new of a link's lanes, and let others have the event loop after each ``_AT_ONCE`` of them."""
        new = [lane for lane in self._of_link.get(link, ()) if lane not in self._decoded]
        for number, lane in enumerate(new, 1):
            if lane in self._stored:
                self[lane]
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)

    def of(self, link: str) -> list[LaneProgress]:
        """The lanes of one link; those of other links are not decoded."""
        return [self[lane] for lane in self._of_link.get(link, ())]

    def into(self, target: TopicPartition) -> list[LaneKey]:
        """The lanes that write a target partition, of whatever link; none is decoded."""
        told = codec.target_text(target)
        return [lane for lane, (_, value) in self._stored.items() if told in value]

    def __getitem__(self, lane: LaneKey) -> LaneProgress:
        found = self._decoded.get(lane)
        if found is None:
            found = self._decoded[lane] = codec.decode_lane(*self._stored[lane])
        return found

    def __contains__(self, lane: object) -> bool:
        return lane in self._stored

    def __iter__(self) -> Iterator[LaneKey]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)
