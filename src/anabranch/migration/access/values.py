"""What a cluster lets its clients do, and what of it was made for a wave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from anabranch.model.acls import Acl
from anabranch.model.quotas import Quota, QuotaEntity, entity_text


class QuotaKey(NamedTuple):
    """One value of an entity's quota, by the name that Kafka gives it."""

    entity: QuotaEntity
    name: str

    def __str__(self) -> str:
        return f"{self.name} of {entity_text(self.entity)}"


class WaveName(NamedTuple):
    """The wave of a migration for which something was made."""

    migration: str
    wave: str


@dataclass(frozen=True, slots=True)
class Access:
    """The access rules and quotas that a cluster has, or is to have."""

    rules: frozenset[Acl] = frozenset()
    quotas: Mapping[QuotaKey, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Made:
    """The access rules that were made, and the values that quotas were given: several while one is being changed."""

    rules: frozenset[Acl] = frozenset()
    quotas: Mapping[QuotaKey, frozenset[float]] = field(default_factory=dict, hash=False)

    def __or__(self, other: Made) -> Made:
        """What is in one of both."""
        quotas = dict(self.quotas)
        for key, values in other.quotas.items():
            quotas[key] = quotas.get(key, frozenset()) | values
        return Made(self.rules | other.rules, quotas)


def all_made(each: Iterable[Made]) -> Made:
    """What is in one of several."""
    found = Made()
    for made in each:
        found |= made
    return found


def quota_values(quotas: Iterable[Quota]) -> dict[QuotaKey, float]:
    """Each value by itself."""
    return {QuotaKey(quota.entity, name): value for quota in quotas for name, value in quota.values.items()}
