"""Gap records on their way into the journal, and when they are forgotten."""

import asyncio
import uuid
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.copier.lane.active import ActiveOwnership
from anabranch.copier.lane.fetched import PendingGapRecord
from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.target import gap_writer as module
from anabranch.copier.target.gap_writer import FORGET_S, GapWriter
from anabranch.errors import AnabranchError
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import ConnectionLostError
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.protocol.claims import Claim, ClaimLog, ClaimState
from anabranch.protocol.endings import Ending
from anabranch.protocol.gap_records import GapRecord, GapRecordKey, GapRecordLog, OffsetSpan
from anabranch.protocol.ownership import Ownership
from anabranch.protocol.pipeline import Pipeline

pytestmark = pytest.mark.unit

TOPIC, PLACE = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)


class Stored:
    """The journal of gap records, in memory; ``fails`` is what an append raises, False what it answers."""

    def __init__(self, fails: AnabranchError | bool | None = None) -> None:
        self.fails = fails
        self.gap_records = GapRecordLog()
        self.forgotten: list[GapRecordKey] = []

    async def append(self, gap_records: Sequence[GapRecord]) -> bool:
        """Keep them, or not."""
        if isinstance(self.fails, AnabranchError):
            raise self.fails
        if self.fails is None:
            for gap_record in gap_records:
                self.gap_records.apply(self.gap_records.end, gap_record.key, gap_record)
        return self.fails is None

    async def read(self) -> GapRecordLog:
        """All of them."""
        return self.gap_records

    async def forget(self, keys: Sequence[GapRecordKey]) -> None:
        """Keep which."""
        self.forgotten += keys


def made() -> tuple[Lane, ActiveOwnership]:
    """A running lane whose sequences begin at 0."""
    lane = Lane(LaneAssignment(LaneKey("l", TOPIC, 0), PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.AUTO))
    claim = Claim(lane.key, 1, LaneMode.MAPPED, "me", None, now_ms(), ClaimState.CLAIMED, 0, 0)
    ownership = Ownership(lane.key, LaneMode.MAPPED, claim, 1, 1, 86_400_000, 0, 0, 0, 0, None, frozenset(), "")
    pipeline = Pipeline(ownership, sole_writer=False)
    return lane, lane.begin(ownership, pipeline, cast(Connection, None))


@pytest.mark.parametrize("fails", [None, False, ConnectionLostError("new", "1", "gone")])
def test_a_batch_may_leave_only_where_the_journal_has_the_gap_record(fails: AnabranchError | bool | None) -> None:
    """Else the ownership ends: its records must not leave."""

    async def play() -> tuple[bool, LanePhase, Ending | None]:
        lane, active = made()
        pending = PendingGapRecord()
        gap_writer = GapWriter(cast(Any, Stored(fails)), cast(Any, None), lambda _: None, lambda: None)
        gap_writer.submit(lane, active, lane.fetched.gap_record(active.ownership, 0, [OffsetSpan(7, 1)]), pending)
        task = asyncio.create_task(gap_writer.run())
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return pending.good, lane.phase, lane.ended.reason if lane.ended else None

    wanted = (True, LanePhase.RUNNING, None) if fails is None else (False, LanePhase.TAKING, Ending.JOURNAL)
    assert asyncio.run(play()) == wanted


@pytest.mark.parametrize("overwritten", [False, True])
def test_gap_records_are_forgotten_only_while_their_runs_are_as_they_were_persisted(
    overwritten: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request of an earlier owner may be carried out late: then the gap records are what tells the offsets still."""
    now = iter([0.0, FORGET_S + 1, 2 * FORGET_S + 2])
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(now)))
    lane, active = made()
    pipeline = active.pipeline
    stored = Stored()
    journal = SimpleNamespace(claims=ClaimLog())
    gap_writer = GapWriter(cast(Any, stored), cast(Any, journal), lambda _: None, lambda: None)

    async def checked() -> set[str]:
        return {lane.key} if overwritten else set()

    async def play() -> None:
        for at, source in enumerate((7, 20)):
            gap_record = lane.fetched.gap_record(active.ownership, at, [OffsetSpan(source, 1)])
            await stored.append([gap_record])
            pipeline.intend()
            pipeline.permit(gap_record)
            pipeline.send((OffsetSpan(source, 1),), 1)
            pipeline.acknowledge(0, at)
        await gap_writer.forget([lane], checked)
        assert stored.forgotten == []
        await gap_writer.forget([lane], checked)

    asyncio.run(play())
    assert [key.sequence for key in stored.forgotten] == ([] if overwritten else [0])


def test_what_went_by_before_the_first_task_ran_is_no_time_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker may wait for its target for long; then it does not read all persisted runs again in its first second."""
    now = iter([0.0, FORGET_S + 1, FORGET_S + 2])
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(now)))
    lane, _ = made()
    lane.fetched.gap_records = 1
    checks: list[int] = []

    async def checked() -> set[str]:
        checks.append(1)
        return set()

    async def play() -> None:
        writer = GapWriter(cast(Any, Stored()), cast(Any, None), lambda _: None, lambda: None)
        task = asyncio.create_task(writer.run())
        await asyncio.sleep(0)
        await writer.forget([lane], checked)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(play())
    assert not checks
