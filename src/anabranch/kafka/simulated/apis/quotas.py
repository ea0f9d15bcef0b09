"""Quotas of clients: kept and told, but not held against anyone.

Source: ``ClientQuotaControlManager`` and ``ClientQuotasImage``, KIP-546.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable, Mapping
from typing import Any

from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

from anabranch.kafka.simulated.access import ALTER_CONFIGS, CLUSTER, CLUSTER_NAME, DESCRIBE_CONFIGS
from anabranch.kafka.simulated.apis.common import WORDS, may
from anabranch.kafka.simulated.broker import ClientSession, Handler
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

INVALID_REQUEST = 42
EXACT, DEFAULT, SPECIFIED = 0, 1, 2
_LONG, _INT = ("LONG", (1 << 63) - 1), ("INT", (1 << 31) - 1)
_OF_CLIENTS: Mapping[str, tuple[str, int] | None] = {
    PRODUCER_BYTE_RATE: _LONG,
    CONSUMER_BYTE_RATE: _LONG,
    REQUEST_PERCENTAGE: None,
    CONTROLLER_MUTATION_RATE: None,
}
_OF_ADDRESSES: Mapping[str, tuple[str, int] | None] = {CONNECTION_CREATION_RATE: _INT}
_EPSILON = 1e-6
_Reply = Callable[[Any], None]


def describe(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DescribeClientQuotas: the entities that a filter means."""
    code = may(session, DESCRIBE_CONFIGS, CLUSTER, CLUSTER_NAME)
    row = DescribeClientQuotasResponse.EntryData
    entries = [
        row(
            entity=[row.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            values=[row.ValueData(key=key, value=value) for key, value in values.items()],
        )
        for entity, values in session.broker.cluster.quotas.items()
        if _fits(dict(entity), request)
    ]
    reply(
        DescribeClientQuotasResponse(
            throttle_time_ms=0, error_code=code, error_message=None, entries=None if code else entries
        )
    )


def _fits(names: Mapping[str, str | None], request: Any) -> bool:
    for component in request.components:
        if component.entity_type not in names:
            return False
        name = names[component.entity_type]
        if component.match_type == EXACT and (name is None or name != component.match):
            return False
        if component.match_type == DEFAULT and name is not None:
            return False
    return not request.strict or len(names) == len(request.components)


def alter(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """AlterClientQuotas: each entity whole or not at all."""
    quotas = session.broker.cluster.quotas
    denied = may(session, ALTER_CONFIGS, CLUSTER, CLUSTER_NAME)
    rows = []
    row = AlterClientQuotasResponse.EntryData
    for entry in request.entries:
        entity = quota_entity({part.entity_type: part.entity_name for part in entry.entity})
        why = "" if denied else _refusal(session, entity, entry.ops)
        if not denied and not why and not request.validate_only:
            values = quotas.setdefault(entity, {})
            for change in entry.ops:
                if change.remove:
                    values.pop(change.key, None)
                else:
                    values[change.key] = change.value
            if not values:
                del quotas[entity]
        rows.append(
            row(
                error_code=denied or (INVALID_REQUEST if why else 0),
                error_message=why or WORDS.get(denied),
                entity=[row.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            )
        )
    reply(AlterClientQuotasResponse(throttle_time_ms=0, entries=rows))


def _refusal(session: ClientSession, entity: QuotaEntity, changes: list[Any]) -> str:
    """Why a broker does not take the changes of an entity; empty where it does."""
    if not entity:
        return "Invalid empty client quota entity"
    for kind, name in entity:
        if kind not in {USER, CLIENT_ID, IP}:
            return f"Unhandled client quota entity type: {kind}"
        if name == "":
            return f"Empty {kind} not supported"
    names = dict(entity)
    if IP in names and len(names) > 1:
        return "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
    if IP in names and not _is_address(names[IP]):
        return f"{names[IP]} is not a valid IP or resolvable host."
    known = _OF_ADDRESSES if IP in names else _OF_CLIENTS
    words = (_value_refusal(session, known, change) for change in changes if not change.remove)
    return next((one for one in words if one), "")


def _is_address(name: str | None) -> bool:
    """Whether it is an address or this machine; here no other names are looked up."""
    try:
        return name in {None, "localhost"} or bool(ipaddress.ip_address(name or ""))
    except ValueError:
        return False


def _value_refusal(session: ClientSession, known: Mapping[str, tuple[str, int] | None], change: Any) -> str:
    key, value = change.key, change.value
    if key not in known:
        return f"Invalid configuration key {key}"
    whole = known[key]
    if session.broker.cluster.version.takes_no_quota:
        if whole is not None and not (0 <= value <= whole[1] and abs(value - round(value)) <= _EPSILON):
            return f"Configuration {key} must be a {whole[0]} value"
        return ""
    if value <= 0:
        return f"Quota {key} must be greater than 0"
    if whole is None or math.isnan(value):
        return ""
    if value > whole[1]:
        return f"Proposed value for {key} is too large for {'an' if whole is _INT else 'a'} {whole[0]}."
    return f"{key} cannot be a fractional value." if abs(value - int(value)) > _EPSILON else ""


APIS = (Handler(DescribeClientQuotasRequest, describe), Handler(AlterClientQuotasRequest, alter))
