"""The simulated Kafka beside the real one: the same random requests, and answer for answer the same.

The other contract tests hold facts that somebody thought of; these find the differences that nobody did.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from anabranch.errors import AnabranchError
from anabranch.kafka.groups import commit, committed, delete_group, delete_offsets, describe
from anabranch.kafka.partitions import (
    delete_records,
    describe_producers,
    empty_transaction,
    epoch_end,
    list_offset,
    transactional_producer_id,
)
from anabranch.model.groups import Commit
from anabranch.model.topics import TopicPartition
from anabranch.records.header import TRANSACTIONAL
from anabranch.records.split import split
from anabranch.sandbox import SandboxCluster
from tests.chance import is_full, seed
from tests.contract.conftest import VERSIONS
from tests.contract.lab import Log, batch, now_ms
from tests.simulated import Simulated

pytestmark = [
    pytest.mark.test,
    pytest.mark.parametrize(
        "cluster",
        [pytest.param(one, marks=[pytest.mark.full] if one == "4.0.0" else []) for one in VERSIONS],
        indirect=True,
    ),
]
FEW, MANY = 150, 1500
"""Requests of a test."""
PRODUCERS, FIRST_PRODUCER = 4, (1 << 61) + 17
WRAP = (1 << 31) - 3


@dataclass
class Side:
    """One of the two clusters; ``ids`` are the producer ids that it gave, which are its own business."""

    log: Log
    ids: dict[str, tuple[int, int]] = field(default_factory=dict)


Request = Callable[[Side], Awaitable[Any]]


@asynccontextmanager
async def both(cluster: SandboxCluster, topic: str) -> AsyncIterator[tuple[Side, Side]]:
    """A log on the real cluster, and one of the same name on its simulated twin."""
    with Simulated(cluster.spec) as twin:
        configs = {"segment.bytes": "1048576"}
        async with Log(cluster, topic, configs) as real, Log(twin, topic, configs) as simulated:  # type: ignore[arg-type]
            yield Side(real), Side(simulated)


async def told(request: Request, side: Side) -> Any:
    """The answer, or which error it was."""
    try:
        return await request(side)
    except AnabranchError as error:
        return type(error).__name__


async def hold(sides: tuple[Side, Side], requests: list[tuple[str, Request]]) -> None:
    """Each request gets the same answer on both sides."""
    for number, (what, request) in enumerate(requests):
        real, simulated = [await told(request, side) for side in sides]
        assert simulated == real, (
            f"request {number}: {what}; those before: {[one for one, _ in requests[:number]][-8:]}"
        )


# -- logs ----------------------------------------------------------------------------------------------


def on_a_log(chance: random.Random, at: int) -> tuple[str, Request]:
    """A random request about a partition; times are ``at`` and later, so that both sides have the same."""
    producer = FIRST_PRODUCER + chance.randrange(PRODUCERS)
    epoch, offset = chance.choice([0, 0, 0, 0, 1, 2]), chance.randrange(-2, 400)
    kind = chance.choice(["produce"] * 10 + ["end", "ends", "epoch", "producers", "fetch", "fetch", "mark", "delete"])
    if kind == "produce":
        sequence = chance.choice([*range(0, 60, 5), *range(0, 60, 5), WRAP, 0])
        count, claimed = chance.randint(1, 5), None
        damage = chance.random()
        attributes = TRANSACTIONAL if damage < 0.04 else 0
        if 0.04 < damage < 0.07:
            claimed = count + 1
        made = bytearray(
            batch(producer, sequence, count, epoch=epoch, timestamp=at, attributes=attributes, claimed=claimed)
        )
        if 0.07 < damage < 0.1:
            made[-1] ^= 1

        async def produce(side: Side) -> Any:
            answer = await side.log.append(bytes(made))
            return answer.code, answer.base_offset if answer.code == 0 else None

        return f"produce {producer - FIRST_PRODUCER} epoch {epoch} sequence {sequence}+{count} {damage:.2f}", produce
    if kind == "mark":
        coordinator_epoch = chance.choice([0, 0, 1])
        marked = chance.choice([epoch, 32767]) if chance.random() < 0.3 else epoch

        async def mark(side: Side) -> Any:
            return await side.log.mark(producer, epoch=marked, coordinator_epoch=coordinator_epoch)

        return f"mark {producer - FIRST_PRODUCER} epoch {marked} of coordinator {coordinator_epoch}", mark
    if kind == "delete":
        upto = chance.choice([offset, -1]) if chance.random() < 0.1 else chance.randrange(0, 40)
        return f"delete below {upto}", lambda side: delete_records(side.log.connection, side.log.topic, 0, upto)
    if kind == "fetch":
        return f"fetch {offset}", lambda side: _fetched(side.log, max(0, offset) // 2)
    if kind == "epoch":
        asked = chance.choice([-1, 0, 1, 5])

        async def end_of(side: Side) -> Any:
            return await epoch_end(side.log.connection, side.log.topic, 0, asked, side.log.leader_epoch)

        return f"end of epoch {asked}", end_of
    if kind == "producers":
        return "producers", _producers
    # Not the newest time (-3): a real segment tells it of records that were deleted from its beginning too.
    when = chance.choice([-1, -2, at - 1, at, at + 1])

    async def offset_at(side: Side) -> Any:
        found = await list_offset(side.log.connection, side.log.topic, 0, when, isolation=isolation)
        # A marker's time is the broker's.
        return found.code, found.offset, min(found.timestamp, at + 1)

    isolation = chance.choice([0, 1])
    return f"offset at {when if when < 0 else when - at:+}", offset_at


async def _producers(side: Side) -> Any:
    code, known = await describe_producers(side.log.connection, side.log.topic, 0)
    return code, {
        one.producer_id - FIRST_PRODUCER: (one.epoch, one.last_sequence, one.transaction_start)
        for one in known.values()
        if one.producer_id >= FIRST_PRODUCER
    }


async def _fetched(log: Log, offset: int) -> Any:
    """What lies from an offset on: the places of all batches, and the bytes of those that hold records."""
    first = (await list_offset(log.connection, log.topic, 0, -2)).offset
    raw = await log.raw(max(offset, first))
    found = []
    for at, header in split(memoryview(raw)):
        body = None if header.is_control else bytes(raw[at + 12 : at + header.size])
        found.append((header.base_offset, header.last_offset, header.producer_epoch, header.base_sequence, body))
    return found


async def test_a_log_answers_random_requests_as_a_real_one(
    cluster: SandboxCluster, request: pytest.FixtureRequest
) -> None:
    """Batches in and out of sequence, damaged, of raised epochs; markers; offsets; deletions; what is remembered."""
    chance = random.Random(seed(20130101))
    at = now_ms()
    async with both(cluster, f"random-{uuid.uuid4().hex}") as sides:
        count = MANY if is_full(request.config) else FEW
        await hold(sides, [on_a_log(chance, at) for _ in range(count)])
        await hold(sides, [("producers", _producers), ("everything", lambda side: _fetched(side.log, 0))])
        assert sides[0].log.consumed() == sides[1].log.consumed()
        assert sides[0].log.consumed("read_committed") == sides[1].log.consumed("read_committed")


# -- transactions --------------------------------------------------------------------------------------


def on_transactions(chance: random.Random, mark: str) -> tuple[str, Request]:
    """A random request to a coordinator of transactions: begin, repeat, go on with an old epoch or a wrong id."""
    name = f"{mark}-{chance.randrange(3)}"
    if chance.random() < 0.4:

        async def begin(side: Side) -> Any:
            code, producer_id, epoch = await transactional_producer_id(side.log.client, name)
            side.ids[name] = (producer_id, epoch)
            return code, epoch

        return f"begin {name}", begin
    older, other = chance.choice([0, 0, 0, 1, 2]), chance.random() < 0.15

    async def end(side: Side) -> Any:
        producer_id, epoch = side.ids.get(name, (9_999, 0))
        return await empty_transaction(
            side.log.client, name, producer_id + other, max(0, epoch - older), side.log.topic, 0
        )

    return f"end {name}, epoch -{older}{', another id' * other}", end


async def test_transactions_answer_random_requests_as_real_ones(
    cluster: SandboxCluster, request: pytest.FixtureRequest
) -> None:
    """Epochs rise alike, and who is too late is refused alike; both logs end at the same offset."""
    chance = random.Random(seed(20130201))
    mark = f"random-{uuid.uuid4().hex}"
    async with both(cluster, mark) as sides:
        count = (MANY if is_full(request.config) else FEW) // 5
        await hold(sides, [on_transactions(chance, mark) for _ in range(count)])
        # The end of a transaction is answered before its marker is written, on both sides.
        end = max([await side.log.true_end() for side in sides])
        for side in sides:
            await side.log.until_end(end)
        assert await sides[0].log.true_end() == await sides[1].log.true_end()


# -- groups --------------------------------------------------------------------------------------------


def on_groups(chance: random.Random, topic: str, mark: str) -> tuple[str, Request]:
    """A random request about the commits of groups without members."""
    group, place = f"group-{mark}-{chance.randrange(3)}", TopicPartition(topic, chance.choice([0, 0, 0, 7]))
    kind = chance.choice(["commit"] * 4 + ["committed"] * 3 + ["forget", "delete", "describe"])
    if kind == "commit":
        what = Commit(chance.randrange(0, 90), chance.choice(["", "kept"]), chance.choice([-1, 0, 3]))
        return f"commit {group} {place} {what}", lambda side: commit(side.log.client, group, {place: what})
    if kind == "committed":
        return f"commits of {group}", lambda side: committed(side.log.client, [group])
    if kind == "forget":
        return f"forget {group} {place}", lambda side: delete_offsets(side.log.client, group, [place])
    if kind == "delete":
        return f"delete {group}", lambda side: delete_group(side.log.client, group)

    async def state(side: Side) -> Any:
        found = (await describe(side.log.client, [group]))[group]
        return found.kind, found.state, found.members

    return f"describe {group}", state


async def test_groups_answer_random_requests_as_real_ones(
    cluster: SandboxCluster, request: pytest.FixtureRequest
) -> None:
    """Commits, also of a partition that is not there, are kept, given, forgotten and refused alike."""
    chance = random.Random(seed(20130301))
    mark = uuid.uuid4().hex
    async with both(cluster, f"random-{mark}") as sides:
        count = (MANY if is_full(request.config) else FEW) // 2
        await hold(sides, [on_groups(chance, f"random-{mark}", mark) for _ in range(count)])
