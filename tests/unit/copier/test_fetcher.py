"""What a fetch loop does where brokers and ownerships end while it waits."""

import asyncio
import uuid
from dataclasses import replace
from typing import Any, cast

import pytest

from anabranch.copier.lane.fetched import FetchedBatch
from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.source import fetcher as fetching
from anabranch.copier.source import refused as module
from anabranch.copier.source.answer_sizes import AROUND_BYTES, answer_bytes
from anabranch.copier.source.fetcher import Fetcher
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster, PartitionMeta, TopicMeta
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import ConnectionLostError, PermissionDeniedError
from anabranch.kafka.frames import FramePool
from anabranch.kafka.partitions import OffsetAnswer
from anabranch.kafka.settling import until_led
from anabranch.kafka.simulated import SimulatedCluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.endings import Ending, OwnershipEnded, Stop
from anabranch.protocol.gap_records import OffsetSpan
from anabranch.protocol.ownership import Ownership
from anabranch.protocol.pipeline import Pipeline
from anabranch.records.decode import decode
from anabranch.records.encode import body_of, encode, seal
from anabranch.records.header import TRANSACTIONAL, read_header
from anabranch.records.record import Record, TimestampType
from anabranch.sandbox import ClusterSpec
from qa.timeouts import TIMEOUT_S
from tests.simulated import Simulated
from tests.unit.asking import on, records

pytestmark = pytest.mark.unit

TOPIC = TopicId(uuid.UUID(int=9))


class Dying(Cluster):
    """A cluster whose broker is gone, which is found out only after a while."""

    def __init__(self) -> None:
        super().__init__(Transport("dying", "User:ANONYMOUS"), [])
        self.asked = asyncio.Event()
        self.dies = asyncio.Event()

    async def connection(self, node: int, purpose: str = "main") -> Connection:
        self.asked.set()
        await self.dies.wait()
        raise ConnectionLostError(self.name, str(node), "gone")


def made(part: int) -> Lane:
    """A lane that runs."""
    place = TopicPartition("t", part)
    lane = Lane(LaneAssignment(LaneKey("l", TOPIC, part), place, place, TOPIC, LaneStart(), ModePolicy.AUTO))
    lane.phase = LanePhase.RUNNING
    return lane


def fetcher(cluster: Cluster) -> Fetcher:
    """One whose gate is open."""
    gate = WriteGate(lambda: 0.0)
    gate.renew(0.0)
    return Fetcher(cluster, gate, lambda _: None, lambda *_: None)


def test_a_lane_that_came_to_a_broker_while_it_was_lost_is_placed_again() -> None:
    """The loop of that broker ends: nobody would ever read a lane that still counted on it."""

    async def play() -> list[int]:
        cluster = Dying()
        loops, lanes = fetcher(cluster), [made(0), made(1), made(2)]
        loops.add(lanes)
        lanes[0].source.leader, lanes[2].source.leader = 1, 2
        task = asyncio.create_task(loops._loop(1))
        await cluster.asked.wait()
        lanes[1].source.leader = 1
        cluster.dies.set()
        await task
        return [lane.source.leader for lane in lanes]

    assert asyncio.run(play()) == [-1, -1, 2]


