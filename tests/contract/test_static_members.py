"""Static members stay in their group as they are closed, and leave it where somebody says so."""

from __future__ import annotations

import confluent_kafka
import pytest

from anabranch.kafka.groups import describe, remove_static
from anabranch.model.groups import GroupState
from anabranch.sandbox import SandboxCluster
from tests.contract.conftest import EVERY
from tests.contract.lab import Log, a_producer, batch
from tests.contract.test_groups import a_group, member, protocols, store

pytestmark = pytest.mark.test
REAL = [one for one in EVERY if "simulated" not in str(one.values[0])]
"""The simulated Kafka has no static members."""


@pytest.mark.parametrize("cluster", REAL, indirect=True)
async def test_a_static_member_leaves_where_somebody_says_so(
    cluster: SandboxCluster, version: tuple[int, ...], log: Log
) -> None:
    """The group is empty then; who is not there, and a group that is not there, are no error."""
    await log.offset_of(batch(a_producer(), 0))
    for protocol in protocols(version):
        name = a_group()
        static = {"group.protocol": protocol, "group.instance.id": "one"}
        with member(cluster, name, log.topic, **static) as consumer:
            store(consumer, confluent_kafka.TopicPartition(log.topic, 0, 3))
        left = (await describe(log.client, [name]))[name]
        assert (left.state.is_active, len(left.members)) == (True, 1), "it waits for the session's end"
        await remove_static(log.client, name, {"another"})
        assert (await describe(log.client, [name]))[name].state.is_active
        await remove_static(log.client, name, {"one", "another"})
        assert (await describe(log.client, [name]))[name].state is GroupState.EMPTY
        with member(cluster, name, log.topic, **static) as consumer:
            assert consumer.assignment(), "it joins again"
        await remove_static(log.client, name, {"one"})
    await remove_static(log.client, a_group(), {"one"})
