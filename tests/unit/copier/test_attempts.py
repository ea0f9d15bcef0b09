"""What each way in which an attempt at a lane may fail makes of it, and who is asked for a lane before that."""

from __future__ import annotations

import asyncio
import os
import socket
import uuid
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.ownership import handover, target_access
from anabranch.copier.ownership import lane_takeover as taking
from anabranch.copier.ownership import takeover_manager as module
from anabranch.copier.ownership.handover import TIMEOUT_S, Handover, is_dead
from anabranch.copier.ownership.takeover_manager import AT_ONCE, PILE, TakeoverManager
from anabranch.copier.ownership.target_access import TargetAccess
from anabranch.copier.ownership.upkeep import OwnershipUpkeep
from anabranch.copier.target import partition
from anabranch.copier.target.partition import TargetPartition
from anabranch.errors import AnabranchError
from anabranch.kafka import admin, partitions
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import (
    BrokerRefusedError,
    ConnectionLostError,
    PermissionDeniedError,
    UnreachableError,
)
from anabranch.model.acls import AclOperation
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.errors import RangeOrderError
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol import effects
from anabranch.protocol.claims import Claim, ClaimLog, ClaimState
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop
from anabranch.protocol.guard import DEFAULT_EXPIRATION_MS
from anabranch.protocol.ownership import Ownership, Persisted
from anabranch.protocol.pipeline import Pipeline
from anabranch.records.header import CONTROL, TRANSACTIONAL, BatchHeader
from anabranch.state.topics.control import MappedRanges, Progress
from anabranch.state.topics.journal import GapRecords, Journal

pytestmark = pytest.mark.unit

TOPIC, PLACE = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)
HERE = f"{socket.gethostname()}-{os.getpid()}"
DENIED = PermissionDeniedError("new", "User:copier", "Write", "topic t")
DAY_MS = 86_400_000


def lane_of(partition: int = 0) -> Lane:
    """A lane that is to be taken over."""
    key = LaneKey("l", TOPIC, partition)
    return Lane(LaneAssignment(key, PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.AUTO))


def claim(
    producer_id: int,
    owner: str = "run/other",
    state: ClaimState = ClaimState.CLAIMED,
    mode: LaneMode = LaneMode.MAPPED,
) -> Claim:
    """A claim of lane 0."""
    return Claim(lane_of().key, producer_id, mode, owner, None, now_ms(), state, 0, 0)


def journal_of(*claims: Claim) -> Journal:
    """A journal with these claims."""
    return cast(Journal, SimpleNamespace(claims=ClaimLog((at, one.key, one) for at, one in enumerate(claims))))


def won(lane: Lane, connection: object = None) -> Ownership:
    """An ownership of the lane, which runs."""
    ownership = Ownership(
        lane.key, LaneMode.MAPPED, claim(1, "me"), 7, 4, DAY_MS, 80, 80, 60, 60, None, frozenset(), "asked for"
    )
    lane.begin(ownership, Pipeline(ownership, sole_writer=False), cast(Connection, connection))
    return ownership


# -- an attempt -----------------------------------------------------------------------------------------


