"""Quotas of clients: what brokers take and tell of them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping

import pytest

from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.quotas import QuotasRefusedError, alter_quotas, describe_quotas
from anabranch.kafka.security import open_cluster
from anabranch.model.quotas import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    QuotaEntity,
    quota_entity,
)
from anabranch.sandbox import SandboxCluster
from tests.contract.lab import TIMEOUT_S
from tests.integration.kafka.security import context_of

pytestmark = pytest.mark.test

RATE = 1e12
"""More than anybody here asks for."""
Values = Mapping[str, float]


async def told(client: Client) -> dict[QuotaEntity, Values]:
    """All quotas, by their entities."""
    return {quota.entity: quota.values for quota in await describe_quotas(client)}


async def until_told(client: Client, wanted: Mapping[QuotaEntity, Values]) -> None:
    """Wait until the quotas are exactly these: a broker follows the controller a moment later."""
    async with asyncio.timeout(TIMEOUT_S):
        while await told(client) != wanted:
            await asyncio.sleep(0.02)


async def emptied(client: Client) -> None:
    """Take away what an attempt before may have left."""
    found = await told(client)
    await alter_quotas(client, {entity: dict.fromkeys(values) for entity, values in found.items()})
    await until_told(client, {})


async def test_quotas_of_every_entity_are_told_as_they_were_set(guarded: SandboxCluster) -> None:
    """Users, client ids, both, addresses, and the defaults of each; a value changes and goes by itself."""
    name = f"ü b/%:{uuid.uuid4().hex}"
    clients: list[Mapping[str, str | None]] = [
        {USER: name},
        {USER: None},
        {CLIENT_ID: name},
        {CLIENT_ID: None},
        {USER: name, CLIENT_ID: name},
        {USER: name, CLIENT_ID: None},
        {USER: None, CLIENT_ID: name},
        {USER: None, CLIENT_ID: None},
    ]
    values = {PRODUCER_BYTE_RATE: RATE, CONSUMER_BYTE_RATE: RATE + 1, REQUEST_PERCENTAGE: 5000.5}
    values[CONTROLLER_MUTATION_RATE] = 1000.25
    addresses: list[Mapping[str, str | None]] = [{IP: "10.1.2.3"}, {IP: "::1"}, {IP: "localhost"}, {IP: None}]
    wanted: dict[QuotaEntity, Values] = {quota_entity(one): values for one in clients}
    wanted |= {quota_entity(one): {CONNECTION_CREATION_RATE: 1e6} for one in addresses}
    async with open_cluster(context_of(guarded)) as admin:
        await emptied(admin)
        await alter_quotas(admin, wanted)
        await until_told(admin, wanted)
        one, other = quota_entity(clients[4]), quota_entity(addresses[0])
        await alter_quotas(admin, {one: {PRODUCER_BYTE_RATE: RATE * 2, REQUEST_PERCENTAGE: None}})
        wanted[one] = {
            PRODUCER_BYTE_RATE: RATE * 2,
            CONSUMER_BYTE_RATE: RATE + 1,
            CONTROLLER_MUTATION_RATE: 1000.25,
        }
        await until_told(admin, wanted)
        await alter_quotas(admin, {other: {CONNECTION_CREATION_RATE: None}})  # its last
        del wanted[other]
        await until_told(admin, wanted)
        await alter_quotas(admin, {other: {CONNECTION_CREATION_RATE: None}, one: {}})  # nothing, and nothing
        await until_told(admin, wanted)
        await emptied(admin)


async def test_what_brokers_refuse_is_told_for_each_entity(guarded: SandboxCluster) -> None:
    """No 0, no fractions of bytes, no names of nobody, no address with a user; the others are set all the same.

    An entity of which one value is refused keeps what it had.
    """
    name = uuid.uuid4().hex
    good, half = quota_entity({USER: name}), quota_entity({CLIENT_ID: name})
    refused: dict[QuotaEntity, tuple[Values, str]] = {
        half: ({CONSUMER_BYTE_RATE: 1.0, PRODUCER_BYTE_RATE: 0.0}, "Quota producer_byte_rate must be greater than 0"),
        quota_entity({USER: f"{name}-1"}): (
            {PRODUCER_BYTE_RATE: 1.5},
            "producer_byte_rate cannot be a fractional value",
        ),
        quota_entity({USER: f"{name}-2"}): ({CONSUMER_BYTE_RATE: 1e19}, "Proposed value for consumer_byte_rate is too"),
        quota_entity({USER: f"{name}-3"}): ({REQUEST_PERCENTAGE: -1.0}, "Quota request_percentage must be greater"),
        quota_entity({USER: f"{name}-4"}): ({CONNECTION_CREATION_RATE: 1.0}, "Invalid configuration key connection_cr"),
        quota_entity({USER: f"{name}-5"}): ({"of_coffee": 1.0}, "Invalid configuration key of_coffee"),
        quota_entity({IP: "10.1.2.4"}): (
            {CONNECTION_CREATION_RATE: 3e9},
            "Proposed value for connection_creation_rate",
        ),
        quota_entity({IP: "10.1.2.5"}): ({PRODUCER_BYTE_RATE: 1.0}, "Invalid configuration key producer_byte_rate"),
        quota_entity({IP: "no.such.host.invalid"}): ({CONNECTION_CREATION_RATE: 1.0}, "no.such.host.invalid is not a"),
        quota_entity({IP: "10.0.0.0/8"}): ({CONNECTION_CREATION_RATE: 1.0}, "10.0.0.0/8 is not a valid IP"),
        quota_entity({IP: "10.1.2.3", USER: name}): ({PRODUCER_BYTE_RATE: 1.0}, "Invalid quota entity combination"),
        quota_entity({"group": name}): ({PRODUCER_BYTE_RATE: 1.0}, "Unhandled client quota entity type: group"),
        quota_entity({USER: ""}): ({PRODUCER_BYTE_RATE: 1.0}, "Empty user not supported"),
        (): ({PRODUCER_BYTE_RATE: 1.0}, "Invalid empty client quota entity"),
    }
    changes: dict[QuotaEntity, Values] = {entity: values for entity, (values, _) in refused.items()}
    async with open_cluster(context_of(guarded)) as admin:
        await emptied(admin)
        await alter_quotas(admin, {half: {CONSUMER_BYTE_RATE: RATE}})
        with pytest.raises(QuotasRefusedError) as raised:
            await alter_quotas(admin, {**changes, good: {PRODUCER_BYTE_RATE: RATE}})
        assert raised.value.refused.keys() == refused.keys()
        for entity, (_, why) in refused.items():
            assert raised.value.refused[entity].startswith(f"INVALID_REQUEST (42): {why}")
        assert raised.value.done == (good,)
        await until_told(admin, {half: {CONSUMER_BYTE_RATE: RATE}, good: {PRODUCER_BYTE_RATE: RATE}})
        await alter_quotas(admin, {good: {"of_coffee": None}})  # what is taken away need not be known
        await emptied(admin)


async def test_who_may_not_is_told_which_permission_is_missing(guarded: SandboxCluster) -> None:
    """DESCRIBE_CONFIGS to be told quotas, ALTER_CONFIGS to change them; nothing was changed."""
    async with open_cluster(context_of(guarded)) as admin, open_cluster(context_of(guarded, "alice")) as alice:
        before = await told(admin)
        with pytest.raises(PermissionDeniedError, match="User:alice may not DescribeConfigs on cluster"):
            await describe_quotas(alice)
        with pytest.raises(PermissionDeniedError, match="User:alice may not AlterConfigs on cluster"):
            await alter_quotas(alice, {quota_entity({USER: "alice"}): {PRODUCER_BYTE_RATE: RATE}})
        assert await told(admin) == before
