"""The quotas of a cluster's clients: told and changed (KIP-546).

Brokers of a KRaft cluster follow the controller's log: one that is asked right after a change may tell, and go by, the
quotas of before for a moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import AUTHORIZATION_CODES, refusal
from anabranch.model.quotas import Quota, QuotaEntity, entity_text, quota_entity

_CHUNK = 500


@dataclass(eq=False)
class QuotasRefusedError(RefusedError):
    """A cluster refused the changes of some entities (``refused``: why) and made those of the others (``done``)."""

    cluster: str
    refused: Mapping[QuotaEntity, str]
    done: tuple[QuotaEntity, ...]

    @property
    def message(self) -> str:
        named = "; ".join(f"{entity_text(entity)}: {why}" for entity, why in self.refused.items())
        total = len(self.refused) + len(self.done)
        return f"cluster {self.cluster} refused the quotas of {len(self.refused):,} of {total:,} entities: {named}"


async def describe_quotas(cluster: Cluster) -> tuple[Quota, ...]:
    """Every quota of a cluster, in the order of the entities' words; needs DESCRIBE_CONFIGS on the cluster.

    Types of entities and names of values that a newer broker may have are told as they are.
    """
    response = await cluster.call(DescribeClientQuotasRequest(components=[], strict=False), cap=1)
    cluster.check(response.error_code, "DescribeConfigs", "cluster", response.error_message)
    found = [
        Quota(
            quota_entity({part.entity_type: part.entity_name for part in entry.entity}),
            {value.key: value.value for value in sorted(entry.values, key=lambda one: str(one.key))},
        )
        for entry in response.entries or ()
    ]
    return tuple(sorted(found, key=lambda quota: entity_text(quota.entity)))


async def alter_quotas(cluster: Cluster, changes: Mapping[QuotaEntity, Mapping[str, float | None]]) -> None:
    """Set some values of some entities; None takes a value away, whether or not it is there.

    Needs ALTER_CONFIGS on the cluster.  The changes of one entity are made whole or not at all; raises
    QuotasRefusedError once every entity was tried.
    """
    wanted = [(entity, values) for entity, values in changes.items() if values]
    refused: dict[QuotaEntity, str] = {}
    done: list[QuotaEntity] = []
    for at in range(0, len(wanted), _CHUNK):
        response = await cluster.call_controller(_request(wanted[at : at + _CHUNK]), cap=1)
        for result in response.entries:
            entity = quota_entity({part.entity_type: part.entity_name for part in result.entity})
            code, detail = result.error_code, result.error_message
            if code in AUTHORIZATION_CODES:
                cluster.check(code, "AlterConfigs", "cluster", detail)
            if code:
                refused[entity] = refusal(code, detail)
            else:
                done.append(entity)
    if refused:
        raise QuotasRefusedError(cluster.name, refused, tuple(done))


def _request(changes: list[tuple[QuotaEntity, Mapping[str, float | None]]]) -> AlterClientQuotasRequest:
    entry = AlterClientQuotasRequest.EntryData
    return AlterClientQuotasRequest(
        entries=[
            entry(
                entity=[entry.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                ops=[
                    entry.OpData(key=key, value=0.0 if value is None else value, remove=value is None)
                    for key, value in values.items()
                ],
            )
            for entity, values in changes
        ],
        validate_only=False,
    )
