"""What a broker still knows after SIGKILL and a new start: one restart, told partition by partition."""

import asyncio
from dataclasses import dataclass

import pytest

from anabranch.kafka import fetch
from anabranch.kafka.partitions import LATEST, epoch_end, list_offset
from anabranch.sandbox import SandboxCluster
from tests.contract.conftest import EVERY
from tests.contract.lab import FENCED, OUT_OF_ORDER, Log, a_producer, batch, old_ms

NEWEST = "4.3.1"
pytestmark = [
    pytest.mark.test,
    # The controller waits for a session's time before a killed broker may come back: the newest does in CI.
    pytest.mark.parametrize(
        "cluster",
        [
            one if one.values[0].startswith(NEWEST) else pytest.param(*one.values, marks=pytest.mark.full)
            for one in EVERY
        ],
        indirect=True,
        scope="session",
    ),
]

FENCED_LEADER_EPOCH = 74
BATCHES = 8


@dataclass(frozen=True)
class Before:
    """Topics that were written before the broker was killed, and what was sent to them."""

    cluster: SandboxCluster
    fresh: tuple[str, int, list[bytes]]
    old: tuple[str, int, list[bytes]]
    killed: tuple[str, int, int]
    leader_epoch: int


@pytest.fixture(scope="module")
def before(cluster: SandboxCluster) -> Before:
    """Write, kill -9, start again."""

    async def write() -> Before:
        fresh, old = a_producer(), a_producer()
        killed, unseen = a_producer(), a_producer()
        old_at = old_ms()
        sent_fresh = [batch(fresh, s) for s in range(0, 10 * BATCHES, 10)]
        sent_old = [batch(old, s, timestamp=old_at) for s in range(0, 10 * BATCHES, 10)]
        names = [f"restart-{name}-{cluster.spec.name}" for name in ("fresh", "old", "killed")]
        async with Log(cluster, names[0], {}) as log:
            for one in sent_fresh:
                await log.offset_of(one)
            epoch = log.leader_epoch
        async with Log(cluster, names[1], {}) as log:
            for one in sent_old:
                # Each in its own right: an expiry check may run between any two.
                assert (await log.append(one)).code == 0
        async with Log(cluster, names[2], {}) as log:
            await log.offset_of(batch(killed, 0, timestamp=old_at))
            assert (await log.mark(killed), await log.mark(unseen)) == (0, 0)
        return Before(
            cluster, (names[0], fresh, sent_fresh), (names[1], old, sent_old), (names[2], killed, unseen), epoch
        )

    state = asyncio.run(write())
    cluster.brokers[0].kill()
    cluster.brokers[0].start()
    cluster.wait_ready()
    return state


async def test_of_fresh_records_only_the_newest_batch_is_recognised(before: Before) -> None:
    """The last batch is still a repeat; the four before it, recognised until the kill, are out of order."""
    topic, p, sent = before.fresh
    async with Log(before.cluster, topic, {}) as log:
        assert [await log.refusal_of(one) for one in sent[-5:-1]] == [OUT_OF_ORDER] * 4
        assert await log.offset_of(sent[-1]) == 10 * (BATCHES - 1)
        assert await log.refusal_of(batch(p, 10 * BATCHES + 1)) == OUT_OF_ORDER
        assert await log.offset_of(batch(p, 10 * BATCHES)) == 10 * BATCHES


async def test_of_old_records_nothing_is_recognised(before: Before) -> None:
    """The log is whole and the guard is gone: the last batch is appended again."""
    topic, p, sent = before.old
    async with Log(before.cluster, topic, {}) as log:
        assert await log.true_end() == 10 * BATCHES
        await log.until_expired(p)
        assert await log.offset_of(sent[-1]) == 10 * BATCHES


async def test_a_kill_survives(before: Before) -> None:
    """Killed producers stay refused at any sequence, those of old records and those never seen."""
    topic, killed, unseen = before.killed
    async with Log(before.cluster, topic, {}) as log:
        assert [await log.refusal_of(batch(killed, s, timestamp=old_ms())) for s in (10, 0)] == [FENCED] * 2
        assert await log.refusal_of(batch(unseen, 0)) == FENCED
        await log.until_a_check()
        assert await log.refusal_of(batch(killed, 10, timestamp=old_ms())) == FENCED


async def test_the_leader_epoch_rises_from_4_0_on(before: Before, version: tuple[int, ...]) -> None:
    """With a new epoch the old one is answered 74; before 4.0 a broker that is quickly back leads on in the old one.

    So on 3.9.1 a restart that took the memory of repeats shows in the broken connection only.
    """
    async with Log(before.cluster, before.fresh[0], {}) as log:
        old = before.leader_epoch
        risen = log.leader_epoch > old
        assert risen == (version >= (4, 0))
        refusal = FENCED_LEADER_EPOCH if risen else 0
        assert (await list_offset(log.connection, log.topic, 0, LATEST, epoch=old)).code == refusal
        assert (await epoch_end(log.connection, log.topic, 0, old, old))[0] == refusal
        wanted = fetch.PartitionFetch(log.topic, log.meta.id, 0, old, 0, -1, 1000)
        frame = await fetch.submit(log.connection, [wanted], max_wait_ms=0, max_bytes=1000)
        code, (answer,) = fetch.parse(frame, fetch.version_for(log.connection))
        frame.release()
        assert (code, answer.code) == (0, refusal)
        code, epoch, end = await epoch_end(log.connection, log.topic, 0, old, log.leader_epoch)
        assert (code, epoch) == (0, old)
        # Of an epoch that is over this is its end; another test may have written a batch in the one that goes on.
        assert end == 10 * BATCHES if risen else end >= 10 * BATCHES