class Attempts:
    """Takeovers that fail as they are told; a takeover that does not fail leaves the lane at ``position``."""

    def __init__(self, *fails: AnabranchError | None, position: int = 80) -> None:
        self.fails = list(fails)
        self.position = position
        self.begun = 0

    async def take(self, lane: Lane) -> None:
        """One attempt."""
        self.begun += 1
        failure = self.fails.pop(0)
        if failure is not None:
            raise failure
        lane.copied.position = self.position


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands, and draws that are the longest."""

    def uniform(low: float, high: float) -> float:
        assert (low, high) == (0.5, 1.0)
        return 1.0

    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(module.random, "uniform", uniform)
    return clock


def manager_of(attempts: Attempts, *claims: Claim) -> TakeoverManager:
    """A manager of these attempts; nobody else has the lane."""
    others = SimpleNamespace(is_anothers=lambda lane: False)
    return TakeoverManager(cast(Any, others), cast(Any, attempts), cast(Any, None), journal_of(*claims))


def try_(manager: TakeoverManager, *lanes: Lane) -> None:
    """Begin what is to be begun now, and wait for it."""

    async def play() -> None:
        manager._start(lanes)
        await asyncio.gather(*manager._tasks.values())
        manager._tasks.clear()

    asyncio.run(play())


def failing(failure: AnabranchError, position: int = 80) -> Lane:
    """A lane that has copied up to a position, after an attempt that failed."""
    lane = lane_of()
    lane.copied.position = position
    try_(manager_of(Attempts(failure)), lane)
    return lane


@pytest.mark.parametrize(
    "failure",
    [
        OwnershipEnded("l", Ending.NOT_LEADER),
        RangeOrderError("source", 3, 9),
        UnreachableError("new", ("nobody answers",)),
        None,
    ],
)
@pytest.mark.parametrize(("standing", "longest"), [(0, 2.0), (PILE - 1, 2.0), (PILE, 30.0)])
def test_an_attempt_that_failed_is_made_again_after_twice_as_long_each_time(
    failure: AnabranchError | None, standing: int, longest: float, waits: SimpleNamespace
) -> None:
    """Not before that; where claims pile up it waits longer.  One that copied nothing before it ended is a failure."""
    attempts = Attempts(None, *[failure] * 12)
    released = claim(500, state=ClaimState.RELEASED)
    manager, lane = manager_of(attempts, released, *(claim(at) for at in range(standing))), lane_of()
    try_(manager, lane)
    expected = 0.1
    for begun in range(2, 13):
        waits.now += 0.001  # an attempt that was won is followed by the next at once
        try_(manager, lane)
        assert attempts.begun == begun
        waits.now += min(expected, longest) - 0.001
        try_(manager, lane)
        assert attempts.begun == begun, "not yet"
        waits.now += 0.001
        expected *= 2


def test_a_lane_that_came_on_is_taken_again_at_once(waits: SimpleNamespace) -> None:
    """And its earlier failures count no more."""
    attempts = Attempts(*[OwnershipEnded("l", Ending.FENCED)] * 3, None, None)
    manager, lane = manager_of(attempts), lane_of()
    for _ in range(4):
        try_(manager, lane)
        waits.now += 9.0
    waits.now -= 9.0
    attempts.position = 90
    try_(manager, lane)
    assert attempts.begun == 5
    assert manager._retries[lane.key] == module._Retry(0, manager._retries[lane.key].at, 90)


def test_an_ending_that_makes_the_lane_mapped_is_followed_by_the_next_attempt_at_once(waits: SimpleNamespace) -> None:
    """Why it is so is what the next one tells."""
    ended = OwnershipEnded("l", Ending.NOT_IDENTITY, None, "records are old", "another writer appended")
    attempts = Attempts(ended, None)
    manager, lane = manager_of(attempts), lane_of()
    try_(manager, lane)
    assert (lane.ended, lane.mapped_because, lane.status.waiting) == (ended, "another writer appended", "")
    try_(manager, lane)
    assert attempts.begun == 2


def test_a_lane_whose_target_partition_is_unknown_says_what_it_waits_for(waits: SimpleNamespace) -> None:
    """It is looked for again and again; another ending says nothing, for it passes."""
    ended = OwnershipEnded("l", Ending.UNKNOWN_PARTITION, 3, "topic t: unknown to broker 1")
    assert failing(ended).status.waiting == ended.why
    assert failing(OwnershipEnded("l", Ending.NOT_LEADER, 6)).status.waiting == ""
    lane = lane_of()
    manager = manager_of(Attempts(ended, None))
    try_(manager, lane)
    waits.now += 9.0
    try_(manager, lane)
    assert lane.status.waiting == ""


@pytest.mark.parametrize(
    ("reason", "offset", "told"),
    [
        (Stop.NOT_ALLOWED, 0, 80),
        (Stop.NOT_ALLOWED, 90, 90),
        (Stop.TARGET_MADE_AGAIN, 79, 80),
        (Stop.POSITION_LOST, 50, 50),
        (Stop.DIVERGED, 50, 50),
        (Stop.SOURCE_TRUNCATED, 50, 50),
        (Stop.CLAIMS_LOST, 50, 50),
    ],
)
def test_a_lane_stops_where_it_stands_unless_that_is_what_is_in_doubt(reason: Stop, offset: int, told: int) -> None:
    """A takeover knows only where the lane began."""
    stopped = failing(LaneStopped("l", reason, offset, 5, "detail", "fix")).stopped
    assert stopped is not None
    assert (stopped.reason, stopped.offset, stopped.detail, stopped.fix) == (reason, told, "detail", "fix")


def test_what_the_target_does_not_permit_stops_the_lane() -> None:
    """With what is to be granted; nothing is tried again until a person has."""
    lane = failing(DENIED)
    assert lane.stopped is not None and (lane.stopped.reason, lane.stopped.offset) == (Stop.NOT_ALLOWED, 80)
    assert lane.stopped.detail == DENIED.message and lane.stopped.fix == DENIED.hint


def test_a_target_that_cannot_be_reached_is_what_the_lane_waits_for(waits: SimpleNamespace) -> None:
    """As the error says it."""
    failure = UnreachableError("new", ("nobody answers",))
    lane = failing(failure)
    assert (lane.status.waiting, lane.phase) == (failure.message, LanePhase.TAKING)
    assert "contradicts itself" in failing(RangeOrderError("source", 3, 9)).status.waiting


def test_some_lanes_are_taken_over_at_a_time() -> None:
    """The others when these are done."""
    attempts = Attempts(*[None] * 100)
    manager, lanes = manager_of(attempts), [lane_of(at) for at in range(AT_ONCE + 3)]
    try_(manager, *lanes)
    assert attempts.begun == AT_ONCE
    for lane in lanes[:AT_ONCE]:
        lane.phase = LanePhase.OVER
    try_(manager, *lanes)
    assert attempts.begun == AT_ONCE + 3


# -- what a takeover is told of what was persisted ------------------------------------------------------


def told_of(epoch: tuple[int, int] | None) -> LaneProgress:
    """Persisted progress with an epoch of the target."""
    lane = lane_of().assignment.lane
    return LaneProgress(
        *(lane, PLACE, PLACE, LaneState.COPYING, LaneMode.MAPPED, "", 80, 0, 90, 90, 60, 60, 600, 0.0, 0.0, 0, 0.0),
        *("run/other", 1_000),
        target_epoch=epoch,
    )


@pytest.mark.parametrize(
    ("acknowledged", "epoch", "persisted"),
    [
        (5, None, Persisted(80, 60, 5, target_start=50)),
        (-1, None, Persisted(80, 60, -1, target_start=50)),
        (5, (60, 5), Persisted(80, 60, 5, target_start=50)),
        (5, (40, 4), Persisted(80, 60, 5, target_start=50)),
        (5, (60, 6), Persisted(80, 60, 6, 60, 50)),
        (5, (61, 5), Persisted(80, 60, 5, 61, 50)),
        (-1, (60, 2), Persisted(80, 60, 2, 60, 50)),
    ],
)
def test_the_epoch_of_the_last_run_is_the_newest_that_is_known(
    acknowledged: int, epoch: tuple[int, int] | None, persisted: Persisted
) -> None:
    """What this process was acknowledged, but where another had the lane since, or looked further."""
    lane = lane_of()
    assert taking._persisted(lane, None if epoch is None else told_of(epoch)) is None
    lane.copied.book.append(MappedRange(0, 10, 4))
    lane.copied.book.append(MappedRange(70, 50, 10))
    lane.copied.acknowledged_epoch = acknowledged
    assert taking._persisted(lane, told_of(epoch)) == persisted
    if epoch is None:
        assert taking._persisted(lane, None) == persisted


# -- keeping an ownership -------------------------------------------------------------------------------


class Opens:
    """Access to a target whose partition is opened, or is not."""

    def __init__(self, failure: AnabranchError | None = None, epoch: int = 4, closed: str = "") -> None:
        self.failure = failure
        self.asked: list[int] = []
        lost = ConnectionLostError("new", "1", closed) if closed else None
        self.connection = SimpleNamespace(closed=lost)
        self.target = SimpleNamespace(leader_epoch=epoch, connection=self.connection, confirm=self.confirm)

    async def confirm(self) -> None:
        """The leader is asked."""

    async def open(self, assignment: LaneAssignment, start: int) -> Any:
        """Connect."""
        self.asked.append(start)
        if self.failure is not None:
            raise self.failure
        return self.target


@pytest.mark.parametrize(
    ("opens", "ending", "stop"),
    [
        (Opens(), None, None),
        (Opens(epoch=5), Ending.LEADER_EPOCH, None),
        (Opens(closed="gone"), Ending.DISCONNECTED, None),
        (Opens(OwnershipEnded("l", Ending.NOT_LEADER)), Ending.NOT_LEADER, None),
        (Opens(UnreachableError("new", ())), Ending.BROKER, None),
        (Opens(LaneStopped("l", Stop.TARGET_MADE_AGAIN, 80)), None, Stop.TARGET_MADE_AGAIN),
    ],
)
def test_an_ownership_goes_on_over_another_connection_to_the_same_leader_only(
    opens: Opens, ending: Ending | None, stop: Stop | None
) -> None:
    """Whatever else is met ends it, or stops the lane."""
    lane, connected = lane_of(), []
    won(lane)
    active = lane.active
    assert active is not None
    upkeep = OwnershipUpkeep(cast(TargetAccess, opens), lambda *what: connected.append(what))
    asyncio.run(upkeep.connect(lane, active))
    assert opens.asked == [80]
    assert (lane.ended.reason if lane.ended else None, lane.stopped.reason if lane.stopped else None) == (ending, stop)
    assert connected == ([(lane, opens.target)] if ending is stop is None else [])
    if connected:
        assert active.connection is opens.connection and lane.phase is LanePhase.RUNNING


@pytest.mark.parametrize("what", ["ended", "stopped", "over"])
def test_a_connection_that_comes_after_the_ownership_is_given_to_nobody(what: str) -> None:
    """The lane's next ownership has its own."""
    lane, connected = lane_of(), []
    won(lane)
    active = lane.active
    assert active is not None

    class Slow(Opens):
        async def confirm(self) -> None:
            if what == "ended":
                lane.end_ownership(active, OwnershipEnded(lane.key, Ending.SUPERSEDED))
            elif what == "stopped":
                lane.stop_at(Stop.CORRUPT, 80)
            else:
                lane.leave()

    upkeep = OwnershipUpkeep(cast(TargetAccess, Slow()), lambda *found: connected.append(found))
    asyncio.run(upkeep.connect(lane, active))
    assert (connected, active.connection) == ([], None)


