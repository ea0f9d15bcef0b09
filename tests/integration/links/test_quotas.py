"""Quotas of the brokers for the link's clients: the link goes on, slowed, and what is shown of it stays true."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from kafka.protocol.admin.client_quotas import AlterClientQuotasRequest

from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.connection import CLIENT_ID, Connection
from anabranch.model.lane import LaneState
from anabranch.model.reports import LinkStatus
from anabranch.sandbox import SandboxCluster
from anabranch.state.topics.journal import Journal
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.kafka.security import ask, context_of
from tests.integration.links.lab import Link, link
from tests.integration.links.topics import await_heeded, create, fresh, produce

pytestmark = pytest.mark.full
RECORDS, VALUE_BYTES = 500, 1000
RATE = 50_000.0
"""Bytes a second.  Brokers take the mean of their last ten seconds: all records at once are twice as much."""
BATCH = 100
LANES = 2
SLOTS = 1


@contextmanager
def quota(cluster: SandboxCluster, key: str, value: float, client_id: str | None) -> Iterator[None]:
    """A quota while the block lasts; of one client id, or (None) of every client id that has none of its own."""
    entry = AlterClientQuotasRequest.EntryData

    def change(remove: bool) -> None:
        entity = entry.EntityData(entity_type="client-id", entity_name=client_id)
        op = entry.OpData(key=key, value=0.0 if remove else value, remove=remove)
        request = AlterClientQuotasRequest(entries=[entry(entity=[entity], ops=[op])], validate_only=False)

        async def send(client: Client) -> list[int]:
            return [one.error_code for one in (await client.call_controller(request)).entries]

        assert ask(context_of(cluster), send) == [0]

    change(remove=False)
    await_heeded(cluster)
    try:
        yield
    finally:
        change(remove=True)


@pytest.mark.parametrize(
    ("side", "key", "value", "client_id"),
    [
        ("old", "consumer_byte_rate", RATE, None),
        ("new", "producer_byte_rate", RATE, CLIENT_ID),
    ],
)
def test_a_link_whose_clients_are_throttled_goes_on(
    old: SandboxCluster,
    new: SandboxCluster,
    monkeypatch: pytest.MonkeyPatch,
    side: str,
    key: str,
    value: float,
    client_id: str | None,
) -> None:
    """By client id and by default: nothing ends, no lane is taken over, and none that is behind looks finished."""
    throttles: list[float] = []
    told = Connection.throttled

    def note(connection: Connection, seconds: float) -> None:
        throttles.append(seconds)
        told(connection, seconds)

    monkeypatch.setattr(Connection, "throttled", note)
    topic = create(old, fresh("quota"), LANES)
    chance = random.Random(1)
    for partition in range(LANES):
        values = [{"value": chance.randbytes(VALUE_BYTES), "partition": partition} for _ in range(RECORDS)]
        produce(old, topic, values, batch=BATCH)
    with link(old, new, topic) as made:
        with quota({"old": old, "new": new}[side], key, value, client_id), made.running(slots=SLOTS):
            made.await_(lambda status: is_true(status) and is_copied(status), LONG_TIMEOUT_S)
        assert max(throttles) > 0, "the quota was not exceeded"
        assert claims(made) == [1] * LANES
        assert [made.assert_copied(topic, partition=partition) for partition in range(LANES)] == [RECORDS] * LANES


def is_true(status: LinkStatus) -> bool:
    """Of a lane that is behind nothing says that it is at the end."""
    for lane in status.lanes:
        if lane.position < RECORDS and lane.lag_records is not None and lane.high_watermark:
            assert lane.lag_records == RECORDS - lane.position and lane.lag_bytes != 0, lane
            assert lane.state is not LaneState.STOPPED, lane
    return True


def is_copied(status: LinkStatus) -> bool:
    """Whether all lanes are at the end, and say so."""
    return len(status.lanes) == LANES and all(
        lane.position == RECORDS and lane.state is LaneState.FOLLOWING for lane in status.lanes
    )


def claims(made: Link) -> list[int]:
    """How often each lane was claimed."""

    lanes = [str(lane.lane) for lane in made.status().lanes]

    async def read(client: Client) -> list[int]:
        known = await Journal(client).read()
        return [len(known.claims(lane)) for lane in lanes]

    found: list[int] = made.on_target(read)
    return found
