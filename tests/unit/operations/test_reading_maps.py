"""What is read and held for the maps of some lanes, where the topic with the runs is full of those of others."""

from __future__ import annotations

import tracemalloc
import uuid
from collections.abc import Callable, Iterator

import pytest

from anabranch.kafka.log import KeyedLog, LogEntry
from anabranch.model.lane import LaneKey
from anabranch.model.topics import TopicId
from anabranch.state.codecs import ranges as range_codec
from anabranch.state.codecs import topics as control_topics
from anabranch.state.maps.reading import read_maps
from tests.unit.link_lab import LINK, RUNS, Lab, lab

pytestmark = pytest.mark.unit

SEGMENTS, SEGMENT_BYTES = 500, 3_000


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


def test_maps_of_some_lanes_hold_nothing_of_others(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A week of busy lanes is gigabytes: what is not asked for is let go record by record."""
    fold, other, held = KeyedLog.fold, LaneKey("another", TopicId(uuid.UUID(int=4)), 0), [0]

    async def filled(self: KeyedLog, take: Callable[[LogEntry], None]) -> None:
        if self.topic == control_topics.RUNS:
            tracemalloc.start()
            try:
                for number in range(SEGMENTS):
                    take(LogEntry(number, range_codec.range_key(other, number), bytes(SEGMENT_BYTES)))
                held.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
        await fold(self, take)

    monkeypatch.setattr(KeyedLog, "fold", filled)
    maps = both.on(both.target, lambda cluster: read_maps(cluster, LINK, {both.lanes[0].source}))
    assert [list(one.ranges) for one in maps] == [list(RUNS)]
    assert 0 < held[-1] < 20 * SEGMENT_BYTES


def test_who_asks_for_no_lane_reads_no_runs(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verbs for groups need a link's spec and topics first, and only later the maps of what is committed."""
    fold, read = KeyedLog.fold, set()

    async def noted(self: KeyedLog, take: Callable[[LogEntry], None]) -> None:
        read.add(self.topic)
        await fold(self, take)

    monkeypatch.setattr(KeyedLog, "fold", noted)
    maps = both.on(both.target, lambda cluster: read_maps(cluster, LINK, ()))
    assert maps.spec.id == LINK and maps.topics == {"orders": "old.orders"} and not len(maps)
    assert read == {control_topics.LINKS}