@pytest.mark.parametrize("again", [True, False])
def test_what_waits_to_be_renewed_and_is_over_meanwhile_is_not_given_back(again: bool) -> None:
    """Another owner has the lane, or this one again: what is given back late would be the next ownership."""
    lane, opens = lane_of(), Opens()
    won(lane)
    active = lane.active
    assert active is not None

    async def play() -> None:
        upkeep = OwnershipUpkeep(cast(TargetAccess, opens), lambda *_: None)
        active.is_checking = True
        renewing = asyncio.create_task(upkeep.renew(lane, active))
        await asyncio.sleep(0)
        assert active.is_renewing and not active.may_send
        lane.end_ownership(active, OwnershipEnded(lane.key, Ending.SUPERSEDED))
        if again:
            won(lane)
        await renewing

    asyncio.run(play())
    assert opens.asked == [] and not active.is_renewing
    assert (lane.phase, lane.active is None) == ((LanePhase.RUNNING, False) if again else (LanePhase.TAKING, True))


# -- carrying effects out -------------------------------------------------------------------------------


class Failing:
    """A journal that cannot be read, for some reason."""

    def __init__(self, failure: AnabranchError) -> None:
        self.failure = failure

    async def read(self) -> ClaimLog:
        """Fail."""
        raise self.failure


