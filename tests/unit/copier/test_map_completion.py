"""Who may bring a lane's map up to the target's log: the latest owner, while it knows that it is."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from typing import Any, cast

import pytest

from anabranch.copier.lane.lane import Lane
from anabranch.copier.ownership.map_completion import MapCompletion
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.cluster import Cluster
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop
from anabranch.protocol.ownership import Ownership
from anabranch.state.maps.rebuild import UnknownSourceError
from anabranch.state.topics.control import MappedRanges
from anabranch.state.topics.journal import GapRecords, Journal

pytestmark = pytest.mark.unit

TOPIC, PLACE = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)
NOW = 1_000_000


class Filed:
    """The topic of the runs: what is persisted, and no more."""

    def __init__(self, news: bool = False) -> None:
        self.segments: list[Any] = []
        self.news = news

    async def sync(self) -> None:
        pass

    def has_news(self, lane: LaneKey) -> bool:
        return self.news

    async def cut(self, lane: LaneKey, book: Any, target_end: int) -> Any:
        book.cut(target_end)
        return book

    async def persist(self, segments: Any) -> None:
        self.segments.append(segments)


@pytest.mark.parametrize(
    ("later", "fresh", "ending"),
    [(False, True, None), (True, True, Ending.SUPERSEDED), (False, False, Ending.LEASE)],
)
def test_a_cut_is_persisted_by_the_latest_owner_alone(later: bool, fresh: bool, ending: Ending | None) -> None:
    """Another may have copied on since the log's end was read, and persisted that."""
    cluster = cast(Cluster, None)
    journal, gate, filed = Journal(cluster), WriteGate(lambda: 0.0), Filed()
    if fresh:
        gate.renew(0.0)
    lane = Lane(LaneAssignment(LaneKey("l", TOPIC, 0), PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.MAPPED))
    claim = Claim(lane.key, 1, LaneMode.MAPPED, "me", None, NOW, ClaimState.CLAIMED, 0, 0)
    journal.claims.apply(0, claim.key, claim)
    if later:
        another = replace(claim, producer_id=2, owner="another")
        journal.claims.apply(1, another.key, another)
    lane.copied.book.append(MappedRange(0, 0, 100))
    ownership = Ownership(lane.key, LaneMode.MAPPED, claim, 0, 1, 86_400_000, 80, 80, 80, 80, None, frozenset(), "")
    completion = MapCompletion(cluster, journal, GapRecords(cluster), cast(MappedRanges, filed), gate)
    if ending is None:
        asyncio.run(completion.complete(lane, ownership))
        assert len(filed.segments) == 1
        return
    with pytest.raises(OwnershipEnded) as told:
        asyncio.run(completion.complete(lane, ownership))
    assert (told.value.reason, filed.segments) == (ending, [])


@pytest.mark.parametrize("news", [False, True])
def test_a_lane_whose_runs_are_lost_stops_where_it_stands(monkeypatch: pytest.MonkeyPatch, news: bool) -> None:
    """What an owner that was late has persisted meanwhile is no loss: the next attempt reads it."""

    async def forgotten(*_: object) -> None:
        raise UnknownSourceError("l", 7)

    monkeypatch.setattr("anabranch.copier.ownership.map_completion.rebuild", forgotten)
    cluster = cast(Cluster, None)
    journal, gate = Journal(cluster), WriteGate(lambda: 0.0)
    gate.renew(0.0)
    lane = Lane(LaneAssignment(LaneKey("l", TOPIC, 0), PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.MAPPED))
    claim = Claim(lane.key, 1, LaneMode.MAPPED, "me", None, NOW, ClaimState.CLAIMED, 0, 0)
    journal.claims.apply(0, claim.key, claim)
    ownership = Ownership(lane.key, LaneMode.MAPPED, claim, 0, 1, 86_400_000, 95, 80, 80, 82, None, frozenset(), "")
    completion = MapCompletion(cluster, journal, GapRecords(cluster), cast(MappedRanges, Filed(news)), gate)
    if news:
        with pytest.raises(UnknownSourceError):
            asyncio.run(completion.complete(lane, ownership))
        return
    with pytest.raises(LaneStopped) as stopped:
        asyncio.run(completion.complete(lane, ownership))
    assert (stopped.value.reason, stopped.value.offset) == (Stop.POSITION_LOST, 95)
    assert "link accept" in stopped.value.hint
    assert (lane.copied.position, lane.copied.target_end) == (95, 82), "accepting it names nothing as copied twice"


def test_a_map_of_another_log_is_read_from_the_one_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though its end fits: a late owner persisted, once more, what an unclean election took; all is persisted again."""
    found = [MappedRange(0, 0, 216), MappedRange(230, 217, 139)]
    asked: list[tuple[int, int]] = []

    async def rebuilt(_: object, within: Any, log: Any, near: int) -> list[MappedRange]:
        asked.append((within.start, within.end))
        return found

    async def earliest(*_: object) -> int:
        return 0

    monkeypatch.setattr("anabranch.copier.ownership.map_completion.rebuild", rebuilt)
    monkeypatch.setattr("anabranch.copier.ownership.map_completion.offset_at", earliest)
    cluster = cast(Cluster, None)
    journal, gate, filed = Journal(cluster), WriteGate(lambda: 0.0), Filed()
    gate.renew(0.0)
    lane = Lane(LaneAssignment(LaneKey("l", TOPIC, 0), PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.MAPPED))
    claim = Claim(lane.key, 1, LaneMode.MAPPED, "me", None, NOW, ClaimState.CLAIMED, 0, 0)
    journal.claims.apply(0, claim.key, claim)
    lane.copied.book.append(MappedRange(0, 0, 220))
    lane.copied.book.persisted()
    ownership = Ownership(lane.key, LaneMode.MAPPED, claim, 0, 1, 86_400_000, 369, 369, 356, 356, None, frozenset(), "")
    ownership = replace(ownership, is_replaced=True)
    completion = MapCompletion(cluster, journal, GapRecords(cluster), cast(MappedRanges, filed), gate)
    asyncio.run(completion.complete(lane, ownership))
    assert asked == [(0, 356)]
    assert list(lane.copied.book.map) == found
    assert [number for number, _ in lane.copied.book.unpersisted()] == [0]
