"""What a takeover that failed leaves for the next one, and what is done with what others have persisted."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from anabranch.copier.lane.fetched import FetchedBatch
from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.ownership import map_completion
from anabranch.copier.ownership import takeover_manager as module
from anabranch.copier.ownership.map_completion import MapCompletion
from anabranch.copier.ownership.takeover_manager import takeover_manager
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import UnreachableError
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets import codec
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop
from anabranch.protocol.gap_records import OffsetSpan
from anabranch.protocol.ownership import Ownership
from anabranch.protocol.pipeline import Pipeline
from anabranch.records import encode as batches
from anabranch.records.header import BatchHeader
from anabranch.sandbox import ClusterSpec
from anabranch.state.codecs.ranges import encode
from anabranch.state.maps.rebuild import rebuild
from anabranch.state.topics.control import MappedRanges, Progress
from anabranch.state.topics.journal import GapRecords, Journal
from tests.simulated import Simulated
from tests.unit.asking import append, records
from tests.unit.copier.taking import TARGET, Lab, Stage

pytestmark = pytest.mark.unit

DAY_MS = 86_400_000
TOPIC, PLACE = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)
COPIED, BEHIND = MappedRange(0, 0, 10), MappedRange(30, 10, 10)
"""Two batches of ten records: the first is told by persisted runs alone, the second by a gap record."""


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """One cluster for all."""
    with Simulated(ClusterSpec(name="one"), 1) as simulated:
        yield Stage(simulated)


@pytest.fixture(autouse=True)
def tried_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait before another attempt is drawn: the shortest that can be."""
    monkeypatch.setattr(module.random, "uniform", lambda _low, _high: 0.01)