def driven(failure: AnabranchError) -> AnabranchError:
    """What a takeover is told of a failure underneath it."""
    target = TargetPartition(
        cast(Cluster, None),
        cast(Journal, Failing(failure)),
        cast(GapRecords, None),
        cast(MappedRanges, None),
        *("l", "t", TOPIC.uuid, 0, cast(Connection, None), 1, 4, 80),
        by_coordinator=False,
    )

    def steps() -> effects.Steps[AnabranchError]:
        try:
            yield effects.ReadClaims("l")
        except AnabranchError as error:
            return error
        raise AssertionError("it was answered")

    return asyncio.run(target.drive(steps()))


def test_whatever_fails_underneath_a_takeover_is_told_as_what_it_means() -> None:
    """A doubt ends the ownership; what a person must see to stops the lane where it stands."""
    ended = OwnershipEnded("l", Ending.FENCED)
    assert driven(ended) is ended
    lost = driven(ConnectionLostError("new", "1", "timed out"))
    assert isinstance(lost, OwnershipEnded) and (lost.reason, lost.detail) == (Ending.DISCONNECTED, "timed out")
    denied = driven(DENIED)
    assert isinstance(denied, LaneStopped)
    assert (denied.reason, denied.offset, denied.detail, denied.fix) == (
        Stop.NOT_ALLOWED,
        80,
        DENIED.message,
        DENIED.hint,
    )
    refused = driven(BrokerRefusedError("new", "Fetch", "t-0", 6))
    assert isinstance(refused, OwnershipEnded) and (refused.reason, refused.code) == (Ending.NOT_LEADER, 6)
    unknown = driven(BrokerRefusedError("new", "Fetch", "t-0", 120))
    assert isinstance(unknown, LaneStopped) and (unknown.reason, unknown.offset) == (Stop.REFUSED, 80)