@pytest.mark.parametrize("ends", [False, True])
def test_what_the_source_lost_is_told_of_the_ownership_that_asked_alone(
    ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the ownership ends while the source is asked for its ends, where the lane stands is no longer known
    here.
    """
    lane = made(0)
    claim = Claim(lane.key, 1, LaneMode.MAPPED, "me", None, 0, ClaimState.CLAIMED, 0, 0)
    ownership = Ownership(lane.key, LaneMode.MAPPED, claim, 1, 1, 86_400_000, 80, 80, 80, 80, None, frozenset(), "")
    pipeline = Pipeline(ownership, sole_writer=False)
    connection = cast(Connection, None)
    active = lane.begin(ownership, pipeline, connection)

    async def list_offset(*asked: Any, epoch: int) -> OffsetAnswer:
        if ends:
            lane.end_ownership(active, OwnershipEnded(lane.key, Ending.DISCONNECTED))
        return OffsetAnswer(0, 200 if asked[3] == -2 else 300, -1)

    monkeypatch.setattr(module, "list_offset", list_offset)
    asyncio.run(module.out_of_range(connection, lane))
    if ends:
        assert (lane.phase, lane.stopped) == (LanePhase.TAKING, None)
    else:
        assert lane.stopped is not None
        assert (lane.phase, lane.stopped.reason, lane.stopped.offset) == (LanePhase.STOPPED, Stop.SOURCE_EXPIRED, 80)


def running(position: int, source: TopicId = TOPIC) -> Lane:
    """A lane that has copied up to there."""
    at = TopicPartition("t", 0)
    lane = Lane(LaneAssignment(LaneKey("l", source, 0), at, at, TOPIC, LaneStart(), ModePolicy.AUTO))
    claim = Claim(lane.key, 1, LaneMode.MAPPED, "me", None, 0, ClaimState.CLAIMED, 0, 0)
    ownership = Ownership(
        lane.key, LaneMode.MAPPED, claim, 1, 1, 86_400_000, position, position, 0, 0, None, frozenset(), ""
    )
    lane.begin(ownership, Pipeline(ownership, sole_writer=False), cast(Connection, None))
    return lane


@pytest.mark.parametrize(("kept", "phase"), [(79, LanePhase.STOPPED), (80, LanePhase.TAKING)])
def test_a_source_that_lost_what_was_copied_stops_the_lane(kept: int, phase: LanePhase) -> None:
    """What was only read is read again; what was copied is on the target, and a person must say what becomes of it."""
    lane = running(80)
    module.lost(lane, kept)
    assert lane.phase is phase
    assert (lane.stopped.reason if lane.stopped else None) is (Stop.SOURCE_TRUNCATED if kept < 80 else None)


def stored(cluster: SimulatedCluster, batch: bytes) -> None:
    """Put a batch into the leader's log, as a producer's request would."""
    partition = cluster.partition("t", 0)
    partition.led.log.append(batch, read_header(batch), partition.leader_epoch, 1_000)
    cluster.appended(partition)


def log_end(cluster: SimulatedCluster) -> int:
    """The end of the leader's log."""
    return cluster.partition("t", 0).led.log.end


def test_only_what_transactions_have_committed_is_queued() -> None:
    """Neither what was aborted, nor what is open still, nor what lies behind that."""
    sent = {"first": b"committed", "second": b"aborted", "third": b"open"}
    with Simulated(ClusterSpec(name="old"), 1) as simulated:
        context = ClusterContext("old", tuple(simulated.bootstrap.split(",")))

        async def play(cluster: Cluster) -> list[bytes]:
            await create_topic(cluster, "t", 1, 1, {})
            await until_led(cluster, ["t"])
            meta, _ = await cluster.partition("t", 0)
            for name, value in sent.items():
                code, producer_id, epoch = simulated.served.do(lambda one, n=name: one.transactions.begin(n, 60_000))
                assert code == 0
                add = (name, producer_id, epoch, {("t", 0)})
                assert simulated.served.do(lambda one, a=add: one.transactions.add(*a)) == 0
                body = body_of([Record(0, 1_000, TimestampType.CREATE_TIME, None, value)], range(1))
                batch = seal(
                    body,
                    count=1,
                    last_offset_delta=0,
                    timestamps=(1_000, 1_000),
                    attributes=TRANSACTIONAL,
                    producer=(producer_id, epoch, 0),
                )
                simulated.served.do(lambda one, b=batch: stored(one, b))
                if value != b"open":
                    end = (name, producer_id, epoch)
                    commit = value == b"committed"
                    before = simulated.served.do(log_end)
                    assert simulated.served.do(lambda one, e=end, c=commit: one.transactions.end(*e, commit=c)) == 0
                    while simulated.served.do(log_end) == before:  # its marker comes after the answer
                        await asyncio.sleep(0.001)
            lane = running(0, TopicId(meta.id))
            loops = fetcher(cluster)
            loops.add([lane])
            task = asyncio.create_task(loops.run())
            while lane.fetched.fetch_offset < 3:  # two records and a marker lie before the open transaction
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            found = [one.value for batch in lane.fetched.batches for one in decode(batch.view, batch.at, batch.header)]
            return [bytes(value) for value in found if value is not None]

        assert on(context, play) == [b"committed"]


def test_a_throttled_answer_does_not_tell_that_there_is_no_news() -> None:
    """How far the source is stays unknown until a broker says so; then the lane goes on, within a session or not."""
    with Simulated(ClusterSpec(name="old"), 1) as simulated:

        async def play(cluster: Cluster) -> list[tuple[bool, int]]:
            await create_topic(cluster, "t", 1, 1, {})
            await until_led(cluster, ["t"])
            meta, part = await cluster.partition("t", 0)
            connection = await cluster.connection(part.leader)
            lane, loops, told = running(0, TopicId(meta.id)), fetcher(cluster), []
            for throttles in ([1], [], [1], []):
                simulated.served.do(lambda one, ms=throttles: one.throttles.extend(ms))
                batch = encode(records(1))
                simulated.served.do(lambda one, b=batch: stored(one, b))
                lane.source.answered_at = lane.source.seen_at = 0.0
                await loops._fetch(part.leader, connection, [lane], 0)
                assert lane.source.answered_at == lane.source.seen_at
                told.append((bool(lane.source.answered_at), lane.fetched.fetch_offset))
            return told

        context = ClusterContext("old", tuple(simulated.bootstrap.split(",")))
        assert on(context, play) == [(False, 0), (True, 2), (False, 2), (True, 4)]


def test_bytes_that_an_earlier_ownership_asked_for_are_not_queued_for_the_next() -> None:
    """An ownership may end while its answer is on its way; the next one may begin elsewhere."""
    with Simulated(ClusterSpec(name="old"), 1) as simulated:

        async def play(cluster: Cluster) -> tuple[int, int]:
            await create_topic(cluster, "t", 1, 1, {})
            await until_led(cluster, ["t"])
            meta, part = await cluster.partition("t", 0)
            connection = await cluster.connection(part.leader)
            simulated.served.do(lambda one: stored(one, encode(records(2))))
            lane, loops = running(0, TopicId(meta.id)), fetcher(cluster)
            asked = asyncio.create_task(loops._fetch(part.leader, connection, [lane], 0))
            await asyncio.sleep(0)
            active = lane.active
            assert active is not None and lane.end_ownership(active, OwnershipEnded(lane.key, Ending.JOURNAL))
            lane.begin(replace(active.ownership, position=1), active.pipeline, connection)
            await asked
            return len(lane.fetched.batches), lane.fetched.fetch_offset

        context = ClusterContext("old", tuple(simulated.bootstrap.split(",")))
        assert on(context, play) == (0, 1)


class Unanswered:
    """A connection of a broker that takes a request and is gone."""

    def offers(self, api_key: int) -> int:
        """Versions with ids."""
        return 13


@pytest.mark.parametrize("brokers", [1, 2, 3, 6, 10, 16, 40])
def test_what_all_brokers_may_answer_at_once_is_bounded(brokers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are asked at once, and each for its share; what was asked of one that is lost is awaited no longer."""
    asked: list[int] = []
    loops, lanes = fetcher(Dying()), [running(0) for _ in range(brokers)]
    for node, lane in enumerate(lanes):
        loops._lanes["t", node] = lane
        lane.source.leader = node

    def submit(*_: object, max_bytes: int, **more: object) -> asyncio.Future[Any]:
        asked.append(max_bytes)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0, answer.set_exception, ConnectionLostError("old", "1", "gone"))
        return answer

    monkeypatch.setattr(fetching.fetch, "submit", submit)

    async def play() -> None:
        for _ in range(2):
            fetches = (loops._fetch(node, cast(Connection, Unanswered()), [lane], 0) for node, lane in enumerate(lanes))
            for found in await asyncio.gather(*fetches, return_exceptions=True):
                assert isinstance(found, ConnectionLostError)

    asyncio.run(play())
    assert asked == [answer_bytes(brokers) - AROUND_BYTES] * brokers * 2


def test_a_broker_that_comes_while_others_have_yet_to_answer_asks_for_what_they_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two may bring 8 MB each; a third that leads now brings 1 MB until one of them has answered."""
    asked: list[tuple[int, asyncio.Future[Any]]] = []
    loops, lanes = fetcher(Dying()), [running(0) for _ in range(3)]

    def submit(*_: object, max_bytes: int, **more: object) -> asyncio.Future[Any]:
        asked.append((max_bytes, asyncio.get_running_loop().create_future()))
        return asked[-1][1]

    monkeypatch.setattr(fetching.fetch, "submit", submit)

    async def play() -> None:
        async def ask(node: int) -> asyncio.Task[None]:
            loops._lanes["t", node] = lanes[node]
            lanes[node].source.leader = node
            task = asyncio.create_task(loops._fetch(node, cast(Connection, Unanswered()), [lanes[node]], 0))
            await asyncio.sleep(0)
            return task

        tasks = [await ask(0), await ask(1), await ask(2)]
        asked[0][1].set_exception(ConnectionLostError("old", "0", "gone"))
        await asyncio.gather(tasks[0], return_exceptions=True)
        tasks.append(await ask(0))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(play())
    sizes = [(size + AROUND_BYTES) >> 20 for size, _ in asked]
    assert sizes == [8, 8, 1, 4]


class Barred(Cluster):
    """A cluster that does not let us in."""

    def __init__(self) -> None:
        super().__init__(Transport("barred", "User:ANONYMOUS"), [])
        self.asked = 0

    async def connection(self, node: int, purpose: str = "main") -> Connection:
        self.asked += 1
        assert self.asked < 100, "it asks again and again"
        raise PermissionDeniedError(self.name, "User:me", "Read", "broker 1")


def test_who_is_not_let_in_by_a_broker_stops_each_lane_of_it() -> None:
    """At its next offset, with what is to be granted; lanes of other brokers go on."""

    async def play() -> list[Lane]:
        loops, lanes = fetcher(Barred()), [running(80), running(90), running(70)]
        for number, lane in enumerate(lanes):
            loops._lanes["t", number] = lane
            lane.source.leader = 1
        lanes[2].source.leader = 2
        task = asyncio.create_task(loops._loop(1))
        async with asyncio.timeout(TIMEOUT_S):
            while lanes[1].stopped is None and not task.done():
                await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return lanes

    first, second, other = asyncio.run(play())
    for lane, offset in ((first, 80), (second, 90)):
        assert lane.stopped is not None
        assert (lane.stopped.reason, lane.stopped.offset) == (Stop.SOURCE_NOT_ALLOWED, offset)
        assert "User:me may not Read on broker 1" in lane.stopped.detail and "grant it" in lane.stopped.fix
    assert (other.phase, other.stopped) == (LanePhase.RUNNING, None)


@pytest.mark.parametrize(("leader", "index"), [(-1, 0), (3, 1)])
def test_a_partition_without_a_leader_is_looked_for_again(leader: int, index: int) -> None:
    """Its topic is there, which ends all doubt about that; nothing is asked of nobody."""
    loops, lane = fetcher(Dying()), running(80)
    lane.source.doubt = "topic t: unknown to broker 1"
    parts = {index: PartitionMeta(leader, 4, (1,), (1,), 0)}
    loops._place_on(lane, TopicMeta("t", TOPIC.uuid, False, 0, parts, None))
    assert (lane.source.leader, lane.source.doubt, loops._tasks) == (-1, "", {})


@pytest.mark.parametrize("frees", [True, False])
def test_small_batches_that_wait_give_up_large_answers_where_no_memory_comes_free(
    frees: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is queued stays as it is, byte for byte; where the senders get on nothing is copied."""
    monkeypatch.setattr(fetching, "STUCK_S", 0.0)

    async def play() -> tuple[Lane, bytes, FramePool]:
        cluster = Dying()
        loops, lane = fetcher(cluster), running(0)
        loops._lanes["t", 0] = lane
        frame, other = cluster.pool.take(1_000), cluster.pool.take(500)
        batch = encode(records(3))
        frame.view[10 : 10 + len(batch)] = batch
        header = read_header(frame.view, 10)
        lane.fetched.put(FetchedBatch(frame.view, 10, header, frame, (OffsetSpan(0, 3),)))
        frame.release()

        async def pause(seconds: float) -> None:
            if frees:
                other.release()

        monkeypatch.setattr(loops, "_pause", pause)
        before = loops._in_memory()
        await loops._wait_for_memory()
        if not frees:
            assert loops._in_memory() < before
            other.release()
        return lane, batch, cluster.pool

    lane, batch, pool = asyncio.run(play())
    (waiting,) = lane.fetched.batches
    assert bytes(waiting.view[waiting.at : waiting.at + waiting.header.size]) == batch
    assert (waiting.frame is None, lane.fetched.owned_bytes > 0, pool.lent == 0) == (not frees,) * 3
    assert lane.fetched.bytes == len(batch)


def test_a_session_that_its_broker_has_forgotten_is_begun_again_and_nothing_is_missed() -> None:
    """All is asked for once more; the answer that says so tells nothing of any lane."""
    with Simulated(ClusterSpec(name="old"), 1) as simulated:

        async def play(cluster: Cluster) -> list[tuple[int, bool]]:
            await create_topic(cluster, "t", 1, 1, {})
            await until_led(cluster, ["t"])
            meta, part = await cluster.partition("t", 0)
            connection = await cluster.connection(part.leader)
            lane, loops, told = running(0, TopicId(meta.id)), fetcher(cluster), []

            def forget(one: SimulatedCluster) -> None:
                for broker in one.brokers.values():
                    broker.fetch_sessions.known.clear()

            for turn in range(5):
                simulated.served.do(lambda one: stored(one, encode(records(1))))
                if turn == 2:
                    simulated.served.do(forget)
                await loops._fetch(part.leader, connection, [lane], 0)
                told.append((lane.fetched.fetch_offset, bool(loops._sessions[part.leader].session.epoch)))
            return told

        context = ClusterContext("old", tuple(simulated.bootstrap.split(",")))
        assert on(context, play) == [(1, True), (2, True), (2, False), (4, True), (5, True)]


class Open(Cluster):
    """A cluster whose connections nothing is sent over."""

    def __init__(self) -> None:
        super().__init__(Transport("open", "User:ANONYMOUS"), [])

    async def connection(self, node: int, purpose: str = "main") -> Connection:
        await asyncio.sleep(0)
        return cast(Connection, None)


@pytest.mark.parametrize("behind", [True, False])
def test_only_lanes_at_their_end_wait_before_they_are_read_again(behind: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is produced meanwhile comes in one answer; of what lies there already nothing is put off."""
    monkeypatch.setattr(fetching, "GATHER_S", 10 * TIMEOUT_S)

    async def play() -> int:
        loops, lanes = fetcher(Open()), [running(80), running(90)]
        reads = 0
        for number, lane in enumerate(lanes):
            loops._lanes["t", number] = lane
            lane.source.leader, lane.source.high_watermark = 1, lane.fetched.fetch_offset

        async def fetch(*_: object) -> None:
            nonlocal reads
            reads += 1
            lanes[1].source.high_watermark += behind

        monkeypatch.setattr(loops, "_fetch", fetch)
        task = asyncio.create_task(loops._loop(1))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return reads

    reads = asyncio.run(play())
    assert reads > 10 if behind else reads == 1