def test_runs_that_could_not_be_told_are_read_again_before_the_next_attempt(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier owner persisted them, and forgot the gap records behind them, when an attempt had read what was
    persisted: the next
    one finds a claim of its own as the last and would not look."""
    attempts = []

    async def scene(lab: Lab) -> list[MappedRange]:
        async def after_that(*asked: Any) -> list[MappedRange]:
            if not attempts:
                await lab.persisted((COPIED, BEHIND))
            attempts.append(asked)
            return await rebuild(*asked)

        monkeypatch.setattr(map_completion, "rebuild", after_that)
        await lab.forgotten(await lab.copied(10, 10), 10, BEHIND.source)
        lane, owner = lab.lane(), await lab.owner("run/next")
        owner.begin(lane)
        await owner.until(lambda: lane.phase is LanePhase.RUNNING)
        await owner.end()
        return list(lane.copied.book.map)

    assert stage.play(scene) == [COPIED, BEHIND]
    assert len(attempts) == 1, "the next one has the whole map"


def test_a_lane_whose_runs_nobody_has_persisted_meanwhile_stops(stage: Stage) -> None:
    """They are lost: another attempt would find no more, and cost a claim and a marker each time."""

    async def scene(lab: Lab) -> LaneStopped | None:
        await lab.forgotten(await lab.copied(10, 10), 10, BEHIND.source)
        lane, owner = lab.lane(), await lab.owner("run/next")
        owner.begin(lane)
        await owner.until(lambda: lane.phase is LanePhase.STOPPED)
        await owner.end()
        return lane.stopped

    stopped = stage.play(scene)
    assert stopped is not None and (stopped.reason, stopped.offset) == (Stop.POSITION_LOST, BEHIND.source_end)


def test_nothing_is_claimed_of_a_lane_that_was_left(stage: Stage) -> None:
    """Another worker may have it by then; and the others are taken over."""

    async def scene(lab: Lab) -> tuple[int, int, LanePhase]:
        left, other, owner = lab.lane(0), lab.lane(1), await lab.owner("run/one")
        owner.begin(left, other)
        await asyncio.sleep(0)
        left.leave()
        await owner.manager.forgo(left)
        await owner.until(lambda: other.phase is LanePhase.RUNNING)
        await owner.end()
        claims = await owner.journal.read()
        return len(claims.claims(left.key)), len(claims.claims(other.key)), left.phase

    assert stage.play(scene) == (0, 1, LanePhase.OVER)


def test_attempts_that_fail_make_a_book_only_of_what_is_new(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A book of many runs takes time in which nothing is copied, and a broker may be away for long."""

    async def away(*_: object) -> None:
        raise UnreachableError("new", ())

    async def scene(lab: Lab) -> None:
        await lab.forgotten(await lab.copied(10, 10), 10, BEHIND.source)
        await lab.persisted((MappedRange(0, 0, 5),))
        monkeypatch.setattr(map_completion, "rebuild", away)
        lane, owner = lab.lane(), await lab.owner("run/next")
        own, key = lane.copied.book, lane.key

        async def attempts(more: int) -> None:
            tried = len(owner.journal.claims.claims(key)) + more
            await owner.until(lambda: len(owner.journal.claims.claims(key)) >= tried)

        owner.begin(lane)
        await owner.until(lambda: bool(lane.status.waiting))
        first = lane.copied.book
        assert first is not own and first.last == MappedRange(0, 0, 5), (
            "another had the lane: what it persisted is read"
        )
        await attempts(2)
        assert lane.copied.book is first, "nothing was persisted since"
        await lab.persisted((MappedRange(0, 0, 6),))
        await owner.until(lambda: lane.copied.book is not first)
        assert lane.copied.book.last == MappedRange(0, 0, 6)
        await owner.end()

    stage.play(scene)


def test_why_a_lane_was_made_mapped_is_known_to_the_attempts_after_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the one that made it so ends before the lane begins."""
    failed = []

    async def scene(lab: Lab) -> tuple[LaneMode, str]:
        lane, owner = lab.lane(), await lab.owner("run/one")
        foreign = await lab.cluster.partition(TARGET, lane.assignment.target.partition)
        connection = await lab.cluster.connection(foreign[1].leader)
        batch = batches.encode(records(3), producer_id=-1, producer_epoch=-1, sequence=-1)
        assert await append(connection, TARGET, lab.target.uuid, batch, lane.assignment.target.partition) == 0
        lane = Lane(replace(lane.assignment, mode=ModePolicy.AUTO))
        completes = MapCompletion.complete

        async def away_once(*given: Any) -> None:
            if not failed:
                failed.append(given)
                raise UnreachableError("new", ())
            await completes(*given)

        monkeypatch.setattr(MapCompletion, "complete", away_once)
        owner.begin(lane)
        await owner.until(lambda: lane.phase is LanePhase.RUNNING)
        await owner.end()
        return lane.status.mode, lane.status.mode_reason

    mode, why = stage.play(scene)
    assert failed and mode is LaneMode.MAPPED
    assert why and "earlier owner" not in why, why


def test_a_lane_whose_persisted_runs_contradict_each_other_waits_and_says_so(stage: Stage) -> None:
    """Its position could be told wrong without them."""

    async def scene(lab: Lab) -> tuple[str, LanePhase]:
        await lab.copied(10)
        await lab.persisted((MappedRange(0, 0, 50),), (MappedRange(40, 40, 9),))
        lane, owner = lab.lane(), await lab.owner("run/next")
        owner.begin(lane)
        await owner.until(lambda: bool(lane.status.waiting))
        await owner.end()
        return lane.status.waiting, lane.phase

    waiting, phase = stage.play(scene)
    assert waiting.startswith("what is persisted of its offset map contradicts itself: ")
    assert phase is LanePhase.TAKING


def test_persisted_runs_past_the_end_of_the_lane_s_last_batch_are_cut_before_anything_is_sent(stage: Stage) -> None:
    """An election took what they tell of: what lies there next is something else."""

    async def scene(lab: Lab) -> tuple[list[MappedRange], dict[int, bytes]]:
        await lab.copied(12)
        await lab.persisted((MappedRange(0, 0, 20),))
        lane, owner = lab.lane(), await lab.owner("run/next")
        owner.begin(lane)
        await owner.until(lambda: lane.phase is LanePhase.RUNNING)
        await owner.ranges.sync()
        await owner.end()
        segments = owner.ranges.segments[lane.assignment.lane]
        return list(lane.copied.book.map), {number: segments.stored(number) for number in segments}

    assert stage.play(scene) == ([MappedRange(0, 0, 12)], {0: encode([MappedRange(0, 0, 12)])})


def test_who_was_cut_off_reads_what_its_successor_persisted_before_it_goes_on(stage: Stage) -> None:
    """It does not know yet that there was one, and the target deleted what that had persisted: no header gives it
    back.
    """

    async def scene(lab: Lab) -> list[MappedRange]:
        cut_off, earlier = await lab.take("run/earlier")
        await lab.send(cut_off, 10)
        cut_off.copied.book.append(MappedRange(0, 0, 10))
        lane, later = await lab.take("run/later")  # its marker is at 10
        await lab.send(lane, 10, 5)
        await later.ranges.persist({(lane.assignment.lane, 0): (MappedRange(0, 0, 10), MappedRange(10, 11, 10))})
        await lab.delete_below(lane, 21)
        await later.end()
        assert cut_off.active is not None
        cut_off.end_ownership(cut_off.active, OwnershipEnded(cut_off.key, Ending.DISCONNECTED))
        await earlier.until(lambda: cut_off.phase is LanePhase.RUNNING)
        await earlier.end()
        return list(cut_off.copied.book.map)

    assert stage.play(scene) == [MappedRange(0, 0, 10), MappedRange(10, 11, 15)]


def test_a_late_request_of_an_earlier_owner_hides_no_runs_from_the_next(stage: Stage) -> None:
    """It was cut off from the target with its runs under way, while its successor persisted more and the target deleted
    what those tell of: no header gives them back."""

    async def scene(lab: Lab) -> tuple[list[MappedRange], list[MappedRange]]:
        (lane, earlier), key = await lab.take("run/earlier"), lab.lane().assignment.lane
        await lab.send(lane, 10)
        lane, later = await lab.take("run/later")  # its marker is at 10
        await lab.send(lane, 10, 5)
        await later.ranges.persist({(key, 0): (MappedRange(0, 0, 10), MappedRange(10, 11, 10))})
        await lab.delete_below(lane, 21)
        await earlier.ranges.persist({(key, 0): (MappedRange(0, 0, 10),)})
        lane, last = await lab.take("run/last")
        unpersisted = lane.copied.book.unpersisted()
        await asyncio.gather(*(owner.end() for owner in (earlier, later, last)))
        return list(lane.copied.book.map), list(codec.decode(dict(unpersisted)[0]))

    whole = [MappedRange(0, 0, 10), MappedRange(10, 11, 15)]
    assert stage.play(scene) == (whole, whole)


def test_a_late_request_of_an_earlier_owner_hides_no_gap_record_that_was_forgotten(stage: Stage) -> None:
    """Its successor had persisted the runs and forgotten the gap record behind them: without those the lane would
    wait.
    """

    async def scene(lab: Lab) -> list[MappedRange]:
        (lane, earlier), key = await lab.take("run/earlier"), lab.lane().assignment.lane
        await lab.send(lane, 10)
        lane, later = await lab.take("run/later")  # its marker is at 10
        await lab.forgotten(await lab.send(lane, 10, 10), 20, 40)
        await later.ranges.persist(
            {(key, 0): (MappedRange(0, 0, 10), MappedRange(10, 11, 10), MappedRange(40, 21, 10))}
        )
        await earlier.ranges.persist({(key, 0): (MappedRange(0, 0, 10),)})
        lane, last = await lab.take("run/last")
        await asyncio.gather(*(owner.end() for owner in (earlier, later, last)))
        return list(lane.copied.book.map)

    assert stage.play(scene) == [MappedRange(0, 0, 10), MappedRange(10, 11, 10), MappedRange(40, 21, 10)]


def test_persisted_runs_that_the_target_s_log_contradicts_are_read_from_the_log_again(stage: Stage) -> None:
    """A stopped owner persisted once more what it had sent before an election took that: its runs end within a
    batch.
    """

    async def scene(lab: Lab) -> tuple[list[MappedRange], list[tuple[int, bytes]], int]:
        await lab.copied(10, 10)
        await lab.persisted((MappedRange(0, 0, 9), MappedRange(12, 9, 8)))
        lane, owner = lab.lane(), await lab.owner("run/next")
        owner.begin(lane)
        await owner.until(lambda: lane.phase is LanePhase.RUNNING)
        await owner.end()
        return list(lane.copied.book.map), lane.copied.book.unpersisted(), lane.copied.position

    assert stage.play(scene) == ([MappedRange(0, 0, 20)], [(0, encode([MappedRange(0, 0, 20)]))], 20)


async def retired_below(lab: Lab) -> None:
    """The lane's map is persisted from target offset 25 on, under number 3: what lay below was retired."""
    await MappedRanges(lab.cluster).persist({(lab.lane().assignment.lane, 3): encode([MappedRange(40, 25, 9)])})


def test_a_target_that_was_truncated_below_what_was_retired_is_told_by_its_log(stage: Stage) -> None:
    """The numbers go on, so that nobody takes what is persisted then for the whole map; it is persisted before anything
    is
    sent."""

    async def scene(lab: Lab) -> tuple[list[MappedRange], int, dict[int, bytes]]:
        await lab.copied(10, 10)
        await retired_below(lab)
        lane, owner = lab.lane(), await lab.owner("run/next")
        owner.begin(lane)
        await owner.until(lambda: lane.phase is LanePhase.RUNNING)
        await owner.ranges.sync()
        await owner.end()
        segments = owner.ranges.segments[lane.assignment.lane]
        return (
            list(lane.copied.book.map),
            lane.copied.position,
            {number: segments.stored(number) for number in segments},
        )

    assert stage.play(scene) == ([MappedRange(0, 0, 20)], 20, {3: encode([MappedRange(0, 0, 20)])})


def test_a_target_that_was_truncated_below_what_was_retired_stops_where_its_log_does_not_tell(stage: Stage) -> None:
    """Its gap records are forgotten, and the runs were retired: a person accepts, and nothing is persisted until
    then.
    """

    async def scene(lab: Lab) -> tuple[LaneStopped | None, dict[int, bytes]]:
        await lab.forgotten(await lab.copied(10, 10), 10, BEHIND.source)
        await retired_below(lab)
        lane, owner = lab.lane(), await lab.owner("run/next")
        owner.begin(lane)
        await owner.until(lambda: lane.phase is LanePhase.STOPPED)
        await owner.ranges.sync()
        await owner.end()
        segments = owner.ranges.segments[lane.assignment.lane]
        assert not lane.copied.book.unpersisted()
        return lane.stopped, {number: segments.stored(number) for number in segments}

    stopped, stored = stage.play(scene)
    assert stopped is not None and stopped.reason is Stop.POSITION_LOST and stopped.offset == BEHIND.source + 10
    assert "truncated to 20" in stopped.message and "link accept" in stopped.hint
    assert stored == {3: encode([MappedRange(40, 25, 9)])}


def wanted() -> Lane:
    """A lane that is to be taken over."""
    return Lane(LaneAssignment(LaneKey("l", TOPIC, 0), PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.AUTO))


@pytest.mark.parametrize("task", ["renew", "connect"])
def test_an_ownership_that_ends_before_what_was_to_be_done_for_it_begins_ends_no_worker(task: str) -> None:
    """The manager decides in one turn of the event loop; the sender may end the ownership in the next."""

    async def play() -> bool:
        cluster = Cluster(Transport("c", "User:ANONYMOUS"), [])
        parts = (Journal(cluster), GapRecords(cluster), Progress(cluster), MappedRanges(cluster))
        manager, lane = takeover_manager("me", cluster, cluster, *parts, lambda *_: None, WriteGate()), wanted()
        claimed_at = 0 if task == "renew" else now_ms()
        claim = Claim(lane.key, 1, LaneMode.MAPPED, "me", None, claimed_at, ClaimState.CLAIMED, 0, 0)
        ownership = Ownership(lane.key, LaneMode.MAPPED, claim, 1, 1, DAY_MS, 0, 0, 0, 0, None, frozenset(), "")
        pipeline = Pipeline(ownership, sole_writer=False)
        active = lane.begin(ownership, pipeline, cast(Connection, object()))
        if task == "connect":
            assert lane.disconnected()
            lane.fetched.put(
                FetchedBatch(
                    memoryview(b""), 0, BatchHeader(0, 0, 0, 2, 0, 0, 0, 0, 0, -1, 0, 0, 1), None, (OffsetSpan(0, 1),)
                )
            )
        running = asyncio.create_task(manager.run([lane], lambda: True))
        await asyncio.sleep(0)
        assert f"{task}-{lane.key}" in {one.get_name() for one in asyncio.all_tasks()}
        lane.end_ownership(active, OwnershipEnded(lane.key, Ending.FENCED))
        lane.leave()
        for _ in range(5):
            manager.wake()
            await asyncio.sleep(0)
        ended = running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return ended

    assert not asyncio.run(play())