def bare() -> TargetPartition:
    """A target partition of which each request is answered by a test."""
    nothing = cast(Any, None)
    parts = (nothing, nothing, nothing, nothing, "l", "t", TOPIC.uuid, 0, nothing, 1, 4, 80)
    return TargetPartition(*parts, by_coordinator=True)


def control(at: int, producer_id: int, epoch: int, *, data: bool = False) -> BatchHeader:
    """A marker's header, or a record's."""
    attributes = TRANSACTIONAL | (0 if data else CONTROL)
    return BatchHeader(at, 60, 4, 2, 0, attributes, 0, 0, 0, producer_id, epoch, -1, 1)


@pytest.mark.parametrize(
    ("begun", "ended", "log", "answer"),
    [
        ((53, -1, -1), 0, [], 53),
        ((0, 8, 3), 0, [], effects.FORGOTTEN),
        ((0, 9, 3), 48, [], 48),
        ((0, 9, 3), 0, [control(10, 9, 3)], 0),
        ((0, 9, 3), 0, [control(10, 9, 4)], 0),
        ((0, 9, 3), 0, [control(10, 8, 3), control(11, 9, 2), control(12, 9, 3, data=True), control(13, 9, 3)], 0),
        ((0, 9, 3), 0, [control(10, 9, 2)], None),
        ((0, 9, 3), 0, [control(10, 8, 3), control(11, 9, 3, data=True)], None),
        ((0, 9, 3), 0, [], None),
    ],
)
def test_an_owner_is_shut_out_by_its_coordinator_once_its_own_newer_marker_is_in_the_log(
    begun: tuple[int, int, int],
    ended: int,
    log: list[BatchHeader],
    answer: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the coordinator refuses is told; a marker that does not come ends the takeover, for it may come later."""
    target, asked = bare(), []
    monkeypatch.setattr(partition, "_PAUSE_S", 0.0)

    async def producer(cluster: Cluster, transactional_id: str) -> tuple[int, int, int]:
        asked.append(transactional_id)
        return begun

    async def transaction(cluster: Cluster, *what: Any) -> int:
        asked.append(what)
        return ended

    async def read_end(self: TargetPartition) -> effects.LogEnd:
        return effects.LogEnd(0, 10 + (len(log) if len(asked) == 2 else 0), 10)

    async def batch_at(self: TargetPartition, offset: int) -> BatchHeader | None:
        return next((one for one in log if one.base_offset >= offset), None)

    monkeypatch.setattr(partitions, "transactional_producer_id", producer)
    monkeypatch.setattr(partitions, "empty_transaction", transaction)
    monkeypatch.setattr(TargetPartition, "_read_end", read_end)
    monkeypatch.setattr(TargetPartition, "_batch_at", batch_at)

    def steps() -> effects.Steps[tuple[int, ...]]:
        return (yield effects.Fences((effects.Fence(9, "owner"),)))

    if answer is None:
        with pytest.raises(OwnershipEnded) as timed_out:
            asyncio.run(target.drive(steps()))
        assert (timed_out.value.reason, timed_out.value.detail) == (Ending.TIMED_OUT, "no marker for producer id 9")
    else:
        assert asyncio.run(target.drive(steps())) == (answer,)
    assert asked[1:] == ([("owner", 9, 3, "t", 0)] if begun[:2] == (0, 9) else [])


def test_nothing_is_filled_once_the_gate_is_shut() -> None:
    """It is asked before each marker: a process that was stopped writes none."""

    def steps() -> effects.Steps[int]:
        return (yield effects.EmptyTransaction("fill", effects.PaddingProducer(0, 9, 0)))

    with pytest.raises(OwnershipEnded) as ended:
        asyncio.run(bare().drive(steps(), lambda: False))
    assert ended.value.reason is Ending.LEASE


def test_who_may_not_fill_is_told_so_as_brokers_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lane becomes mapped by that, and does not stop."""

    async def denied(*_: Any) -> Any:
        raise DENIED

    monkeypatch.setattr(partitions, "transactional_producer_id", denied)

    def steps() -> effects.Steps[effects.PaddingProducer]:
        return (yield effects.StartPadding("fill"))

    assert asyncio.run(bare().drive(steps())) == effects.PaddingProducer(53)


def test_a_part_of_the_target_s_log_that_goes_while_it_is_read_ends_the_takeover(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Retention or a truncation took it: the next attempt sees what there is; any other code means what it does."""
    code = 1

    async def headers(*_: Any, **more: Any) -> tuple[int, list[BatchHeader]]:
        return code, []

    monkeypatch.setattr(partition, "headers_from", headers)
    with pytest.raises(OwnershipEnded) as ended:
        asyncio.run(bare()._batch_at(1_234))
    assert (ended.value.reason, ended.value.detail) == (Ending.UNSETTLED, "target offset 1,234 went meanwhile")
    code = 6
    with pytest.raises(OwnershipEnded) as ended:
        asyncio.run(bare()._batch_at(1_234))
    assert ended.value.reason is Ending.NOT_LEADER
    code = 0
    assert asyncio.run(bare()._batch_at(1_234)) is None


# -- the target as a whole ------------------------------------------------------------------------------


def access(monkeypatch: pytest.MonkeyPatch, *answers: str | AnabranchError | None) -> TargetAccess:
    """A target that tells these expirations one after the other."""
    told = list(answers)

    async def configs(_: Cluster, node: int) -> dict[str, admin.Config]:
        assert node == 3
        answer = told.pop(0)
        if isinstance(answer, AnabranchError):
            raise answer
        if answer is None:
            return {}
        return {"producer.id.expiration.ms": cast(Any, SimpleNamespace(value=answer))}

    monkeypatch.setattr(admin, "broker_configs", configs)
    return TargetAccess(Cluster(Transport("new", "User:me"), []), *(cast(Any, None),) * 3)


LED = cast(TargetPartition, SimpleNamespace(leader=3))


@pytest.mark.parametrize("refusal", [DENIED, BrokerRefusedError("new", "DescribeConfigs", "broker 3", 29)])
def test_a_target_that_does_not_tell_its_expiration_is_taken_for_the_longest(
    refusal: AnabranchError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that told it before: enough is fenced, and nothing rests on a guard."""
    found = access(monkeypatch, refusal, "5000", refusal, "60000", "7000", None, "")

    async def ask() -> list[tuple[int, int | None, int]]:
        told = []
        for _ in range(7):
            found._asked_ms = -DAY_MS
            told.append((await found.expiration(LED), found.expiration_ms, found.longest_expiration_ms))
        return told

    longest = 2**31 - 1
    assert asyncio.run(ask()) == [
        (longest, None, 0),
        (5_000, 5_000, 5_000),
        (longest, None, 5_000),
        (60_000, 60_000, 60_000),
        (7_000, 7_000, 60_000),
        (DEFAULT_EXPIRATION_MS, DEFAULT_EXPIRATION_MS, DEFAULT_EXPIRATION_MS),
        (DEFAULT_EXPIRATION_MS, DEFAULT_EXPIRATION_MS, DEFAULT_EXPIRATION_MS),
    ]


def test_an_expiration_that_was_told_counts_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers take another one while they run."""
    found, clock = access(monkeypatch, "5000", "6000"), SimpleNamespace(now=1_000)
    monkeypatch.setattr(target_access, "now_ms", lambda: clock.now)
    for now, told in ((1_000, 5_000), (60_999, 5_000), (61_000, 6_000), (120_999, 6_000)):
        clock.now = now
        assert asyncio.run(found.expiration(LED)) == told


@pytest.mark.parametrize(
    ("allowed", "by_coordinator"),
    [
        ({AclOperation.ALTER}, False),
        ({AclOperation.CLUSTER_ACTION}, False),
        ({AclOperation.DESCRIBE, AclOperation.CREATE}, True),
        (set(), True),
    ],
)
def test_who_may_not_write_markers_fences_through_coordinators(
    allowed: set[AclOperation], by_coordinator: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rights may be taken away: what was told counts for a minute."""
    clock, asked = SimpleNamespace(now=1_000), []
    monkeypatch.setattr(target_access, "now_ms", lambda: clock.now)

    async def operations(cluster: Cluster) -> Any:
        asked.append(clock.now)
        return frozenset(allowed)

    monkeypatch.setattr(admin, "cluster_operations", operations)
    found = TargetAccess(Cluster(Transport("new", "User:me"), []), *(cast(Any, None),) * 3)
    for now in (1_000, 60_999, 61_000, 61_001):
        clock.now = now
        asyncio.run(found.ask_rights())
        assert found.by_coordinator is by_coordinator
    assert asked == [1_000, 61_000]


# -- handing over ---------------------------------------------------------------------------------------


def test_only_a_process_of_this_machine_that_is_gone_is_known_to_be_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that may not be asked is alive, and of another machine's nothing is known."""
    assert not is_dead(f"run/{HERE}-1")
    assert not is_dead("run/elsewhere-1-1") and not is_dead("run/killed") and not is_dead("")
    assert not is_dead(f"run/{socket.gethostname()}-x1-1")

    def kill(error: type[OSError]) -> Any:
        def found(pid: int, signal: int) -> None:
            assert (pid, signal) == (4_711, 0)
            raise error

        return found

    for error, dead in ((ProcessLookupError, True), (PermissionError, False)):
        monkeypatch.setattr(handover.os, "kill", kill(error))
        assert is_dead(f"run/{socket.gethostname()}-4711-1") is dead


class Persists:
    """Progress in memory, with who was heard of when."""

    def __init__(self) -> None:
        self.lanes: dict[LaneKey, LaneProgress] = {}
        self.liveness: dict[LaneKey, tuple[str, float]] = {}

    async def persist(self, some: list[LaneProgress]) -> None:
        """Keep them."""
        self.lanes |= {one.lane: one for one in some}


def side(persists: Persists, *claims: Claim, owner: str = f"run/{HERE}-me") -> Handover:
    """One worker's side."""
    return Handover(owner, journal_of(*claims), cast(Progress, persists))


@pytest.mark.parametrize(
    ("last", "holder"),
    [
        (claim(2, f"run/{HERE}-b"), f"run/{HERE}-b"),
        (claim(2, f"run/{HERE}-me"), None),
        (claim(2, f"run/{HERE}-b", ClaimState.RELEASED), None),
        (claim(2, f"other/{HERE}-b"), None),
        (claim(2, f"run2/{HERE}-b"), None),
        (None, None),
    ],
    ids=["copies", "own", "let go", "other run", "longer name", "nobody"],
)
def test_a_lane_is_asked_of_the_worker_of_this_run_that_claimed_it_last(last: Claim | None, holder: str | None) -> None:
    """Until a little after its last sign of life; of others claims alone decide."""
    persists, wanted = Persists(), lane_of().assignment
    claims = () if last is None else (claim(1, f"run/{HERE}-a"), last)
    mine = side(persists, *claims)
    assert mine.holder(wanted) == holder
    assert mine.deadline(wanted) == 0.0, "nobody was heard of"
    persists.liveness[wanted.lane] = (f"run/{HERE}-b", 50.0)
    assert mine.deadline(wanted) == (50.0 + TIMEOUT_S if holder else 0.0)
    persists.liveness[wanted.lane] = (f"run/{HERE}-a", 50.0)
    assert mine.deadline(wanted) == 0.0


def test_an_identity_lane_is_asked_of_who_persisted_it_last() -> None:
    """Its one claim stays the first owner's: what this worker asked itself does not hide whom."""
    persists, wanted = Persists(), lane_of().assignment
    mine = side(persists, claim(1, f"run/{HERE}-first", mode=LaneMode.IDENTITY))
    assert mine.holder(wanted) is None
    persists.lanes[wanted.lane] = replace(told_of(None), owner=f"run/{HERE}-b")
    assert mine.holder(wanted) == f"run/{HERE}-b"
    asyncio.run(mine.ask([wanted, lane_of(1).assignment]))
    asked = persists.lanes[wanted.lane]
    assert list(persists.lanes) == [wanted.lane]
    assert (asked.owner, asked.state, asked.position) == (f"run/{HERE}-me", LaneState.WAITING, 80)
    assert asked.updated_at_ms > 1_000
    assert mine.holder(wanted) == f"run/{HERE}-b"
    mine.taken(wanted)
    assert mine.holder(wanted) is None
    persists.lanes[wanted.lane] = replace(told_of(None), owner=f"run/{HERE}-b", state=LaneState.WAITING)
    assert mine.holder(wanted) is None, "it was let go"


@pytest.mark.parametrize(
    ("owner", "state", "later", "found"),
    [
        ("run/b", LaneState.WAITING, 1, True),
        ("run/b", LaneState.WAITING, 0, False),
        ("run/b", LaneState.COPYING, 1, False),
        ("other/b", LaneState.WAITING, 1, False),
        (f"run/{HERE}-me", LaneState.WAITING, 1, False),
    ],
    ids=["asked", "before", "copies", "other run", "own"],
)
def test_a_lane_is_given_to_a_worker_of_this_run_that_asked_since_it_was_won(
    owner: str, state: LaneState, later: int, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked before is no question to this ownership, and the next ownership has its own time."""
    clock, persists, lane = SimpleNamespace(now=5_000), Persists(), lane_of()
    monkeypatch.setattr(handover, "now_ms", lambda: clock.now)
    mine, key = side(persists), lane.assignment.lane
    assert mine.asked([lane]) == []
    persists.lanes[key] = replace(told_of(None), owner=owner, state=state, updated_at_ms=5_000)
    assert mine.asked([lane]) == [], "it is not won yet"
    ownership = won(lane)
    assert mine.asked([lane]) == []
    clock.now = 9_000
    persists.lanes[key] = replace(persists.lanes[key], updated_at_ms=5_000 + later)
    assert mine.asked([lane]) == ([lane] if found else [])
    active = lane.active
    assert active is not None
    lane.end_ownership(active, OwnershipEnded(lane.key, Ending.RENEWED))
    next_one = replace(ownership, claim=replace(ownership.claim, producer_id=2))
    lane.begin(next_one, Pipeline(next_one, sole_writer=False), cast(Connection, None))
    assert mine.asked([lane]) == []
