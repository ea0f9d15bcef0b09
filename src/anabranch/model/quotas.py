"""How much a cluster's clients may ask of its brokers: quotas of users, client ids and addresses (KIP-546, KIP-612)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

USER, CLIENT_ID, IP = "user", "client-id", "ip"
PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"

QuotaEntity = tuple[tuple[str, str | None], ...]
"""Whom a quota is for, as (type, name) in the order of the types; the name None stands for all that have none of their
own.  Made by ``quota_entity``."""


def quota_entity(names: Mapping[str, str | None]) -> QuotaEntity:
    """The entity of some names by their types, as ``{USER: "alice", CLIENT_ID: None}``."""
    return tuple(sorted(names.items()))


def entity_text(entity: QuotaEntity) -> str:
    """The entity in words: ``client-id default, user 'alice'``."""
    return ", ".join(f"{kind} {'default' if name is None else repr(name)}" for kind, name in entity)


@dataclass(frozen=True, slots=True)
class Quota:
    """What is set for one entity, by the names that Kafka gives: rates in bytes, changes or connections a second, and
    ``request_percentage`` of one thread's time."""

    entity: QuotaEntity
    values: Mapping[str, float]
