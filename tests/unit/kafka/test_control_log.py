"""A control topic that lost something while it was read: noticed, whatever was written to it since."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator

import pytest

from anabranch.errors import ClusterError
from anabranch.kafka import log as log_module
from anabranch.kafka import presence
from anabranch.kafka.admin import create_topic, delete_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import BrokerRefusedError, passing
from anabranch.kafka.log import KeyedLog, LogChangedError, LogEntry, LogShrunkError
from anabranch.kafka.settling import until_led
from anabranch.kafka.simulated import SimulatedCluster
from anabranch.model.cluster import ClusterContext
from anabranch.sandbox import ClusterSpec
from tests.simulated import Simulated
from tests.unit.asking import on

pytestmark = pytest.mark.unit

TOPIC = "__anabranch_claims"
Harm = Callable[[Simulated, Cluster], Awaitable[None]]


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulated]:
    """A cluster of one broker, and readers that check what they read of each time."""
    monkeypatch.setattr(log_module, "CHECK_S", 0.0)
    monkeypatch.setattr(presence, "GONE_S", 0.0)
    with Simulated(ClusterSpec(name="one")) as cluster:
        yield cluster


async def write(cluster: Cluster, records: int) -> None:
    """Append some records, each in a batch of its own."""
    log = KeyedLog(cluster, TOPIC)
    for number in range(records):
        assert await log.append([(b"%d" % number, b"v")], 1_000) is not None


async def make(cluster: Cluster) -> None:
    """The topic, with three records."""
    await create_topic(cluster, TOPIC, 1, 1, {"cleanup.policy": "compact"})
    await until_led(cluster, [TOPIC])
    await write(cluster, 3)


async def made_again(simulated: Simulated, cluster: Cluster) -> None:
    """It has as many records as before, and more."""
    await delete_topic(cluster, TOPIC)
    await make(cluster)
    await write(cluster, 3)


def elect_with(simulated: Simulated, kept: int) -> None:
    """An unclean election leaves so many records."""

    def elect(one: SimulatedCluster) -> None:
        partition = one.partition(TOPIC, 0)
        partition.led.log.truncate(kept)
        partition.led.high_watermark = kept
        partition.lead(partition.leader, one.timers.monotonic(), unclean=True)

    simulated.served.do(elect)


async def truncated(simulated: Simulated, cluster: Cluster) -> None:
    """An unclean election took two records; others were written in their place, and more behind them."""
    elect_with(simulated, 1)
    await write(cluster, 5)


async def shortened(simulated: Simulated, cluster: Cluster) -> None:
    """Its first records were deleted, as retention does."""
    simulated.served.do(lambda one: one.partition(TOPIC, 0).led.log.delete_before(2))


async def deleted(simulated: Simulated, cluster: Cluster) -> None:
    """It is no more."""
    await delete_topic(cluster, TOPIC)


async def read_on(log: KeyedLog) -> None:
    """Read what is new, also where a broker knows no topics yet: one that has just started is asked again."""
    with contextlib.suppress(BrokerRefusedError):
        await log.read()
    await log.read()


@pytest.mark.parametrize(
    ("harm", "error", "words"),
    [
        (made_again, LogChangedError, "was deleted and made again"),
        (truncated, LogShrunkError, "ends at 1, and was read up to 3 before"),
        (shortened, LogChangedError, "begins at offset 2, and began at 0 before"),
        (deleted, LogChangedError, "was deleted"),
    ],
)
def test_a_log_that_lost_what_was_read_of_it_is_an_error(
    simulated: Simulated, harm: Harm, error: type[ClusterError], words: str
) -> None:
    """It does not pass by itself, and a reader that begins again reads what is left."""

    async def ask(cluster: Cluster) -> None:
        await make(cluster)
        log = KeyedLog(cluster, TOPIC)
        assert len(await log.read()) == 3
        await harm(simulated, cluster)
        with pytest.raises(error) as raised:
            await read_on(log)
        assert words in raised.value.message and "link" in raised.value.hint
        assert not passing(raised.value)
        if harm is not deleted:
            assert await KeyedLog(cluster, TOPIC).read()

    on(ClusterContext("one", (simulated.bootstrap,)), ask)


@pytest.mark.parametrize("kept", [0, 2])
def test_a_log_that_lost_one_record_or_all_is_an_error(simulated: Simulated, kept: int) -> None:
    """Others were written in their place, so that by its end nothing is missing."""

    async def ask(cluster: Cluster) -> None:
        await make(cluster)
        log = KeyedLog(cluster, TOPIC)
        assert len(await log.read()) == 3
        elect_with(simulated, kept)
        await write(cluster, 5)
        with pytest.raises(LogShrunkError) as raised:
            await read_on(log)
        assert (raised.value.read, raised.value.end) == (3, kept)

    on(ClusterContext("one", (simulated.bootstrap,)), ask)


def test_a_loss_is_found_though_an_append_found_the_new_leader_before(simulated: Simulated) -> None:
    """Under the epoch of that leader the log has grown past what was read."""

    async def ask(cluster: Cluster) -> None:
        await make(cluster)
        log = KeyedLog(cluster, TOPIC)
        assert len(await log.read()) == 3
        await truncated(simulated, cluster)
        log.forget_leader()
        assert await log.append([(b"later", b"v")], 1_000) is not None
        with pytest.raises(LogShrunkError):
            await read_on(log)

    on(ClusterContext("one", (simulated.bootstrap,)), ask)


def test_a_log_that_only_grew_is_read_on(simulated: Simulated) -> None:
    """Also under a new leader epoch."""

    def elect(one: SimulatedCluster) -> None:
        partition = one.partition(TOPIC, 0)
        partition.lead(partition.leader, one.timers.monotonic())

    async def ask(cluster: Cluster) -> None:
        await make(cluster)
        log = KeyedLog(cluster, TOPIC)
        await log.read()
        simulated.served.do(elect)
        await write(cluster, 1)
        assert [entry.offset for entry in await log.read()] == [3]
        assert log.start == 0

    on(ClusterContext("one", (simulated.bootstrap,)), ask)


def test_large_batches_are_compressed_and_read_by_records(simulated: Simulated) -> None:
    """Records of many lanes are nearly equal; what is read is what was written, and one large batch lets others run."""

    async def ask(cluster: Cluster) -> None:
        await make(cluster)
        log, value = KeyedLog(cluster, TOPIC), b"as long as progress is, and the same in every lane " * 10
        entries = [(b"key-%d" % at, value) for at in range(3 * log_module.STEP_ENTRIES)]
        await log.append(entries, 1_000)
        await log.append([(b"last", None)], 1_000)
        turns, taken, seen = [0], list[LogEntry](), dict[int, int]()

        async def other() -> None:
            while True:
                turns[0] += 1
                await asyncio.sleep(0)

        reader, beside = KeyedLog(cluster, TOPIC), asyncio.create_task(other())

        def take(entry: LogEntry) -> None:
            taken.append(entry)
            seen[entry.offset] = turns[0]

        await reader.fold(take)
        beside.cancel()
        assert [(one.key, one.value) for one in taken[3:]] == [*entries, (b"last", None)]
        at = [seen[taken[3 + first].offset] for first in range(0, len(entries), log_module.STEP_ENTRIES)]
        assert len(set(at)) == len(at)
        stored = simulated.served.do(
            lambda one: sum(len(batch.data) for batch in one.partition(TOPIC, 0).led.log.batches)
        )
        assert stored < len(entries) * 20

    on(ClusterContext("one", (simulated.bootstrap,)), ask)


def test_who_cannot_take_a_record_is_given_it_again(simulated: Simulated) -> None:
    """None is passed over, though the log is read on."""

    async def ask(cluster: Cluster) -> None:
        await make(cluster)
        log, taken = KeyedLog(cluster, TOPIC), list[bytes]()

        def take(entry: LogEntry) -> None:
            if entry.key == b"1" and len(taken) == 1:
                taken.append(b"refused")
                raise LogShrunkError("one", TOPIC, 1, 0)
            taken.append(entry.key)

        with pytest.raises(LogShrunkError):
            await log.fold(take)
        await log.fold(take)
        assert taken == [b"0", b"refused", b"1", b"2"]

    on(ClusterContext("one", (simulated.bootstrap,)), ask)
